"""A storm of leases over HTTP: is a lease ever shared, does a stale holder ever read another's episode?

    python benchmarks/server_storm.py [--seconds 20] [--holders 48] [--slots 6] [--ttl 0.1] [--release DIR]

Many holders take slots that live shortly. Each searches for words that nobody else searches for, pauses
longer than a lease lives, vanishes, releases, takes itself over, and tries leases again that it had before.
Every page that anybody gets must be of the own episode, a released lease and an old fencing number must be
refused, no lease id may come twice, and at the end every slot must be free. Exit code 1 when anything else
happens.
"""

import argparse
import asyncio
import json
import random
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from server import ask, free_port, process, shop
from server_player import Connection

from shopsim_env import load_release

BASE = "/v1/episodes"


@dataclass
class Storm:
    """What all holders share."""

    port: int
    tasks: list[int]
    ttl: float
    seen: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def wrong(self, text: str) -> None:
        """Something that must not happen."""
        self.problems.append(text)


@dataclass
class Lease:
    """A lease that a holder has or had; `over` means that it was released."""

    id: str
    fence: int
    words: str
    task: int
    over: bool = False


class Holder:
    """One of them."""

    def __init__(self, storm: Storm, number: int) -> None:
        self.storm = storm
        self.number = number
        self.draws = random.Random(number)  # noqa: S311
        self.had: list[Lease] = []
        self.searched = 0

    async def run(self, end: float) -> None:
        """Until the end."""
        loop = asyncio.get_running_loop()
        self.wire = (await loop.create_connection(Connection, "127.0.0.1", self.storm.port))[1]
        while time.monotonic() < end:
            lease = await self.open()
            if lease is not None:
                await self.use(lease)
            for old in self.draws.sample(self.had, min(3, len(self.had))):
                await self.search(old)
        self.wire.transport.close()

    async def open(self) -> Lease | None:
        """A new lease, if there is room within a while."""
        task = self.draws.choice(self.storm.tasks)
        status, answer = await self.post(BASE, {"task_id": task, "wait_s": 0.2, "tools": "none"})
        self.storm.counts[f"reset {status}"] += 1
        if status != 200:
            return None
        if answer["lease_id"] in self.storm.seen:
            self.storm.wrong("a lease id came twice")
        self.storm.seen.add(answer["lease_id"])
        if answer["task_id"] != task:
            self.storm.wrong("the start of another task")
        return Lease(answer["lease_id"], answer["fence"], f"词{self.number}x{len(self.storm.seen)}", task)

    async def use(self, lease: Lease) -> None:
        """A few searches; then it is released, left, or overslept."""
        self.had = [*self.had[-10:], lease]
        for _ in range(self.draws.randrange(4)):
            await self.search(lease)
            if self.draws.random() < 0.2:
                await self.take_over(lease)
            if self.draws.random() < 0.2:
                await asyncio.sleep(self.storm.ttl * self.draws.uniform(0.5, 1.5))
        if self.draws.random() < 0.5:
            path = f"{BASE}/{lease.id}?fence={lease.fence}"
            status, _ = await self.wire.ask("DELETE", path)
            self.storm.counts[f"release {status}"] += 1
            lease.over = True

    async def take_over(self, lease: Lease) -> None:
        """A new fencing number; the old one must not do any more."""
        status, answer = await self.post(f"{BASE}/{lease.id}/takeover", {})
        if status != 200:
            return
        if answer["task_id"] != lease.task:
            self.storm.wrong("a take-over of another task")
        old, lease.fence = lease.fence, answer["fence"]
        status, answer = await self.post(f"{BASE}/{lease.id}/step", {"action": "search[x]", "fence": old})
        self.storm.counts["old fences refused"] += 1
        if status != 409:
            self.storm.wrong(f"an old fencing number: {status}")

    async def search(self, lease: Lease) -> None:
        """The own words must come back, or a refusal."""
        self.searched += 1
        words = f"{lease.words}n{self.searched}"
        for action in (f"search[{words}]", "click[back to search]"):
            status, answer = await self.post(
                f"{BASE}/{lease.id}/step", {"action": action, "fence": lease.fence}
            )
            if status == 409:
                self.storm.counts[answer["code"]] += 1
                return
            self.storm.counts["pages read"] += 1
            if status != 200 or lease.over:
                self.storm.wrong(f"{status} for a lease that {'is over' if lease.over else 'lives'}")
            elif action[0] == "s" and answer["observation_state"].get("search_text") != words:
                self.storm.wrong("the page of another episode")

    async def post(self, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Status and JSON."""
        status, answer = await self.wire.ask("POST", path, json.dumps(body).encode())
        return status, json.loads(answer)


async def blow(storm: Storm, holders: int, seconds: float) -> None:
    """All holders at once."""
    end = time.monotonic() + seconds
    await asyncio.gather(*(Holder(storm, number).run(end) for number in range(holders)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--holders", type=int, default=48)
    parser.add_argument("--slots", type=int, default=6)
    parser.add_argument("--ttl", type=float, default=0.1, help="life of a lease without use in seconds")
    parser.add_argument("--release")
    arguments = parser.parse_args()
    with load_release(arguments.release) as release:
        tasks = list(release.tasks)[:50]
    port = free_port()
    options = ["--slots", str(arguments.slots), "--lease-ttl", str(arguments.ttl)]
    options += ["--release", arguments.release] if arguments.release else []
    storm = Storm(port, tasks, arguments.ttl)
    with process(shop(port, *options), port, "/healthz"):
        asyncio.run(blow(storm, arguments.holders, arguments.seconds))
        time.sleep(arguments.ttl + 0.5)
        free = ask(port, "GET", "/healthz")["free_slots"]
    if free != arguments.slots:
        storm.wrong(f"{arguments.slots} slots, at the end {free} free")
    report = {
        "leases": len(storm.seen),
        **dict(sorted(storm.counts.items())),
        "problems": storm.problems[:20],
    }
    print(json.dumps(report, indent=1))
    return 1 if storm.problems or not storm.seen else 0


if __name__ == "__main__":
    raise SystemExit(main())
