"""What the replay page asks for, apart from HTTP: opened runs, their indexes, kept figures.

Belongs here: which runs are kept in memory, and answers as JSON values. For one thread.
"""

from dataclasses import asdict
from functools import partial
from typing import Any, Final

from shopsim_env.cache import BoundedCache
from shopsim_env.errors import RunError, TraceError
from shopsim_env.release import Release
from shopsim_env.runs.figures import compared, figures
from shopsim_env.runs.folder import RunEntry, RunRoot
from shopsim_env.runs.index import RunIndex
from shopsim_env.runs.records import rlve_line
from shopsim_env.runs.rows import COMPONENTS, FAILED, RLVE_EPISODE_SCHEMA, Row, load_line, table, text
from shopsim_env.runs.select import Wish, chosen
from shopsim_env.runs.timeline import bought, played, purchase_of, timeline
from shopsim_env.server.comparison import comparison
from shopsim_env.server.rlve_replays import RlveReplays
from shopsim_env.trace import TRACE_SCHEMA, read_record

SLICE_S: Final = 0.25
_KEPT_RUNS: Final = 8
_KEPT_ANSWERS: Final = 64
_MOST_FILE: Final = 4 << 20


class Replays:
    """Runs below one root, read on demand."""

    def __init__(self, root: RunRoot | None, release: Release, slice_s: float = SLICE_S) -> None:
        self._root = root
        self._release = release
        self._rlve = RlveReplays(release)
        self._slice_s = slice_s
        self._indexes: dict[str, RunIndex] = {}
        self._answers: BoundedCache[Any, Any] = BoundedCache(_KEPT_ANSWERS)

    def runs(self) -> dict[str, Any]:
        """Every run below the root; `configured` is false when the server has no root."""
        found = [] if self._root is None else self._root.listing()
        return {
            "configured": self._root is not None,
            "release": self._release.id,
            "runs": [asdict(entry) for entry in found],
        }

    def run(self, run: str) -> dict[str, Any]:
        """Manifest, summary and figures of a run, and how far its index is."""
        entry, index = self._opened(run)
        manifest = self._document(entry, "manifest.json")
        plan = table(table(manifest).get("plan"))
        jobs = plan.get("jobs")
        return {
            **asdict(entry),
            **_progress(index),
            "manifest": manifest,
            "summary": self._document(entry, "summary.json"),
            "requested": len(jobs) if isinstance(jobs, list) else None,
            "releases": sorted({row.release for row in index.rows if row.release}),
            "figures": self._kept("figures", run, index, lambda: figures(index.rows)),
        }

    def episodes(self, run: str, offset: int, limit: int, order: str, **wish: Any) -> dict[str, Any]:
        """One page of the episodes that fit."""
        _, index = self._opened(run)
        wanted = Wish(**wish, descending=order == "down")
        places = self._kept(wanted, run, index, lambda: chosen(index.rows, wanted))
        shown = places[offset : offset + limit]
        return {
            **_progress(index),
            "total": len(places),
            "episodes": [_listed(index.rows[place]) for place in shown],
        }

    def episode(self, run: str, episode: str) -> dict[str, Any]:
        """One episode, step by step."""
        row, record, line = self._record(run, episode)
        if row.world:
            return self._rlve.timeline(row, record, line)
        try:
            return timeline(row, record, line, self._release)
        except TraceError as error:
            raise RunError(str(error)) from error

    def evidence(self, run: str, episode: str) -> dict[str, Any]:
        """Gold against bought. The caller holds the admin token.

        Raises:
            RunError: the episode is not over (`not_ended`) or of another release (`other_release`).
        """
        row, record, line = self._record(run, episode)
        if row.status != "completed":
            raise RunError("the goal is shown after the end of an episode", code="not_ended")
        if row.release != self._release.id:
            raise RunError(
                "the episode was played on another release than this server has; start it with --release",
                code="other_release",
            )
        if row.world:
            return self._rlve.evidence(line)
        return comparison(self._release, row.task_id, self._purchase(record, line), _rule(record))

    def compare(self, first: str, second: str, offset: int, limit: int) -> dict[str, Any]:
        """Paired differences of two runs, and in what they were not alike."""
        (_, one), (_, two) = self._opened(first), self._opened(second)
        make = partial(compared, one.rows, two.rows)
        found = self._kept(("compare", second, two.version), first, one, make)
        releases = [sorted({row.release for row in index.rows if row.release}) for index in (one, two)]
        return {
            **found,
            "tasks": found["tasks"][offset : offset + limit],
            "total": len(found["tasks"]),
            "progress": [_progress(one), _progress(two)],
            "same_release": releases[0] == releases[1],
        }

    def _purchase(self, record: dict[str, Any], line: bytes) -> dict[str, Any] | None:
        if record.get("schema") == TRACE_SCHEMA:
            return bought(played(read_record(line), self._release))
        return purchase_of(record) or None

    def _opened(self, run: str) -> tuple[RunEntry, RunIndex]:
        """The entry and its index, read on by one slice of time."""
        if self._root is None:
            raise RunError("this server shows no runs; start it with --runs DIR", code="unknown_run")
        entry = self._root.entry(run)
        index = self._indexes.pop(run, None) or RunIndex(partial(self._root.open, entry), pause=True)
        self._indexes[run] = index  # the one used last is the last
        while len(self._indexes) > _KEPT_RUNS:
            del self._indexes[next(iter(self._indexes))]
        index.advance(self._slice_s)
        return entry, index

    def _record(self, run: str, episode: str) -> tuple[Row, dict[str, Any], bytes]:
        _, index = self._opened(run)
        row = index.row(episode)
        line = index.line(row)
        record = load_line(line)
        if record.get("schema") != RLVE_EPISODE_SCHEMA:
            return row, record, line
        if row.status == FAILED:
            raise RunError("the episode failed, so it has no turns to show", code="not_ended")
        try:
            line = rlve_line(record, episode)
        except TraceError as error:
            raise RunError(str(error)) from error
        return row, load_line(line), line

    def _document(self, entry: RunEntry, file: str) -> dict[str, Any] | None:
        """A small JSON file of a run; None when it is missing, too large or no object."""
        if self._root is None or not 0 < entry.sizes.get(file, 0) <= _MOST_FILE:
            return None
        try:
            with self._root.open(entry, file) as stream:
                return load_line(stream.read(_MOST_FILE))
        except RunError:
            return None

    def _kept(self, what: Any, run: str, index: RunIndex, make: Any) -> Any:
        # Of a file that is still read, figures are made anew when there are twice as many episodes.
        version = index.version if index.done else (index.generation, -len(index.rows).bit_length())
        key = (what, run, id(index), version)
        answer = self._answers.get(key)
        if answer is None:
            answer = make()
            self._answers.put(key, answer)
        return answer


def _progress(index: RunIndex) -> dict[str, Any]:
    return {
        "indexed": index.offset,
        "size": index.size,
        "done": index.done,
        "recorded": len(index.rows),
        "lines": index.lines,
        "invalid_lines": index.invalid,
        "replaced": index.replaced,
        "torn": index.torn,
    }


def _listed(row: Row) -> dict[str, Any]:
    names = ("episode_id", "task", "task_id", "sample_id", "status", "reason", "reward", "steps", "invalid")
    more = ("duration_ms", "error", "instruction")
    found = {name: getattr(row, name) for name in (*names, *more)}
    found["success"] = None if row.components is None else row.components[COMPONENTS.index("r_success")]
    found["tokens"] = row.tokens[-1] if row.tokens else None
    return found


def _rule(record: dict[str, Any]) -> str:
    """The option rule of an episode; the default when the record does not say."""
    environment = record.get("environment")
    if record.get("schema") != TRACE_SCHEMA:
        environment = table(record.get("reset")).get("environment")
    return text(table(environment).get("option_match")) or "anchored"
