"""The runner against a scripted endpoint: every episode accounted for, kill -9, and its cost beside a call.

    python benchmarks/runner.py [--episodes 2000] [--kills 20] [--concurrency 32] [--seed 1] [--part all]

Part `kills` plays the run once undisturbed and once with kill -9 of the runner at random moments. Compared
are the summaries (wall times apart) and, at the endpoint, that no completed episode was asked again. Part
`cost` takes CPU time of the runner per step, of the bare client with the very same requests, and of the
environment alone. Exit code 1 when anything is lost, repeated or different. The endpoint is
`tests/chat_stub.py` in a process of its own.
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from machine import cpu_name

from shopsim_env import ShopEnv, load_release
from shopsim_env.replay import verify_file
from shopsim_env.runner.chat import ChatModel
from shopsim_env.runner.config import read_config
from shopsim_env.runner.execute import execute
from shopsim_env.runs.index import RunIndex

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
import chat_runs  # noqa: E402

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
        tasks = chat_runs.winnable(release, -(-arguments.episodes // REPEATS), "source/all_train")
        if arguments.part in ("all", "cost"):
            cost(Path(folder), release, tasks)
        if arguments.part in ("all", "kills"):
            kills(Path(folder), release, tasks, arguments)
    print("ok" if not FAILED else f"FAILED: {FAILED}")
    return 1 if FAILED else 0


def check(name: str, holds: bool) -> None:
    print(f"{'ok ' if holds else 'NOT'} {name}")
    if not holds:
        FAILED.append(name)


@contextmanager
def endpoint(folder: Path, script: dict[int, Any]) -> Iterator[str]:
    """The stub as a process; its base URL."""
    path = folder / "script.json"
    path.write_text(json.dumps(script), encoding="utf-8")
    command = [sys.executable, str(ROOT / "tests" / "chat_stub.py"), str(path)]
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


def kills(folder: Path, release: Any, tasks: dict[int, list[str]], arguments: argparse.Namespace) -> None:
    script = chat_runs.script(tasks, KINDS, repeats=REPEATS)
    print(f"\n{len(script)} episodes, {len(set(KINDS))} kinds of models, {arguments.kills} kills")
    runs = {}
    for name in ("undisturbed", "killed"):
        with endpoint(folder, script) as url:
            config = chat_runs.config(
                folder,
                url,
                run={"name": name, "concurrency": arguments.concurrency},
                tasks={"split": None, "ids": list(tasks), "repeats": REPEATS},
            )
            start = time.monotonic()
            if name == "killed":
                disturbed(config, folder, url, arguments, start_s=runs["undisturbed"][1])
            code = process(config).wait()
            runs[name] = summary(folder / "runs" / name), time.monotonic() - start
            account(folder / "runs" / name, script, asked(url), code)
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
    """Seeds of episodes that are on the disk."""
    return {row.seed for row in rows(run) if row.status == "completed" and row.seed is not None}


def rows(run: Path) -> list[Any]:
    path = run / "traces.jsonl"
    if not path.exists():
        return []
    index = RunIndex(lambda: path.open("rb"))
    index.advance(3_600)
    return index.rows


def summary(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    found["cost"].pop("duration_ms_mean")
    return found


def account(run: Path, script: dict[int, Any], requests: Counter[tuple[int, int]], code: int) -> None:
    """Whether every planned episode has exactly one line, and ended as its model must."""
    records = chat_runs.recorded(run)
    check("exit code 0", code == 0)
    check(
        "one completed line per planned episode",
        sorted(one["job"]["seed"] for one in records) == sorted(script),
    )
    ends = Counter((script[one["job"]["seed"]][0], one["final"]["termination_reason"]) for one in records)
    wrong = [
        end
        for end in ends
        if end[1]
        != {"stubborn": "action_limit", "long": "generation_length", "context": "generation_length"}.get(
            end[0], "purchase"
        )
    ]
    check("every model came to its own end", not wrong)
    steps = {(one["job"]["seed"], step["step"]) for one in records for step in one["steps"]}
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
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
