"""Pools: which categories goals are drawn from, and what a pool knows of its products."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.stages.rlve_world import build_world
from pipelines.stages.search_index import build_search_index
from shopsim_env.errors import UsageError
from shopsim_env.rlve.choosing.pool import Pools
from shopsim_env.rlve.facts import World

CATEGORIES = ("数码›耳机", "数码›音箱", "武器›刀具", "服饰›女装›裙子")


def record(number: int) -> dict[str, Any]:
    """200 products: 50 in each of four leaf categories; the path of the last has a level more."""
    return {
        "asin": f"8{number:04d}",
        "title": f"第{number}款",
        "category": CATEGORIES[number % 4],
        "brand": ("甲", "乙", f"丙{number}")[number // 4 % 3],
        "pricing": [] if number == 0 else [float(number)],
        "customization_options": {"颜色": [{"value": ("黑色", "白色")[number // 4 % 2]}]},
        "shop_facts": {"rating": 3, "rating_count": number, "ship_days": 1, "stock": number // 4 % 5},
    }


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[dict[str, Any]]], Path]:
    def make(records: list[dict[str, Any]]) -> Path:
        folder = tmp_path_factory.mktemp("pools")
        build_search_index(records, folder / "c.sqlite")
        build_world(folder / "c.sqlite", folder / "rlve.sqlite")
        return folder / "rlve.sqlite"

    return make


@pytest.fixture(scope="module")
def world(build: Callable[[list[dict[str, Any]]], Path]) -> Iterator[World]:
    with World(build(list(map(record, range(200))))) as opened:
        yield opened


def paths(world: World, numbers: tuple[int, ...]) -> list[str]:
    return ["›".join(world.category(number).levels) for number in numbers]


def test_goals_are_drawn_outside_denied_categories_from_the_lowest_of_equal_ones(world: World) -> None:
    pools = Pools(world)
    # The root holds the weapons; 服饰 and 女装 have the very products of 裙子.
    assert paths(world, pools.categories) == ["数码", "数码›耳机", "数码›音箱", "服饰›女装›裙子"]
    assert paths(world, pools.with_room(60)) == ["数码"]
    # None has 130: the next smaller ones that exist.
    assert paths(world, pools.with_room(130)) == ["数码"]
    assert paths(world, pools.slots(3)) == ["数码›耳机", "数码›音箱", "服饰›女装›裙子"]
    assert paths(world, pools.slots(9)) == ["数码›耳机", "数码›音箱", "服饰›女装›裙子"]


def test_a_catalogue_of_denied_or_tiny_categories_is_refused(
    build: Callable[[list[dict[str, Any]]], Path],
) -> None:
    for records in (
        [{**record(number), "category": "武器"} for number in range(60)],
        list(map(record, range(20))),
    ):
        with World(build(records)) as world, pytest.raises(UsageError) as caught:
            Pools(world)
        assert caught.value.code == "no_pool"


def test_a_pool_knows_its_products(world: World) -> None:
    pools = Pools(world)
    pool = pools.pool(pools.slots(3)[0])
    own = [number for number in range(200) if number % 4 == 0]
    assert [good.number for good in pool.goods] == [number + 1 for number in own]
    assert len(pool) == 50
    # Without a price: number 0. Without stock: every fifth of the category.
    offered = [number + 1 for number in own if number and number // 4 % 5]
    assert [good.number for good in pool.members(pool.offered)] == offered
    good = pool.find(5)
    assert good is not None
    assert (good.price_low, good.brand) == (400, "乙")
    assert pool.find(2) is None
    black = pool.named(1)
    assert [family for family, _ in black] == ["color"]
    assert pool.traits(good).values == {"color": frozenset({pool.named(5)[0][1]})}
    assert pool.traits(good) is pool.traits(good)


def test_only_values_that_several_products_share_are_common(world: World) -> None:
    pools = Pools(world)
    pool = pools.pool(pools.slots(3)[0])
    assert set(pool.common) == {"brand", "color"}
    assert {value for value, _ in pool.common["brand"]} == {"甲", "乙"}
    assert len(pool.brands) == 2 + 16


def test_a_product_of_another_category_is_no_member(world: World) -> None:
    pools = Pools(world)
    with pytest.raises(UsageError) as caught:
        pools.pool(pools.slots(3)[0]).place(2)
    assert caught.value.code == "unknown_product"
