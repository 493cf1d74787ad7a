"""World facts as the runtime reads them: values, categories, wishes against a plain scan, refusals."""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pipelines.stages.rlve_world import build_world
from pipelines.stages.search_index import build_search_index
from shopsim_env.errors import ReleaseError, ShopSimError, UsageError
from shopsim_env.release import load_release
from shopsim_env.rlve.fact_model import Attribute
from shopsim_env.rlve.facts import World
from shopsim_env.rlve.schema import number_name
from shopsim_env.rlve.wishes import Wishes

COLORS = ("黑色", "白色", "红色")


def record(number: int) -> dict[str, Any]:
    """Sixty products in three leaf categories; every fact has a plain rule."""
    return {
        "asin": f"9{number:03d}",
        "title": f"第{number}款 耳机 {20 + number % 4 * 10}W",
        "category": ("数码›耳机›头戴", "数码›耳机›入耳", "数码›音箱")[number % 3],
        "brand": ("甲", "乙")[number % 2],
        "pricing": [] if number % 10 == 9 else [float(10 + number // 2)],
        "customization_options": {"颜色": [{"value": COLORS[number % 3]}, {"value": COLORS[number % 2]}]},
        "shop_facts": {
            "rating": 1 + number % 5,
            "rating_count": number,
            "ship_days": number % 7,
            "stock": number % 4,
        },
    }


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("facts")
    build_search_index(map(record, range(60)), folder / "c.sqlite")
    build_world(folder / "c.sqlite", folder / "rlve.sqlite")
    return folder / "rlve.sqlite"


@pytest.fixture
def world(path: Path) -> Iterator[World]:
    with World(path) as opened:
        yield opened


def value(world: World, family: str, name: str) -> int:
    return next(item.value for item in world.families[family].pool if item.name == name)


def test_facts_of_one_product(world: World) -> None:
    facts = world.facts("9004")
    assert (facts.number, facts.asin, facts.brand) == (5, "9004", "甲")
    assert (facts.price_low, facts.price_high) == (1200, 1200)
    assert (facts.rating, facts.rating_count, facts.ship_days, facts.stock) == (500, 4, 4, 0)
    assert facts.provenance == dict.fromkeys(("rating", "rating_count", "ship_days", "stock"), "source")
    assert world.category(facts.category).levels == ("数码", "耳机", "入耳")
    assert facts.attributes == (
        Attribute("color", "black", value(world, "color", "black"), "option"),
        Attribute("color", "white", value(world, "color", "white"), "option"),
        Attribute("wattage", "20", 20_000, "title"),
    )
    assert facts.values("wattage") == (20_000,)
    assert facts.values("material") == ()
    assert world.facts("9004") is facts, "kept"
    assert world.facts_at(5) == facts
    assert world.facts("9009").price_low is None, "a missing price stays missing"


def test_derived_facts_say_so(tmp_path: Path) -> None:
    build_search_index([{"asin": "1", "title": "杯", "shop_facts": {"stock": 3}}], tmp_path / "c.sqlite")
    build_world(tmp_path / "c.sqlite", tmp_path / "w.sqlite")
    with World(tmp_path / "w.sqlite") as world:
        facts = world.facts("1")
    assert facts.stock == 3
    assert facts.provenance == {
        "rating": "derived",
        "rating_count": "derived",
        "ship_days": "derived",
        "stock": "source",
    }
    assert (facts.brand, facts.price_low, facts.category, facts.attributes) == (None, None, 1, ())


def test_categories_nest_as_ranges(world: World) -> None:
    root = world.category(1)
    assert (root.levels, root.parent, root.products) == ((), None, 60)
    (digital,) = world.subcategories(1)
    assert digital.levels == ("数码",)
    children = world.subcategories(digital.number)
    assert [(child.levels[-1], child.products, child.last - child.number) for child in children] == [
        ("耳机", 40, 2),
        ("音箱", 20, 0),
    ]
    assert [leaf.levels[-1] for leaf in world.subcategories(children[0].number)] == ["入耳", "头戴"]
    assert world.category(children[1].number).families[0] == "connector_type"
    assert world.subcategories(children[1].number) == ()


def test_families_have_words_and_units(world: World) -> None:
    watts, colors = world.families["wattage"], world.families["color"]
    assert (watts.kind, watts.unit_zh, watts.unit_en) == ("number", "瓦", "W")
    assert watts.word(1500) == "1.5"
    assert (colors.kind, colors.zh, colors.en) == ("word", "颜色", "color")
    assert {(item.zh, item.en) for item in colors.pool} >= {("黑色", "black"), ("白色", "white")}
    assert colors.word(value(world, "color", "red")) == "red"
    for unknown in (0, 99):
        with pytest.raises(UsageError, match="color: expected a value") as caught:
            colors.word(unknown)
        assert caught.value.code == "unknown_attribute"


@pytest.mark.parametrize(("number", "name"), [(65_000, "65"), (500, "0.5"), (15_600, "15.6"), (1, "0.001")])
def test_number_names(number: int, name: str) -> None:
    assert number_name(number) == name


def every_wish(world: World) -> Iterator[Wishes]:
    """Each combination of a category, a colour, a brand and one other wish."""
    black, red = value(world, "color", "black"), value(world, "color", "red")
    others: list[dict[str, Any]] = [
        {},
        {"price_max": 2000},
        {"price_min": 1500, "price_max": 3000},
        {"rating_min": 400},
        {"rating_count_min": 30},
        {"ship_days_max": 2},
        {"in_stock": True},
        {"ranges": (("wattage", 30_000, 40_000),)},
    ]
    leaf = world.facts("9000").category
    categories = (None, world.category(leaf).parent, leaf)
    values: list[tuple[tuple[str, int], ...]] = [(), (("color", black),), (("color", black), ("color", red))]
    for category, wanted, brand, other in product(categories, values, (None, "甲"), others):
        yield Wishes(category=category, values=wanted, brand=brand, **other)


def test_every_wish_finds_what_a_scan_finds_the_cheapest_first(world: World) -> None:
    everything = [world.facts_at(number) for number in range(1, len(world) + 1)]
    sizes = set()
    for wishes in every_wish(world):
        fitting = [facts for facts in everything if not world.unmet(wishes, facts)]
        expected = [f.asin for f in sorted(fitting, key=lambda f: (f.price_low or 0, f.number))]
        assert list(world.matching(wishes, limit=99)) == expected, wishes
        assert list(world.matching(wishes, limit=2)) == expected[:2], wishes
        sizes.add(len(expected))
    assert {0, 60} <= sizes
    assert len(sizes) > 8


def test_unmet_names_each_broken_wish(world: World) -> None:
    facts = world.facts("9004")  # 1200, 5 stars, 4 ratings, 4 days, none in stock, black or white, 20 W
    red = value(world, "color", "red")
    wishes = Wishes(
        category=world.facts("9000").category,
        brand="乙",
        price_min=1201,
        price_max=1199,
        rating_min=501,
        rating_count_min=5,
        ship_days_max=3,
        in_stock=True,
        values=(("color", red),),
        ranges=(("wattage", 20_001, 30_000),),
    )
    assert world.unmet(wishes, facts) == (
        *("category", "price_max", "price_min", "rating_min", "rating_count_min", "ship_days_max"),
        *("brand", "in_stock", "color", "wattage"),
    )
    assert world.unmet(Wishes(price_max=1200, price_min=1200, rating_min=500), facts) == ()
    assert world.unmet(Wishes(price_max=10**9), world.facts("9009")) == ("price_max",)


def test_no_wish_scans_a_table(path: Path, world: World) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for wishes in every_wish(world):
            built = world._query(wishes)
            plan = connection.execute(f"EXPLAIN QUERY PLAN {built.sql} LIMIT 9", built.parameters).fetchall()
            steps = [row[3] for row in plan]
            assert not [step for step in steps if step.startswith("SCAN")], steps
            leaf = wishes.category is not None and not world.subcategories(wishes.category)
            assert not (leaf and [step for step in steps if "TEMP B-TREE" in step]), (wishes, steps)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda world: world.facts("none"), "unknown_product"),
        (lambda world: world.facts_at(0), "unknown_product"),
        (lambda world: world.facts_at(61), "unknown_product"),
        (lambda world: world.category(0), "unknown_category"),
        (lambda world: world.matching(Wishes(category=0), limit=1), "unknown_category"),
        (lambda world: world.matching(Wishes(values=(("odd", 1),)), limit=1), "unknown_attribute"),
        (lambda world: world.matching(Wishes(ranges=(("odd", 1, 2),)), limit=1), "unknown_attribute"),
        (lambda world: world.matching(Wishes(), limit=0), "usage_error"),
        (lambda world: world.matching(Wishes(), limit=True), "usage_error"),
    ],
)
def test_wrong_use_is_typed(world: World, call: Callable[[World], object], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        call(world)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE world SET payload = replace(payload, 'shopsim-rlve-v', 'other-')",
        "UPDATE world SET payload = replace(payload, 'schema_version\":', 'schema_version\":9')",
        "UPDATE world SET payload = '[]'",
        "UPDATE world SET payload = 'no json'",
        "DELETE FROM world",
        "DROP TABLE world",
        "DROP TABLE fact",
        "DELETE FROM fact WHERE id = 60",
    ],
)
def test_another_version_or_a_missing_part_is_refused(path: Path, tmp_path: Path, statement: str) -> None:
    bad = tmp_path / "rlve.sqlite"
    bad.write_bytes(path.read_bytes())
    with closing(sqlite3.connect(bad)) as connection, connection:
        connection.execute(statement)
    with pytest.raises(ReleaseError, match=r"rlve\.sqlite: expected") as caught:
        World(bad)
    assert caught.value.code == "world_mismatch"


def test_a_closed_world_says_so(path: Path) -> None:
    world = World(path)
    world.facts("9001")
    world.close()
    world.close()
    with pytest.raises(ReleaseError) as caught:
        world.facts("9001")
    assert caught.value.code == "closed"


def test_threads_share_one(world: World) -> None:
    found: list[object] = []

    def read(first: int) -> None:
        try:
            found.append([world.facts_at(1 + (first + step) % 60).asin for step in range(120)])
        except ShopSimError as error:
            found.append(error)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = [f"9{number:03d}" for number in range(60)]
    wanted = [[names[(first + step) % 60] for step in range(120)] for first in range(4)]
    assert sorted(map(str, found)) == sorted(map(str, wanted))


def test_the_world_of_a_release_is_that_of_its_catalogue(small_release: Path) -> None:
    with load_release(small_release) as release, World.of(release) as world:
        assert len(world) == release.manifest["counts"]["products"] == 7
        facts = world.facts("700000000001")
        assert facts.number == 1
        assert (facts.price_low, facts.price_high, facts.brand) == (3900, 5900, "山野小店")
        assert {item.name for item in facts.attributes} == {"blue", "beige"}
        with closing(sqlite3.connect(small_release / "catalog.sqlite")) as connection:
            index = json.loads(connection.execute("SELECT payload FROM manifest").fetchone()[0])
        with closing(sqlite3.connect(small_release / "rlve.sqlite")) as connection:
            own = json.loads(connection.execute("SELECT payload FROM world").fetchone()[0])
        assert own["product_data_sha256"] == index["product_data_sha256"]
