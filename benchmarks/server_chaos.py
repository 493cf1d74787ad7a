"""kill -9 of the server at random moments under load: does every episode end as if nothing had happened?

    python benchmarks/server_chaos.py [--kills 30] [--players 16] [--rlve 20] [--release DIR] [--seed 1]

The server runs with a resume log and is started again on the same port after every kill. Players repeat
what got no answer, with the same request id. Compared are the trace of every episode, of the Shop and of
RLVE, with that of an undisturbed run in process, byte for byte, and at the end the number of free slots. Exit
code 1 when anything differs.
"""

import argparse
import http.client
import json
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

from server import free_port, shop, wait_for

from shopsim_env import load_release
from shopsim_env.canonical import compact_json
from shopsim_env.pool import EpisodeRequest, LeasePool
from shopsim_env.rlve.episode import EpisodeKey
from shopsim_env.rlve.leases import RlveLeases, RlveRequest
from shopsim_env.rlve.market import Market


class Script(NamedTuple):
    """An episode: how it is asked for, what is sent in which field, its undisturbed trace."""

    path: str
    start: dict[str, Any]
    field: str
    sent: list[Any]
    trace: bytes


def undisturbed_rlve(release: Any, count: int) -> list[Script]:
    """RLVE episodes: a search, questions, and half of them answered."""
    asks = [{"assistant_message": f"请问第 {number} 点是什么？"} for number in range(2)]
    search = {"name": "catalog.search", "args": {"query": ""}}
    turns = [{"assistant_message": "我看看。", "tool_calls": [search]}, *asks]
    answer = {"assistant_message": "好了。", "answer": {"done": True}}
    found = []
    with Market.of(release) as market:
        leases = RlveLeases(market, 1)
        for number in range(count):
            asked = {
                "env_id": ("POLICY", "PD", "STATUS")[number % 3],
                "difficulty": number % 5,
                "seed": number,
            }
            lease = leases.open(RlveRequest(EpisodeKey(**asked)))
            sent = [*turns, answer] if number % 2 else turns
            played = []
            for turn in sent:
                if not lease.done:
                    leases.step(lease.id, turn, fence=lease.fence)
                    played.append(turn)
            found.append(Script("/v1/rlve/episodes", asked, "turn", played, leases.trace(lease.id).line()))
            leases.give_back(lease.id)
    return found


def undisturbed(release: Any, count: int) -> list[Script]:
    """Tasks, actions of an agent that clicks here and there, and the trace of the episode."""
    found = []
    pool = LeasePool(release, 1)
    for number, task_id in enumerate(list(release.tasks)[:count]):
        lease = pool.open(EpisodeRequest(task_id=task_id))
        actions: list[str] = []
        state = lease.start.observation_state
        while len(actions) < 10 and not lease.done:
            offered = state["actions"]
            pick = offered[(7 * number + 3 * len(actions)) % len(offered)] if offered else ""
            search = f"search[{lease.start.task_instruction[: 8 + number % 9]}]"
            actions.append(f"click[{pick}]" if offered else search)
            state = pool.step(lease.id, actions[-1], fence=lease.fence).observation_state
        if not lease.done:
            pool.terminate(lease.id, "generation_length", fence=lease.fence)
        start = {"task_id": task_id}
        found.append(Script("/v1/episodes", start, "action", actions, pool.trace(lease.id).line()))
        pool.give_back(lease.id)
    return found


class Player(threading.Thread):
    """Plays scripts and never gives up on a request."""

    def __init__(self, port: int, scripts: list[Script], number: int, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.port = port
        self.scripts = scripts
        self.draws = random.Random(number)  # noqa: S311
        self.stop = stop
        self.episodes = self.rlve = self.repeats = 0
        self.problems: list[str] = []

    def run(self) -> None:
        """Until told to stop; the episode that has begun is finished."""
        while not self.stop.is_set():
            try:
                self.play(self.draws.choice(self.scripts))
            except Exception as error:
                self.problems.append(repr(error))
                return
            self.episodes += 1

    def play(self, script: Script) -> None:
        """One episode, compared."""
        key = f"{self.draws.getrandbits(128):032x}"
        lease = self.ask("POST", script.path, {**script.start, "request_id": key})
        path, fence = f"{script.path}/{lease['lease_id']}", lease["fence"]
        done = False
        for count, sent in enumerate(script.sent):
            step = {script.field: sent, "fence": fence, "request_id": str(count)}
            done = self.ask("POST", f"{path}/step", step)["done"]
        if not done and script.field == "action":
            end = {"reason": "generation_length", "fence": fence, "request_id": "end"}
            self.ask("POST", f"{path}/terminate", end)
        found = compact_json(self.ask("GET", f"{path}/trace")).encode() + b"\n"
        if found != script.trace:
            self.problems.append(f"{script.start}: another trace")
        self.ask("DELETE", f"{path}?fence={fence}")
        self.rlve += script.field == "turn"

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Repeats until there is an answer; 503 asks for it too."""
        data = None if body is None else json.dumps(body).encode()
        headers = {} if data is None else {"Content-Type": "application/json"}
        end = time.monotonic() + 120
        while time.monotonic() < end:
            wire = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
            try:
                wire.request(method, path, data, headers)
                answer = wire.getresponse()
                content = json.loads(answer.read())
            except (OSError, http.client.HTTPException, ValueError):
                self.repeats += 1
                time.sleep(0.02)
                continue
            finally:
                wire.close()
            if answer.status == 200:
                return content
            if answer.status != 503:
                raise RuntimeError(f"{method} {path}: {content}")
            time.sleep(0.02)
        raise RuntimeError(f"{method} {path}: no answer")


def free_slots(port: int) -> list[int]:
    """Free slots of every pool that was used, as `/metrics` tells them."""
    wire = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    wire.request("GET", "/metrics")
    lines = wire.getresponse().read().decode().splitlines()
    wire.close()
    return [round(float(line.split()[1])) for line in lines if re.match(r"shopsim_(rlve_)?free_slots ", line)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--players", type=int, default=16)
    parser.add_argument("--slots", type=int, default=8, help="fewer than players: some wait (default 8)")
    parser.add_argument("--tasks", type=int, default=60)
    parser.add_argument("--rlve", type=int, default=20, help="RLVE episodes among them (default 20)")
    parser.add_argument("--release")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draws = random.Random(arguments.seed)  # noqa: S311
    with load_release(arguments.release) as release:
        scripts = undisturbed(release, arguments.tasks) + undisturbed_rlve(release, arguments.rlve)
    stop, port = threading.Event(), free_port()
    players = [Player(port, scripts, number, stop) for number in range(arguments.players)]
    with tempfile.TemporaryDirectory() as folder:
        options = ["--slots", str(arguments.slots), "--resume-log", str(Path(folder) / "log")]
        options += ["--release", arguments.release] if arguments.release else []
        command = [sys.executable, *shop(port, *options)]
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        wait_for(port, "/healthz")
        for player in players:
            player.start()
        for _ in range(arguments.kills):
            time.sleep(draws.uniform(0.1, 0.8))
            server.kill()
            server.wait()
            server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            wait_for(port, "/healthz")
        stop.set()
        for player in players:
            player.join(180)
        left = free_slots(port)
        server.terminate()
        server.wait(30)
    problems = [problem for player in players for problem in player.problems]
    problems += (
        [f"{arguments.slots} slots, at the end free: {left}"] if set(left) != {arguments.slots} else []
    )
    problems += ["a player hangs"] if any(player.is_alive() for player in players) else []
    report = {
        "kills": arguments.kills,
        "episodes": sum(player.episodes for player in players),
        "rlve_episodes": sum(player.rlve for player in players),
        "requests_repeated": sum(player.repeats for player in players),
        "problems": problems,
    }
    print(json.dumps(report, indent=1))
    return 1 if problems or not report["episodes"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
