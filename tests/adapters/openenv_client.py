"""One whole episode through a client of the package `openenv`, of whichever version is installed.

    python openenv_client.py URL ACTIONS

Prints what it saw as one line of JSON; `tests/adapters/test_openenv_clients.py` compares it.
"""

import asyncio
import json
import sys

from openenv.core.generic_client import GenericEnvClient


async def play(url: str, actions: list[str]) -> dict:
    seen: dict = {}
    async with GenericEnvClient(base_url=url) as env:
        start = await env.reset(split="project/test", index=3, episode_id="client-1")
        seen["start"], seen["rewards"], seen["pages"] = start.observation, [], []
        for action in actions:
            result = await env.step({"action": action})
            seen["rewards"].append(result.reward)
            seen["pages"].append(result.observation["observation"])
        seen["done"] = result.done
        seen["again"] = (await env.step({"action": actions[0]})).reward
        seen["state"] = await env.state()
        try:
            await env.reset(seed=-1)
        except RuntimeError as error:
            seen["refused"] = str(error)
        seen["after"] = (await env.reset(split="project/test", index=4)).observation["task_id"]
    return seen


if __name__ == "__main__":
    print(json.dumps(asyncio.run(play(sys.argv[1], json.loads(sys.argv[2])))))
