"""Cost of one tool call of RLVE: at most 60 µs without a search, at most 0.4 ms for a filtered one.

    python -m benchmarks.rlve_tools [--release DIR] [--calls N]

Medians of CPU time, products and pools read before; every filtered search has a filter that is new.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from shopsim_env.release import load_release
from shopsim_env.rlve.difficulty import axes
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.overlay import Overlay, order_book
from shopsim_env.rlve.protocol import Call
from shopsim_env.rlve.tools import run_tool
from shopsim_env.search.measure import machine_facts

LEVELS = (0, 4, 12)
MOST_CALL, MOST_SEARCH = 60, 400


def prepared(market: Market, d: int) -> tuple[Overlay, list[str]]:
    """An episode with orders and visits, and leaf categories by path; their products are read."""
    overlay = Overlay(market.shelf, axes(d), Draws("benchmark", d))
    leaves = [number for number in market.pools.categories if not market.world.subcategories(number)][:40]
    numbers = [
        number for leaf in leaves for number in market.shelf.selections.selection(leaf, (), False).numbers
    ]
    priced = [number for number in numbers if market.shelf.item(number).facts.price_low is not None]
    overlay.book = order_book(
        market.shelf,
        priced,
        Draws("benchmark orders"),
        overlay.today,
        6,
        account=overlay.account,
        least_lines=8,
    )
    overlay.visits = tuple(priced[:9])
    return overlay, ["›".join(market.world.category(leaf).levels) for leaf in leaves]


def cost(call: Callable[[int], object], calls: int) -> float:
    """Median CPU time in µs; the first tenth warms up."""
    times = []
    for number in range(calls):
        start = time.thread_time()
        call(number)
        times.append(time.thread_time() - start)
    return median(times[calls // 10 :]) * 1e6


def plain_calls(overlay: Overlay) -> dict[str, Callable[[int], object]]:
    """Calls that do not search."""
    shown = [overlay.show(number, "history") for number in overlay.visits]
    order = overlay.book.orders[0]
    line = {"order_id": order.id, "line_id": order.lines[0].id}

    def run(name: str, **args: object) -> dict[str, object]:
        return run_tool(overlay, Call(name, args))

    return {
        "catalog.get_product": lambda i: run("catalog.get_product", product_id=shown[i % 9]),
        "cart.add": lambda i: run("cart.add", product_id=shown[i % 9]),
        "cart.view": lambda _: run("cart.view"),
        "order.list": lambda _: run("order.list", days=365),
        "order.get_status": lambda _: run("order.get_status", order_id=order.id),
        "return.check_eligibility": lambda _: run("return.check_eligibility", **line),
        "user.get_visit_history": lambda _: run("user.get_visit_history"),
        "datetime.now": lambda _: run("datetime.now"),
    }


def searches(overlay: Overlay, paths: list[str]) -> dict[str, Callable[[int], object]]:
    """Searches, with filters that are new each time."""

    def run(query: str, price: int, path: str) -> object:
        filters = {"price_max": price, "category": path, "in_stock": True}
        return run_tool(overlay, Call("catalog.search", {"query": query, "filters": filters}))

    return {
        "search with filters": lambda i: run("家用 新款", 1000 + i, paths[i % len(paths)]),
        "filters alone": lambda i: run("", 100_000 + i, paths[i % len(paths)]),
    }


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--release", type=Path)
    parser.add_argument("--calls", type=int, default=400)
    arguments = parser.parse_args()
    print(machine_facts())
    with load_release(arguments.release) as release, Market.of(release) as market:
        print(f"{len(market.world)} products")
        for d in LEVELS:
            overlay, paths = prepared(market, d)
            for table, most in ((plain_calls(overlay), MOST_CALL), (searches(overlay, paths), MOST_SEARCH)):
                for name, call in table.items():
                    found = cost(call, arguments.calls)
                    print(f"d={d:<3} {name:<26}{found:>8.1f} µs {found / most:>6.2f} of the limit")


if __name__ == "__main__":
    main()
