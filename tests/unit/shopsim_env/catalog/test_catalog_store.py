"""Public rows and the read-only product store, on real SQLite files."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pipelines.stages.search_index import add_title_nouns, build_search_index
from shopsim_env.catalog.schema import PRODUCT_DDL, TITLE_NOUN_DDL, public_record
from shopsim_env.catalog.store import CatalogStore, open_readonly
from shopsim_env.errors import ReleaseError, UsageError

RAW: dict[str, Any] = {
    "asin": "200000000002",
    "title": "护眼台灯",
    "sub_title": None,
    "shop_name": "明亮灯饰",
    "category": "家居/灯具›台灯",
    "attribute": ["护眼", "可调光"],
    "full_description": "护眼台灯",
    "pricing": [39.0, 59.0],
    "images": ["https://pictures.invalid/1.jpg"],
    "customization_options": {
        "颜色分类": [
            {
                "value": "雾蓝/M",
                "price": 39,
                "image": "https://pictures.invalid/2.jpg",
                "asin": "55",
                "is_available": True,
            },
            {"value": "米白", "price": None},
            "墨绿",
            None,
        ],
        "套装": None,
    },
    "domain_zh": "家居家装",
    "tag": "train",
    "instructions": [{"instruction": "要一个雾蓝的台灯", "asin": "200000000002"}],
    "user_persona": {"用户ID": "U200000000002"},
    "source_product_index": 7,
    "task_uid": "shopsim-0123",
    "remark": "an unknown key may hold goal text",
}


def make_catalog(path: Path, nouns: dict[str, tuple[str, ...]] | None = None) -> Path:
    other = {"asin": "100000000001", "title": "保温杯"}
    build_search_index([RAW, other], path)
    add_title_nouns(path, nouns or {"100000000001": ("保温杯",), "200000000002": ("台灯", "护眼")})
    return path


def test_public_record_passes_only_what_an_agent_may_see() -> None:
    assert public_record(RAW) == {
        "asin": "200000000002",
        "title": "护眼台灯",
        "shop_name": "明亮灯饰",
        "category": "家居/灯具›台灯",
        "attribute": ["护眼", "可调光"],
        "full_description": "护眼台灯",
        "pricing": [39.0, 59.0],
        "domain_zh": "家居家装",
        "customization_options": {
            "颜色分类": [
                {"value": "雾蓝/M", "price": 39},
                {"value": "米白"},
                {"value": "墨绿"},
                {"value": ""},
            ],
            "套装": [],
        },
    }


def test_public_record_of_a_record_without_options() -> None:
    assert public_record({"asin": "1", "title": "杯", "customization_options": None}) == {
        "asin": "1",
        "title": "杯",
    }


def test_product_is_read_on_demand(tmp_path: Path) -> None:
    store = CatalogStore(make_catalog(tmp_path / "名 #1?.sqlite"))
    product = store.product("200000000002")
    assert (product.title, product.brand, product.title_nouns) == ("护眼台灯", "明亮灯饰", ("台灯", "护眼"))
    axes = {axis.name: [value.public for value in axis.values] for axis in product.axes}
    assert axes == {"套装": [], "颜色分类": ["雾蓝 | m", "米白", "墨绿", ""]}
    assert len(store) == 2
    assert list(store.asins()) == ["100000000001", "200000000002"]
    assert "200000000002" in store
    assert "200000000003" not in store
    store.close()


def test_unknown_asin_is_an_error(tmp_path: Path) -> None:
    store = CatalogStore(make_catalog(tmp_path / "c.sqlite"))
    with pytest.raises(UsageError, match="'999'") as caught:
        store.product("999")
    assert caught.value.code == "unknown_product"
    store.close()


def test_threads_share_a_store(tmp_path: Path) -> None:
    store = CatalogStore(make_catalog(tmp_path / "c.sqlite"))
    with ThreadPoolExecutor(8) as pool:
        titles = list(
            pool.map(lambda asin: store.product(asin).title, ["100000000001", "200000000002"] * 200)
        )
    assert titles == ["保温杯", "护眼台灯"] * 200
    store.close()


def test_store_cannot_write(tmp_path: Path) -> None:
    connection = open_readonly(make_catalog(tmp_path / "c.sqlite"))
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM product")
    connection.close()


def test_missing_file_is_named_and_not_created(tmp_path: Path) -> None:
    path = tmp_path / "none.sqlite"
    with pytest.raises(ReleaseError, match=r"none\.sqlite, found no file") as caught:
        CatalogStore(path)
    assert caught.value.code == "catalog_missing"
    assert not path.exists()


def test_other_bytes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    path.write_bytes(b"no database" * 200)
    with pytest.raises(ReleaseError, match="SQLite database"):
        CatalogStore(path)


def test_catalogue_without_nouns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    build_search_index([RAW], path)
    with pytest.raises(ReleaseError, match="found no title_noun") as caught:
        CatalogStore(path)
    assert caught.value.code == "catalog_incomplete"


def test_nouns_for_fewer_products_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute(PRODUCT_DDL)
        connection.execute(TITLE_NOUN_DDL)
        connection.executemany("INSERT INTO product VALUES (?, ?, '{}')", [(1, "1"), (2, "2")])
        connection.execute("INSERT INTO title_noun VALUES (1, '[]')")
    connection.close()
    with pytest.raises(ReleaseError, match=r"title nouns for 2 products in .*, found 1"):
        CatalogStore(path)


def test_empty_catalogue_has_no_products(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    build_search_index([], path)
    add_title_nouns(path, {})
    store = CatalogStore(path)
    assert len(store) == 0
    assert list(store.asins()) == []
    store.close()
