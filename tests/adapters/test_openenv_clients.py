"""Clients of three versions of the package drive the server over its socket."""

import json
from pathlib import Path

import pytest
from environments import printed

pytest.importorskip("openenv", reason="the extra `openenv` is not installed; `make adapters` has it")

from openenv_wire import serving

from shopsim_env import ShopEnv, load_release
from shopsim_env.shop.oracle import solve_any

SCRIPT = Path(__file__).with_name("openenv_client.py")
TOKEN = "of-the-client-test" * 2
CLIENTS = ("openenv", "openenv-0.4.1", "openenv-core-0.3.0")


@pytest.mark.parametrize("secret", [None, TOKEN], ids=["open", "token"])
@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_plays_an_episode(name, secret):
    """With a token the address carries it, since older clients cannot send a header."""
    with load_release() as release:
        ids = release.splits["project/test"]
        env = ShopEnv(release)
        witness = solve_any(release, ShopEnv(release), ids[3]).actions
        start = env.reset(ids[3])
        steps = [env.step(action) for action in witness]
        following = ids[4]
    environment = {} if secret is None else {"SHOPSIM_TOKEN": secret}
    with serving("--slots", "1", **environment) as server:
        address = f"127.0.0.1:{server.port}"
        url = f"http://{address}" if secret is None else f"http://agent:{secret}@{address}"
        seen = printed(name, SCRIPT, url, json.dumps(witness))
    assert seen["start"]["task_instruction"] == start.task_instruction
    assert seen["start"]["observation"] == start.observation
    assert seen["pages"] == [step.observation for step in steps]
    assert seen["rewards"] == [*[0.0] * (len(steps) - 1), 1.0]
    assert (seen["done"], seen["again"]) == (True, None)
    assert seen["state"]["episode_id"] == "client-1"
    assert (seen["state"]["step_count"], seen["state"]["reward"]) == (len(steps), 1.0)
    assert "out_of_range: seed" in seen["refused"]
    assert seen["after"] == following
