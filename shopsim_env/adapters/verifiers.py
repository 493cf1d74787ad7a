"""verifiers v1: `ShopTaskset`, its task, and the tools as a server for all rollouts (extra `verifiers`).

Belongs here: verifiers' own types. A rollout has one lease, whose id is in its `State`; the verdict is the
environment's. `python -m shopsim_env.adapters.verifiers` is the tool server, which verifiers starts itself.
"""

import asyncio
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from shopsim_env.adapters.playing import LOG, report_dropped, server_url, shared_client
from shopsim_env.client.asynchronous import AsyncClient
from shopsim_env.client.blocking import Client
from shopsim_env.errors import LeaseLostError, ShopSimError, UsageError
from shopsim_env.release import load_release
from shopsim_env.runner.core import RolloutResult, Settings, failure_kind
from shopsim_env.runner.protocol import call_message
from shopsim_env.runner.rollout import AsyncRollout, Rollout
from shopsim_env.shop.env import ShopEnv
from shopsim_env.shop.oracle import solve_any

try:
    import verifiers.v1 as vf
    from pydantic import Field
    from verifiers.v1.utils.decorators import discover_decorated
except ImportError as error:
    raise UsageError(
        f"the task set needs verifiers; install 'shopsim[verifiers]'. ({error})", code="missing_extra"
    ) from error

__all__ = ["ShopTaskset"]

ENDED: Final = "本轮购物已经结束，不能再操作。 / This episode has ended; nothing more can be done."
_PAGE: Final = 1_000
# Taken by `setup` in this process, for `validate`, which does not see the state.
_LEASES: "weakref.WeakKeyDictionary[Any, str]" = weakref.WeakKeyDictionary()


class SampleLostError(RuntimeError):
    """A rollout without a verdict: verifiers records the error, and no reward is computed."""


class ShopState(vf.State):  # type: ignore[misc]
    """What tool server and host share of a rollout; `result` has the members of `RolloutResult`."""

    lease_id: str = ""
    result: "dict[str, Any] | None" = None


class ShopToolsConfig(vf.SharedToolsetConfig):  # type: ignore[misc]
    """Settings of the tool server; those of the shop come from the task set."""

    server: "str | None" = None
    environment: dict[str, Any] = Field(default_factory=dict)


class ShopTaskConfig(vf.TaskConfig):  # type: ignore[misc]
    """Where rollouts are played."""

    server: "str | None" = None
    """Address of `shopsim serve`; None reads SHOPSIM_URL."""
    wait_s: float = 60.0
    """Seconds to wait for a slot."""
    release: "Path | None" = None
    """Folder of the release with its private part, for `validate`; without it tasks stay unchecked."""


class ShopConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Which tasks are played, and how."""

    task: ShopTaskConfig = ShopTaskConfig()
    split: str = "project/train"
    prompt: str = "zh-v1"
    """Name of the system prompt."""
    seed: int = 0
    """Seed of the episodes: wordings of the shopper."""
    environment: dict[str, Any] = Field(default_factory=dict)
    """Keywords of `ShopEnv`, such as `task_mode`, `interaction_mode`, `max_actions`."""
    tools: ShopToolsConfig = ShopToolsConfig()


class ShopData(vf.TaskData):  # type: ignore[misc]
    """A task as an agent sees it: `system_prompt`, and `prompt` with request and first page."""

    task_id: int
    seed: int
    environment: dict[str, Any]


class ShopTools(vf.Toolset[ShopToolsConfig, ShopState]):  # type: ignore[misc]
    """The tools of the shop. One process serves all rollouts; the lease of a call is in its state."""

    TOOL_PREFIX = None

    def __init__(self, config: ShopToolsConfig) -> None:
        super().__init__(config)
        self._rollouts: dict[str, tuple[AsyncRollout, asyncio.Lock]] = {}
        self._used: dict[str, float] = {}

    def register(self, mcp: Any) -> None:
        """Registers the tools; the shopper only where there is one."""
        asking = self.config.environment.get("interaction_mode") == "multi_turn"
        for tool in discover_decorated(self, "tool"):
            if asking or tool.__name__ != "ask_shopper":
                mcp.add_tool(
                    self._with_state(tool), name=tool.__name__, description=(tool.__doc__ or "").strip()
                )

    @vf.tool
    async def search(self, query: str) -> str:
        """Search the shop with key words, in Chinese."""
        return await self._call("search", query)

    @vf.tool
    async def click(self, value: str) -> str:
        """Click an element of the latest page; the value is its text, character for character."""
        return await self._call("click", value)

    @vf.tool
    async def ask_shopper(self, message: str) -> str:
        """Ask the customer about one thing, in Chinese."""
        return await self._call("ask_shopper", message)

    async def _call(self, name: str, argument: str) -> str:
        state = self.state
        if state.result is not None:
            return ENDED
        try:
            rollout, lock = await self._rollout_of(state.lease_id)
        except ShopSimError as error:
            state.result = _members(RolloutResult(valid=False, failure_kind=failure_kind(error)))
            return ENDED
        async with lock:
            replies = [] if rollout.done else await rollout.act(call_message(name, argument))
        if rollout.done:
            state.result = _members(rollout.result)
        return str(replies[0]["content"]) if replies else ENDED

    async def _rollout_of(self, lease_id: str) -> tuple[AsyncRollout, asyncio.Lock]:
        """The rollout of a lease, taken over at its first call."""
        if lease_id not in self._rollouts:
            episode = await shared_client(server_url(self.config.server)).attach(lease_id)
            self._forget_idle(episode.expires_in_s)
            settings = Settings.of("zh-v1", "static", True, False, self.config.environment)
            # Two first calls of one turn take the lease over one after the other; the later one has it.
            self._rollouts[lease_id] = AsyncRollout(episode, settings), asyncio.Lock()
        self._used[lease_id] = time.monotonic()
        return self._rollouts[lease_id]

    def _forget_idle(self, expires_in_s: float) -> None:
        """Drops rollouts whose lease is gone, for nothing was heard of them that long."""
        oldest = time.monotonic() - expires_in_s
        for lease_id in [lease_id for lease_id, used in self._used.items() if used < oldest]:
            del self._rollouts[lease_id], self._used[lease_id]


class ShopTask(vf.Task[ShopData, ShopState, ShopTaskConfig]):  # type: ignore[misc]
    """One task. `setup` takes the lease, `finalize` ends the episode and frees it."""

    @property
    def key(self) -> str:
        """The task id."""
        return str(self.data.task_id)

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        """Takes a lease.

        Raises:
            ShopSimError: there is none to be had; verifiers records the error and plays nothing.
        """
        data = self.data
        episode = await self._client().episode(
            data.task_id, seed=data.seed, tools="static", wait_s=self.config.wait_s, **data.environment
        )
        trace.state.lease_id = _LEASES[runtime] = episode.lease_id
        # For rollouts that never come to `finalize`: the lease goes with the trace.
        weakref.finalize(trace, _leave_later, asyncio.get_running_loop(), self._client(), episode.lease_id)

    async def finalize(self, trace: vf.Trace) -> None:
        """Ends an episode that the agent left, with reward 0, and frees the lease.

        Raises:
            SampleLostError: there is no verdict.
        """
        state = trace.state
        if state.result is None:
            state.result = _members(await self._ended(state.lease_id))
        result = RolloutResult(**state.result)
        if not result.valid:
            report_dropped(result, self.data.task_id)
            raise SampleLostError(f"the infrastructure failed ({result.failure_kind}); there is no reward")

    async def validate(self, runtime: vf.Runtime) -> "bool | None":
        """Whether the oracle reaches full success; None where the private part is not at hand."""
        if (lease_id := _LEASES.pop(runtime, None)) is not None:
            await _leave(self._client(), lease_id)  # of `setup`; no `finalize` follows
        if self.config.release is None:
            return None
        with load_release(self.config.release) as release:
            if release.manifest["public_copy"]:
                return None
            env = ShopEnv(release, **{**self.data.environment, "interaction_mode": "single_turn"})
            return bool(solve_any(release, env, self.data.task_id).reached)

    @vf.stop
    async def episode_ended(self, trace: vf.Trace) -> bool:
        """Nothing more can be done."""
        return trace.state.result is not None

    @vf.reward
    async def r_strict(self, trace: vf.Trace) -> float:
        """The strict reward, as the environment gave it."""
        return float(_verdict(trace)["reward"])

    @vf.metric
    async def shop(self, trace: vf.Trace) -> dict[str, float]:
        """Components and counts, as the environment gave them."""
        verdict = _verdict(trace)
        counts = {name: float(verdict[name]) for name in ("steps", "invalid_actions")}
        components = {name: value for name, value in verdict["components"].items() if name != "r_strict"}
        return {**components, **counts, "bought": float(verdict["terminated"])}

    def _client(self) -> AsyncClient:
        return shared_client(server_url(self.config.server))

    async def _ended(self, lease_id: str) -> RolloutResult:
        """The end of an episode that the agent left."""
        try:
            episode = await self._client().attach(lease_id)
        except ShopSimError as error:
            return RolloutResult(valid=False, failure_kind=failure_kind(error))
        settings = Settings.of("zh-v1", "static", True, False, self.data.environment)
        async with AsyncRollout(episode, settings) as rollout:
            await rollout.terminate("generation_length")
        return rollout.result


class ShopTaskset(vf.Taskset[ShopTask, ShopConfig]):  # type: ignore[misc]
    """The tasks of a split. Prompts are what the server shows at the start of each."""

    def load(self) -> Iterator[ShopTask]:
        """One task for each id of the split, in its order; each is started once, for its words.

        Raises:
            ShopSimError: no server, or not this split.
        """
        config = self.config
        with Client(server_url(config.task.server)) as client:
            for task_id in _task_ids(client, config.split):
                with Rollout.open(
                    client,
                    task_id,
                    seed=config.seed,
                    prompt=config.prompt,
                    tools="static",
                    **config.environment,
                ) as rollout:
                    system, user = rollout.messages
                data = ShopData(
                    id=str(task_id),
                    name=f"{config.split}/{task_id}",
                    prompt=user["content"],
                    system_prompt=system["content"],
                    task_id=task_id,
                    seed=config.seed,
                    environment=config.environment,
                )
                yield ShopTask(data, config.task)

    @classmethod
    def toolsets(cls, config: ShopConfig) -> list[Any]:
        """The tool server of all rollouts."""
        shop = {"server": server_url(config.task.server), "environment": config.environment}
        return [ShopTools(config.tools.model_copy(update=shop))]


def _task_ids(client: Client, split: str) -> Iterator[int]:
    seen = 0
    while True:
        page = client.tasks(split, offset=seen, limit=_PAGE)
        yield from (row.task_id for row in page.tasks)
        seen += len(page.tasks)
        if seen >= page.total or not page.tasks:
            return


def _members(result: RolloutResult) -> dict[str, Any]:
    return {name: getattr(result, name) for name in RolloutResult.__slots__}


def _verdict(trace: vf.Trace) -> dict[str, Any]:
    """The members of a valid result.

    Raises:
        SampleLostError: there is none: `finalize` has not run, or failed.
    """
    result: dict[str, Any] | None = trace.state.result
    if result is None or not result["valid"] or result["reward"] is None:
        raise SampleLostError("there is no verdict")
    return result


async def _leave(client: AsyncClient, lease_id: str) -> None:
    """Frees a lease, whoever plays it; one that is gone is fine."""
    try:
        await (await client.attach(lease_id)).leave()
    except LeaseLostError:
        return
    except ShopSimError as error:
        LOG.warning("an episode was not released and will expire: %s", error.code)


def _leave_later(loop: asyncio.AbstractEventLoop, client: AsyncClient, lease_id: str) -> None:
    """Frees a lease that is still held when its trace goes away, from whichever thread notices."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(lambda: loop.create_task(_leave(client, lease_id)))


if __name__ == "__main__":
    ShopTools.run()
