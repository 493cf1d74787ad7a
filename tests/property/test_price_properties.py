"""Prices against a hidden truth: a snapshot may forget prices, an answer may be missing, never wrong."""

from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shopsim_env.catalog.prices import resolve_price
from shopsim_env.catalog.product import Product

PRICES = st.sampled_from([5, 9.9, 10, 10.01, 30, 1299])
SEEN = st.sampled_from(["price", "price", "nothing", "zero"])


@st.composite
def snapshots(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, str], Decimal]:
    """A record, a selection and what it truly costs: one axis decides, some of its prices were not seen."""
    truth = draw(st.lists(PRICES, min_size=1, max_size=4))
    entries = []
    for number, price in enumerate(truth):
        seen = draw(SEEN)
        entry = {"value": f"款{number}", "price": {"price": price, "zero": 0}.get(seen)}
        entries.append({name: part for name, part in entry.items() if part is not None})
    free = [{"value": "红"}, {"value": "蓝"}]
    options = {"款式": entries, "颜色": free} if draw(st.booleans()) else {"颜色": free, "款式": entries}
    ends = [min(truth), max(truth)]
    listing = draw(st.sampled_from([None, [], [0], ends[:1] if ends[0] == ends[1] else ends]))
    chosen = draw(st.integers(0, len(truth) - 1))
    record = {"asin": "100000000001", "title": "台灯", "customization_options": options, "pricing": listing}
    selected = {"款式": f"款{chosen}", "颜色": draw(st.sampled_from(["红", "蓝"]))}
    return record, selected, Decimal(str(truth[chosen]))


@given(snapshots())
def test_a_price_is_the_true_one_or_unknown(case: tuple[dict[str, Any], dict[str, str], Decimal]) -> None:
    record, selected, truth = case
    resolution = resolve_price(record, selected)
    assert resolution.price in (None, truth)
    assert (resolution.status == "pass") == (resolution.price is not None) == (resolution.reason is None)


@given(snapshots())
def test_record_and_product_agree_and_spelling_does_not_matter(
    case: tuple[dict[str, Any], dict[str, str], Decimal],
) -> None:
    record, selected, _ = case
    wide = {axis: f" {value} " for axis, value in reversed(selected.items())}
    assert resolve_price(record, selected) == resolve_price(Product.from_record(record), wide)


@given(snapshots(), st.sampled_from(["款式", "颜色"]))
def test_fewer_choices_never_change_a_price(
    case: tuple[dict[str, Any], dict[str, str], Decimal], dropped: str
) -> None:
    record, selected, _ = case
    fewer = resolve_price(record, {axis: value for axis, value in selected.items() if axis != dropped})
    assert fewer.price in (None, resolve_price(record, selected).price)
