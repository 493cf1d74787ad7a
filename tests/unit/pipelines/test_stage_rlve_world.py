"""`rlve.sqlite` as the stage writes it: rows by hand, provenance, bytes, refusals, planted faults."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from places import ROOT

from pipelines.errors import ArtifactError
from pipelines.stages import rlve_derived, rlve_world
from pipelines.stages.rlve_world import build_world, differences, levels, prices
from pipelines.stages.search_index import build_search_index
from shopsim_env.canonical import sha256_file
from shopsim_env.catalog.product import Product
from shopsim_env.release import layout
from shopsim_env.versions import RLVE_SUITE_VERSION

RECORDS: list[dict[str, Any]] = [
    {
        "asin": "3",
        "title": "纯棉 大衣",
        "category": "女装›外套",
        "shop_name": "衣铺",
        "pricing": [0.0, 99.5],
        "customization_options": {"尺码": [{"value": "M", "price": 0}, {"value": "L", "price": 99.5}]},
        "shop_facts": {"rating": 4.35, "rating_count": 0, "ship_days": 0, "stock": 7},
    },
    {"asin": "1", "title": "黑色 不锈钢 煎锅", "category": "厨具›锅具", "brand": "锅家", "pricing": [12.345]},
    {
        "asin": "2",
        "title": "神秘",
        "shop_facts": {"rating": 5, "stock": 0},
        "instructions": [{"instruction": "canary-instruction"}],
        "user_persona": {"用户ID": "canary-persona"},
    },
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("world")
    build_search_index(RECORDS, path / "c.sqlite")
    build_world(path / "c.sqlite", path / "w.sqlite")
    return path


def rows(path: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def test_facts_by_hand(folder: Path) -> None:
    found = rows(
        folder / "w.sqlite",
        "SELECT id, asin, path, brand, price_low, price_high, rating, rating_derived, rating_count, "
        "rating_count_derived, ship_days, ship_days_derived, stock, stock_derived "
        "FROM (SELECT f.*, c.path FROM fact f JOIN category c ON c.id = f.category) ORDER BY id",
    )
    one = (rlve_derived.rating("1"), 1, rlve_derived.rating_count("1"), 1)
    one += (rlve_derived.ship_days("1"), 1, rlve_derived.stock("1"), 1)
    assert found == [
        (1, "1", "厨具›锅具", "锅家", 1235, 1235, *one),
        (2, "2", "", None, None, None, 500, 0, *one_of("2"), 0, 0),
        (3, "3", "女装›外套", "衣铺", 9950, 9950, 435, 0, 0, 0, 0, 0, 7, 0),
    ]


def one_of(asin: str) -> tuple[int, int, int, int]:
    return rlve_derived.rating_count(asin), 1, rlve_derived.ship_days(asin), 1


def test_categories_by_hand(folder: Path) -> None:
    found = rows(folder / "w.sqlite", "SELECT * FROM category ORDER BY id")
    families = [json.loads(row[5])[0] for row in found]
    assert [row[:5] for row in found] == [
        (1, "", None, 5, 3),
        (2, "厨具", 1, 3, 1),
        (3, "厨具›锅具", 2, 3, 1),
        (4, "女装", 1, 5, 1),
        (5, "女装›外套", 4, 5, 1),
    ]
    assert families == ["color", "material", "material", "size", "size"]


def test_attributes_by_hand(folder: Path) -> None:
    found = rows(
        folder / "w.sqlite",
        "SELECT a.id, f.name, v.name, a.category, a.price_low, a.origin FROM attribute a JOIN family f "
        "ON f.id = a.family JOIN family_value v ON v.family = a.family AND v.value = a.value "
        "ORDER BY 1, 2, 3",
    )
    assert found == [
        (1, "color", "black", 3, 1235, "title"),
        (1, "material", "stainless_steel", 3, 1235, "title"),
        (3, "material", "cotton", 5, 9950, "title"),
        (3, "size", "l", 5, 9950, "option"),
        (3, "size", "m", 5, 9950, "option"),
    ]


def test_the_manifest_row_and_the_report(folder: Path, tmp_path: Path) -> None:
    payload = json.loads(rows(folder / "w.sqlite", "SELECT payload FROM world")[0][0])
    index = json.loads(rows(folder / "c.sqlite", "SELECT payload FROM manifest")[0][0])
    assert payload == {
        "suite_version": RLVE_SUITE_VERSION,
        "world_schema_version": 2,
        "product_count": 3,
        "product_data_sha256": index["product_data_sha256"],
    }
    report = build_world(folder / "c.sqlite", tmp_path / "w.sqlite")
    assert (report.products, report.categories, report.without_price) == (3, 5, 1)
    assert report.derived == {"rating": 1, "rating_count": 2, "ship_days": 2, "stock": 1}
    assert {name: n for name, n in report.attributes.items() if n} == {"color": 1, "material": 2, "size": 2}


def test_the_release_knows_every_table_and_index(folder: Path) -> None:
    names = {row[0] for row in rows(folder / "w.sqlite", "SELECT name FROM sqlite_master")}
    assert names == layout.SQLITE_TABLES[layout.RLVE]


def test_no_private_text_reaches_the_file(folder: Path) -> None:
    assert b"canary" not in (folder / "w.sqlite").read_bytes()


SCRIPT = """
import sys
from pathlib import Path
from pipelines.stages.rlve_world import build_world
build_world(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def test_bytes_repeat_in_other_processes_and_for_any_order(folder: Path, tmp_path: Path) -> None:
    build_search_index(RECORDS[::-1], tmp_path / "c.sqlite")
    build_world(tmp_path / "c.sqlite", tmp_path / "reversed.sqlite")
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(folder / "c.sqlite"), str(tmp_path / seed)],
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed},
            check=True,
        )
    hashes = {sha256_file(tmp_path / name) for name in ("reversed.sqlite", "1", "2")}
    assert hashes == {sha256_file(folder / "w.sqlite")}


def test_an_existing_file_is_left_alone_and_a_failed_one_removed(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match="expected no file"):
        build_world(folder / "c.sqlite", folder / "w.sqlite")
    with closing(sqlite3.connect(tmp_path / "c.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE manifest (payload TEXT)")
    with pytest.raises(TypeError):
        build_world(tmp_path / "c.sqlite", tmp_path / "w.sqlite")
    assert not (tmp_path / "w.sqlite").exists()


def test_progress_counts_products(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rlve_world, "_STEP", 2)
    seen: list[tuple[int, int]] = []
    build_world(folder / "c.sqlite", tmp_path / "w.sqlite", lambda *step: seen.append(step))
    assert seen == [(2, 3)]


@pytest.mark.parametrize(
    ("pricing", "options", "expected"),
    [
        ([29.0], [], (2900, 2900)),
        ([29.0, 115.5], [], (2900, 11550)),
        ([29.0], [30, "41.205"], (3000, 4121)),
        ([29.0], [0], (2900, 2900)),
        ([0.0], [0], (None, None)),
        ([0.004], [], (None, None)),
        ([1e12], [], (None, None)),
        ([1e300], [], (None, None)),
        ([None, 50], [], (None, None)),
        (None, [], (None, None)),
    ],
)
def test_prices(pricing: Any, options: list[Any], expected: tuple[int | None, int | None]) -> None:
    axes = {"颜色": [{"value": str(number), "price": price} for number, price in enumerate(options)]}
    record = {"asin": "1", "pricing": pricing, "customization_options": axes}
    assert prices(Product.from_record(record)) == expected


def test_half_a_hundredth_rounds_up() -> None:
    assert rlve_world._hundredths(Decimal("0.005")) == 1


@pytest.mark.parametrize(
    ("category", "expected"),
    [("", ()), ("家居", ("家居",)), (" 家居 › 地毯/地垫 ", ("家居", "地毯/地垫")), ("a››b›", ("a", "b"))],
)
def test_levels(category: str, expected: tuple[str, ...]) -> None:
    assert levels(category) == expected


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE fact SET stock = 9 WHERE id = 2", "fact, row 2, stock: expected 0, found 9"),
        ("UPDATE fact SET price_low = 0 WHERE id = 2", "fact, row 2, price_low: expected None, found 0"),
        ("DELETE FROM fact WHERE id = 3", "fact, row 3: missing"),
        ("DELETE FROM attribute WHERE id = 1", "attribute, row 1, id: expected 1, found 3"),
        (
            "UPDATE attribute SET origin = 'option' WHERE id = 1",
            "attribute, row 1, origin: expected 'title', found 'option'",
        ),
        ("UPDATE category SET families = '[]' WHERE id = 5", "category, row 5, families: expected "),
        ("UPDATE family SET zh = 'x' WHERE id = 2", "family, row 2, zh: expected "),
        (
            "DELETE FROM family_value WHERE family = 1 AND value = 1",
            "family_value, row 1, value: expected 1, found 2",
        ),
        ("INSERT INTO world VALUES ('{}')", "world, row 2: not expected"),
    ],
)
def test_every_altered_row_is_told(folder: Path, tmp_path: Path, statement: str, told: str) -> None:
    bad = tmp_path / "w.sqlite"
    bad.write_bytes((folder / "w.sqlite").read_bytes())
    assert list(differences(folder / "w.sqlite", bad)) == []
    with closing(sqlite3.connect(bad)) as connection, connection:
        connection.execute(statement)
    assert next(differences(folder / "w.sqlite", bad)).startswith(told)
