"""Search with filters, depth, stock and noise; rerank, product, variants. Expected values from the shop's rules."""

from typing import Any

import pytest
from rlve_shop import SIZE, call, episode, shown

from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.overlay import Overlay, synthesize
from shopsim_env.rlve.shelf import Shelf


def search(overlay: Overlay, query: str = "", top_k: int = 20, **filters: Any) -> dict[str, Any]:
    return call(overlay, "catalog.search", query=query, filters=filters or None, top_k=top_k)


def indexes(result: dict[str, Any]) -> list[int]:
    """Indexes of the products of a result."""
    return [int(card["title"].split()[0].removeprefix("item")) for card in result["products"]]


def test_a_card_has_what_an_agent_needs(shelf: Shelf) -> None:
    overlay = episode(shelf)
    (card,) = search(overlay, "item4")["products"]
    assert card == {
        "product_id": overlay.ids.product_id(5),
        "title": "item4 widget even",
        "price": 14,
        "rating": 2,
        "rating_count": 4,
        "ship_days": 4,
        "category": "数码›耳机›头戴",
        "brand": "乙",
        "key_attrs": {"color": ["white"]},
        "stock_qty": 5,
    }
    assert overlay.seen.source(card["product_id"]) == "search"
    card["key_attrs"]["color"].append("red")
    assert shelf.item(5).card["key_attrs"] == {"color": ["white"]}, "results belong to who gets them"


@pytest.mark.parametrize(
    ("filters", "rule"),
    [
        ({"price_max": 29.5}, lambda i: i <= 19),
        ({"price_min": 29.01, "price_max": 40}, lambda i: 20 <= i <= 30),
        ({"rating_min": 4.5}, lambda i: i // 4 % 5 == 4),
        ({"rating_count_min": 100, "ship_days_max": 1}, lambda i: i >= 100 and i % 7 <= 1),
        ({"brand": "乙"}, lambda i: i // 4 % 2 == 1),
        ({"category": "坚果"}, lambda i: i % 4 == 2),
        ({"category": "数码", "attributes": {"color": "black"}}, lambda i: i % 4 == 0 and i % 3 == 0),
        ({"category": "数码", "attributes": {"颜色": "黑色"}}, lambda i: i % 4 == 0 and i % 3 == 0),
        ({"in_stock": True, "price_min": 90}, lambda i: i >= 80 and i % 10 != 9),
    ],
)
def test_filters_leave_exactly_what_meets_them(shelf: Shelf, filters: dict[str, Any], rule: Any) -> None:
    """With a query and without; cheapest first without, and `total` says how many there are."""
    overlay = episode(shelf)
    expected = [index for index in range(SIZE - 1) if rule(index)]
    listed = search(overlay, top_k=500, **filters)
    if filters.keys() & {"price_max", "price_min"} or not rule(SIZE - 1):
        assert indexes(listed) == expected
        assert listed["total"] == len(expected)
    else:
        assert indexes(listed) == [SIZE - 1, *expected], "without a price first"
    ranked = search(overlay, "widget", top_k=500, **filters)
    assert sorted(indexes(ranked)) == sorted(indexes(listed))
    assert "total" not in ranked


def test_filters_come_before_ranking(shelf: Shelf) -> None:
    """Case tool-search-filter-first: 30 products match, 20 asked, 20 given."""
    overlay = episode(shelf)
    assert len(search(overlay, "widget", category="数码›耳机›头戴")["products"]) == 20
    assert search(overlay, category="数码›耳机›头戴")["total"] == 30


def test_the_depth_axis_caps_top_k(shelf: Shelf) -> None:
    """Case depth-cap, with a cap that a small shop can show."""
    assert len(search(episode(shelf, top_k=7), "widget", top_k=500)["products"]) == 7
    assert len(search(episode(shelf), "widget", top_k=500)["products"]) == SIZE


def test_stock_outs_of_the_episode_are_not_in_stock(shelf: Shelf) -> None:
    overlay = episode(shelf, p_oos=0.5)
    held = [index for index in range(SIZE) if overlay.stock.in_stock(index + 1)]
    assert 30 < len(held) < 80
    listed = search(overlay, top_k=500, in_stock=True)
    assert sorted(indexes(listed)) == held
    assert listed["total"] == len(held)
    assert sorted(indexes(search(overlay, "widget", top_k=500, in_stock=True))) == held
    assert len(search(overlay, "widget", top_k=25, in_stock=True)["products"]) == 25
    out = next(card for card in search(overlay, "widget", top_k=500)["products"] if card["stock_qty"] == 0)
    assert out


def test_a_search_for_more_hits_when_stock_is_scarce(shelf: Shelf) -> None:
    overlay = episode(shelf, p_oos=0)
    for number in range(1, 101):
        overlay.stock.force(number, 0)
    assert len(search(overlay, "widget", top_k=5, in_stock=True)["products"]) == 5


@pytest.mark.parametrize(
    ("query", "filters", "code"),
    [
        ("", {}, "empty_query"),
        ("!!!", {}, "empty_query"),
        ("x", {"category": "没有"}, "unknown_category"),
        ("x", {"attributes": {"taste": "sweet"}}, "unknown_attribute"),
        ("x", {"attributes": {"color": "blak"}}, "unknown_attribute"),
        ("x", {"attributes": {"wattage": "many"}}, "unknown_attribute"),
    ],
)
def test_what_the_shop_does_not_know_is_refused(
    shelf: Shelf, query: str, filters: dict[str, Any], code: str
) -> None:
    assert search(episode(shelf), query, **filters)["error"]["code"] == code


def test_words_without_meaning_leave_the_filters(shelf: Shelf) -> None:
    assert indexes(search(episode(shelf), "!!!", price_max=12)) == [0, 1, 2]
    assert search(episode(shelf), "widget", attributes={"wattage": 65.5})["products"] == []


def test_a_close_value_is_proposed(shelf: Shelf) -> None:
    message = search(episode(shelf), "x", attributes={"color": "blak"})["error"]["message"]
    assert "black" in message


@pytest.mark.parametrize("query", ["", "widget"])
def test_noise_keeps_filters_and_never_repeats(shelf: Shelf, query: str) -> None:
    """Case tool-search-noise-respects-filter."""
    changed = 0
    quiet = episode(shelf, 10, eps_rank=0, p_oos=0.3)
    for seed in range(25):
        loud = episode(shelf, 10, seed, eps_rank=0.4, p_oos=0.3)
        found = search(loud, query, top_k=10, price_max=60, in_stock=True)["products"]
        assert len({card["product_id"] for card in found}) == 10
        assert all(card["price"] <= 60 and card["stock_qty"] > 0 for card in found)
        same = episode(shelf, 10, seed, eps_rank=0, p_oos=0.3)
        before = search(same, query, top_k=10, price_max=60, in_stock=True)["products"]
        changed += before != found
        # What gave way gave way to its own category.
        assert len(before) == len(found)
        again = episode(shelf, 10, seed, eps_rank=0.4, p_oos=0.3)
        assert search(again, query, top_k=10, price_max=60, in_stock=True)["products"] == found
    assert changed > 20
    assert quiet.searches == 0


def test_a_complete_list_stays_complete_under_noise(shelf: Shelf) -> None:
    orders = set()
    for seed in range(10):
        overlay = episode(shelf, 20, seed, eps_rank=0.4, p_oos=0, top_k=200)
        found = indexes(search(overlay, top_k=200, price_max=49, category="头戴"))
        assert sorted(found) == [0, 4, 8, 12, 16, 20, 24, 28, 32, 36]
        orders.add(tuple(found))
    assert len(orders) > 5


def test_every_search_has_noise_of_its_own(shelf: Shelf) -> None:
    overlay = episode(shelf, 20, eps_rank=0.4, p_oos=0)
    assert search(overlay, "widget", top_k=40) != search(overlay, "widget", top_k=40)


def test_rerank_skips_unknown_ids_and_keeps_the_rest(shelf: Shelf) -> None:
    """Case tool-rerank-unknown."""
    overlay = episode(shelf)
    one, two, three = (shown(overlay, number) for number in (1, 2, 3))
    args: dict[str, Any] = {"candidate_product_ids": [three, "zzz", two, one, two]}
    assert call(overlay, "catalog.rerank", query="odd", **args) == {"product_ids": [two, three, one]}
    assert call(overlay, "catalog.rerank", query="nothing", top_k=2, **args) == {"product_ids": [three, two]}


def test_a_product_in_full_and_its_variants(shelf: Shelf) -> None:
    overlay = episode(shelf)
    name = shown(overlay, 1)
    plain = call(overlay, "catalog.get_product", product_id=name)
    assert (plain["description"], plain["attributes"], plain["has_variants"]) == (
        "text of 0",
        ["耐用"],
        False,
    )
    assert call(overlay, "catalog.get_variants", product_id=name)["variants"] == []
    facts = shelf.item(1).facts
    made, _ = synthesize(facts, shelf.world.category(facts.category).families, Draws("v"), shelf.world)
    overlay.variants[1] = made
    rows = call(overlay, "catalog.get_variants", product_id=name)["variants"]
    assert [row["variant_id"] for row in rows] == [item.id for item in made]
    assert rows[0]["attribute"] == "connector_type"
    assert rows[0]["value"] == made[0].name
    assert {row["stock_qty"] for row in rows} == {5}
    assert call(overlay, "catalog.get_product", product_id=name)["has_variants"] is True
