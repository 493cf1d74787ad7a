import pytest
from shop_world import LAMP, LAMP_RECORD, RECORDS, SmallRelease

from shopsim_env.shop.env import ShopEnv
from shopsim_env.shop.listener import Listener

RIVAL = {**LAMP_RECORD, "asin": "700000000100", "customization_options": {"颜色分类": ["沙色"]}}


@pytest.fixture
def lamps(tmp_path):
    """Two lamps that look alike in the listing, the wrong one first, among things of another category."""
    others = [{**record, "category": "户外›其他"} for record in RECORDS if record["asin"] != LAMP]
    release = SmallRelease(tmp_path, [RIVAL, LAMP_RECORD, *others])
    release.add(
        3,
        LAMP,
        "全文",
        simple="短文",
        persona={},
        options=("雾蓝", "单灯"),
        attributes=("可充电", "防水"),
        upper="40",
    )
    yield release
    release.close()


@pytest.mark.parametrize("task_mode", ["persona", "standard"])
def test_asking_is_enough_to_win(lamps, task_mode):
    agent = Listener(ShopEnv(lamps, interaction_mode="multi_turn", task_mode=task_mode))
    assert agent.play(3)
    assert agent.told == {
        "category": ["台灯"],
        "option": ["雾蓝", "单灯"],
        "attribute": ["可充电", "防水"],
        "budget": ["40元"],
    }
    final = agent.steps[-1][1]
    assert final.info["shopper"]["confirmed"]
    assert final.info["shopper"]["facts"] == final.info["shopper"]["facts_told"] == 6


def test_a_value_that_the_product_lacks_is_not_bought(release):
    agent = Listener(ShopEnv(release, interaction_mode="multi_turn"))
    assert not agent.play(10)
    assert agent.told["option"] == ["夜光"]
    assert agent.steps[-1][1].termination_reason != "purchase"


def test_a_price_above_the_ceiling_is_not_bought(release):
    agent = Listener(ShopEnv(release, interaction_mode="multi_turn"))
    assert not agent.play(8)
    assert agent.steps[-1][1].termination_reason != "purchase"


def test_the_limit_stops_it(release):
    for limit in range(1, 13):
        agent = Listener(ShopEnv(release, interaction_mode="multi_turn", max_actions=limit))
        agent.play(3)
        assert len(agent.steps) <= limit
