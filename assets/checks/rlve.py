"""What must hold of the world facts."""

from collections.abc import Iterator
from contextlib import closing

from assets.checks.blocking import blocking_check
from pipelines.resources.workspace import Workspace
from pipelines.stages.rlve_world import build_world, differences
from shopsim_env.sqlite import open_readonly

# Each finds rows that no world may hold, whatever built it; the first column names the row.
_IMPOSSIBLE = {
    "a category that is not there": (
        "SELECT id FROM fact WHERE category NOT IN (SELECT id FROM category) "
        "UNION SELECT id FROM attribute WHERE category NOT IN (SELECT id FROM category)"
    ),
    "a fact out of its range": (
        "SELECT id FROM fact WHERE rating NOT BETWEEN 100 AND 500 OR rating_count < 0 OR ship_days NOT "
        "BETWEEN 0 AND 365 OR stock < 0 OR price_low < 1 OR price_high < price_low "
        "OR (price_low IS NULL) <> (price_high IS NULL)"
    ),
    "a derived fact out of its range": (
        "SELECT id FROM fact WHERE rating_derived AND rating % 10 "
        "OR rating_count_derived AND rating_count > 304 "
        "OR ship_days_derived AND ship_days NOT BETWEEN 1 AND 14 OR stock_derived AND stock > 80"
    ),
    "an attribute whose category or price is not the product's": (
        "SELECT a.id FROM attribute a LEFT JOIN fact f ON f.id = a.id "
        "WHERE f.category IS NOT a.category OR f.price_low IS NOT a.price_low"
    ),
    "an attribute of no known family or word": (
        "SELECT a.id FROM attribute a LEFT JOIN family f ON f.id = a.family WHERE f.id IS NULL "
        "OR a.value < 1 OR f.kind = 'word' AND NOT EXISTS "
        "(SELECT 1 FROM family_value v WHERE v.family = a.family AND v.value = a.value)"
    ),
}


@blocking_check("rlve_world")
def world_follows_from_products(work: Workspace) -> Iterator[str]:
    """A second build from the catalogue gives the same rows: nothing missing, added or altered."""
    with work.store.scratch("again.rlve.sqlite") as again:
        build_world(work.store.path("search_index"), again)
        yield from differences(again, work.store.path("rlve_world"))


@blocking_check("rlve_world")
def world_facts_possible(work: Workspace) -> Iterator[str]:
    """Ratings, days, stock and prices lie in their ranges; categories, families and words exist."""
    with closing(open_readonly(work.store.path("rlve_world"))) as connection:
        for problem, query in _IMPOSSIBLE.items():
            yield from (f"product {row[0]}: {problem}" for row in connection.execute(query))
