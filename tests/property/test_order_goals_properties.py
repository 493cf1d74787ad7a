"""CART, RETURN and STATUS at every level: descriptions fit one thing, goals the turns; oracles solve them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rlve_world import played, sample_market

from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.oracles import oracle
from shopsim_env.rlve.overlay import eligibility
from shopsim_env.rlve.protocol import Call
from shopsim_env.rlve.tools import run_tool

LEVELS = st.integers(0, 20)
SEEDS = st.integers(0, 10_000)
LANGUAGES = st.sampled_from(["zh", "en"])
ENVIRONMENTS = st.sampled_from(["CART", "RETURN", "STATUS"])


@pytest.fixture(scope="module")
def market() -> Iterator[Market]:
    with sample_market() as opened:
        yield opened


def fits(card: Mapping[str, Any], filters: Mapping[str, Any]) -> bool:
    """What the words of a filter mean, read off a card as the tools show it."""
    path = card["category"].split("›")
    named = filters.get("category", "").split("›") if filters.get("category") else []
    return all(
        (
            path[: len(named)] == named,
            card["brand"] == filters.get("brand", card["brand"]),
            filters.get("price_min", 0) <= card["price"] <= filters.get("price_max", 1e9),
            card["rating"] >= filters.get("rating_min", 0),
            card["rating_count"] >= filters.get("rating_count_min", 0),
            card["ship_days"] <= filters.get("ship_days_max", 1e9),
            all(
                value in card["key_attrs"].get(name, [])
                for name, value in filters.get("attributes", {}).items()
            ),
        )
    )


def all_filters(needs: Sequence[Any], start: str) -> list[Mapping[str, Any]]:
    return [need.data["filters"] for need in needs if need.id.startswith(start) and "filters" in need.data]


@given(LEVELS, SEEDS, LANGUAGES)
def test_every_item_of_a_cart_is_one_of_the_visited_products(
    market: Market, d: int, seed: int, language: str
) -> None:
    episode = Episode(market, EpisodeKey("CART", d, seed, language))
    brief, goal = episode.task.brief, episode.task.goal()["items"]
    cards = run_tool(episode.overlay, Call("user.get_visit_history"))["products"]
    items = min(5, 1 + d // 3)
    assert len(goal) == items
    assert len(cards) == len({card["product_id"] for card in cards}) == items + max(3, 2 * items)
    for at, item in enumerate(goal):
        filters = [brief.data["items"][at]["filters"], *all_filters(brief.needs, f"i{at}.c")]
        assert [card["product_id"] for card in cards if all(fits(card, one) for one in filters)] == [
            item["product_id"]
        ]
        card = next(card for card in cards if card["product_id"] == item["product_id"])
        assert card["stock_qty"] >= max(item["quantity"], item["quantity_before"])
        rows = run_tool(episode.overlay, Call("catalog.get_variants", {"product_id": item["product_id"]}))
        found = [row for row in rows["variants"] if row["variant_id"] == item["variant_id"]]
        assert bool(found) == (item["variant_id"] is not None) == bool(rows["variants"])
        assert all(row["stock_qty"] >= item["quantity"] for row in found)
        # Every told fact keeps some visited product out by itself.
        for left_out in range(1, len(filters)):
            rest = [one for place, one in enumerate(filters) if place != left_out]
            assert sum(all(fits(card, one) for one in rest) for card in cards) > 1


@given(LEVELS, SEEDS, LANGUAGES)
def test_every_returned_line_is_the_only_one_that_is_described(
    market: Market, d: int, seed: int, language: str
) -> None:
    episode = Episode(market, EpisodeKey("RETURN", d, seed, language))
    brief, goal = episode.task.brief, episode.task.goal()
    told: dict[str, Any] = {}
    for need in brief.needs:
        told.update({name: need.data[name] for name in ("date", "unit_price") if name in need.data})
    filters = [brief.data["item_filters"], *all_filters(brief.needs, "d")]
    found = []
    orders = run_tool(episode.overlay, Call("order.list", {"days": 365}))["orders"]
    for listed in orders:
        order = run_tool(episode.overlay, Call("order.get_status", {"order_id": listed["order_id"]}))
        for line in order["lines"]:
            card = run_tool(episode.overlay, Call("catalog.get_product", {"product_id": line["product_id"]}))
            if told.get("date", order["order_date"]) != order["order_date"]:
                continue
            if told.get("unit_price", line["unit_price"]) != line["unit_price"]:
                continue
            if all(fits(card, one) for one in filters):
                found.append((order["order_id"], line["line_id"]))
            assert line["title"] not in brief.request + "".join(need.value for need in brief.needs)
    assert found == [(goal["order_id"], goal["line_id"])]
    assert sum(len(order["items"]) for order in orders) >= 8
    assert len(orders) == 1 + d // 2 + 3
    assert eligibility(episode.overlay, goal["order_id"], goal["line_id"]).reason == goal["refusal"]


@given(LEVELS, SEEDS, LANGUAGES)
def test_every_order_that_is_asked_for_is_the_only_one_that_is_described(
    market: Market, d: int, seed: int, language: str
) -> None:
    episode = Episode(market, EpisodeKey("STATUS", d, seed, language))
    brief, goal = episode.task.brief, episode.task.goal()
    if brief.revision is None:
        wishes = [(brief.needs, goal["order_id"])]
    else:
        wishes = [(brief.needs, goal["order_before"]), ((brief.revision.need,), goal["order_id"])]
    for needs, meant in wishes:
        found = []
        for order in episode.overlay.book.orders:
            lines = run_tool(episode.overlay, Call("order.get_status", {"order_id": order.id}))["lines"]
            cards = [
                run_tool(episode.overlay, Call("catalog.get_product", {"product_id": line["product_id"]}))
                for line in lines
            ]
            total = sum(round(line["unit_price"] * 100) * line["quantity"] for line in lines)
            facts = {"order_id": order.id, "date": order.date.isoformat()}
            right = [
                facts.get(name) == value
                if name in facts
                else round(value * 100) == total
                if name == "total"
                else any(fits(card, value) for card in cards)
                for need in needs
                for name, value in need.data.items()
            ]
            if all(right):
                found.append(order.id)
        assert found == [meant]


@given(ENVIRONMENTS, LEVELS, SEEDS, LANGUAGES)
def test_the_oracle_succeeds_in_no_more_turns_than_the_goal_says(
    market: Market, env_id: str, d: int, seed: int, language: str
) -> None:
    episode = Episode(market, EpisodeKey(env_id, d, seed, language))
    assert episode.task.least_turns <= episode.task.turn_budget
    assert 0 < episode.task.forced_chance() <= 1
    played(episode, oracle(env_id))
    reward = episode.reward
    assert reward is not None
    assert reward.success
    assert reward.task == 1
    assert reward.turns <= episode.task.least_turns
    assert reward.unseen == 0


@given(ENVIRONMENTS, LEVELS, SEEDS)
def test_a_goal_is_a_function_of_its_key(market: Market, env_id: str, d: int, seed: int) -> None:
    key = EpisodeKey(env_id, d, seed)
    first, second = Episode(market, key), Episode(market, key)
    assert first.observation() == second.observation()
    assert first.task.goal() == second.task.goal()
    assert first.task.brief == second.task.brief
