"""The three rewards, the price component and the detail."""

import json
from decimal import Decimal
from typing import Any

import pytest

from shopsim_env.catalog.prices import PriceResolution
from shopsim_env.catalog.product import Product
from shopsim_env.errors import UsageError
from shopsim_env.private import Goal
from shopsim_env.reward.price import match_price
from shopsim_env.reward.total import combine, score_purchase, unpurchased_detail

GOLD = {
    "asin": "810000000001",
    "title": "折叠露营椅",
    "category": "户外›家具›椅子",
    "attribute": ["可折叠", "承重120kg"],
    "customization_options": {
        "颜色": [{"value": "雾蓝", "price": 80}, {"value": "米白", "price": 95}],
        "尺码": [{"value": "大号"}, {"value": "小号"}],
    },
    "pricing": [80, 95],
}
SHARED_KEYS = [
    "reward_version",
    "termination_reason",
    "r_type",
    "r_att",
    "r_option",
    "r_price",
    "r_loose",
    "r_strict",
    "r_success",
    "target_asin_match",
    "price_verifiable",
]
PURCHASE_KEYS = [
    "category_match",
    "title_score",
    "num_attr_matches",
    "num_option_matches",
    "n_att",
    "n_opt",
    "price_upper",
    "price_resolution",
]


def goal(**changes: Any) -> Goal:
    values: dict[str, Any] = {
        "task_id": 7,
        "task_uid": "shopsim-x",
        "product": Product.from_record(GOLD),
        "instruction": "private full text",
        "instruction_simple": "private simple text",
        "attributes": ("可折叠", "承重120kg"),
        "options": ("雾蓝", "大号"),
        "budget_kind": "hard_upper",
        "budget_upper": Decimal(80),
        "has_persona": False,
    }
    return Goal(**{**values, **changes})


@pytest.mark.parametrize(
    ("arguments", "loose", "strict", "success"),
    [
        ((1.0, 4, 4, 1, 1, 1.0), 1.0, 1.0, 1),
        ((1.0, 3, 4, 1, 1, 1.0), 5 / 6, 0.75, 0),
        ((1.0, 2, 2, 0, 0, 1.0), 1.0, 1.0, 1),
        ((0.5, 2, 2, 1, 2, 0.0), 0.5 * 3 / 5, 0.0, 0),
        ((1.0, 0, 0, 1, 1, 1.0), 1.0, 1.0, 1),
        ((0.1, 0, 0, 0, 0, 1.0), 0.1, 0.1, 0),
    ],
)
def test_formulas(arguments: tuple[Any, ...], loose: float, strict: float, success: int) -> None:
    totals = combine(*arguments)
    assert (totals.r_loose, totals.r_strict, totals.r_success) == (loose, strict, success)


@pytest.mark.parametrize(
    ("price", "ceiling", "reward"),
    [("80", "80", 1.0), ("80.01", "80", 0.0), (None, "80", 0.0), (None, None, 1.0), ("999", None, 1.0)],
)
def test_price_component(price: str | None, ceiling: str | None, reward: float) -> None:
    known = price is not None
    resolution = PriceResolution(
        "pass" if known else "unverifiable", Decimal(price) if price else None, "method", None
    )
    match = match_price(resolution, None if ceiling is None else Decimal(ceiling))
    assert (match.r_price, match.verifiable) == (reward, known)


def test_the_gold_purchase_within_the_budget() -> None:
    detail = score_purchase(GOLD, {"颜色": "雾蓝", "尺码": "大号"}, goal())
    assert detail.as_dict() == {
        "reward_version": "shopsim-reward-v1",
        "termination_reason": "purchase",
        "r_type": 1.0,
        "r_att": 1.0,
        "r_option": 1.0,
        "r_price": 1.0,
        "r_loose": 1.0,
        "r_strict": 1.0,
        "r_success": 1,
        "target_asin_match": True,
        "price_verifiable": True,
        "category_match": True,
        "title_score": 1.0,
        "num_attr_matches": 2,
        "num_option_matches": 2,
        "n_att": 2,
        "n_opt": 2,
        "price_upper": 80.0,
        "price_resolution": {
            "status": "pass",
            "price": 80.0,
            "method": "selected_price_axis",
            "reason": None,
            "version": "variant-price-v3",
        },
    }


def test_a_wrong_option_of_the_gold_product_over_budget() -> None:
    detail = score_purchase(GOLD, {"颜色": "米白", "尺码": "大号"}, goal())
    assert (detail.r_option, detail.r_price, detail.r_strict, detail.r_success) == (0.5, 0.0, 0.0, 0)
    assert detail.r_loose == (2 + 1 + 0) / 5
    assert detail.target_asin_match


def test_an_alternative_product_can_succeed() -> None:
    other = {**GOLD, "asin": "810000000002", "title": "露营椅 可折叠 承重120kg", "attribute": []}
    detail = score_purchase(Product.from_record(other), {"颜色": "雾蓝", "尺码": "大号"}, goal())
    assert (detail.r_success, detail.reward, detail.target_asin_match) == (1, 1.0, False)


def test_an_unknown_price_fails_a_budget_and_says_so() -> None:
    unpriced = {**GOLD, "customization_options": {"颜色": ["雾蓝"], "尺码": ["大号"]}}
    detail = score_purchase(unpriced, {"颜色": "雾蓝", "尺码": "大号"}, goal())
    assert (detail.r_price, detail.price_verifiable, detail.r_strict) == (0.0, False, 0.0)
    free = score_purchase(unpriced, {"颜色": "雾蓝", "尺码": "大号"}, goal(budget_upper=None))
    assert (free.r_price, free.price_verifiable, free.price_upper, free.r_success) == (1.0, False, None, 1)


def test_a_goal_without_attributes_counts_them_as_met() -> None:
    detail = score_purchase(GOLD, {"颜色": "雾蓝", "尺码": "大号"}, goal(attributes=()))
    assert (detail.r_att, detail.n_att, detail.r_loose) == (1.0, 0, 1.0)


def test_paper_mode_is_the_published_reward() -> None:
    chosen = {"颜色": "雾蓝 标准版", "尺码": "大号"}
    other = {
        **GOLD,
        "customization_options": {"颜色": ["雾蓝", "雾蓝 标准版"], "尺码": ["大号"]},
        "pricing": [80],
    }
    assert score_purchase(other, chosen, goal()).num_option_matches == 1
    paper = score_purchase(other, chosen, goal(), option_match="paper")
    assert (paper.num_option_matches, paper.reward_version) == (2, "shopsimulator-paper-reward-v2")


def test_the_detail_holds_no_text_of_the_goal() -> None:
    shown = json.dumps(score_purchase(GOLD, {"颜色": "雾蓝"}, goal()).as_dict(), ensure_ascii=False)
    for text in ("雾蓝", "大号", "可折叠", "private", "810000000001", "shopsim-x"):
        assert text not in shown


@pytest.mark.parametrize(
    ("rule", "version"), [("anchored", "shopsim-reward-v1"), ("paper", "shopsimulator-paper-reward-v2")]
)
def test_an_episode_without_purchase_is_worth_nothing(rule: str, version: str) -> None:
    detail = unpurchased_detail("action_limit", rule)
    shown = detail.as_dict()
    assert list(shown) == SHARED_KEYS
    assert (shown["reward_version"], shown["termination_reason"]) == (version, "action_limit")
    assert {shown[key] for key in SHARED_KEYS[2:9]} == {0}
    assert (shown["target_asin_match"], shown["price_verifiable"], detail.reward) == (False, False, 0.0)


def test_a_purchase_shows_more_than_an_unpurchased_episode() -> None:
    assert list(score_purchase(GOLD, {}, goal()).as_dict()) == SHARED_KEYS + PURCHASE_KEYS


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(UsageError, match="option_match must be one of anchored, paper"):
        score_purchase(GOLD, {}, goal(), option_match="Paper")
