"""Pages put together from kept parts are the bytes of the ordinary encoding, whatever is played."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shop_world import LAMP, ODD, TWINS, WIDE, shop_release

from shopsim_env.server.answers import played
from shopsim_env.shop.env import ShopEnv
from shopsim_env.shop.served import ServedEnv, encode, page_bytes

STARTS = (
    "search[星野台灯]",
    "search[毛毡]",
    'search[无此物 \\ " \ud800 </script>]',
    "search[ ]",
    "nonsense",
    "click[\x00]",
)
MODES = (
    {},
    {"observation_style": "compact", "page_size": 3},
    {"interaction_mode": "multi_turn"},
    {"max_actions": 3},
)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    small = shop_release(tmp_path_factory.mktemp("served"))
    yield small
    small.close()


@given(data=st.data(), mode=st.sampled_from(MODES), task=st.sampled_from([3, 8, 12]))
def test_served_steps_are_ordinary_steps(release, data, mode, task):
    plain, served = ShopEnv(release, **mode), ServedEnv(release, **mode)
    assert plain.reset(task, seed=1) == served.reset(task, seed=1)
    offered = [f"search[{word}]" for word in ("古怪", "双生", "多色")]
    for _ in range(data.draw(st.integers(1, 8))):
        action = data.draw(st.sampled_from([*STARTS, *offered, "ask_shopper[预算？]", "click[buy now]"]))
        step, bytes_ = plain.step(action), served.step(action)
        check(step, bytes_, plain.tools())
        if step.done:
            return
        shown = step.observation_state["actions"]
        preferred = [text for text in shown if text in (LAMP, ODD, TWINS, WIDE)]
        offered = [f"click[{text}]" for text in preferred or shown[:60]]
    end = plain.terminate("generation_length")
    check(end, served.terminate("generation_length"), [])


def check(step, served, tools):
    assert served.page == page_bytes(step)
    assert served.tools == encode(tools)
    assert (served.reward, served.info, served.done) == (step.reward, step.info, step.done)
    for kind in ("dynamic", "none"):
        assert played(served, kind) == played(step, kind)
    answer = json.loads(played(served, "dynamic"))
    assert answer["observation"] == step.observation
    assert answer["observation_state"] == json.loads(json.dumps(step.observation_state))
    assert answer["tools"] == tools
    assert answer["action_feedback"] == step.action_feedback
