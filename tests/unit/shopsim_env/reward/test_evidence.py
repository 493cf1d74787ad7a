"""Private evidence of purchases: what was asked, what was bought, which rule, which change flips it."""

from dataclasses import replace
from decimal import Decimal

import pytest

from shopsim_env import load_release
from shopsim_env.catalog.product import Product
from shopsim_env.errors import UsageError
from shopsim_env.private import Goal
from shopsim_env.reward.evidence import COMPONENTS, explain_purchase
from shopsim_env.reward.flips import Change
from shopsim_env.reward.total import score_purchase

LAMP = Product.from_record(
    {
        "asin": "1",
        "title": "星野 台灯",
        "category": "家居›照明›台灯",
        "attribute": ["可充电", "防水等级5级"],
        "small_description": ["夜读护眼"],
        "customization_options": {
            "颜色": [
                {"value": "雾蓝", "price": 39},
                {"value": "沙色", "price": 59},
                {"value": "墨绿", "price": 45},
            ],
            "套装": ["单灯", "双灯"],
        },
        "pricing": [39, 59],
    },
    ("星野", "台灯"),
)
BLUE_SINGLE = {"颜色": "雾蓝", "套装": "单灯"}


def goal(product=LAMP, **fields):
    values = {
        "task_id": 1,
        "task_uid": "u",
        "product": product,
        "instruction": "全文",
        "instruction_simple": "",
        "attributes": ("可充电",),
        "options": ("雾蓝", "单灯"),
        "budget_kind": "hard_upper",
        "budget_upper": Decimal(50),
        "has_persona": False,
    }
    return Goal(**{**values, **fields})


def component(name, selected=BLUE_SINGLE, wanted=None, product=LAMP, option_match="anchored"):
    evidence = explain_purchase(product, selected, wanted or goal(), option_match=option_match)
    return next(item for item in evidence.components if item.name == name)


def test_a_perfect_purchase_and_what_would_spoil_it():
    evidence = explain_purchase(LAMP, BLUE_SINGLE, goal())
    assert [item.name for item in evidence.components] == list(COMPONENTS)
    assert all(item.met and item.reward == 1 for item in evidence.components)
    flips = {item.name: item.flip for item in evidence.components}
    # Three shared levels: two must go before fewer than two are left; the two terms have to go as well.
    assert [change.action for change in flips["type"]] == ["remove_level"] * 2 + ["remove_term"] * 2
    assert flips["attributes"] == (Change("remove_attribute", "attribute 0", "可充电"),)
    assert flips["options"] == (Change("choose", "颜色", "沙色"),)
    assert flips["price"] == (Change("choose", "颜色", "沙色", Decimal(59)),)


def test_options_say_what_was_asked_what_was_chosen_and_which_value_would_have_met_it():
    found = component("options", {"颜色": "沙色", "套装": "单灯"})
    assert (found.reward, found.met) == (0.5, False)
    assert [(item.asked, item.found, item.where, item.rule, item.met) for item in found.findings] == [
        ("雾蓝", "沙色", "颜色", "anchor:other_value", False),
        ("单灯", "单灯", "套装", "anchor:same_value", True),
    ]
    assert found.flip == (Change("choose", "颜色", "雾蓝"),)


def test_two_wrong_axes_need_two_changes():
    found = component("options", {"颜色": "沙色", "套装": "双灯"})
    assert found.flip == (Change("choose", "颜色", "雾蓝"), Change("choose", "套装", "单灯"))


def test_a_value_that_the_product_does_not_offer_cannot_be_flipped():
    found = component("options", wanted=goal(options=("酒红",)))
    assert found.findings[0].rule == "not_offered"
    assert (found.findings[0].found, found.flip) == ("", None)


def test_an_axis_without_a_choice_and_a_value_that_serves_another_requirement():
    assert component("options", {"套装": "单灯"}).findings[0].rule == "not_chosen"
    twice = component("options", wanted=goal(options=("雾蓝", "雾蓝")))
    assert [(item.rule, item.met) for item in twice.findings] == [
        ("anchor:same_value", True),
        ("value_used_up", False),
    ]


def test_no_option_is_required():
    found = component("options", wanted=goal(options=()))
    assert (found.reward, found.findings, found.flip) == (1.0, (), None)


def test_attributes_name_the_place_or_the_closest_one():
    wanted = goal(attributes=("可充电", "夜读", "防水等级6级", "折叠"))
    found = component("attributes", wanted=wanted)
    assert [(item.found, item.where, item.rule) for item in found.findings[:3]] == [
        ("可充电", "attribute 0", "score_above"),
        ("夜读护眼", "bullet 0", "contained"),
        ("防水等级5级", "attribute 1", "score_below"),
    ]
    assert found.flip == (
        Change("add_attribute", "attribute", "防水等级6级"),
        Change("add_attribute", "attribute", "折叠"),
    )
    bare = replace(LAMP, attributes=(), bullets=())
    assert component("attributes", product=bare).findings[0].rule == "no_attributes"
    assert component("attributes", wanted=goal(attributes=())).flip is None


def test_numbers_alone_can_decide_an_attribute():
    weights = replace(LAMP, attributes=("承重 PSV2000 加厚 款式",))
    found = component("attributes", product=weights, wanted=goal(attributes=("承重 PSV1000 加厚 款式",)))
    assert found.findings[0].rule == "other_numbers"


def test_price_flips_to_the_nearest_price_on_the_other_side():
    found = component("price", {"颜色": "沙色", "套装": "单灯"})
    assert [(item.asked, item.found, item.rule) for item in found.findings] == [
        ("50", "59", "selected_price_axis")
    ]
    assert found.flip == (Change("choose", "颜色", "墨绿", Decimal(45)),)
    assert component("price", wanted=goal(budget_upper=Decimal(20))).flip == (
        Change("price_up_to", amount=Decimal(20)),
    )
    assert component("price", wanted=goal(budget_upper=Decimal(90))).flip == (
        Change("price_above", amount=Decimal(90)),
    )
    free = component("price", wanted=goal(budget_upper=None))
    assert (free.findings[0].rule, free.flip) == (
        "no_ceiling",
        (Change("ceiling_below", amount=Decimal(39)),),
    )


def test_an_unverifiable_price_says_why():
    found = component("price", {"套装": "单灯"})
    assert (found.findings[0].rule, found.findings[0].found) == ("price_axis_unselected", "")
    assert found.flip == (Change("choose", "颜色", "墨绿", Decimal(45)),)


def test_type_tells_levels_and_terms():
    tent = Product.from_record({"asin": "2", "title": "帐篷", "category": "户外›帐篷"}, ("帐篷",))
    found = component("type", {}, product=tent)
    assert found.reward == 0
    assert [(item.rule, item.met) for item in found.findings] == [
        ("too_few_levels", False),
        ("too_few_terms", False),
    ]
    # One of the two gold terms is half of them, more than a fifth; of the category two levels are missing.
    assert found.flip == (Change("add_term", "title", "台灯"),)
    near = replace(tent, title_nouns=("台灯",))
    shown = component("type", {}, product=near)
    assert (shown.reward, shown.findings[1].rule) == (1.0, "shared_terms")
    assert shown.flip == (Change("remove_term", "title", "台灯"),)
    nameless = goal(replace(LAMP, category="", title_nouns=()))
    assert component("type", {}, wanted=nameless, product=tent).flip is None


def test_paper_mode_uses_its_own_rules():
    found = component("options", {"颜色": "雾蓝", "套装": "单灯"}, option_match="paper")
    assert found.findings[0].rule == "paper:score_above"


def test_json_form_and_silent_repr():
    evidence = explain_purchase(LAMP, BLUE_SINGLE, goal())
    form = evidence.as_dict()
    assert form["components"][3]["flip"] == [
        {"action": "choose", "where": "颜色", "text": "沙色", "amount": 59.0}
    ]
    assert form["components"][2]["findings"][0]["asked"] == "雾蓝"
    first = evidence.components[2]
    for value in (evidence, first, first.findings[0], first.flip[0]):
        assert not any(text in repr(value) for text in ("雾蓝", "沙色", "可充电", "台灯"))


def test_many_axes_are_not_searched_without_end(monkeypatch):
    monkeypatch.setattr("shopsim_env.reward.flips.MOST_SELECTIONS", 1)
    found = component("options", {"颜色": "沙色", "套装": "双灯"})
    assert found.flip == (Change("too_many_choices"),)


@pytest.fixture(scope="module")
def release():
    with load_release() as opened:
        yield opened


def test_a_release_explains_what_an_episode_bought(release):
    private = release.private()
    task_id = next(task for task in release.tasks if private.goal(task).options)
    wanted = private.goal(task_id)
    product = wanted.product
    shown = {axis.name: axis.values[-1].public for axis in product.axes}
    detail = score_purchase(product, shown, wanted)
    evidence = private.explain(task_id, product.asin, shown)
    assert [item.reward for item in evidence.components] == [
        detail.r_type,
        detail.r_att,
        detail.r_option,
        detail.r_price,
    ]
    with pytest.raises(UsageError) as caught:
        private.explain(task_id, product.asin, {"没有的轴": "x"})
    assert caught.value.code == "unknown_option"
    assert not any(text in str(caught.value) for text in wanted.options)
