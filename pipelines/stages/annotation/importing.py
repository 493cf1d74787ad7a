"""Answers from an older cache or a published audit file, each checked against the text at hand.

Belongs here: which foreign records may join a cache, under which provenance. Records match by task uid and
text, so ids that moved with a changed archive do no harm; what is already cached is kept. The seed's first
cache format is read in `first_protocol`.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.errors import ConfigError
from pipelines.stages.annotation.cache import (
    Answers,
    Identity,
    Key,
    annotation_of,
    answer_record,
    key_of,
    now_text,
)
from pipelines.stages.annotation.cache_file import read_lines
from pipelines.stages.annotation.first_protocol import is_first, translated
from pipelines.stages.annotation.persona_tasks import PersonaTask
from pipelines.stages.annotation.protocol import FALLBACK_KIND, FULL_FIELD, SIMPLE_FIELD, Annotation
from pipelines.stages.annotation.resolution import missing_field
from shopsim_env.canonical import sha256_file

_ByText = dict[tuple[str, str], list[dict[str, Any]]]


@dataclass(slots=True)
class Imported:
    """Lines to append to the cache, and counts of what was read.

    Counts: `found`, `imported`, `kept` (already cached), `fallback` (no answer), `other_task` (no eligible
    task has that uid), `first_protocol` (of the seed's first format, and no ceiling of this model and
    archive), `refused` (another text, or not valid). Of several records of one text the last usable counts.
    """

    lines: list[dict[str, Any]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def import_answers(
    path: Path, identity: Identity, tasks: Sequence[PersonaTask], answers: Answers
) -> Imported:
    """Reads a JSON Lines cache or an audit file and returns what may be appended to the cache.

    Args:
        path: Cache of any identity, or `persona_price_annotations.v2.json`.
        identity: Identity under which the answers will count.
        tasks: Eligible persona tasks with their present texts.
        answers: What the cache holds already; those answers are kept.

    Raises:
        ConfigError: no such file, or neither format.
    """
    imported = Imported()
    by_uid = {task.task_uid: task for task in tasks}
    source = {"file": path.name, "sha256": _digest(path)}
    found = _by_text(_records(path), identity, tasks, imported.counts)
    for (uid, name), records in sorted(found.items(), key=_simple_first):
        _take(records, by_uid[uid], name, identity, answers, imported, source)
    imported.counts["imported"] = len(imported.lines)
    return imported


def _by_text(
    records: Iterator[dict[str, Any]], identity: Identity, tasks: Sequence[PersonaTask], counts: Counter[str]
) -> _ByText:
    """Records by task uid and field, in their order; the others are only counted."""
    uids, by_id = {task.task_uid for task in tasks}, {task.task_id: task for task in tasks}
    found: _ByText = {}
    for given in records:
        record = translated(given, identity, by_id) if is_first(given) else given
        key, uid = record and key_of(record), record and record.get("task_uid")
        counts["found"] += 1
        if record is None:
            counts["first_protocol"] += 1
        elif record["annotation"]["kind"] == FALLBACK_KIND:
            counts["fallback"] += 1
        elif not key or not isinstance(uid, str) or uid not in uids:
            counts["other_task"] += 1
        else:
            found.setdefault((uid, key[1]), []).append(record)
    return found


def _simple_first(item: tuple[tuple[str, str], Any]) -> tuple[str, bool]:
    (uid, name), _ = item
    return uid, name == FULL_FIELD


def _take(
    records: list[dict[str, Any]],
    task: PersonaTask,
    name: str,
    identity: Identity,
    answers: Answers,
    imported: Imported,
    source: dict[str, str],
) -> None:
    key: Key = (task.task_id, name)
    if key in answers.valid or not missing_field(task, answers.valid):
        imported.counts["kept"] += 1
        return
    usable = _last_usable(records, task, name, answers)
    if usable is None:
        imported.counts["refused"] += 1
        return
    record, annotation = usable
    answers.valid[key] = annotation
    known = {key: record[key] for key in ("model", "api_url", "prompt_sha256") if key in record}
    imported.lines.append(
        answer_record(
            identity,
            task,
            annotation,
            answered_at=str(record.get("answered_at") or now_text()),
            imported_from=source | known,
        )
    )


def _last_usable(
    records: list[dict[str, Any]], task: PersonaTask, name: str, answers: Answers
) -> tuple[dict[str, Any], Annotation] | None:
    alone = name == FULL_FIELD and (task.task_id, SIMPLE_FIELD) not in answers.valid
    for record in reversed(records):
        annotation = annotation_of(record, task.request(name))
        # A final answer vouches for the first one; a cache must bring the first one along.
        if annotation is not None and (record["final"] or not alone):
            return record, annotation
    return None


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """Records in the cache's shape, with `final` telling an audit file's from a cache's."""
    audit = _audit(path)
    if audit is None:
        lines = [line for line in read_lines(path) if line is not None]
        if not any("annotation" in line or is_first(line) for line in lines):
            raise ConfigError(
                f"{path}: expected a cache (JSON Lines with `annotation`) or an audit file (a JSON array of "
                "annotations), found neither",
                code="import_format",
            )
        for line in lines:
            if is_first(line):
                yield line | {"final": False}
            elif isinstance(line.get("annotation"), dict):
                yield line | {"annotation": _answer(line["annotation"]), "final": False}
        return
    for record in audit:
        kept = {name: record.get(name) for name in ("task_id", "task_uid", "source_field")}
        yield {**kept, "annotation": _answer(record), "final": True}


def _answer(record: dict[str, Any]) -> dict[str, Any]:
    """What an answer states; ceilings that a record adds are computed anew."""
    return {name: record.get(name) for name in ("kind", "amount", "evidence")}


def _audit(path: Path) -> list[dict[str, Any]] | None:
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else None


def _digest(path: Path) -> str:
    if not path.is_file():
        raise ConfigError(f"{path}: expected a file to import, found none", code="import_missing")
    return sha256_file(path)
