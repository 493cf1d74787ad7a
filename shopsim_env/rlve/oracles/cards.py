"""Reading product cards, and asking while tools run: shared by the oracles that compare products themselves.

Belongs here: whether a card meets a search filter. Turns of one kind are in `base`.
"""

from collections.abc import Mapping
from typing import Any, Final

from shopsim_env.rlve.oracles.base import ask_rest, call_tools
from shopsim_env.rlve.sight import Sight

_BOUNDS: Final = {
    "price_min": ("price", 1),
    "price_max": ("price", -1),
    "rating_min": ("rating", 1),
    "rating_count_min": ("rating_count", 1),
    "rating_count_max": ("rating_count", -1),
    "ship_days_max": ("ship_days", -1),
    "ship_days_min": ("ship_days", 1),
    "stock_min": ("stock_qty", 1),
}


def card_meets(card: Mapping[str, Any], filters: Mapping[str, Any]) -> bool:
    """Whether a product meets a filter of the search tool, by its card."""
    for name, wanted in filters.items():
        if name == "category":
            met = f"{card['category']}›".startswith(f"{wanted}›")
        elif name == "attributes":
            met = all(value in card["key_attrs"].get(family, ()) for family, value in wanted.items())
        elif name in _BOUNDS:
            fact, sign = _BOUNDS[name]
            met = card[fact] is not None and sign * (card[fact] - wanted) >= 0
        elif name == "in_stock":
            met = (card["stock_qty"] > 0) == wanted
        else:
            met = card[name] == wanted
        if not met:
            return False
    return True


def ask_and_call(sight: Sight, *calls: tuple[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Makes these calls, as many as the turn may hold, and asks for whatever is still open."""
    turn = call_tools(sight, *calls[: sight.tool_budget])
    return {**turn, **ask_rest(sight)} if sight.open_needs else turn
