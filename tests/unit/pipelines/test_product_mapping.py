"""A row of a product file as a raw record, column by column."""

import hashlib
from decimal import Decimal
from typing import Any

import pytest

from pipelines.stages.products.cells import (
    decimal_cell,
    json_text,
    list_cell,
    object_cell,
    text_cell,
    texts,
    whole_number,
)
from pipelines.stages.products.mapping import RowRefused, map_row

LARGE = {
    "main_category": "All Electronics",
    "title": "Ovenwick  Charger 65W",
    "average_rating": 4.4,
    "rating_number": 1234,
    "features": ["stays cool", "folds"],
    "description": ["One charger.", "For all."],
    "price": "$1,024.50",
    "images": ["https://pic.invalid/1.jpg"],
    "videos": [],
    "store": "Harbor Lane",
    "categories": ["Electronics", "Power", "Cables > Chargers"],
    "details": '{"Brand": "Ovenwick", "Material": "plastic", "Ranks": {"a": 3}, "Colors": ["Red", "Blue"]}',
    "parent_asin": "B0TESTCASE",
    "bought_together": None,
    "subtitle": "with cable",
    "author": None,
}


def mapped(row: Any, currency: str = "USD") -> tuple[dict[str, Any], set[str]]:
    noted: set[str] = set()
    return map_row(row, currency, noted.add), noted


def test_the_columns_of_the_large_catalogue() -> None:
    assert mapped(LARGE) == (
        {
            "asin": "B0TESTCASE",
            "title": "Ovenwick Charger 65W",
            "sub_title": "with cable",
            "brand": "Ovenwick",
            "shop_name": "Harbor Lane",
            "category": "Electronics›Power›Cables / Chargers",
            "domain_en_short": "All Electronics",
            "small_description": ["stays cool", "folds"],
            "full_description": "One charger.\nFor all.",
            "attribute": ["Material: plastic", "Colors: Red, Blue"],
            "pricing": [1024.5],
            "shop_facts": {"rating": 4.4, "rating_count": 1234},
        },
        set(),
    )


def test_plain_columns() -> None:
    record, noted = mapped(
        {
            "id": "C7",
            "title": "Shirt",
            "brand": "Fennick",
            "category": "Clothing > Men",
            "attributes": {"material": "Wool|Fleece", "sale": 1},
            "tags": ["new"],
            "currency": "usd",
            "price": 52.0,
            "variants": '[{"options": {"size": "XS"}, "price": 52.0, "stock": 100.0}]',
        }
    )
    assert record == {
        "asin": "C7",
        "title": "Shirt",
        "brand": "Fennick",
        "category": "Clothing›Men",
        "attribute": ["material: Wool|Fleece", "sale: 1", "new"],
        "customization_options": {"size": [{"value": "XS", "price": 52.0}]},
        "pricing": [52.0],
        "shop_facts": {"stock": 100},
    }
    assert noted == set()


def test_what_is_missing_stays_missing() -> None:
    assert mapped({"id": "A1", "title": "Cup"}) == ({"asin": "A1", "title": "Cup"}, set())
    assert mapped({"id": "A1", "title": "Cup", "price": "0.00"})[0]["pricing"] == [0.0]


@pytest.mark.parametrize(
    ("row", "reason", "source_id"),
    [
        (7, "not_an_object", ""),
        ({"title": "Cup"}, "missing_id", ""),
        ({"id": "  ", "title": "Cup"}, "missing_id", ""),
        ({"id": float("nan"), "title": "Cup"}, "missing_id", ""),
        ({"id": "A1"}, "missing_title", "A1"),
        ({"id": "A1", "title": None}, "missing_title", "A1"),
        ({"id": "A1", "title": ["Cup"]}, "wrong_type", "A1"),
        ({"id": ["A1"], "title": "Cup"}, "wrong_type", ""),
    ],
)
def test_rows_that_cannot_be_mapped(row: Any, reason: str, source_id: str) -> None:
    with pytest.raises(RowRefused) as caught:
        map_row(row, "USD", lambda _: None)
    assert (caught.value.reason, caught.value.source_id) == (reason, source_id)


def test_an_id_that_cannot_be_clicked_is_replaced() -> None:
    record, noted = mapped({"id": "luma:MH 01", "title": "Hoodie"})
    digits = hashlib.sha256(b"luma:MH 01").hexdigest()[:19]
    assert (record["asin"], record["source_id"], noted) == (f"x{digits}", "luma:MH 01", {"id_replaced"})
    assert mapped({"id": 12345, "title": "Cup"})[0]["asin"] == "12345"


@pytest.mark.parametrize(
    ("columns", "category"),
    [
        ({"categories": ["A", "B›C"]}, "A›B/C"),
        ({"categories": '["A", "B"]'}, "A›B"),
        ({"category": "A › B"}, "A›B"),
        ({"categories": [], "main_category": "Toys"}, "Toys"),
        ({"categories": None, "category": ["X"]}, "X"),
    ],
)
def test_category_paths(columns: dict[str, Any], category: str) -> None:
    assert mapped({"id": "A1", "title": "T", **columns})[0]["category"] == category


@pytest.mark.parametrize(
    ("columns", "brand", "shop"),
    [
        ({"details": {"Manufacturer": "Acorn"}, "store": "S"}, "Acorn", "S"),
        ({"brand": "B", "details": {"Brand": "Other"}}, "B", None),
        ({"author": {"name": "J. Fenn"}}, None, "J. Fenn"),
        ({"author": "J. Fenn", "store": "S"}, None, "S"),
    ],
)
def test_brand_and_shop(columns: dict[str, Any], brand: str | None, shop: str | None) -> None:
    record, _ = mapped({"id": "A1", "title": "T", **columns})
    assert (record.get("brand"), record.get("shop_name")) == (brand, shop)


@pytest.mark.parametrize(
    ("columns", "note"),
    [
        ({"details": "{not json"}, "details_unreadable"),
        ({"details": ["a"]}, "details_unreadable"),
        ({"details": '{"a": "\\ud800"}'}, "details_unreadable"),
        ({"variants": "nothing"}, "variants_unreadable"),
        ({"variants": {"options": {}}}, "variants_unreadable"),
        ({"average_rating": 0}, "rating_unreadable"),
        ({"average_rating": "good"}, "rating_unreadable"),
        ({"rating_number": -1}, "rating_count_unreadable"),
        ({"rating_number": 1.5}, "rating_count_unreadable"),
        ({"price": "soon"}, "price_unreadable"),
        ({"price": 5, "currency": "EUR"}, "price_other_currency"),
    ],
)
def test_values_that_are_left_out_are_noted(columns: dict[str, Any], note: str) -> None:
    assert mapped({"id": "A1", "title": "T", **columns}) == ({"asin": "A1", "title": "T"}, {note})


def test_the_listing_is_the_range_of_the_variants() -> None:
    variants = [{"options": {"Size": size}, "price": price} for size, price in (("S", 9), ("M", 7), ("L", 8))]
    assert mapped({"id": "A1", "title": "T", "price": 5, "variants": variants})[0]["pricing"] == [7.0, 9.0]
    assert mapped({"id": "A1", "title": "T", "price": "$5 - $6"})[0]["pricing"] == [5.0, 6.0]


def test_cells() -> None:
    assert [text_cell(value) for value in (None, " a  b ", 3, 2.5, float("nan"), True, {})] == [
        "",
        "a b",
        "3",
        "2.5",
        "",
        None,
        None,
    ]
    assert list(texts('["a", "", 3]')) == ["a", "3"]
    assert list(texts("[a")) == ["[a"]
    assert [list_cell(value) for value in (None, "", [1], "[1]", "{}", "[", 3)] == [
        [],
        [],
        [1],
        [1],
        None,
        None,
        None,
    ]
    assert [object_cell(value) for value in (None, " ", {"a": 1}, "[]", 3)] == [{}, {}, {"a": 1}, None, None]
    assert [whole_number(value) for value in ("100.0", 7, -1, 1e12, "x", None, True)] == [100, 7] + [None] * 5
    assert [decimal_cell(value) for value in ("4.5", float("inf"), "nan")] == [Decimal("4.5"), None, None]
    bad = {"NaN": "NaN", "[" * 100_000: "nested", '"\\ud800"': "surrogates", "{": "Expecting"}
    for text, message in bad.items():
        with pytest.raises(ValueError, match=message):
            json_text(text)
    assert json_text('"\\ud83d\\ude00"') == "\U0001f600"
