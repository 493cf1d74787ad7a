"""Clients of the package `mcp` 1.x and 2.x play an episode against `shopsim serve`."""

import json
from pathlib import Path

import pytest
from environments import printed
from places import SAMPLE_RELEASE

pytest.importorskip("starlette", reason="the extra `server` is not installed")

from servers import ServerProcess

from shopsim_env import ShopEnv, load_release
from shopsim_env.shop.actions import parse_action
from shopsim_env.shop.oracle import solve_any
from shopsim_env.shop.tools import static_tools

SCRIPT = Path(__file__).with_name("mcp_client.py")
ARGUMENT = {"search": "query", "click": "value"}


def as_call(text: str) -> tuple[str, dict[str, str]]:
    action = parse_action(text).action
    name = type(action).__name__.lower()
    return name, {ARGUMENT[name]: getattr(action, ARGUMENT[name])}


@pytest.mark.parametrize("name", ["mcp-1", "mcp-2"])
def test_a_client_plays_an_episode(name):
    with load_release() as release:
        task = release.splits["project/test"][3]
        env = ShopEnv(release)
        witness = solve_any(release, ShopEnv(release), task).actions
        start = env.reset(task)
        calls = [("click", {"value": "nowhere"}), *map(as_call, witness)]
        steps = [env.step({"name": name, "arguments": given}) for name, given in calls]
    with ServerProcess(SAMPLE_RELEASE, "--slots", "1", "--drain", "0") as server:
        url = f"http://127.0.0.1:{server.port}/mcp?task_id={task}"
        seen = printed(name, SCRIPT, url, json.dumps([*calls, calls[0]]))
        assert server.call("GET", "/healthz")[1]["free_slots"] == 1, "the client ends its session"
    assert seen["instructions"].startswith(start.task_instruction)
    assert seen["instructions"].endswith(start.observation)
    assert seen["protocol"] == "2025-11-25"
    assert seen["tools"] == [tool["function"]["name"] for tool in static_tools()]
    texts = [result["text"] for result in seen["results"]]
    assert texts == [*(step.observation for step in steps), steps[-1].observation]
    assert [result["isError"] for result in seen["results"]] == [True, *[False] * len(witness), True]
    facts = [result["meta"]["shopsim/step"] for result in seen["results"]]
    assert [fact["reward"] for fact in facts] == [*[0.0] * len(witness), 1.0, None]
