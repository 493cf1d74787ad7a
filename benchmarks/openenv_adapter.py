"""What the OpenEnv adapter adds to a step: processor time, beside the same step of the pool.

    python benchmarks/openenv_adapter.py [--steps 4000] [--rounds 5]

Needs the extra `openenv`. In turns, on the sample: a step of the pool (`LeasePool.step`), of the adapter with
everything that a frame needs (models in, models out, JSON of the answer), and over a socket to a server of
its own, where the processor time is the server's. Medians of the rounds, and ratios.
"""

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from machine import cpu_name
from openenv.core.env_server.serialization import deserialize_action, serialize_observation
from openenv.core.env_server.types import WSObservationResponse
from websockets.sync.client import connect

from shopsim_env import LocalClient, load_release
from shopsim_env.adapters.openenv.environment import ShopEnvironment
from shopsim_env.adapters.openenv.models import ShopAction
from shopsim_env.adapters.openenv.session import Shop
from shopsim_env.pool import EpisodeRequest
from shopsim_env.release import Release

ACTIONS = ("search[收纳盒]", "click[next >]", "click[< prev]", "nonsense", "click[back to search]")
EPISODE = 30


def script() -> list[str]:
    """The actions of one episode, short of its limit."""
    return [ACTIONS[number % len(ACTIONS)] for number in range(EPISODE - 1)]


def of_pool(client: LocalClient, steps: int) -> float:
    """Microseconds of a step of the pool."""
    spent, played = 0.0, 0
    while played < steps:
        lease = client.pool.open(EpisodeRequest(task_id=3))
        begin = time.process_time()
        for action in script():
            client.pool.step(lease.id, action, fence=lease.fence)
        spent += time.process_time() - begin
        played += EPISODE - 1
        client.pool.give_back(lease.id)
    return spent / played * 1e6


def of_adapter(shop: Shop, steps: int) -> float:
    """Microseconds of a step with its models and its JSON."""

    async def playing() -> float:
        spent, played, env = 0.0, 0, ShopEnvironment(shop)
        while played < steps:
            env.reset(task_id=3)
            begin = time.process_time()
            for action in script():
                given = deserialize_action({"action": action}, ShopAction)
                observation = await env.step_async(given)
                WSObservationResponse(data=serialize_observation(observation)).model_dump_json()
            spent += time.process_time() - begin
            played += EPISODE - 1
        env.close()
        return spent / played * 1e6

    return asyncio.run(playing())


def of_socket(process: subprocess.Popen[str], url: str, steps: int) -> tuple[float, float]:
    """Microseconds of the server's processor a step, and of the clock."""
    played, spent, waited = 0, 0.0, 0.0
    with connect(url.replace("http", "ws") + "/ws", compression=None) as wire:
        while played < steps:
            wire.send('{"type":"reset","data":{"task_id":3}}')
            wire.recv()
            before, begin = cpu_of(process.pid), time.perf_counter()
            for action in script():
                wire.send(json.dumps({"type": "step", "data": {"action": action}}))
                wire.recv()
            waited += time.perf_counter() - begin
            spent += cpu_of(process.pid) - before
            played += EPISODE - 1
    return spent / played * 1e6, waited / played * 1e6


def cpu_of(pid: int) -> float:
    """Seconds of processor time of all threads, in nanosecond steps."""
    text = [path.read_text(encoding="ascii") for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(int(line.split()[0]) for line in text) / 1e9


def measured(release: Release, steps: int, rounds: int) -> dict[str, float]:
    """The figures."""
    code = "import sys; from shopsim_env.cli import main; sys.exit(main())"
    command = [
        sys.executable,
        "-c",
        code,
        "openenv",
        "serve",
        "--port",
        "0",
        "--json",
        "--log-level",
        "error",
    ]
    rows = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = None
        while url is None:
            url = re.search(r'"url": "([^"]+)"', process.stdout.readline())
        with LocalClient(release, slots=4) as client:
            shop = Shop(release, client)
            for _ in range(rounds):
                pool, adapter = of_pool(client, steps), of_adapter(shop, steps)
                rows.append((pool, adapter, *of_socket(process, url[1], steps)))
        process.terminate()
    pool, adapter, server, clock = (statistics.median(column) for column in zip(*rows, strict=True))
    return {
        "pool_us": pool,
        "adapter_us": adapter,
        "server_cpu_us": server,
        "socket_us": clock,
        "adapter_adds_ms": (adapter - pool) / 1e3,
        "server_adds_ms": (server - pool) / 1e3,
        "adapter_by_pool": adapter / pool,
        "server_by_pool": server / pool,
    }


def main() -> None:
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=4_000)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with load_release() as release:
        figures = measured(release, arguments.steps, arguments.rounds)
    rounded = {name: round(value, 3) for name, value in figures.items()}
    print(json.dumps({"processor": cpu_name(), "steps": arguments.steps, **rounded}, indent=1))


if __name__ == "__main__":
    main()
