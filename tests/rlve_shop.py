"""A shop of 120 products with plain rules, for tests of overlay and tools; nothing of it is a goal.

Product number n has the index i = n - 1: price 10 + i yuan (the last has none), stock 5 (0 where i % 10 == 9),
rating count i, ship days i % 7, rating 1 + (i // 4) % 5, brand 甲 or 乙 by i // 4, category by i % 4.
"""

from pathlib import Path
from typing import Any

from pipelines.stages.rlve_world import build_world
from pipelines.stages.search_index import add_title_nouns, build_search_index
from shopsim_env.catalog.product import Product
from shopsim_env.catalog.store import CatalogStore
from shopsim_env.rlve.difficulty import Axes, axes
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.facts import World
from shopsim_env.rlve.overlay import Overlay
from shopsim_env.rlve.protocol import Call
from shopsim_env.rlve.shelf import Shelf
from shopsim_env.rlve.tools import run_tool
from shopsim_env.search.fts5 import Fts5Engine
from shopsim_env.search.result import SearchResult
from shopsim_env.search.where import ProductSet, product_set
from shopsim_env.text.nouns import literal_terms

SIZE = 120
CATEGORIES = ("数码›耳机›头戴", "服饰›女装›衬衫", "食品›零食›坚果", "居家›厨具›杯子")
COLORS = ("黑色", "白色", "红色")


def record(index: int) -> dict[str, Any]:
    """One product, see the module."""
    return {
        "asin": f"9{index:05d}",
        "title": f"item{index} widget {'even' if index % 2 == 0 else 'odd'}",
        "category": CATEGORIES[index % 4],
        "brand": ("甲", "乙")[index // 4 % 2],
        "pricing": [] if index == SIZE - 1 else [float(10 + index)],
        "attribute": ["耐用"],
        "full_description": f"text of {index}",
        "customization_options": {"颜色": [{"value": COLORS[index % 3]}]},
        "shop_facts": {
            "rating": 1 + index // 4 % 5,
            "rating_count": index,
            "ship_days": index % 7,
            "stock": 0 if index % 10 == 9 else 5,
        },
    }


class ShopRelease:
    """Answers what the tools ask of a release."""

    def __init__(self, folder: Path) -> None:
        records = [record(index) for index in range(SIZE)]
        build_search_index(records, folder / "c.sqlite")
        add_title_nouns(folder / "c.sqlite", {item["asin"]: literal_terms(item["title"]) for item in records})
        build_world(folder / "c.sqlite", folder / "rlve.sqlite")
        self.world_file = folder / "rlve.sqlite"
        self._store = CatalogStore(folder / "c.sqlite")
        self._engine = Fts5Engine.open(folder / "c.sqlite")

    def product(self, asin: str) -> Product:
        return self._store.product(asin)

    def search(self, query: str, top_k: int, *, where: ProductSet | None = None) -> SearchResult:
        return self._engine.search(query, top_k, where)

    def product_set(self, members: Any) -> ProductSet:
        return product_set(members, SIZE, self._store.number)

    def close(self) -> None:
        self._store.close()
        self._engine.close()


def open_shelf(folder: Path) -> Shelf:
    """A shelf over a fresh shop; `close_shelf` closes it."""
    release = ShopRelease(folder)
    return Shelf(release, World(release.world_file))  # type: ignore[arg-type]


def close_shelf(shelf: Shelf) -> None:
    shelf.world.close()
    shelf.release.close()


def episode(shelf: Shelf, d: int = 0, seed: int = 1, **overrides: Any) -> Overlay:
    """The world of one episode; `overrides` are axes."""
    level: Axes = axes(d, overrides)
    return Overlay(shelf, level, Draws("test", d, seed))


def call(overlay: Overlay, name: str, **args: Any) -> dict[str, Any]:
    """Result of one call."""
    return run_tool(overlay, Call(name, args))


def shown(overlay: Overlay, number: int) -> str:
    """Id of a product that a search surfaced."""
    return overlay.show(number, "search")
