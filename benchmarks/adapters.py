"""What the adapters for trainers cost a step, beside a model that answers at once.

    python benchmarks/adapters.py [--episodes 200]

The same winning episode is played again and again on a server in a process of its own: by the bare client,
and through each adapter with a scripted model. Printed are CPU time of this process and wall time per step,
the difference to the bare client, and how much of it a tokenizer takes. verl and verifiers are measured where
this interpreter has them (`build/adapters/NAME/bin/python benchmarks/adapters.py`), the others everywhere.
"""

import argparse
import asyncio
import os
import platform
import sys
import time
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from machine import cpu_name

from shopsim_env import AsyncClient, Client, ShopEnv, load_release
from shopsim_env.adapters import slime
from shopsim_env.adapters.playing import Play, Sampled
from shopsim_env.adapters.tokens import ChatTokens
from shopsim_env.adapters.trl import ShopTools
from shopsim_env.shop.oracle import solve

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from places import SAMPLE_RELEASE  # noqa: E402
from servers import ServerProcess  # noqa: E402
from token_models import END, ByteTokenizer, call_text  # noqa: E402

GOAL_MS = 1.0
Episode = Callable[[], Awaitable[float]]


class Timed(ByteTokenizer):
    """A tokenizer that adds up its own CPU time: a real one is faster, and the trainer's."""

    spent = 0.0

    def _timed(self, call: Callable[[], Any]) -> Any:
        start = time.process_time()
        try:
            return call()
        finally:
            Timed.spent += time.process_time() - start

    def encode(self, text: str, **options: Any) -> Any:
        """As a tokenizer."""
        return self._timed(lambda: super(Timed, self).encode(text, **options))

    def decode(self, token_ids: Any, **options: Any) -> Any:
        """As a tokenizer."""
        return self._timed(lambda: super(Timed, self).decode(token_ids, **options))

    def apply_chat_template(self, conversation: Any, **options: Any) -> Any:
        """As a tokenizer."""
        return self._timed(lambda: super(Timed, self).apply_chat_template(conversation, **options))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=200)
    count = parser.parse_args().episodes
    print(f"{platform.machine()}, {cpu_name()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    task_id, actions = winnable()
    print(
        f"{count} episodes of {len(actions)} steps; per step: CPU ms, wall ms, CPU ms above the bare client"
    )
    # Nobody reads the log before the end, and a full pipe would stop the server.
    with ServerProcess(SAMPLE_RELEASE, "--slots", "4", "--log-level", "warning") as server:
        return asyncio.run(measured(f"http://127.0.0.1:{server.port}", task_id, actions, count))


def winnable() -> tuple[int, tuple[str, ...]]:
    """The first task that the oracle wins, and how."""
    with load_release() as release:
        env = ShopEnv(release)
        for task_id in release.splits["project/train"]:
            result = solve(release, env, task_id)
            if result.reached:
                return task_id, result.actions
    raise RuntimeError("the sample has tasks that can be won")


async def measured(url: str, task_id: int, actions: tuple[str, ...], count: int) -> int:
    """Measures everything that is installed; 1 when an adapter is above the goal."""
    over = []
    async with AsyncClient(url) as client:
        bare = await timed(
            "bare AsyncClient", bare_episode(client, task_id, actions), len(actions), count, None
        )
        slow = await timed("slime", slime_episode(client, task_id, actions), len(actions), count, bare)
        over += ["slime"] if slow > GOAL_MS else []
    with Client(url) as blocking:
        bare = await timed(
            "bare Client", bare_blocking(blocking, task_id, actions), len(actions), count, None
        )
        slow = await timed("TRL", trl_episode(blocking, task_id, actions), len(actions), count, bare)
        over += ["TRL"] if slow > GOAL_MS else []
    if find_spec("verifiers"):
        async with AsyncClient(url) as client:
            bare = await timed(
                "bare AsyncClient", bare_episode(client, task_id, actions), len(actions), count, None
            )
            slow = await timed(
                "verifiers' tools", tools_episode(url, client, task_id, actions), len(actions), count, bare
            )
            over += ["verifiers"] if slow > GOAL_MS else []
    print(f"goal {GOAL_MS} ms: " + (f"missed by {', '.join(over)}" if over else "kept"))
    return 1 if over else 0


async def timed(name: str, episode: Episode, steps: int, count: int, bare: float | None) -> float:
    """CPU milliseconds per step; with `bare`, what is above it without the tokenizer."""
    for _ in range(5):
        assert await episode() == 1.0, name
    Timed.spent = 0.0
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(count):
        await episode()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    per = 1_000 / (count * steps)
    each, tokenizer = cpu * per, Timed.spent * per
    line = f"{name:<18} {each:7.3f} {wall * per:7.3f}"
    if bare is None:
        print(line)
        return each
    own = each - bare - tokenizer
    print(f"{line} {own:7.3f}   ratio {each / bare:.2f}, the tokenizer takes {tokenizer:.3f}")
    return own


def bare_episode(client: AsyncClient, task_id: int, actions: tuple[str, ...]) -> Episode:
    """The actions, and nothing else."""

    async def play() -> float:
        async with client.episode(task_id, tools="static") as episode:
            for action in actions:
                step = await episode.step(action)
        return float(step.reward or 0)

    return play


def bare_blocking(client: Client, task_id: int, actions: tuple[str, ...]) -> Episode:
    async def play() -> float:
        with client.episode(task_id, tools="static") as episode:
            for action in actions:
                step = episode.step(action)
        return float(step.reward or 0)

    return play


def slime_episode(client: AsyncClient, task_id: int, actions: tuple[str, ...]) -> Episode:
    """`fill`: the loop that slime and verl share, with tokens and masks."""
    tokenizer = Timed()
    answers = [tokenizer.encode(call_text(action) + END, add_special_tokens=False) for action in actions]
    settings = Play(client, ChatTokens(tokenizer), 10**9)
    status = SimpleNamespace(COMPLETED=1, TRUNCATED=2, ABORTED=3)

    class Sample:
        Status = status

        def __init__(self) -> None:
            self.metadata: dict[str, Any] = {"task_id": task_id}
            self.reward: float | None = None

    async def play() -> float:
        said = iter(answers)

        async def model(_ids: list[int], _left: int) -> Sampled:
            ids = next(said)
            return Sampled(ids, [0.0] * len(ids))

        sample = await slime.fill(Sample(), settings, model)
        return float(sample.reward)

    return play


def trl_episode(client: Client, task_id: int, actions: tuple[str, ...]) -> Episode:
    tools = ShopTools(lambda: client)

    async def play() -> float:
        tools.reset(task_id=task_id)
        for action in actions:
            name, _, rest = action.partition("[")
            getattr(tools, name)(rest[:-1])
        return float(tools.get_reward() or 0)

    return play


def tools_episode(url: str, client: AsyncClient, task_id: int, actions: tuple[str, ...]) -> Episode:
    """The tool server's own part; how verifiers carries a call to it is verifiers'."""
    from shopsim_env.adapters.verifiers import ShopState, ShopTools, ShopToolsConfig

    server = ShopTools(ShopToolsConfig(server=url))

    async def play() -> float:
        episode = await client.episode(task_id, tools="static")
        server._inert_state = state = ShopState(lease_id=episode.lease_id)
        for action in actions:
            name, _, rest = action.partition("[")
            await getattr(server, name)(rest[:-1])
        return float((state.result or {})["reward"])

    return play


if __name__ == "__main__":
    sys.exit(main())
