"""Amounts in words and budget phrases of the sample generator, against readings worked out by hand."""

from decimal import Decimal

import pytest

from pipelines.stages.sample.budget_phrases import phrase
from pipelines.stages.sample.budgets import (
    FAMILY_WEIGHTS,
    Budget,
    ceiling_below,
    choose_budget,
    other_amount,
    round_down,
    round_up,
)
from pipelines.stages.sample.chance import seeded
from pipelines.stages.sample.numerals import chinese_number, write_amount
from shopsim_env.tasks.budget import parse_budget

CEILINGS = ("around", "within", "not_over", "bare", "range", "odd", "about", "hidden")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2, "二"), (10, "十"), (15, "十五"), (20, "二十"), (35, "三十五"), (100, "一百"), (105, "一百零五"),
        (150, "一百五十"), (200, "两百"), (270, "两百七十"), (1000, "一千"), (1050, "一千零五十"),
        (2222, "两千两百二十二"), (10_000, "一万"), (20_500, "两万零五百"), (18_000, "一万八千"),
        (120_000, "十二万"),
    ],
)  # fmt: skip
def test_chinese_number(value, text):
    assert chinese_number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (150, "一百五"),
        (270, "两百七"),
        (1300, "一千三"),
        (25_000, "两万五"),
        (1305, "一千三百零五"),
        (100, "一百"),
    ],
)
def test_spoken_form_leaves_out_the_last_unit(value, text):
    assert chinese_number(value, short=True) == text


@pytest.mark.parametrize("value", [0, -3, 100_000_000])
def test_numbers_outside_the_range_are_refused(value):
    with pytest.raises(ValueError, match="expected 1"):
        chinese_number(value)


def test_amounts_with_a_unit_can_stand_alone():
    rng = seeded(f"{1}")
    texts = [write_amount(rng, value, need_unit=True) for value in (9, 80, 1300, 18_000) for _ in range(200)]
    assert all(any(mark in text for mark in ("元", "块", "¥", "rmb")) for text in texts)
    assert len({text for text in texts if "80" in text}) > 3


@pytest.mark.parametrize(
    ("price", "up", "down"),
    [(7, 7, 7), (33, 35, 30), (78, 80, 70), (411, 450, 400), (1730, 1800, 1700), (7200, 7500, 7000)],
)
def test_amounts_that_people_name(price, up, down):
    assert (round_up(price), round_down(price)) == (up, down)


@pytest.mark.parametrize("family", CEILINGS)
@pytest.mark.parametrize("price", [1, 4, 9, 13, 58, 99, 288, 1399, 18_800])
def test_the_gold_price_fits_its_budget(family, price):
    for seed in range(40):
        budget = choose_budget(seeded(f"{seed}"), family, price)
        assert budget.upper >= price
        # and is no give-away: people name an amount near what the goods cost
        assert budget.upper <= max(price + 10, 2.2 * price)


@pytest.mark.parametrize("family", ["none", "unit_price", "lower_only", "deposit", "ambiguous"])
def test_families_without_a_ceiling(family):
    kinds = {"none": "no_budget", "unit_price": "non_total_price", "deposit": "non_total_price"}
    budget = choose_budget(seeded(f"{3}"), family, 120)
    assert budget.upper is None
    assert budget.kind == kinds.get(family, family)


def test_tolerance_is_exact_and_added_once():
    assert Budget("around", "approximate_upper", 99).upper == Decimal("108.9")
    assert Budget("within", "hard_upper", 99).upper == 99
    assert Budget("odd", "approximate_upper", 29, form="teens").upper == Decimal("31.9")


@pytest.mark.parametrize("price", [2, 5, 23, 160, 2999])
def test_a_ceiling_below_the_price_stays_below_with_the_tolerance(price):
    for seed in range(20):
        assert ceiling_below(seeded(f"{seed}"), price).upper < price


def test_a_conflict_has_another_amount():
    for seed in range(50):
        budget = choose_budget(seeded(f"{seed}"), "around", 87)
        assert other_amount(seeded(f"{seed}"), budget).amount != budget.amount
    with pytest.raises(ValueError, match="amount is needed"):
        other_amount(seeded(f"{1}"), Budget("none", "no_budget"))


@pytest.mark.parametrize("family", sorted(FAMILY_WEIGHTS))
def test_every_phrase_is_read_as_its_budget(family):
    """The run-time parser is an independent reader of the same table."""
    for seed in range(150):
        rng = seeded(f"{seed}")
        budget = choose_budget(rng, family, rng.choice((6, 14, 27, 58, 99, 180, 433, 1299, 2600, 15_800)))
        said = phrase(rng, budget, "个")
        found = parse_budget(f"想买一个收纳柜，颜色选米白，{said.text}。")
        assert (found.kind, found.upper) == (budget.kind, budget.upper), said.text
        assert said.evidence in said.text


@pytest.mark.parametrize(
    ("budget", "texts"),
    [
        (Budget("odd", "approximate_upper", 19, form="teens"), {"十几块"}),
        (Budget("within", "hard_upper", 100, form="hundred"), {"在百元内"}),
        (Budget("not_over", "hard_upper", 500, 60, "deposit_and_total"), {"定金60元，总价不超过500元"}),
        (Budget("hidden", "hard_upper", 270, form="done"), {"两百七能搞定"}),
        (Budget("hidden", "approximate_upper", 50, form="around_post"), {"五十左右包邮"}),
        (Budget("hidden", "approximate_upper", 1300, form="just_over"), {"一千三出头的样子"}),
        (Budget("ambiguous", "ambiguous", form="几百块"), {"几百块"}),
        (Budget("range", "hard_upper", 80, 50, "floor"), {"不低于50元，不超过80元"}),
    ],
)
def test_special_forms(budget, texts):
    said = phrase(seeded(f"{4}"), budget, "个").text
    assert any(text in said for text in texts)


def test_a_phrase_needs_its_amount():
    with pytest.raises(ValueError, match="needs an amount"):
        phrase(seeded(f"{1}"), Budget("bare", "hard_upper"), "个")
