"""Any calls in any order: only faults are raised, refusals change nothing, stock and cart stay consistent."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from rlve_shop import SIZE, episode

from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.overlay import Overlay, Plan, order_book, synthesize
from shopsim_env.rlve.protocol import Call, FormatFault, read_turn
from shopsim_env.rlve.shelf import Shelf
from shopsim_env.rlve.tools import TOOLS, ToolFault, run_tool

NUMBERS = st.integers(0, 7)
WORDS = st.sampled_from(["", "widget", "even item7", "!!!", "耳机", '"a" OR b*', "坚果"])


def prepared(shelf: Shelf, seed: int) -> Overlay:
    overlay = episode(shelf, 6, seed)
    overlay.visits = tuple(range(1, 9))
    overlay.book = order_book(
        shelf,
        range(1, 60),
        Draws("book", seed),
        overlay.today,
        4,
        account=overlay.account,
        plans=[Plan("DELIVERED", 9)],
    )
    for number in (1, 2, 3):
        facts = shelf.item(number).facts
        families = shelf.world.category(facts.category).families
        overlay.variants[number], _ = synthesize(facts, families, Draws("v", seed, number), shelf.world)
    return overlay


def filled(overlay: Overlay, name: str, place: int) -> Any:
    """A plausible or odd value for an argument."""
    products = [overlay.ids.product_id(number) for number in range(1, 9)]
    variants = [item.id for number in (1, 2, 3) for item in overlay.variants[number]]
    lines = [line.id for order in overlay.book.orders for line in order.lines]
    pools: dict[str, list[Any]] = {
        "product_id": [*products, "none"],
        "new_product_id": [*products, "none"],
        "candidate_product_ids": [products, ["none"], products[:2] * 2],
        "variant_id": [*variants, None, "none"],
        "new_variant_id": [*variants, None],
        "quantity": [1, 2, 3, 0, 4, 1000],
        "line_id": [*lines, "line_001", "line_002", "line_003", "none"],
        "order_id": ["ord_001", "ord_002", "ord_003", "ord_004", "ord_005", "none"],
        "shipping_address_id": [overlay.account.address_id, "none"],
        "payment_method_id": [overlay.account.payment_id, "none"],
        "reason_code": ["defective", "none"],
        "method": ["mail", "pickup", "none"],
        "days": [1, 30, 365],
        "top_k": [1, 5, 20],
        "filters": [None, {"in_stock": True}, {"price_max": 30, "category": "数码"}, {"category": "none"}],
    }
    options = pools[name]
    return options[place % len(options)]


@st.composite
def calls(draw: st.DrawFn) -> list[tuple[str, list[int], str]]:
    one = st.tuples(st.sampled_from(sorted(TOOLS)), st.lists(NUMBERS, min_size=5, max_size=5), WORDS)
    return draw(st.lists(one, min_size=1, max_size=25))


def state(overlay: Overlay) -> tuple[Any, ...]:
    return (
        overlay.cart.quantities(),
        [order.id for order in overlay.book.orders],
        list(overlay.returns),
        list(overlay.exchanges),
        [overlay.stock.units(number) for number in range(1, 9)],
    )


def check(overlay: Overlay) -> None:
    totals: dict[int, int] = {}
    for line in overlay.cart.lines:
        assert line.quantity >= 1
        totals[line.number] = totals.get(line.number, 0) + line.quantity
        assert (line.variant is None) == (line.number not in overlay.variants)
    for number, total in totals.items():
        # An exchange may take units that lie in a cart, which checkout then refuses; so against the first stock.
        assert total <= overlay.shelf.item(number).facts.stock
    assert all(overlay.stock.units(number) >= 0 for number in range(1, SIZE + 1))
    lines = [(item.order_id, item.line_id) for item in overlay.returns]
    assert len(lines) == len(set(lines))
    assert all(overlay.ids.number(name) for name in overlay.seen)


@settings(max_examples=120)
@given(calls(), st.integers(0, 5))
def test_any_calls_keep_the_shop_consistent(
    shelf: Shelf, made: list[tuple[str, list[int], str]], seed: int
) -> None:
    overlay = prepared(shelf, seed)
    run_tool(overlay, Call("user.get_visit_history"))
    for name, places, words in made:
        names = list(TOOLS[name].arguments.model_fields)
        args = {
            field: words if field == "query" else filled(overlay, field, place)
            for field, place in zip(names, places, strict=False)
        }
        before = state(overlay)
        try:
            result = run_tool(overlay, Call(name, args))
        except ToolFault:
            assert state(overlay) == before
            continue
        json.dumps(result, allow_nan=False)
        if "error" in result:
            assert state(overlay) == before
        check(overlay)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200)
@given(st.sampled_from(sorted(TOOLS)), st.data())
def test_odd_arguments_are_faults_or_results(shelf: Shelf, name: str, data: st.DataObject) -> None:
    names = [*TOOLS[name].arguments.model_fields, "odd"]
    args = data.draw(st.dictionaries(st.sampled_from(names), VALUES, max_size=5))
    overlay = episode(shelf)
    try:
        json.dumps(run_tool(overlay, Call(name, args)), allow_nan=False)
    except ToolFault as fault:
        assert fault.code == "bad_arguments"
        assert len(str(fault)) < 2_000


FILTERS = st.fixed_dictionaries(
    {},
    optional={
        "category": st.text(max_size=6) | st.sampled_from(["数码", "头戴"]),
        "brand": st.text(max_size=6),
        "price_min": st.floats(0, 1e9) | st.integers(0, 10**9),
        "price_max": st.floats(0, 1e9),
        "rating_min": st.floats(0, 5),
        "ship_days_max": st.integers(0, 10**9),
        "in_stock": st.booleans(),
        "attributes": st.dictionaries(
            st.sampled_from(["color", "wattage", "?"]),
            st.text(max_size=6) | st.floats() | st.integers(),
            max_size=2,
        ),
    },
)


@settings(max_examples=150)
@given(st.text(max_size=12), FILTERS)
def test_any_filter_gives_hits_that_meet_it_or_a_refusal(
    shelf: Shelf, query: str, filters: dict[str, Any]
) -> None:
    overlay = episode(shelf, 8)
    try:
        result = run_tool(overlay, Call("catalog.search", {"query": query, "filters": filters}))
    except ToolFault:
        return
    for card in result.get("products", ()):
        if filters.keys() & {"price_min", "price_max"}:
            assert filters.get("price_min", 0) <= card["price"] <= filters.get("price_max", 1e9)
        assert card["rating"] >= filters.get("rating_min", 0)
        assert card["ship_days"] <= filters.get("ship_days_max", 10**9)
        assert card["stock_qty"] > 0 or not filters.get("in_stock")


@settings(max_examples=300)
@given(st.text(max_size=60) | st.binary(max_size=60) | VALUES.map(json.dumps) | VALUES)
def test_anything_is_a_turn_or_a_format_fault(raw: Any) -> None:
    try:
        read_turn(raw)
    except FormatFault as fault:
        assert str(fault)
