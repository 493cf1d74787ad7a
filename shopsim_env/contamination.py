"""Does a file of training examples hold what the held-out splits ask for?

Belongs here: the comparison of a user's own rows with tasks of a release, and what was found. How texts are
compared is in `text.near`. Reports name rows, fields and task ids, never a text of a task.
"""

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from shopsim_env.canonical import compact_json
from shopsim_env.errors import TaskError, UsageError
from shopsim_env.release import Release
from shopsim_env.text.near import LENGTH, NearIndex, squeezed

HELD_OUT = ("project/val", "project/test")
NEAR_SHARE = 0.8
PERSONA_SHARE = 0.9
# Shorter texts share most of their triples with ordinary sentences: only word for word counts there.
_SMALLEST_NEAR = 8
_SMALLEST_SAME = 5
_SMALLEST_PERSONA = 20
_GOLD_FIELDS = frozenset({"asin", "goal_asin", "gold_asin", "target_asin"})

SIMPLE, FULL, PERSONA = "instruction_simple", "instruction", "persona"
MEANINGS: Mapping[str, str] = {
    "task_id": "the field names the task",
    "gold_product": "the field names the gold product of the task",
    "same_instruction": "holds the full text of the task word for word",
    "same_instruction_simple": "holds the simple text of the task word for word",
    "near_instruction": "holds most of the full text of the task",
    "near_instruction_simple": "holds most of the simple text of the task",
    "persona": "holds the persona of the task",
}

Row: TypeAlias = Any
_Key: TypeAlias = tuple[int, str]


@dataclass(frozen=True, slots=True)
class ContaminationHit:
    """One place that repeats a held-out task.

    `row` counts from 1 and is the line in a file; `field` is the dotted path of the text in the row, "" for
    the row as a whole; `kind` is a key of `MEANINGS`; `share` is the part of the task's text found, 0..1.
    """

    row: int
    field: str
    kind: str
    task_id: int
    split: str
    share: float

    @property
    def explanation(self) -> str:
        """The hit as a sentence; quotes no text."""
        where = f"row {self.row}" + (f", {self.field}" if self.field else "")
        share = "" if self.share == 1 else f" ({self.share:.0%})"
        return f"{where}: {MEANINGS[self.kind]}{share}: task {self.task_id} of {self.split}"


@dataclass(frozen=True, slots=True)
class ContaminationReport:
    """What was compared and what was found.

    `full_texts` is False for a public copy: full texts of persona tasks and gold products were not compared.
    """

    rows: int
    tasks: int
    splits: tuple[str, ...]
    full_texts: bool
    hits: tuple[ContaminationHit, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.hits


def check_contamination(
    path_or_rows: str | Path | Iterable[Row], release: Release, splits: Sequence[str] = HELD_OUT
) -> ContaminationReport:
    """Looks for tasks of `splits` in training examples.

    Args:
        path_or_rows: A JSON Lines file (`.gz` too), or its decoded rows: JSON values of any shape.
        release: With its private part the full texts of persona tasks and the gold products are compared too.
        splits: Names of the splits that must stay unseen.

    Raises:
        TaskError: a split that the release does not have (code `unknown_split`).
        UsageError: a file that is missing (code `input_missing`) or holds a line that is no JSON (code
            `invalid_rows`).
    """
    held = _Held(release, splits)
    count = 0
    hits: list[ContaminationHit] = []
    for number, row in _rows(path_or_rows):
        count += 1
        try:
            hits += held.check(number, row)
        except RecursionError as error:
            raise UsageError(
                f"row {number}: expected values nested less deeply", code="invalid_rows"
            ) from error
    return ContaminationReport(count, len(held.split_of), tuple(splits), held.private, tuple(hits))


def _rows(path_or_rows: str | Path | Iterable[Row]) -> Iterator[tuple[int, Row]]:
    if not isinstance(path_or_rows, (str, Path)):
        yield from enumerate(path_or_rows, start=1)
        return
    path = Path(path_or_rows)
    if path.is_dir() or not path.exists():
        found = "a folder" if path.is_dir() else "no file"
        raise UsageError(
            f"{path}: expected a JSON Lines file with training examples, found {found}", code="input_missing"
        )
    try:
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, _decoded(path, number, line)
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise UsageError(
            f"{path}: expected JSON Lines in UTF-8 (packed with gzip if the name ends in .gz), found "
            f"{_fault(error)}",
            code="invalid_rows",
        ) from error


def _fault(error: Exception) -> str:
    """What is wrong with a file, in words."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.object[error.start]:#04x}, which is no UTF-8"
    if isinstance(error, EOFError):
        return "a gzip file that ends too early"
    if isinstance(error, gzip.BadGzipFile):
        return "a file that gzip did not pack"
    return "a file that cannot be read" + (f" ({error.strerror})" if isinstance(error, OSError) else "")


def _decoded(path: Path, number: int, line: str) -> Row:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{path}, line {number}: expected one JSON value, found something else", code="invalid_rows"
        ) from error


class _Held:
    """The tasks that must stay unseen, indexed."""

    def __init__(self, release: Release, splits: Sequence[str]) -> None:
        self.split_of = _split_of(release, splits)
        self._by_text = {str(task_id): task_id for task_id in self.split_of}
        self.private = not release.manifest["public_copy"]
        self._texts: dict[_Key, str] = {}
        self._golds: dict[str, list[int]] = {}
        self._personas: dict[str, list[int]] = {}
        told: dict[int, list[str]] = {}
        for task_id in self.split_of:
            self._add_texts(release, task_id)
            persona = release.tasks[task_id].user_persona
            if persona:
                self._personas.setdefault(compact_json(persona), []).append(task_id)
                told[task_id] = [text for _, text in _leaves(persona) if len(squeezed(text)) >= LENGTH]
        self._near = NearIndex(self._texts, NEAR_SHARE)
        self._near_personas = NearIndex(told, PERSONA_SHARE)
        self._plain = {key: squeezed(text) for key, text in self._texts.items()}

    def _add_texts(self, release: Release, task_id: int) -> None:
        task = release.tasks[task_id]
        texts = {SIMPLE: task.instruction_simple, FULL: task.instruction}
        if self.private:
            goal = release.private().goal(task_id)
            texts[FULL] = goal.instruction
            self._golds.setdefault(goal.product.asin, []).append(task_id)
        self._texts.update({(task_id, name): text for name, text in texts.items() if text})

    def check(self, number: int, row: Row) -> Iterator[ContaminationHit]:
        """Hits of one row, in the order of its fields, each task, kind and field once."""
        leaves = list(_leaves(row))
        for field, value in leaves:
            yield from self._named(number, field, value)
            yield from self._told(number, field, value)
        for task_id, share in sorted(self._shown_personas(row, leaves).items()):
            yield self._hit(number, "", "persona", task_id, share)

    def _shown_personas(self, row: Row, leaves: Sequence[tuple[str, str]]) -> dict[int, float]:
        """Personas that stand in the row as an object, or of which its texts hold nearly every entry."""
        text = "\n".join(text for _, text in leaves)
        found = {
            task_id: share
            for task_id, share in self._near_personas.contained_in(text)
            if self._near_personas.size(task_id) >= _SMALLEST_PERSONA
        }
        same = (self._personas.get(compact_json(item), ()) for item in _objects(row))
        return {**found, **dict.fromkeys(chain.from_iterable(same), 1.0)}

    def _hit(self, row: int, field: str, kind: str, task_id: int, share: float) -> ContaminationHit:
        return ContaminationHit(row, field, kind, task_id, self.split_of[task_id], round(share, 4))

    def _named(self, row: int, field: str, value: str) -> Iterator[ContaminationHit]:
        name = field.rpartition(".")[2]
        task_id = self._by_text.get(value) if name == "task_id" else None
        if task_id is not None:
            yield self._hit(row, field, "task_id", task_id, 1)
        if name in _GOLD_FIELDS:
            for task_id in self._golds.get(value.strip(), ()):
                yield self._hit(row, field, "gold_product", task_id, 1)

    def _told(self, row: int, field: str, value: str) -> Iterator[ContaminationHit]:
        plain = squeezed(value)
        same = {
            key
            for key, share in self._near.contained_in(value)
            if share == 1 and len(self._plain[key]) >= _SMALLEST_SAME and self._plain[key] in plain
        }
        for task_id, name in sorted(same):
            yield self._hit(row, field, f"same_{name}", task_id, 1)
        near: dict[_Key, float] = {}
        # Line by line: a long text holds the triples of many sentences without holding one of them.
        for line in value.splitlines():
            for key, share in self._near.contained_in(line):
                if key not in same and self._near.size(key) >= _SMALLEST_NEAR:
                    near[key] = max(share, near.get(key, 0))
        for (task_id, name), share in sorted(near.items()):
            yield self._hit(row, field, f"near_{name}", task_id, share)


def _split_of(release: Release, splits: Sequence[str]) -> dict[int, str]:
    known = release.splits
    unknown = [name for name in splits if name not in known]
    if unknown or not splits:
        raise TaskError(
            f"splits: expected some of {sorted(known)}, found {list(splits)}", code="unknown_split"
        )
    return {task_id: name for name in splits for task_id in known[name]}


def _leaves(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Dotted path and text of every string and number; a string that is JSON is read as what it holds."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{field}.{key}" if field else str(key))
    elif isinstance(value, (list, tuple)):
        for place, item in enumerate(value):
            yield from _leaves(item, f"{field}[{place}]")
    elif value is not None and not isinstance(value, bool):
        text = str(value)
        inside = _json(text) if text[:1] in ("{", "[") else None
        if inside is None:
            yield field, text
        else:
            yield from _leaves(inside, field)


def _objects(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every object in a JSON value, also inside strings that are JSON."""
    if isinstance(value, Mapping):
        yield value
        yield from _objects(list(value.values()))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _objects(item)
    elif isinstance(value, str) and value[:1] in ("{", "["):
        yield from _objects(_json(value))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
