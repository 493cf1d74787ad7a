"""The runner against a scripted endpoint: every episode accounted for, kill -9, and its cost beside a call.

    python benchmarks/runner.py [--episodes 2000] [--kills 20] [--concurrency 32] [--seed 1] [--part all]
        [--world shop]

Part `kills` plays the run once undisturbed and once with kill -9 of the runner at random moments. Compared
are the summaries (wall times apart) and, at the endpoint, that no completed episode was asked again. Part
`cost` takes CPU time of the runner per step, of the bare client with the very same requests, and of the
environment alone. `--world rlve` plays part `kills` with the oracle and broken models of RLVE. Exit code 1
when anything is lost, repeated or different. The endpoint is `tests/chat_stub.py` or
`tests/rlve_chat_stub.py` in a process of its own.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from machine import cpu_name

from shopsim_env import ShopEnv, load_release
from shopsim_env.replay import verify_file
from shopsim_env.runner.chat import ChatModel
from shopsim_env.runner.config import read_config
from shopsim_env.runner.execute import execute
from shopsim_env.trace import TraceReader

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
import chat_runs  # noqa: E402
import rlve_chat_stub  # noqa: E402

from shopsim_env.rlve.environments import ENVIRONMENTS  # noqa: E402
from shopsim_env.rlve.episode import EpisodeKey  # noqa: E402
from shopsim_env.rlve.market import Market  # noqa: E402

KINDS = (
    *("good",) * 8,
    *("malformed", "two_calls", "unknown_tool", "talk", "stubborn", "long", "context"),
    *("flaky", "cut", "html", "slow"),
)
REPEATS = 8
PROGRAM = "import sys; from shopsim_env.cli import main; sys.exit(main())"
FAILED: list[str] = []


def main() -> int:
    arguments = _arguments()
    print(f"{platform.machine()}, {cpu_name()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as folder, load_release() as release:
        if arguments.world == "rlve":
            kills(Path(folder), release, rlve_world(release, arguments), arguments)
            return verdict()
        tasks = chat_runs.winnable(release, -(-arguments.episodes // REPEATS), "source/all_train")
        if arguments.part in ("all", "cost"):
            cost(Path(folder), release, tasks)
        if arguments.part in ("all", "kills"):
            kills(Path(folder), release, shop_world(tasks, arguments), arguments)
    return verdict()


def verdict() -> int:
    print("ok" if not FAILED else f"FAILED: {FAILED}")
    return 1 if FAILED else 0


@dataclass(frozen=True)
class World:
    """What a run is made of: script of the endpoint, its program, the file of a run, and the right ends."""

    script: dict[int, Any]
    stub: str
    config: Callable[[Path, str, str], Path]
    end: Callable[[str], str]


def shop_world(tasks: dict[int, list[str]], arguments: argparse.Namespace) -> World:
    def config(folder: Path, url: str, name: str) -> Path:
        run = {"name": name, "concurrency": arguments.concurrency}
        ids = {"split": None, "ids": list(tasks), "repeats": REPEATS}
        return chat_runs.config(folder, url, run=run, tasks=ids)

    ends = {"stubborn": "action_limit", "long": "generation_length", "context": "generation_length"}
    script = chat_runs.script(tasks, KINDS, repeats=REPEATS)
    return World(script, "chat_stub.py", config, lambda kind: ends.get(kind, "purchase"))


def rlve_world(release: Any, arguments: argparse.Namespace) -> World:
    """All environments at three levels; every eighth episode is broken, others lose requests on the way."""
    levels, script = (0, 4, 8), {}
    seeds = -(-arguments.episodes // (len(ENVIRONMENTS) * len(levels) * 2))
    broken = {
        "malformed": ([rlve_chat_stub.MALFORMED], "format_invalid"),
        "unknown": ([rlve_chat_stub.UNKNOWN], "tool_invalid"),
        "silent": ([rlve_chat_stub.EMPTY], "format_invalid"),
    }
    kinds = ("good", "flaky", "good", "cut", "malformed", "html", "good", "slow", "unknown", "good", "silent")
    with Market.of(release) as market:
        keys = [EpisodeKey(*key) for key in product(ENVIRONMENTS, levels, range(1, seeds + 1))]
        for place, (key, sample) in enumerate(product(keys, (0, 1))):
            kind = kinds[place % len(kinds)]
            said = broken[kind][0] if kind in broken else rlve_chat_stub.oracle_messages(market, key)
            script[rlve_chat_stub.model_seed(key, sample)] = (kind, said)

    def config(folder: Path, url: str, name: str) -> Path:
        keys = {"environments": list(ENVIRONMENTS), "difficulties": levels, "seeds": seeds, "first_seed": 1}
        more: dict[str, Any] = {"name": name, "concurrency": arguments.concurrency}
        return rlve_chat_stub.config(folder, url, **more, **keys)

    ends = {kind: end for kind, (_, end) in broken.items()}
    return World(script, "rlve_chat_stub.py", config, lambda kind: ends.get(kind, "agent_done"))


def check(name: str, holds: bool) -> None:
    print(f"{'ok ' if holds else 'NOT'} {name}")
    if not holds:
        FAILED.append(name)


@contextmanager
def endpoint(folder: Path, script: dict[int, Any], stub: str = "chat_stub.py") -> Iterator[str]:
    """The stub as a process; its base URL."""
    path = folder / "script.json"
    path.write_text(json.dumps(script), encoding="utf-8")
    command = [sys.executable, str(ROOT / "tests" / stub), str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def asked(url: str) -> Counter[tuple[int, int]]:
    """Requests that the endpoint saw, by (episode seed, step)."""
    with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310
        return Counter({(seed, step): count for seed, step, count in json.loads(answer.read())})


def kills(folder: Path, release: Any, world: World, arguments: argparse.Namespace) -> None:
    script = world.script
    kinds = len({kind for kind, _ in script.values()})
    print(f"\n{len(script)} episodes, {kinds} kinds of models, {arguments.kills} kills")
    runs = {}
    for name in ("undisturbed", "killed"):
        with endpoint(folder, script, world.stub) as url:
            config = world.config(folder, url, name)
            start = time.monotonic()
            if name == "killed":
                disturbed(config, folder, url, arguments, start_s=runs["undisturbed"][1])
            code = process(config).wait()
            runs[name] = summary(folder / "runs" / name), time.monotonic() - start
            account(folder / "runs" / name, world, asked(url), code)
        print(f"    {name}: {runs[name][1]:.1f} s")
    check("both summaries are equal apart from wall times", runs["undisturbed"][0] == runs["killed"][0])
    found = verify_file(folder / "runs" / "killed" / "traces.jsonl", release)
    check(f"replay of {found.episodes} episodes, {found.steps} actions: every byte", found.ok)
    print("    " + json.dumps(runs["killed"][0]["counts"]), json.dumps(runs["killed"][0]["behavior"]))


def process(config: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", PROGRAM, "run", "resume", str(config), "--quiet"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT, env=environment)


def disturbed(config: Path, folder: Path, url: str, arguments: argparse.Namespace, start_s: float) -> None:
    """Kills the runner at random moments, also while it starts or is busy with its last episodes."""
    draw, repeated, moments = random.Random(arguments.seed), 0, []  # noqa: S311
    for _ in range(arguments.kills):
        done, before = completed(folder / "runs" / "killed"), asked(url)
        running = process(config)
        moments.append(draw.uniform(0.2, 2 * start_s / arguments.kills + 1.0))
        time.sleep(moments[-1])
        running.kill()
        running.wait()
        repeated += len({seed for seed, _ in asked(url) - before} & done)
        lost = done - completed(folder / "runs" / "killed")
        check(f"killed after {moments[-1]:.1f} s with {len(done)} completed before", not lost)
    check("no completed episode was asked again", repeated == 0)


def completed(run: Path) -> set[int]:
    """Seeds of the model in episodes that are on the disk; an unfinished last line is none."""
    path = run / "traces.jsonl"
    if not path.exists():
        return set()
    records = (json.loads(line) for _, line in TraceReader(path))
    return {model_seed(one) for one in records if one["status"] == "completed"}


def model_seed(record: dict[str, Any]) -> int:
    """The seed with which the endpoint is asked for the first step of an episode."""
    job = record["job"]
    return int(job.get("model_seed", job["seed"]))


def summary(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    found["cost"].pop("duration_ms_mean")
    return found


def account(run: Path, world: World, requests: Counter[tuple[int, int]], code: int) -> None:
    """Whether every planned episode has exactly one line, and ended as its model must."""
    records, script = chat_runs.recorded(run), world.script
    check("exit code 0", code == 0)
    check(
        "one completed line per planned episode",
        sorted(model_seed(one) for one in records) == sorted(script),
    )
    ends = Counter((script[model_seed(one)][0], one["final"]["termination_reason"]) for one in records)
    wrong = [(kind, reason) for kind, reason in ends if reason != world.end(kind)]
    check("every model came to its own end", not wrong)
    steps = {(model_seed(one), step["step"]) for one in records for step in one["steps"]}
    check("every recorded step was asked for", steps <= set(requests))


def cost(folder: Path, release: Any, tasks: dict[int, list[str]]) -> None:
    some = dict(list(tasks.items())[:60])
    script = chat_runs.script(some, ("good", "stubborn"), repeats=2)
    with endpoint(folder, script) as url:
        run(folder, url, "warm", list(some)[:2])  # packages, caches, connections
        start = time.process_time()
        records = run(folder, url, "cost", list(some))
        whole = time.process_time() - start
        calls = asyncio.run(bare(folder / "run.toml", records))
    start = time.process_time()
    for record in records:
        play(release, record)
    world = time.process_time() - start
    steps = sum(len(record["steps"]) for record in records)
    per = {
        name: 1_000 * value / steps for name, value in (("run", whole), ("calls", calls), ("world", world))
    }
    print(f"\n{len(records)} episodes, {steps} steps, a model that answers at once, CPU ms a step")
    print(f"    runner with everything        {per['run']:.3f}")
    print(f"    the client's own calls        {per['calls']:.3f}")
    print(f"    pages and rewards             {per['world']:.3f}")
    print(f"    runner above both             {per['run'] - per['calls'] - per['world']:.3f}")
    check("the runner adds at most 1 ms a step to the client's own call", per["run"] - per["calls"] <= 1.0)


def run(folder: Path, url: str, name: str, tasks: list[int]) -> list[dict[str, Any]]:
    """Plays two episodes of each task in this process, one after another."""
    path = chat_runs.config(
        folder,
        url,
        run={"name": name, "concurrency": 1},
        tasks={"split": None, "ids": tasks, "repeats": 2},
    )
    config = read_config(path)
    asyncio.run(execute(config, resume=False, shown=False))
    return chat_runs.recorded(config.folder)


async def bare(path: Path, records: list[dict[str, Any]]) -> float:
    """CPU seconds of the same requests by the client alone."""
    async with ChatModel(read_config(path).sections["model"]) as chat:
        create, fixed = chat._client.chat.completions.with_raw_response.create, chat._fixed
        start = time.process_time()
        for record in records:
            places = [at for at, one in enumerate(record["conversation"]) if one["role"] == "assistant"]
            for at, step in zip(places, record["steps"], strict=True):
                request = {"messages": record["conversation"][:at], "tools": step["tools"]}
                await create(**fixed, **request, seed=record["job"]["seed"] + step["step"] - 1)
        return time.process_time() - start


def play(release: Any, record: dict[str, Any]) -> None:
    env = ShopEnv(release, **record["reset"]["environment"])
    env.reset(record["job"]["task_id"], seed=record["job"]["seed"])
    for step in record["steps"]:
        env.tools()
        if step["action"] is not None:
            env.step(step["action"])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=2_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--concurrency", type=int, default=32)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=("all", "kills", "cost"), default="all")
    parser.add_argument("--world", choices=("shop", "rlve"), default="shop")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
