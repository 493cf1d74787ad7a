"""Drawn constraints against brute force over the facts of the sample: feasible, near misses, how many."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from shopsim_env import load_release
from shopsim_env.errors import UsageError
from shopsim_env.rlve.choosing.choice import Choice, Limits, choose, choose_in, complete
from shopsim_env.rlve.choosing.constraint import Constraint, as_wishes
from shopsim_env.rlve.choosing.pool import Pools
from shopsim_env.rlve.difficulty import axes, task_axes
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.fact_model import Facts
from shopsim_env.rlve.facts import World
from shopsim_env.rlve.wishes import BOUNDS

LEVELS = (0, 1, 4, 8, 12)
SEEDS = 25


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with load_release() as release, World.of(release) as opened:
        yield opened


@pytest.fixture(scope="module")
def facts(world: World) -> Mapping[int, Facts]:
    return {number: world.facts_at(number) for number in range(1, len(world) + 1)}


@pytest.fixture(scope="module")
def pools(world: World) -> Pools:
    return Pools(world)


class Stock:
    """Stock-outs of one episode."""

    def __init__(self, draws: Draws, p_out: float) -> None:
        self._draws = draws
        self._out = p_out

    def has(self, number: int) -> bool:
        return self._draws.code("stock", number) >= self._out * 2**64


def drawn(pools: Pools, d: int, seed: int) -> tuple[Choice, Stock]:
    level = axes(d)
    draws = Draws("choice test", d, seed)
    stock = Stock(draws.fork("stock"), level.p_oos)
    limits = Limits(level.m, task_axes(d).slack, 1 - level.p_oos)
    return choose(pools, draws, limits, stock.has), stock


def buyable(choice: Choice, facts: Mapping[int, Facts], stock: Stock) -> list[Facts]:
    """Products of the category in stock with a price."""
    category = choice.pool.category
    return [
        one
        for one in facts.values()
        if category.number <= one.category <= category.last
        and one.stock > 0
        and one.price_low is not None
        and stock.has(one.number)
    ]


@pytest.mark.parametrize("d", LEVELS)
def test_every_constraint_binds(pools: Pools, facts: Mapping[int, Facts], d: int) -> None:
    for seed in range(SEEDS):
        choice, stock = drawn(pools, d, seed)
        violated = {
            one.number: [item for item in choice.constraints if not item.met(one)]
            for one in buyable(choice, facts, stock)
        }
        feasible = [number for number, items in violated.items() if not items]
        assert [good.number for good in choice.feasible] == feasible
        assert 3 <= len(feasible) <= 30
        misses = {
            item: {number for number, items in violated.items() if items == [item]}
            for item in choice.constraints
        }
        assert all(misses.values()), (seed, choice.constraints)
        assert sum(map(len, misses.values())) >= 3
        for item, found in zip(choice.constraints, choice.misses, strict=True):
            assert set(found) <= misses[item]


@pytest.mark.parametrize("d", LEVELS)
def test_the_wanted_number_of_constraints_is_reached(pools: Pools, d: int) -> None:
    # Published: 2 + d // 2, and 1 at d = 0.
    wanted = {0: 1, 1: 2, 4: 4, 8: 6, 12: 8}[d]
    counts = [len(drawn(pools, d, seed)[0].constraints) for seed in range(60)]
    assert sum(count == wanted for count in counts) >= 57
    assert max(counts) == wanted


def test_no_kind_is_asked_for_twice_and_the_price_comes_first(pools: Pools) -> None:
    for seed in range(SEEDS):
        choice, _ = drawn(pools, 8, seed)
        kinds = [(item.kind, item.family) for item in choice.constraints]
        assert len(set(kinds)) == len(kinds)
        assert kinds[0] == ("price_max", "")


def test_the_same_draws_give_the_same_choice(world: World, pools: Pools) -> None:
    # Another order of questions to the pools changes nothing.
    fresh = Pools(world)
    drawn(fresh, 12, 5)
    for seed in range(5):
        one, other = drawn(pools, 4, seed)[0], drawn(fresh, 4, seed)[0]
        assert (one.constraints, one.feasible) == (other.constraints, other.feasible)


def test_kinds_can_be_limited(pools: Pools) -> None:
    limits = Limits(2, 0.0, kinds=frozenset({"rating_min", "ship_days_max"}))
    choice = choose(pools, Draws("kinds"), limits, lambda _: True)
    assert {item.kind for item in choice.constraints} == {"rating_min", "ship_days_max"}


def test_many_constraints_give_as_many_as_bind(pools: Pools) -> None:
    choice, _ = drawn(pools, 20, 0)
    assert 1 <= len(choice.constraints) <= axes(20).m


def test_nothing_in_stock_is_an_error(pools: Pools) -> None:
    with pytest.raises(UsageError) as caught:
        choose(pools, Draws("empty"), Limits(1, 0.0), lambda _: False)
    assert caught.value.code == "no_choice"


def test_a_constraint_that_keeps_nothing_out_is_no_choice(pools: Pools) -> None:
    choice, _ = drawn(pools, 1, 0)
    idle = Constraint("rating_min", 0)
    limits = Limits(2, 0.0)
    assert complete(choice.pool, choice.constraints, limits, lambda _: True)
    assert complete(choice.pool, (*choice.constraints, idle), limits, lambda _: True) is None
    assert complete(choice.pool, (), limits, lambda _: True) is None


def test_a_small_pool_gives_nothing(pools: Pools) -> None:
    pool = pools.pool(pools.slots(3)[0])
    wanted = Limits(constraints=len(pool), slack=0.0)
    assert choose_in(pool, Draws("small"), wanted, lambda _: True) is None


def test_an_order_keeps_constraints_and_their_misses_together(pools: Pools) -> None:
    choice, _ = drawn(pools, 8, 1)
    places = list(range(len(choice.constraints)))[::-1]
    turned = choice.ordered(places)
    assert dict(zip(turned.constraints, turned.misses, strict=True)) == dict(
        zip(choice.constraints, choice.misses, strict=True)
    )
    assert turned.constraints == choice.constraints[::-1]
    assert [{good.number for good in goods} for goods in turned.near()] == [
        {good.number for good in goods} for goods in choice.near()
    ][::-1]


def test_constraints_are_the_world_s_wishes(world: World, pools: Pools, facts: Mapping[int, Facts]) -> None:
    """The same products through the indexes, the bit sets and the facts."""
    for seed in range(5):
        choice, _ = drawn(pools, 12, seed)
        pool = choice.pool
        for item in choice.constraints:
            wishes = as_wishes(pool.category.number, [item])
            found = set(world.matching(wishes, limit=len(world)))
            assert found == {facts[good.number].asin for good in pool.members(pool.meeting(item))}
            assert found == {facts[good.number].asin for good in pool.goods if item.met(facts[good.number])}


def test_every_kind_can_be_said_in_both_languages(world: World) -> None:
    for kind in BOUNDS:
        item = Constraint(kind, 1200)
        assert item.amount() in item.text("zh", world.families)
        assert item.amount() in item.text("en", world.families)
        assert list(item.filters(world.families)) == [kind]
        assert item.topic in ("price", "rating", "rating_count", "ship_days", "stock")
    assert replace(Constraint("price_max", 12950)).amount() == "129.5"
