"""Shows that the highest reward can be reached: plays witnesses over the socket of a running server.

    python oracle.py ws://127.0.0.1:8000/ws [SPLIT] [MOST]

It reads goals from the release, so it runs where the release is, never where an agent is. It prints one line
of JSON: episodes, the lowest reward, the tasks below 1. Exit code 1 when there are any.
"""

import json
import sys
from typing import Any

from websockets.sync.client import ClientConnection, connect

from shopsim_env import ShopEnv, load_release
from shopsim_env.shop.oracle import solve_any


def main() -> int:
    """Plays one episode for each task of the split that has a witness."""
    url, split, most = [*sys.argv[1:], *("project/test", "1000")[len(sys.argv) - 2 :]]
    rewards = {}
    with load_release() as release, connect(url) as wire:
        for index, task_id in enumerate(release.splits[split][: int(most)]):
            witness = solve_any(release, ShopEnv(release), task_id)
            if witness.reached:
                rewards[task_id] = play(wire, {"split": split, "index": index}, witness.actions)
    below = sorted(task_id for task_id, reward in rewards.items() if reward < 1)
    facts = {"episodes": len(rewards), "lowest": min(rewards.values(), default=None), "below_1": below}
    sys.stdout.write(json.dumps(facts) + "\n")
    return 1 if below or not rewards else 0


def play(wire: ClientConnection, reset: dict[str, Any], actions: tuple[str, ...]) -> float:
    """The sum of rewards of one episode."""
    ask(wire, {"type": "reset", "data": reset})
    answers = [ask(wire, {"type": "step", "data": {"action": action}}) for action in actions]
    return sum(float(answer["reward"]) for answer in answers)


def ask(wire: ClientConnection, frame: dict[str, Any]) -> dict[str, Any]:
    """The data of the answer to a frame."""
    wire.send(json.dumps(frame))
    answer = json.loads(wire.recv())
    if answer["type"] == "error":
        raise RuntimeError(answer["data"]["message"])
    data: dict[str, Any] = answer["data"]
    return data


if __name__ == "__main__":
    sys.exit(main())
