from dataclasses import replace
from decimal import Decimal

import pytest
from shop_world import LAMP, ODD, RECORDS

from shopsim_env.catalog.product import Product
from shopsim_env.errors import UsageError
from shopsim_env.private import Goal
from shopsim_env.shop.env import ShopEnv
from shopsim_env.shop.oracle import plan_options, solve, solve_any
from shopsim_env.shop.pages import offered_axes


@pytest.fixture
def env(release):
    return ShopEnv(release)


def test_it_wins_what_can_be_won(release, env):
    result = solve(release, env, 3)
    assert (result.reached, result.reason, result.query) == (True, "", "simple")
    assert result.actions == (
        "search[找个星野便携台灯]",
        f"click[{LAMP}]",
        "click[套装=单灯]",
        "click[颜色分类=雾蓝]",
        "click[buy now]",
    )
    assert result.steps[-1][1].reward == 1.0


@pytest.mark.parametrize("query", ["full", "title"])
def test_other_queries(release, env, query):
    assert solve(release, env, 3, query).reached


def test_free_axes_take_the_first_value_within_the_ceiling(release, env):
    result = solve(release, env, 9)
    assert result.reached
    assert "click[颜色分类=雾蓝]" in result.actions


@pytest.mark.parametrize(
    ("task_id", "reason"),
    [(8, "over_budget"), (10, "option_missing"), (12, "price_unverifiable")],
)
def test_what_cannot_be_won_is_bought_with_its_reason(release, env, task_id, reason):
    result = solve(release, env, task_id)
    assert (result.reached, result.reason) == (False, reason)
    assert result.steps[-1][1].termination_reason == "purchase"


def test_products_that_the_query_does_not_find(release, env):
    result = solve(release, env, 11)
    assert (result.reached, result.reason) == (False, "not_found_in_top_150")
    assert len(result.actions) == 8  # one search and seven times "next >"
    assert solve(release, env, 13).reason == "empty_query"
    assert solve(release, ShopEnv(release, max_actions=4), 11).reason == "action_limit"
    assert solve(release, ShopEnv(release, max_actions=3), 3).reason == "action_limit"


def test_other_queries_are_tried_until_one_finds_the_product(release, env):
    result = solve_any(release, env, 11)
    assert (result.query, result.reached) == ("title", True)
    assert solve_any(release, env, 8).query == "simple"


def test_unknown_queries_are_refused(release, env):
    with pytest.raises(UsageError, match="simple"):
        solve(release, env, 3, "gold")


def goal(asin, *options, upper=None):
    record = next(record for record in RECORDS if record["asin"] == asin)
    return Goal(
        task_id=1,
        task_uid="u",
        product=Product.from_record(record),
        instruction="",
        instruction_simple="",
        attributes=(),
        options=options,
        budget_kind="no_budget",
        budget_upper=None if upper is None else Decimal(upper),
        has_persona=False,
    )


def test_plan_gives_each_requirement_its_own_axis():
    # Axes of the raw record: 颜色分类 (雾蓝, 沙色), 套装 (单灯, 灯 | 支架 xl).
    assert plan_options(goal(LAMP, "灯/支架 XL", "沙色")).chosen == (1, 1)
    assert plan_options(goal(LAMP, "雾蓝", "沙色")).reason == "option_missing"
    assert plan_options(goal(LAMP, "夜光", upper="10")).reason == "option_missing"


def test_plan_keeps_an_inclusive_ceiling():
    assert plan_options(goal(LAMP, upper="39")).chosen == (0, 0)
    assert plan_options(goal(LAMP, upper="38.99")).reason == "over_budget"


def test_plan_chooses_on_offered_axes_only():
    plan = plan_options(goal(ODD, "送🎐"))
    assert (plan.chosen, plan.reason) == ((3, 0), "")


def test_paper_rule_accepts_what_the_published_rule_accepts():
    assert plan_options(goal(LAMP, "沙色 标准版")).reason == "option_missing"
    assert plan_options(goal(LAMP, "沙色 标准版"), rule="paper").reason == ""


def test_a_value_that_two_axes_offer_is_tried_on_both():
    """Red costs 90 as a colour and nothing of its own as a trim; only the second keeps the ceiling."""
    record = {
        "asin": "1",
        "title": "灯",
        "pricing": [30.0, 90.0],
        "customization_options": {
            "颜色": [{"value": "红", "price": 90}, {"value": "蓝", "price": 30}],
            "饰边": [{"value": "红"}, {"value": "白"}],
        },
    }
    wanted = replace(goal(LAMP, "红", upper="50"), product=Product.from_record(record))
    plan = plan_options(wanted)
    axes = [axis.name for axis in offered_axes(wanted.product)]
    chosen = dict(zip(axes, plan.chosen, strict=True))
    assert (chosen, plan.reason) == ({"颜色": 1, "饰边": 0}, "")
    assert plan_options(replace(wanted, budget_upper=Decimal(20))).reason == "over_budget"
