"""Rewards of arbitrary purchases."""

from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shopsim_env.catalog.product import Product, as_product
from shopsim_env.private import Goal
from shopsim_env.reward.option import match_option
from shopsim_env.reward.option_slots import canon
from shopsim_env.reward.total import combine, score_purchase

WORDS = st.lists(st.sampled_from([*"红蓝黑大小+ 【】🔥", "XL", "20片"]), min_size=1, max_size=5)
VALUES = WORDS.map("".join).filter(lambda text: bool(canon(text)))
AXES = st.dictionaries(
    st.sampled_from(["颜色", "尺码", "款式"]),
    st.lists(VALUES, min_size=1, max_size=4, unique_by=canon),
    max_size=3,
)


@st.composite
def products(draw: st.DrawFn) -> dict[str, Any]:
    options = {
        name: [{"value": value, "price": 50} for value in values] for name, values in draw(AXES).items()
    }
    return {
        "asin": draw(st.sampled_from(["811", "812"])),
        "title": draw(st.text("折叠露营椅台灯ab 1", max_size=8)),
        "category": draw(st.sampled_from(["家居›照明", "家居›照明›灯", "户外", ""])),
        "attribute": draw(st.lists(st.sampled_from(["防水", "可充电", "14kg"]), max_size=3, unique=True)),
        "customization_options": options,
        "pricing": [50],
    }


@st.composite
def purchases(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, str], Goal]:
    gold = draw(products())
    chosen = {
        name: draw(st.sampled_from(values))["value"] for name, values in gold["customization_options"].items()
    }
    budget = draw(st.sampled_from([None, Decimal(50), Decimal(60)]))
    goal = Goal(
        task_id=1,
        task_uid="u",
        product=Product.from_record(gold),
        instruction="",
        instruction_simple="",
        attributes=tuple(gold["attribute"]),
        options=tuple(chosen.values()),
        budget_kind="hard_upper" if budget else "no_budget",
        budget_upper=budget,
        has_persona=False,
    )
    return gold, chosen, goal


@given(purchases(), products(), st.sampled_from(["anchored", "paper"]), st.data())
def test_bounds_and_order(
    purchase: tuple[dict[str, Any], dict[str, str], Goal],
    other: dict[str, Any],
    rule: str,
    data: st.DataObject,
) -> None:
    options = as_product(other).axes
    selected = {axis.name: data.draw(st.sampled_from(axis.values)).public for axis in options}
    detail = score_purchase(other, selected, purchase[2], option_match=rule)
    for value in (
        detail.r_type,
        detail.r_att,
        detail.r_option,
        detail.r_price,
        detail.r_loose,
        detail.r_strict,
    ):
        assert 0 <= value <= 1
    assert detail.r_success in (0, 1)
    if detail.r_success:
        assert detail.r_strict == detail.r_loose == 1


@given(purchases(), st.sampled_from(["anchored", "paper"]))
def test_buying_the_gold_product_with_its_options_is_a_success(
    purchase: tuple[dict[str, Any], dict[str, str], Goal], rule: str
) -> None:
    gold, chosen, goal = purchase
    detail = score_purchase(gold, chosen, goal, option_match=rule)
    assert (detail.r_att, detail.r_price) == (1.0, 1.0)
    assert detail.r_option == 1.0
    # A gold product whose title has no term and whose category has one level never reaches r_type 1.
    assert detail.r_success == int(detail.r_type == 1)


@given(
    st.integers(0, 6), st.integers(0, 6), st.integers(0, 6), st.integers(0, 6), st.sampled_from([0.0, 1.0])
)
def test_totals_of_all_counts(n_att: int, n_opt: int, m_att: int, m_opt: int, r_price: float) -> None:
    totals = combine(1.0, min(m_att, n_att), n_att, min(m_opt, n_opt), n_opt, r_price)
    assert 0 <= totals.r_strict <= 1
    assert 0 <= totals.r_loose <= 1
    assert (totals.r_success == 1) == (totals.r_loose == 1.0) == (totals.r_strict == 1.0)


@given(st.text(max_size=30))
def test_canon_is_idempotent_and_every_value_meets_itself(value: str) -> None:
    assert canon(canon(value)) == canon(value)
    if value.strip() and canon(value):
        assert match_option(value, value, [value]).match
