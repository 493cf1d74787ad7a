"""A linear softmax policy over what an agent sees, for `benchmarks.learning`.

Belongs here: what the agent reads on a page, and how it chooses. It imports numpy and the standard library
alone: no module of the project, so nothing private can come in. Weights are learned in `benchmarks.learning`.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

State = Mapping[str, Any]
Found = dict[str, float]

_PIECE = re.compile(r"[^\W_]+")
_SHORT = re.compile(r"[，。！？；,!?;]")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MONEY = re.compile(r"元|块|rmb|价|预算|¥|钱|以内|以下|左右|不超过|不到", re.IGNORECASE)
_NEAR = 8  # characters around a number in which a word about money makes it the budget
_SEARCHES = "搜索"

NAMES = (
    # Queries on the home page.
    "query_request", "query_keywords", "query_both", "query_clause", "query_again",
    # Products on a results page.
    "open", "open_rank", "open_first", "open_title_request", "open_title_best", "open_title_density",
    "open_title_keywords", "open_keywords_best", "open_attributes", "open_attributes_best",
    "open_category", "open_within", "open_above", "open_holds_budget", "open_distance", "open_no_price",
    "open_seen",
    # Ways around.
    "next", "back", "back_complete", "prev", "prev_complete", "over_budget_leaves", "late_leaves", "other",
    # Values on a product page.
    "value_missing_axis", "value_chosen", "value_other_of_chosen", "value_request", "value_whole",
    "value_best", "value_none_fits", "value_keywords", "value_first", "value_numbers",
    # The purchase.
    "buy", "buy_within", "buy_above", "buy_early",
)  # fmt: skip
PLACE = {name: number for number, name in enumerate(NAMES)}
SIZE = len(NAMES)


@lru_cache(maxsize=1 << 16)
def pairs(text: str) -> frozenset[str]:
    """Pairs of neighbouring characters in words, or the one character; width and case are folded."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    found: set[str] = set()
    for piece in _PIECE.findall(folded):
        found.update(piece[place : place + 2] for place in range(max(1, len(piece) - 1)))
    return frozenset(found)


def budget_of(text: str) -> float | None:
    """The last number that a word about money stands next to; None without one."""
    folded = unicodedata.normalize("NFKC", text)
    found = [
        float(match[0])
        for match in _NUMBER.finditer(folded)
        if _MONEY.search(folded[max(0, match.start() - _NEAR) : match.end() + _NEAR])
    ]
    return found[-1] if found else None


def keywords_of(persona: Any, below: bool = False) -> list[str]:
    """Texts of a persona below a key that speaks of searches."""
    if isinstance(persona, Mapping):
        return [
            text
            for key, item in persona.items()
            for text in keywords_of(item, below or _SEARCHES in str(key))
        ]
    if isinstance(persona, list):
        return [text for item in persona for text in keywords_of(item, below)]
    return [persona] if below and isinstance(persona, str) and persona.strip() else []


def price_range(shown: str | None) -> tuple[float, float] | None:
    """Lower and upper end of a listing price, `29.0` or `115.0 to 1750.0`."""
    if not shown:
        return None
    ends = [float(end) for end in shown.split(" to ")]
    return ends[0], ends[-1]


@dataclass
class Mind:
    """What the agent knows in one episode: the request, the persona, and where it has been."""

    instruction: str
    persona: Mapping[str, Any]
    limit: int
    opened: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    steps: int = 0

    def __post_init__(self) -> None:
        words = keywords_of(self.persona)
        self.request = pairs(self.instruction)
        self.keywords = pairs(" ".join(words))
        self.budget = budget_of(self.instruction)
        self.numbers = frozenset(_NUMBER.findall(unicodedata.normalize("NFKC", self.instruction)))
        self.queries = {"query_request": self.instruction, "query_clause": _SHORT.split(self.instruction)[0]}
        if words:
            self.queries["query_keywords"] = " ".join(words)
            self.queries["query_both"] = f"{self.instruction} {' '.join(words)}"

    def share(self, text: str, known: frozenset[str]) -> float:
        """Part of the pairs of `text` that stand in `known`."""
        own = pairs(text)
        return len(own & known) / len(own) if own else 0.0

    def did(self, action: str) -> None:
        """Remembers an action."""
        self.steps += 1
        (self.asked if action.startswith("search[") else self.opened).add(action)


def choices(state: State, mind: Mind) -> tuple[list[str], np.ndarray]:
    """The actions of a page, and a row of features for each."""
    if state["search_available"]:
        rows = _queries(mind)
    elif state["page_type"] == "search_results":
        rows = _products(state, mind)
    else:
        rows = _purchase(state, mind)
    table = np.zeros((len(rows), SIZE))
    for place, (_, found) in enumerate(rows):
        for name, value in found.items():
            table[place, PLACE[name]] = value
    return [action for action, _ in rows], table


def _queries(mind: Mind) -> list[tuple[str, Found]]:
    found = []
    for name, query in mind.queries.items():
        action = f"search[{query}]"
        found.append((action, {name: 1.0, "query_again": float(action in mind.asked)}))
    return found


def _products(state: State, mind: Mind) -> list[tuple[str, Found]]:
    cards = {card["asin"]: _card(card, mind) for card in state["products"]}
    _against_best(cards.values(), "open_title_request", "open_title_best")
    _against_best(cards.values(), "open_title_keywords", "open_keywords_best")
    _against_best(cards.values(), "open_attributes", "open_attributes_best")
    return [
        (f"click[{value}]", cards[value] if value in cards else _way(value, state, mind))
        for value in state["actions"]
    ]


def _card(card: Mapping[str, Any], mind: Mind) -> Found:
    title = pairs(card["title"])
    attributes = card["key_attributes"]
    fitting = sum(text in mind.instruction for text in attributes)
    return {
        "open": 1.0,
        "open_rank": 1.0 / card["rank"],
        "open_first": float(card["rank"] == 1),
        "open_title_request": len(title & mind.request) / max(len(mind.request), 1),
        "open_title_density": len(title & mind.request) / max(len(title), 1),
        "open_title_keywords": len(title & mind.keywords) / max(len(mind.keywords), 1),
        "open_attributes": min(fitting, 5) / 5,
        "open_category": mind.share((card["category"] or "").rpartition("›")[2], mind.request),
        "open_seen": float(f"click[{card['asin']}]" in mind.opened),
        **_price(price_range(card["price"]), mind.budget),
    }


def _price(ends: tuple[float, float] | None, budget: float | None) -> Found:
    if ends is None or not budget:
        return {"open_no_price": 1.0}
    low, high = ends
    return {
        "open_within": float(low <= budget),
        "open_above": float(low > budget),
        "open_holds_budget": float(low <= budget <= high),
        "open_distance": min(abs(math.log((high + 1) / (budget + 1))), 3.0) / 3,
    }


def _against_best(rows: Any, name: str, best: str) -> None:
    """Marks the rows with the largest value of a page."""
    top = max((row[name] for row in rows), default=0.0)
    for row in rows:
        row[best] = float(top > 0 and row[name] == top)


def _purchase(state: State, mind: Mind) -> list[tuple[str, Found]]:
    values = _values(state, mind)
    return [
        (f"click[{text}]", values[text] if text in values else _way(text, state, mind))
        for text in state["actions"]
    ]


def _values(state: State, mind: Mind) -> dict[str, Found]:
    """Features by the clickable text of a value."""
    found: dict[str, Found] = {}
    for text in state["actions"]:
        axis, sign, value = text.partition("=")
        if not sign:
            continue
        found[text] = {
            "value_missing_axis": float(axis in state["missing_option_axes"]),
            "value_chosen": float(state["selected_options"].get(axis) == value),
            "value_other_of_chosen": float(axis in state["selected_options"]),
            "value_request": mind.share(value, mind.request),
            "value_whole": float(value in mind.instruction),
            "value_keywords": mind.share(value, mind.keywords),
            "value_numbers": _shared_numbers(value, mind.numbers),
        }
    for axis in state["available_options"]:
        group = [row for text, row in found.items() if text.startswith(f"{axis}=")]
        _against_best(group, "value_request", "value_best")
        for place, row in enumerate(group):
            row["value_first"] = float(place == 0)
            row["value_none_fits"] = float(place == 0 and not any(one["value_best"] for one in group))
    return found


def _shared_numbers(value: str, known: frozenset[str]) -> float:
    own = _NUMBER.findall(unicodedata.normalize("NFKC", value))
    return sum(number in known for number in own) / len(own) if own else 0.0


def _way(text: str, state: State, mind: Mind) -> Found:
    """Features of a click that is neither a product nor a value."""
    late = mind.steps / mind.limit
    complete = float(state.get("options_complete", False))
    price = state.get("selected_price")
    above = float(price is not None and mind.budget is not None and price > mind.budget)
    if text == "buy now":
        within = float(price is not None and mind.budget is not None and price <= mind.budget)
        return {"buy": 1.0, "buy_within": within, "buy_above": above, "buy_early": 1.0 - late}
    leaves = {"over_budget_leaves": above, "late_leaves": late}
    if text == "next >":
        return {"next": 1.0, **leaves}
    if text == "back to search":
        return {"back": 1.0, "back_complete": complete, **leaves}
    if text == "< prev":
        return {"prev": 1.0, "prev_complete": complete, **leaves}
    return {"other": 1.0, **leaves}


def chances(table: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The softmax of the scores of the rows."""
    scores = table @ weights
    scores = np.exp(scores - scores.max())
    return scores / scores.sum()


Chooser = Callable[[np.ndarray], int]
"""Takes the chances of the actions, gives the place of one."""


def best(shares: np.ndarray) -> int:
    """The likeliest action, the first of equal ones."""
    return int(np.argmax(shares))
