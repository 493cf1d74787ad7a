"""`RlveLeases`: leases over RLVE episodes, by the rules of `shopsim_env.pool`.

Belongs here: what a request and a turn are, how an episode is played again. The rules of leases (expiry,
fencing, waiting, repeated requests, the action log) are the pool's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from shopsim_env.canonical import compact_json, sha256_text
from shopsim_env.errors import EpisodeError
from shopsim_env.pool.holding import Holding
from shopsim_env.pool.lease import Entry, Lease, Started
from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.step import RlveStep
from shopsim_env.rlve.trace import RlveRecord, TracedEpisode, plain_turn
from shopsim_env.versions import RLVE_SUITE_VERSION


@dataclass(frozen=True, slots=True)
class RlveRequest:
    """Which episode is asked for. `request_id` and `note` as for `EpisodeRequest`."""

    key: EpisodeKey
    strict: bool = True
    request_id: str | None = None
    note: str = ""

    @property
    def seed(self) -> int:
        """Seed of the episode."""
        return self.key.seed

    def digest(self, n: int, *, group: bool) -> str:
        """Equal for equal requests, whatever their id; empty without an id."""
        if self.request_id is None:
            return ""
        return sha256_text(compact_json([self.key.as_dict(), self.strict, self.note, n, group]))


@dataclass(frozen=True, slots=True)
class Opening:
    """The start of a leased episode: which one it is, and what the agent sees first."""

    key: EpisodeKey
    strict: bool
    observation: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Past:
    """An episode up to some turn. It has nothing of its lease, so any thread may play it again."""

    market: Market
    key: EpisodeKey
    strict: bool
    entries: tuple[Entry, ...]

    def record(self) -> RlveRecord:
        """The trace up to that turn."""
        episode = TracedEpisode(self.market, self.key, strict=self.strict)
        for entry in self.entries:
            entry.play(episode)
        return episode.record

    def last(self) -> RlveStep:
        """What came of that turn."""
        episode = Episode(self.market, self.key, strict=self.strict)
        step: RlveStep = [entry.play(episode) for entry in self.entries][-1]
        return step


class TurnEntry(Entry):
    """A turn of the agent, as it was given."""

    __slots__ = ()

    def play(self, env: Any) -> RlveStep:
        """The step that came of it."""
        step: RlveStep = env.step(self.action)
        return step


class RlveWorld:
    """How leases over RLVE episodes are written into an action log."""

    version = RLVE_SUITE_VERSION

    def opening(self, lease: Lease) -> dict[str, Any]:
        """Key and strictness."""
        return {"key": lease.start.key.as_dict(), "strict": lease.start.strict}

    def request(self, opened: Mapping[str, Any]) -> RlveRequest:
        """The same."""
        return RlveRequest(EpisodeKey(**opened["key"]), opened["strict"])

    def entry(self, event: Mapping[str, Any]) -> TurnEntry:
        """A turn."""
        return TurnEntry(event["action"], None, event["request"])


RLVE: Final = RlveWorld()


class RlveLeases(Holding):
    """Leases over RLVE episodes.

    Args:
        market: Release, facts and pools; it stays open.
        slots: Number of episodes at once.
        rules: Further keywords of `LeasePool`.

    Raises:
        UsageError: a number out of range.
        JournalError: as `LeasePool`.
    """

    world = RLVE

    def __init__(self, market: Market, slots: int = 64, **rules: Any) -> None:
        self.market = market
        super().__init__(market.release, slots, **rules)

    def step(
        self, lease_id: str, turn: str | Mapping[str, Any], *, fence: int, request_id: str | None = None
    ) -> RlveStep:
        """Plays one turn; a `request_id` that this lease has seen gives its first answer again.

        Raises:
            PoolError: the lease is gone (`lease_lost`), taken over (`stale_fence`) or in use (`busy`).
            EpisodeError: the episode has ended (`ended`).
            SearchIndexError: the release cannot be read; nothing was played.
            TraceError: a turn that JSON cannot hold exactly.
        """
        lease = self._held(lease_id, fence)
        step: RlveStep = self._answer(lease, TurnEntry(plain_turn(turn), None, request_id))
        return step

    def finished(self, lease_id: str) -> Episode:
        """The episode of a lease, once it is over: its goal, score and last answer may be shown.

        Raises:
            PoolError: `lease_lost`.
            EpisodeError: it is not over (`not_ended`).
        """
        lease = self._held(lease_id, None)
        if not lease.done:
            raise EpisodeError("the goal is shown after the end of the episode", code="not_ended")
        episode: Episode = lease.env
        return episode

    def past(self, lease_id: str) -> Past:
        """The episode so far, to be played again.

        Raises:
            PoolError: `lease_lost`.
        """
        return self._past(self._held(lease_id, None))

    def repeated(self, lease_id: str, fence: int, request_id: str | None) -> Past | None:
        """The episode up to the turn that had this request id; None when `step` answers without playing it.

        Raises:
            PoolError: `lease_lost`, `stale_fence`.
        """
        lease = self._table.leases.get(lease_id)
        number = None if lease is None or request_id is None else lease.answered.get(request_id)
        if lease is None or number in (None, len(lease.entries)):
            return None
        self._held(lease_id, fence)
        self.counters.repeated += 1
        return self._past(lease, number)

    def trace(self, lease_id: str) -> RlveRecord:
        """The trace of the episode so far, played again.

        Raises:
            PoolError: `lease_lost`.
        """
        return self.past(lease_id).record()

    def _past(self, lease: Lease, turns: int | None = None) -> Past:
        return Past(self.market, lease.start.key, lease.start.strict, tuple(lease.entries[:turns]))

    def _start(self, request: Any) -> Started:
        episode = Episode(self.market, request.key, strict=request.strict)
        return Started(episode, Opening(request.key, request.strict, episode.observation()))

    def _again(self, lease: Lease) -> Episode:
        return Episode(self.market, lease.start.key, strict=lease.start.strict)

    def _done(self, lease: Lease, entry: Entry) -> RlveStep:
        episode, lease.env = lease.env, None
        if episode is None:
            # A failure in the middle of a turn left half of it played: begin anew, up to where it was.
            episode = self._again(lease)
            for earlier in lease.entries:
                earlier.play(episode)
        step: RlveStep = entry.play(episode)
        lease.env = episode
        return step
