"""What each of the twelve axes does in real episodes: one is overridden, the others are those of d = 4."""

from collections.abc import Iterator
from typing import Any

import pytest
from rlve_world import ENVIRONMENTS, IDLE, sample_market

from shopsim_env.rlve.choosing.constraint import merge_filters
from shopsim_env.rlve.difficulty import AXES
from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.rlve.market import Market

D = 4
SEEDS = range(6)


@pytest.fixture(scope="module")
def market() -> Iterator[Market]:
    with sample_market() as found:
        yield found


def episodes(market: Market, env_id: str, axis: str, value: float) -> list[Episode]:
    """Episodes of d = 4 in which one axis has another value."""
    assert axis in AXES
    return [Episode(market, EpisodeKey(env_id, D, seed, overrides={axis: value})) for seed in SEEDS]


def call(episode: Episode, name: str, **args: Any) -> Any:
    """Result of a call that is a turn of its own."""
    step = episode.step({**IDLE, "tool_calls": [{"name": name, "args": args}]})
    return step.observation["tool_results"][0]["result"]


def in_stock(episode: Episode) -> Any:
    """What a search without words shows of all that is in stock: the cheapest first."""
    return call(episode, "catalog.search", query="", filters={"in_stock": True}, top_k=500)


def success(episode: Episode, ids: list[str]) -> bool:
    """Whether this list is right."""
    answer = {"recommended_product_ids": ids, "done": True}
    return bool(episode.step({**IDLE, "answer": answer}).info["reward"]["success"])


@pytest.mark.parametrize("m", [1, 3, 5])
def test_m_is_the_number_of_constraints(market: Market, m: int) -> None:
    for episode in episodes(market, "PD", "m", m):
        assert len(episode.task.goal()["constraints"]) == m


@pytest.mark.parametrize("k", [1, 3, 8])
def test_k_rec_is_the_length_of_a_list(market: Market, k: int) -> None:
    for episode in episodes(market, "PD", "k_rec", k):
        goal = episode.task.goal()
        assert len(goal["best"]) == min(k, goal["feasible"])
        assert str(k) in episode.task.brief.request


def test_a_list_longer_than_k_rec_fails(market: Market) -> None:
    for key in (one.key for one in episodes(market, "PD", "k_rec", 2)):
        right, longer = Episode(market, key), Episode(market, key)
        if right.task.brief.revision is not None:
            right.step(IDLE)
            longer.step(IDLE)
        goal = right.task.goal()
        assert goal["feasible"] > 2
        # What a search with everything that the customer wants finds; d = 4 fits into one.
        asked = right.task.brief.data["filters"]
        needs = [need.data["filters"] for need in right.task.brief.needs if "filters" in need.data]
        if right.task.brief.revision is not None:
            needs.append(right.task.brief.revision.need.data["filters"])
        filters = merge_filters([asked, *needs, {"in_stock": True}])
        for episode in (right, longer):
            found = call(episode, "catalog.search", query="", filters=filters, top_k=100)["products"]
        more = next(card["product_id"] for card in found if card["product_id"] not in goal["best"])
        assert success(right, goal["best"])
        assert not success(longer, [*goal["best"], more])


@pytest.mark.parametrize("turns", [4, 7, 11])
def test_t_max_is_the_number_of_turns(market: Market, turns: int) -> None:
    for env_id in ("PD", "POLICY"):
        for episode in episodes(market, env_id, "T_max", turns):
            done = [episode.step(IDLE).done for _ in range(turns)]
            assert done == [False] * (turns - 1) + [True]
            assert episode.reason == "t_max"


def test_p_missing_leaves_nothing_or_everything_out_of_the_opening(market: Market) -> None:
    for episode in episodes(market, "PD", "p_missing", 0.0):
        assert episode.task.brief.pending == frozenset()
        opening = episode.customer.ledger.disclosed
        assert opening == {need.id for need in episode.task.brief.needs}
    for episode in episodes(market, "PD", "p_missing", 1.0):
        brief = episode.task.brief
        # m(4) = 4 constraints and the weights: five needs, for which T_max(4) = 6 turns have room.
        kept = {brief.revision.need.id} if brief.revision else set()
        assert len(brief.needs) == 5
        assert brief.pending == {need.id for need in brief.needs} - kept


def test_p_noise_puts_errors_into_what_is_no_value(market: Market) -> None:
    def clean(chance: float) -> int:
        found = episodes(market, "PD", "p_noise", chance)
        said = [(one.task.brief.request, one.observation()["conversation"][0]["content"]) for one in found]
        return sum(request in text for request, text in said)

    assert clean(0.0) == len(SEEDS)
    # Some 40 letters: none has an error in (7/8)^40 = 0.5 % of requests.
    assert clean(0.125) <= 1


def test_p_switch_has_the_customer_change_its_mind_or_the_subject(market: Market) -> None:
    for env_id in ENVIRONMENTS:
        for episode in episodes(market, env_id, "p_switch", 0.0):
            episode.step(IDLE)
            assert not episode.customer.revised
            assert len(episode.task.open_parts) == 1
    for env_id in ("CART", "STATUS", "POLICY"):
        for episode in episodes(market, env_id, "p_switch", 1.0):
            assert not episode.customer.revised
            episode.step(IDLE)
            assert episode.customer.revised
    for episode in episodes(market, "JOURNEY", "p_switch", 1.0):
        assert len(episode.task.open_parts) == 1
        episode.step(IDLE)
        assert len(episode.task.open_parts) == 2
    # Where no bound can be moved there is no other wish, which is rare.
    for env_id in ("PD", "SUB", "BUNDLE"):
        switched = [one.task.brief.revision is not None for one in episodes(market, env_id, "p_switch", 1.0)]
        assert sum(switched) >= len(SEEDS) - 1


@pytest.mark.parametrize("depth", [20, 75, 200])
def test_top_k_is_the_depth_of_a_search(market: Market, depth: int) -> None:
    for episode in episodes(market, "POLICY", "top_k", depth):
        found = in_stock(episode)
        assert found["total"] > 200
        assert len(found["products"]) == depth


def test_eps_rank_is_the_share_of_hits_that_give_way(market: Market) -> None:
    def moved(share: float) -> int:
        """Places in which not the product stands that belongs there, of 160 in each episode."""
        count = 0
        for episode in episodes(market, "POLICY", "eps_rank", share):
            shown = [card["product_id"] for card in in_stock(episode)["products"]]
            world, overlay = market.world, episode.overlay
            facts = [world.facts_at(number) for number in range(1, len(world) + 1)]
            there = [one for one in facts if overlay.stock.in_stock(one.number)]
            # Those without a price stand first, as the page of the tools says.
            there.sort(key=lambda one: (one.price_low is not None, one.price_low or 0, one.number))
            right = [overlay.ids.product_id(one.number) for one in there[: len(shown)]]
            assert len(shown) == 160  # top_k(4)
            assert len(set(shown)) == 160
            count += sum(name != other for name, other in zip(shown, right, strict=True))
        return count

    assert moved(0.0) == 0
    # Of 960 hits 48 and 384 draw a rival. One that stands later in the list moves two places, and a hit of a
    # category without another product keeps its own.
    few, many = moved(0.05), moved(0.4)
    assert 0 < few < 2 * 48 * 1.5
    assert 3 * few < many


def test_p_oos_is_the_share_of_products_that_are_out_of_stock(market: Market) -> None:
    world = market.world
    stocked = sum(world.facts_at(number).stock > 0 for number in range(1, len(world) + 1))

    def totals(share: float) -> list[int]:
        return [in_stock(episode)["total"] for episode in episodes(market, "POLICY", "p_oos", share)]

    assert totals(0.0) == [stocked] * len(SEEDS)
    assert totals(1.0) == [0] * len(SEEDS)
    # Five standard deviations of the mean of six binomials.
    deviation = 5 * (stocked * 0.5 * 0.5 * len(SEEDS)) ** 0.5
    assert abs(sum(totals(0.5)) - 0.5 * stocked * len(SEEDS)) < deviation


@pytest.mark.parametrize("orders", [1, 4, 9])
def test_h_orders_is_the_length_of_the_history_with_three_more(market: Market, orders: int) -> None:
    for env_id in ("STATUS", "RETURN"):
        for episode in episodes(market, env_id, "H_orders", orders):
            assert len(call(episode, "order.list", days=365)["orders"]) == orders + 3


@pytest.mark.parametrize("rules", [1, 2, 4, 5])
def test_b_branch_is_the_number_of_rules_that_a_question_brings_together(market: Market, rules: int) -> None:
    for episode in episodes(market, "POLICY", "B_branch", rules):
        assert len(set(episode.task.goal()["rules"])) == rules


@pytest.mark.parametrize("calls", [1, 2, 5])
def test_b_tool_is_the_number_of_calls_in_a_turn(market: Market, calls: int) -> None:
    turn = {**IDLE, "tool_calls": [{"name": "datetime.now", "args": {}}] * 6}
    for episode in episodes(market, "PD", "B_tool", calls):
        assert episode.observation()["tool_budget"] == calls
        results = episode.step(turn).observation["tool_results"]
        executed = ["error" not in result["result"] for result in results]
        assert executed == [True] * calls + [False] * (6 - calls)
