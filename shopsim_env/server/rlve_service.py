"""What the endpoints of `/v1/rlve` do, apart from HTTP. For RLVE what `service` is for the Shop.

Belongs here: calls of the leases, waiting, the log of what happened; and whether RLVE can be had at all.
Nothing of it is imported, and no facts are opened, before somebody asks for it.
"""

import asyncio
import importlib.util
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from shopsim_env.errors import PoolError, ShopSimError
from shopsim_env.pool import Lease
from shopsim_env.pool.journal import Journal
from shopsim_env.pool.resuming import holds_leases
from shopsim_env.release import Release
from shopsim_env.server import answers
from shopsim_env.server.opening import Gone, open_when_free
from shopsim_env.server.problems import ProblemError
from shopsim_env.shop.served import encode
from shopsim_env.versions import RLVE_SUITE_VERSION

if TYPE_CHECKING:
    from shopsim_env.rlve.leases import RlveLeases, RlveRequest
    from shopsim_env.rlve.step import RlveStep

LOG = logging.getLogger("shopsim_env.server")
_NOTE = "functions"


class RlveService:
    """The endpoints over RLVE leases, which are made at the first request. For one event loop.

    Args:
        release: The release that is served.
        slots: Number of RLVE episodes at once, besides those of the Shop.
        journal: Where what a restarted server needs is written down.
        rules: Further keywords of `LeasePool`.
    """

    def __init__(
        self, release: Release, slots: int = 64, *, journal: Journal | None = None, **rules: Any
    ) -> None:
        self._release = release
        self._slots = slots
        self._journal = journal
        self._rules = rules
        self._opened = ExitStack()
        self._opening = asyncio.Lock()
        # Playing a long episode again takes seconds, in which the others play on.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="rlve-again")
        self._stopped = False
        self.leases: RlveLeases | None = None

    @property
    def running(self) -> int:
        """Number of leases whose episode has not ended."""
        return 0 if self.leases is None else self.leases.running

    @property
    def resumed(self) -> int:
        """Number of leases that the journal brought back."""
        return 0 if self.leases is None else self.leases.counters.resumed

    def resume(self) -> None:
        """Opens RLVE now if the journal has live leases; without any it is opened when somebody asks.

        Raises:
            JournalError: as `LeasePool`.
            ProblemError: it has, and RLVE cannot be had (`rlve_unavailable`).
        """
        if self._journal is not None and holds_leases(self._journal, self._release, RLVE_SUITE_VERSION):
            self.open_now()

    def open_now(self) -> "RlveLeases":
        """The leases, opened if they are not yet; for whoever has no event loop.

        Raises:
            JournalError: as `LeasePool`.
            ProblemError: RLVE cannot be had (`rlve_unavailable`).
        """
        if self.leases is None:
            self.leases = self._open()
        return self.leases

    async def info(self, language: str) -> dict[str, Any]:
        """What can be played, with which tools, and what an answer holds."""
        await self._ready()
        return self.about(language)

    def about(self, language: str) -> dict[str, Any]:
        """As `info`, once the leases are there."""
        from shopsim_env.rlve.answering import answer_schema
        from shopsim_env.rlve.environments import COLLECTIONS, ENVIRONMENTS
        from shopsim_env.rlve.episode import REASONS
        from shopsim_env.rlve.tools import TOOLS, schemas
        from shopsim_env.server.rlve_bodies import LANGUAGES, MAX_SERVED_DIFFICULTY

        about = schemas(language)
        return {
            "suite": RLVE_SUITE_VERSION,
            "release": self._release.id,
            "currency": self.live().market.currency,
            "languages": list(LANGUAGES),
            "max_difficulty": MAX_SERVED_DIFFICULTY,
            "environments": [
                {"id": env_id, "name": name, "answer": answer_schema(env_id, language)}
                for env_id, name in ENVIRONMENTS.items()
            ],
            "collections": {name: list(ids) for name, ids in COLLECTIONS.items()},
            "reasons": list(REASONS),
            "tools": [
                {"name": spec.name, "alias": spec.alias, "about": spec.about[language], "schema": about[name]}
                for name, spec in TOOLS.items()
            ],
        }

    async def reset(self, fields: dict[str, Any], gone: Gone) -> bytes:
        """Opens an episode, when there is a slot."""
        await self._ready()
        (lease,) = await open_when_free(self.live(), rlve_request(fields), fields["wait_s"], gone)
        self._log("rlve episode opened", lease)
        return self._joined(lease, self.start_of(lease))

    def step(self, lease_id: str, fields: dict[str, Any]) -> bytes:
        """Plays one turn."""
        leases = self.live()
        known = leases.counters.ended
        step = leases.step(lease_id, fields["turn"], fence=fields["fence"], request_id=fields["request_id"])
        if leases.counters.ended > known:
            reward = step.info["reward"]
            facts = {"reason": step.info["reason"], "reward": step.reward, "success": reward["success"]}
            self._log("rlve episode ended", leases.peek(lease_id), **facts, turns=reward["turns"])
        return encode(_played(step))

    def step_or_repeat(self, lease_id: str, fields: dict[str, Any]) -> bytes | Coroutine[Any, Any, bytes]:
        """As `step`; an answer for which earlier turns are played again comes from the thread beside."""
        past = self.live().repeated(lease_id, fields["fence"], fields["request_id"])
        if past is None:
            return self.step(lease_id, fields)
        return self._beside(lambda: encode(_played(past.last())))

    def look(self, lease_id: str) -> bytes:
        """The episode as it stands."""
        return self._whole(self.live().use(lease_id))

    def take_over(self, lease_id: str) -> bytes:
        """Shuts out whoever used the lease so far, and looks."""
        lease = self.live().take_over(lease_id)
        self._log("rlve lease taken over", lease)
        return self._whole(lease)

    def heartbeat(self, lease_id: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Keeps the lease."""
        leases = self.live()
        return answers.holding(leases.use(lease_id, fields["fence"]), leases.ttl_s)

    def trace(self, lease_id: str) -> bytes:
        """The line of the episode's trace, so far."""
        return self.live().trace(lease_id).line()

    async def trace_beside(self, lease_id: str) -> bytes:
        """As `trace`, from the thread beside."""
        past = self.live().past(lease_id)
        return await self._beside(lambda: past.record().line())

    def goal(self, lease_id: str) -> dict[str, Any]:
        """The goal of an episode that is over, and what the task came to."""
        episode = self.live().finished(lease_id)
        score = episode.score
        return {
            "goal": episode.goal(),
            # None after a hard failure: nothing was graded.
            "score": None
            if score is None
            else {"score": score.score, "success": score.success, "parts": dict(score.parts)},
        }

    def give_back(self, lease_id: str, fence: int | None) -> dict[str, Any]:
        """Releases the lease."""
        return {"released": self.leases is not None and self.leases.give_back(lease_id, fence)}

    def give_back_all(self) -> dict[str, Any]:
        """Releases every lease."""
        count = 0 if self.leases is None else self.leases.give_back_all()
        LOG.warning("all rlve leases released", extra={"facts": {"leases": count}})
        return {"released": count}

    def sweep(self) -> None:
        """As `LeasePool.sweep`."""
        if self.leases is not None:
            self.leases.sweep()

    def stop(self) -> None:
        """Takes no more requests for episodes; live leases go on."""
        self._stopped = True
        if self.leases is not None:
            self.leases.stop()

    def close(self) -> None:
        """Forgets every lease and closes the facts; the release stays open."""
        self._thread.shutdown(cancel_futures=True)
        self._opened.close()

    def live(self) -> "RlveLeases":
        """The leases, where one of them is asked for.

        Raises:
            PoolError: nobody can hold one yet (`lease_lost`).
        """
        if self.leases is None:
            raise PoolError("the lease is not live: never given; start a new episode", code="lease_lost")
        return self.leases

    async def _ready(self) -> None:
        """Opens facts and leases once, in a thread: importing takes a second in which others play on."""
        if self.leases is not None:
            return
        async with self._opening:
            if self.leases is None:
                leases = await asyncio.get_running_loop().run_in_executor(None, self._open)
                if self._stopped:
                    leases.stop()
                self.leases = leases

    async def _beside(self, make: Callable[[], bytes]) -> bytes:
        return await asyncio.get_running_loop().run_in_executor(self._thread, make)

    def _open(self) -> "RlveLeases":
        if importlib.util.find_spec("pydantic") is None:
            raise ProblemError(
                "RLVE needs pydantic, which this server does not have; install 'shopsim[rlve]' there",
                code="rlve_unavailable",
            )
        from shopsim_env.rlve.leases import RlveLeases
        from shopsim_env.rlve.market import Market

        try:
            market = self._opened.enter_context(Market.of(self._release))
        except ShopSimError as error:
            raise ProblemError(f"this release has no RLVE: {error}", code="rlve_unavailable") from error
        leases = RlveLeases(market, self._slots, journal=self._journal, **self._rules)
        self._opened.callback(leases.close)
        return leases

    def start_of(self, lease: Lease) -> dict[str, Any]:
        """What the start of a lease showed."""
        opening = lease.start
        start = {
            "release": self._release.id,
            "suite": RLVE_SUITE_VERSION,
            "key": opening.key.as_dict(),
            "strict": opening.strict,
            "observation": opening.observation,
        }
        if lease.note == _NOTE:
            from shopsim_env.rlve.tools import functions

            start["tools"] = functions(opening.key.language)
        return start

    def _whole(self, lease: Lease) -> bytes:
        last = None if lease.last is None else _played(lease.last)
        return self._joined(
            lease, {**self.start_of(lease), "turns_played": len(lease.entries), "last_step": last}
        )

    def _joined(self, lease: Lease, more: dict[str, Any]) -> bytes:
        return encode({**answers.holding(lease, self.live().ttl_s), **more})

    def _log(self, event: str, lease: Lease, **more: Any) -> None:
        key = lease.start.key
        facts = {"slot": lease.slot, "fence": lease.fence, "env_id": key.env_id, "difficulty": key.difficulty}
        LOG.info(event, extra={"facts": {**facts, **more}})


def rlve_request(fields: dict[str, Any]) -> "RlveRequest":
    """What the checked fields of a reset ask the leases for.

    Raises:
        ProblemError, UsageError: as `check_hits`.
    """
    from shopsim_env.rlve.episode import EpisodeKey
    from shopsim_env.rlve.leases import RlveRequest
    from shopsim_env.server.rlve_bodies import check_hits

    check_hits(fields["difficulty"], fields["overrides"])
    names = ("env_id", "difficulty", "seed", "language", "overrides")
    key = EpisodeKey(**{name: fields[name] for name in names})
    return RlveRequest(key, fields["strict"], fields["request_id"], fields["tools"])


def _played(step: "RlveStep") -> dict[str, Any]:
    return {"observation": step.observation, "reward": step.reward, "done": step.done, "info": step.info}
