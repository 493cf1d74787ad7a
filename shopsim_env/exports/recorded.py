"""Episodes of recorded runs, one at a time: which of them can be used, and why the others cannot.

Belongs here: reading run folders and trace files, and the parts of an episode that all exports share. Lines
come from anybody: an episode that is not as docs/runs.md says is counted and left out, never guessed at.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from shopsim_env.canonical import compact_json, sha256_text
from shopsim_env.errors import RunError, UsageError
from shopsim_env.exports.progress import Progress
from shopsim_env.runs.folder import TRACES
from shopsim_env.runs.index import RunIndex
from shopsim_env.runs.rows import (
    COMPLETED,
    COMPONENTS,
    EPISODE_SCHEMA,
    FAILED,
    RLVE_EPISODE_SCHEMA,
    Row,
    items,
    load_line,
    table,
)
from shopsim_env.shop.tools import static_tools, tools_for

REWARDS: Final = ("reward", *COMPONENTS)
_SLICE_S: Final = 0.5
_MEGA: Final = 1e6
Message = dict[str, Any]


class Place(NamedTuple):
    """Where an episode stands: the number of its run, and its row in the index of that run."""

    run: int
    row: Row


@dataclass(frozen=True, slots=True)
class Episode:
    """A completed episode with its messages.

    `start` are the messages before the first answer. `answers` has one entry per answer of the model.
    """

    run: str
    place: Place
    record: dict[str, Any]
    start: list[Message]
    answers: list["Answer"]

    @property
    def row(self) -> Row:
        """The episode in the index of its run."""
        return self.place.row

    @property
    def identity(self) -> dict[str, Any]:
        """What names the episode and its task in an exported row."""
        named = {"world": self.row.world} if self.row.world else {}
        return {
            **named,
            "run": self.run,
            "episode_id": self.row.episode_id,
            "task_id": self.row.task_id,
            "sample_id": self.row.sample_id,
            "seed": self.row.seed,
            "split": table(self.record.get("job")).get("split"),
            "release": self.row.release,
        }

    @property
    def prompt_key(self) -> str:
        """Hex SHA-256 of task, release, environment, prompt and first messages: equal starts, equal keys."""
        provenance, reset = table(self.record.get("provenance")), table(self.record.get("reset"))
        task = [self.row.world, self.row.task_id] if self.row.world else self.row.task_id
        parts = [task, self.row.release, reset.get("environment"), provenance.get("prompt")]
        return sha256_text(compact_json([*parts, self.start]))


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of the model: its message, the messages that came back, and the step that was noted."""

    message: Message
    replies: list[Message]
    step: dict[str, Any]

    @property
    def tools(self) -> list[Any]:
        """The schemas that the model had, with their keys in the order in which they are sent.

        Trace lines have sorted keys, and a chat template writes keys as they come.
        """
        noted, state = items(self.step.get("tools")), table(self.step.get("observation_state"))
        known = [static_tools(), static_tools(shopper=True)]
        if "search_available" in state and isinstance(state.get("actions"), list):
            known.append(tools_for(state))
        return next((tools for tools in known if tools == noted), noted)

    @property
    def bad(self) -> bool:
        """Whether it was no proper call (protocol error), was refused (invalid action) or came to nothing."""
        environment = table(self.step.get("environment"))
        if table(self.step.get("model")).get("protocol_error") or not environment:
            return True
        return table(environment.get("action_feedback")).get("valid") is False


@dataclass
class Recording:
    """Recorded runs. `counts` says what was read and why episodes were left out.

    Args:
        paths: Run folders, or trace files of schema `shopsim-episode-v1`.
        progress: Says how far it is.

    Raises:
        UsageError: a path without traces (code `no_run`), or two of one name (code `same_name`).
    """

    paths: Sequence[str | Path]
    progress: Progress = field(default_factory=Progress)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        files = [_trace_file(Path(path)) for path in self.paths]
        self.names = [_name(path) for path in files]
        twice = sorted(name for name, count in Counter(self.names).items() if count > 1)
        if twice:
            raise UsageError(f"expected runs of different names, found {twice} twice", code="same_name")
        self._indexes = [RunIndex(_opener(path)) for path in files]
        for name, index in zip(self.names, self._indexes, strict=True):
            self._read(name, index)

    def _read(self, name: str, index: RunIndex) -> None:
        index.advance(_SLICE_S)
        while not index.done:
            index.advance(_SLICE_S)
            self.progress.at(f"reading {name}", index.offset / _MEGA, index.size / _MEGA, "MB")
        self.counts.update(lines=index.lines, replaced=index.replaced, unreadable=index.invalid)
        self.counts.update(unfinished_line=int(index.torn > 0))

    def places(self) -> list[Place]:
        """Every episode, in the order of runs and lines."""
        return [Place(run, row) for run, index in enumerate(self._indexes) for row in index.rows]

    def episodes(self, places: Sequence[Place], what: str) -> Iterator[Episode]:
        """The completed episodes among `places` whose messages are there; counts the others."""
        for place in self.progress.over(what, places, len(places)):
            if not has_result(place.row):
                self.counts["failed" if place.row.status == FAILED else "unfinished"] += 1
                continue
            episode = self.episode(place)
            if episode is None:
                self.counts["without_messages"] += 1
            else:
                yield episode

    def episode(self, place: Place) -> Episode | None:
        """One completed episode, or None when its messages and steps do not fit together."""
        line = self._indexes[place.run].line(place.row)
        record = _with_tools(load_line(line))
        if record.get("schema") not in (EPISODE_SCHEMA, RLVE_EPISODE_SCHEMA) or (
            b"\\ud" in line.lower() and not _is_utf8(record)
        ):
            return None
        parted = _parted(record)
        return None if parted is None else Episode(self.names[place.run], place, record, *parted)


def has_result(row: Row) -> bool:
    """Whether an episode has a result; one that the infrastructure broke has none, and is never a zero."""
    return row.status == COMPLETED and row.reward is not None


def reward_of(row: Row, name: str) -> float:
    """A reward of a completed episode.

    Raises:
        RunError: the episode does not have it (code `no_reward`).
    """
    value = row.reward
    if name != "reward":
        value = None if row.components is None else row.components[COMPONENTS.index(name)]
    if value is None:
        raise RunError(f"{row.episode_id}: expected {name} in its result, found none", code="no_reward")
    return value


def _is_utf8(record: dict[str, Any]) -> bool:
    """Whether no text of the record holds half a surrogate pair, which no file in UTF-8 can hold."""
    try:
        compact_json(record).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _with_tools(record: dict[str, Any]) -> dict[str, Any]:
    """An RLVE episode with what exports read of a step: its tools, and whether the turn was refused.

    They are the same in all turns, so that the line holds them once.
    """
    if record.get("schema") != RLVE_EPISODE_SCHEMA:
        return record
    steps = []
    for step in map(table, items(record.get("steps"))):
        feedback = {"valid": not table(step.get("model")).get("protocol_error")}
        steps.append({**step, "tools": record.get("tools"), "environment": {"action_feedback": feedback}})
    return {**record, "steps": steps}


def _parted(record: dict[str, Any]) -> tuple[list[Message], list[Answer]] | None:
    """First messages and answers; None when answers and steps do not fit together."""
    messages, steps = items(record.get("conversation")), items(record.get("steps"))
    if not all(isinstance(item, dict) for item in (*messages, *steps)):
        return None
    places = [place for place, message in enumerate(messages) if message.get("role") == "assistant"]
    if not places or places[0] == 0 or len(places) != len(steps):
        return None
    ends = [*places[1:], len(messages)]
    answers = [
        Answer(messages[place], messages[place + 1 : end], step)
        for place, end, step in zip(places, ends, steps, strict=True)
    ]
    return messages[: places[0]], answers


def _trace_file(path: Path) -> Path:
    file = path / TRACES if path.is_dir() else path
    if not file.is_file():
        raise UsageError(
            f"{path}: expected a run folder with {TRACES}, or a trace file, found none", code="no_run"
        )
    return file


def _opener(file: Path) -> Callable[[], BinaryIO]:
    return lambda: file.open("rb")


def _name(file: Path) -> str:
    return file.resolve().parent.name if file.name == TRACES else file.stem
