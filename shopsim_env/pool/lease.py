"""What a lease is: one episode in one slot, owned by whoever knows its id and its current fencing number.

Belongs here: the values, and how an episode of the Shop is started and played again from its entries. Who may
do what, and when a lease ends, is decided in `reception` and `holding`. A lease may be over any episode: what
plays it, its start and its steps are of the world whose pool opened it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from shopsim_env.canonical import compact_json, sha256_text
from shopsim_env.errors import UsageError
from shopsim_env.recording import IdentifiedRelease, start_record, with_step
from shopsim_env.shop.env import ShopEnv
from shopsim_env.trace import TraceRecord, decode_action


class Request(Protocol):
    """What the rules of leases have to know of a request, whatever it asks for."""

    @property
    def seed(self) -> int | None:
        """Seed of the episode."""

    @property
    def request_id(self) -> str | None:
        """See `EpisodeRequest`."""

    @property
    def note(self) -> str:
        """See `EpisodeRequest`."""

    def digest(self, n: int, *, group: bool) -> str:
        """Equal for equal requests, whatever their id; empty without an id."""


@dataclass(frozen=True, slots=True)
class EpisodeRequest:
    """What a client asks of the Shop. `options` are keywords of `ShopEnv`; a task or a split is needed.

    `request_id` makes the request repeatable: as long as a lease that it opened lives, the same id gives that
    lease again. Whoever knows it gets the lease, so it must be as hard to guess as a lease id. `note` is for
    the caller: it is found again in the lease, also after a restart.
    """

    task_id: int | None = None
    split: str | None = None
    seed: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    request_id: str | None = None
    note: str = ""

    def digest(self, n: int, *, group: bool) -> str:
        """Equal for equal requests, whatever their id; empty without an id."""
        if self.request_id is None:
            return ""
        asked = [self.task_id, self.split, self.seed, dict(self.options), self.note, n, group]
        return sha256_text(compact_json(asked))


@dataclass(frozen=True, slots=True)
class Started:
    """What plays an episode, and what its start showed: in the Shop a `ShopEnv` and its `Reset`."""

    env: Any
    start: Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was done: an action as `encode_action` writes it, or a forced end with its reason.

    Other worlds have entries of their own, which differ in how they are played.
    """

    action: Any = None
    reason: str | None = None
    request_id: str | None = None

    def play(self, env: Any) -> Any:
        """Does it in what plays the episode; the step that came of it."""
        return env.step(decode_action(self.action)) if self.reason is None else env.terminate(self.reason)


@dataclass(slots=True, eq=False)
class Lease:
    """A live lease. Only the pool changes it; `id` is a secret of its holder.

    `slot` was the lowest free number. `start` is what the reset showed, `last` the latest step, `group` the
    id of the group that the episode was opened in, `asked` the digest of the request. `answered` says which
    entry (from 1) had a request id.
    """

    id: str
    fence: int
    slot: int
    start: Any
    env: Any
    seed: int | None
    request_id: str | None = None
    asked: str = ""
    note: str = ""
    group: str | None = None
    entries: list[Entry] = field(default_factory=list)
    answered: dict[str, int] = field(default_factory=dict)
    last: Any = None
    deadline: float = 0.0
    busy: bool = False

    @property
    def done(self) -> bool:
        """Whether the episode has ended; the lease may go on."""
        return self.last is not None and bool(self.last.done)

    def add(self, entry: Entry, step: Any) -> None:
        """Notes what was done and what came of it."""
        self.entries.append(entry)
        if entry.request_id is not None:
            self.answered[entry.request_id] = len(self.entries)
        self.last = step

    def __repr__(self) -> str:
        return f"Lease(slot={self.slot}, fence={self.fence}, ...)"


def start_episode(
    release: IdentifiedRelease, request: EpisodeRequest, env_class: type[ShopEnv] = ShopEnv
) -> Started:
    """Starts the episode that is asked for: everything that a request may have wrong is refused here.

    Raises:
        UsageError, TaskError: as `ShopEnv` and its `reset`; a task and a split, or neither.
    """
    if request.task_id is not None and request.split is not None:
        raise UsageError("expected a task_id or a split, found both", code="task_and_split")
    if request.task_id is None and request.split is None:
        raise UsageError("expected a task_id, or a split to draw from, found neither", code="no_task")
    env = env_class(release, split=request.split, **request.options)
    return Started(env, env.reset(request.task_id, seed=request.seed))


def start_again(release: IdentifiedRelease, lease: Lease) -> Started:
    """The start of the lease's episode in a new environment of the same kind."""
    env = type(lease.env)(release, **lease.env.options)
    return Started(env, env.reset(lease.start.task_id, seed=lease.seed))


def trace_of(release: IdentifiedRelease, lease: Lease) -> TraceRecord:
    """The trace of the episode so far, played again: equal actions give equal bytes (contract 7.14)."""
    env = ShopEnv(release, **lease.env.options)
    start = env.reset(lease.start.task_id, seed=lease.seed)
    record = start_record(release.id, env.options, start, lease.seed)
    for entry in lease.entries:
        step = entry.play(env)
        if entry.reason is None:
            record.actions.append(entry.action)
        record = with_step(record, step, "action" if entry.reason is None else "caller")
    return record
