"""Tables of `rlve.sqlite`, the world facts of a release, and the version that they are a function of.

Belongs here: the statements that create the tables, and the manifest row that says whose facts they are. Does
not belong here: where facts come from (`pipelines.stages.rlve_world`), reading them (`facts`).
"""

from typing import Any, Final

from shopsim_env.versions import RLVE_SUITE_VERSION

WORLD_SCHEMA_VERSION: Final = 2
MANIFEST_DDL: Final = "CREATE TABLE world (payload TEXT NOT NULL)"

# Ids number the paths in order of their levels, so that a category and all below it are `id` to `last`.
# Category 1 is the root, above every path. `families` lists names, the best for variants first.
CATEGORY_DDL: Final = (
    "CREATE TABLE category (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, parent INTEGER, "
    "last INTEGER NOT NULL, products INTEGER NOT NULL, families TEXT NOT NULL)"
)
# `id` is the number of the product in the catalogue. Money in hundredths, rating in hundredths of a star.
# `*_derived` is 1 where the source says nothing: provenance, and free of charge in SQLite's row format.
# `title` repeats the catalogue's, and `attributes` the rows of `attribute` in their order, as JSON with
# family, value and origin: a search shows two hundred products, and each is then one row of one table.
FACT_DDL: Final = (
    "CREATE TABLE fact (id INTEGER PRIMARY KEY, asin TEXT NOT NULL UNIQUE, category INTEGER NOT NULL, "
    "brand TEXT, price_low INTEGER, price_high INTEGER, rating INTEGER NOT NULL, rating_derived INTEGER "
    "NOT NULL, rating_count INTEGER NOT NULL, rating_count_derived INTEGER NOT NULL, ship_days INTEGER NOT "
    "NULL, ship_days_derived INTEGER NOT NULL, stock INTEGER NOT NULL, stock_derived INTEGER NOT NULL, "
    "title TEXT NOT NULL, attributes TEXT NOT NULL)"
)
# `family` numbers `family.id`; `value` is a row of `family_value`, or thousandths of the family's unit. Both
# category and price repeat those of the product: the index then finds the cheapest ones of a category.
ATTRIBUTE_DDL: Final = (
    "CREATE TABLE attribute (id INTEGER NOT NULL, family INTEGER NOT NULL, value INTEGER NOT NULL, "
    "category INTEGER NOT NULL, price_low INTEGER, origin TEXT NOT NULL, PRIMARY KEY (id, family, value)) "
    "WITHOUT ROWID"
)
FAMILY_DDL: Final = (
    "CREATE TABLE family (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, "
    "zh TEXT NOT NULL, en TEXT NOT NULL, unit_zh TEXT NOT NULL, unit_en TEXT NOT NULL)"
)
FAMILY_VALUE_DDL: Final = (
    "CREATE TABLE family_value (family INTEGER NOT NULL, value INTEGER NOT NULL, name TEXT NOT NULL, "
    "zh TEXT NOT NULL, en TEXT NOT NULL, PRIMARY KEY (family, value)) WITHOUT ROWID"
)
TABLES_DDL: Final = (
    MANIFEST_DDL,
    CATEGORY_DDL,
    FACT_DDL,
    ATTRIBUTE_DDL,
    FAMILY_DDL,
    FAMILY_VALUE_DDL,
)
INDEXES_DDL: Final = (
    "CREATE INDEX fact_by_category ON fact(category, price_low)",
    "CREATE INDEX fact_by_brand ON fact(brand, category, price_low)",
    "CREATE INDEX attribute_by_value ON attribute(family, value, category, price_low)",
)

# What the key `shop_facts` of a source record may say: lowest, highest, whether a whole number.
SOURCE_FACTS: Final[dict[str, tuple[int, int, bool]]] = {
    "rating": (1, 5, False),
    "rating_count": (0, 10**9, True),
    "ship_days": (0, 365, True),
    "stock": (0, 10**9, True),
}
CATEGORY_SEPARATOR: Final = "›"
WORD, NUMBER = "word", "number"
ORIGINS: Final = ("option", "attribute", "title")


def world_manifest(product_count: int, product_data_sha256: str) -> dict[str, Any]:
    """The manifest of the facts of these products.

    Args:
        product_count: Number of products of the catalogue.
        product_data_sha256: Digest of its public rows, as its index manifest has it.
    """
    return {
        "suite_version": RLVE_SUITE_VERSION,
        "world_schema_version": WORLD_SCHEMA_VERSION,
        "product_count": product_count,
        "product_data_sha256": product_data_sha256,
    }


def number_name(value: int) -> str:
    """Thousandths as the shortest decimal text: 65000 is `"65"`, 500 is `"0.5"`."""
    whole, rest = divmod(value, 1000)
    return f"{whole}.{rest:03d}".rstrip("0").rstrip(".")
