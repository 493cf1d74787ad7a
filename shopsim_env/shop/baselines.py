"""Agents without skill, whose rewards are the floor that a trained agent has to beat.

Belongs here: what they do on each page. They see what an agent sees and nothing else; only `gold_title` is
told the title of the gold product. They never stop on their own: the action limit ends what a purchase does
not. Episodes and figures are in `shopsim_env.commands.floors`.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from shopsim_env.shop.actions import Action, Click, Search
from shopsim_env.shop.display import one_line
from shopsim_env.shop.pages import BACK, BUY

_SEARCH_KEYS = ("搜索", "search")
State = Mapping[str, Any]
Pick = Callable[[list[dict[str, Any]]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Start:
    """What an agent knows before its first action: the visible text, the visible persona, and a seed."""

    task_id: int
    text: str
    persona: Mapping[str, Any]
    seed: int = 0


class Baseline(Protocol):
    """One agent in one episode."""

    def act(self, state: State, /) -> Action | str:
        """The next action on a page that is described by its `observation_state`."""


class NoOp:
    """Says something that is no action, every time."""

    def act(self, _state: State, /) -> Action | str:
        """Never changes a page; counts as an action all the same."""
        return "noop"


class RandomClicks:
    """Searches the visible text, then clicks one of the offered texts, all with equal chances."""

    def __init__(self, start: Start) -> None:
        self._text = start.text
        # A text as seed is hashed by the generator itself, the same in every process.
        self._random = random.Random(f"{start.seed}:{start.task_id}")  # noqa: S311

    def act(self, state: State, /) -> Action | str:
        """Any offered text; on the home page only searching is possible."""
        if state["search_available"]:
            return Search(self._text)
        return Click(self._random.choice(state["actions"]))


class Buyer:
    """Searches one query, opens one product of the first page, takes the first value of every axis, buys.

    Args:
        query: What to search; the same again when nothing was found.
        pick: Chooses among the products of the page.
    """

    def __init__(self, query: str, pick: Pick) -> None:
        self._query = query
        self._pick = pick

    def act(self, state: State, /) -> Action | str:
        """Straight to a purchase."""
        if state["search_available"]:
            return Search(self._query)
        if state["page_type"] == "search_results":
            products = state["products"]
            return Click(self._pick(products)["asin"] if products else BACK)
        if state["missing_option_axes"]:
            axis = state["missing_option_axes"][0]
            return Click(f"{one_line(axis)}={state['available_options'][axis][0]}")
        return Click(BUY)


def first(products: list[dict[str, Any]]) -> dict[str, Any]:
    """The best hit."""
    return products[0]


def cheapest(products: list[dict[str, Any]]) -> dict[str, Any]:
    """The lowest listing price (of a range its lower end); unknown prices last, ties by rank."""
    return min(products, key=lambda product: (_lowest_price(product["price"]), product["rank"]))


def titled(title: str) -> Pick:
    """The product with this title, else the best hit."""
    shown = one_line(title)

    def pick(products: list[dict[str, Any]]) -> dict[str, Any]:
        equal = [product for product in products if one_line(product["title"]) == shown]
        return (equal or products)[0]

    return pick


def search_keywords(persona: Mapping[str, Any]) -> tuple[str, ...]:
    """The recent searches of a persona, in its order, wherever they stand; without blanks and repetitions."""
    return tuple(dict.fromkeys(text for text in _strings(persona, under_search=False) if text.strip()))


def keyword_query(start: Start) -> str:
    """All recent searches of the persona, or the visible text when there are none."""
    return " ".join(search_keywords(start.persona)) or start.text


# Agents that know no goal, by the name that is printed.
BASELINES: dict[str, Callable[[Start], Baseline]] = {
    "no-op": lambda _start: NoOp(),
    "random": RandomClicks,
    "first-result": lambda start: Buyer(start.text, first),
    "cheapest-result": lambda start: Buyer(start.text, cheapest),
    "persona-keywords": lambda start: Buyer(keyword_query(start), first),
}
GOLD_TITLE = "gold-title"


def gold_title(title: str) -> Baseline:
    """An agent that knows the title of the gold product, and neither its options nor the ceiling."""
    return Buyer(title, titled(title))


def _lowest_price(shown: str | None) -> float:
    """Listing texts are `29.0`, `115.0 to 1750.0` or None."""
    return float(shown.split(" to ")[0]) if shown else float("inf")


def _strings(value: Any, *, under_search: bool) -> Iterator[str]:
    """Texts below a key that speaks of searching."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            found = under_search or any(word in str(key).casefold() for word in _SEARCH_KEYS)
            yield from _strings(item, under_search=found)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item, under_search=under_search)
    elif under_search and isinstance(value, str):
        yield value
