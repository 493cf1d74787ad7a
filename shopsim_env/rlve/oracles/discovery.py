"""The oracle of product discovery: asks for what is open, searches, ranks by the told weights.

Belongs here: its plan. Utilities are those of `choosing.preferences`, from the cards that the search gave.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from shopsim_env.rlve.choosing.preferences import TOLD_DIMENSIONS, utilities
from shopsim_env.rlve.fact_model import Good
from shopsim_env.rlve.oracles.base import Agent, all_filters, answer, ask_rest, call_tools, results_of
from shopsim_env.rlve.sight import Sight

_EVEN: Final = dict.fromkeys(TOLD_DIMENSIONS, 1)


class DiscoveryOracle(Agent):
    """Plays PD."""

    def __init__(self) -> None:
        self._asked: dict[str, Any] | None = None

    def act(self, sight: Sight) -> dict[str, Any]:
        """Asks, searches or answers."""
        if sight.open_needs:
            return ask_rest(sight)
        wanted = all_filters(sight)
        if wanted != self._asked:
            self._asked = wanted
            return call_tools(
                sight, ("catalog.search", {"query": "", "filters": wanted, "top_k": sight.top_k})
            )
        found = results_of(sight.results, "catalog.search")[0]["products"]
        cards = [card for card in found if card["price"] is not None]
        return answer(sight, recommended_product_ids=ranked(cards, sight)[: sight.request["k"]])


def ranked(cards: Sequence[Mapping[str, Any]], sight: Sight) -> list[str]:
    """Product ids of cards, the best for the told weights first."""
    goods = [card_good(number, card) for number, card in enumerate(cards)]
    told = sight.needs.get("priorities")
    worth = utilities(goods, told["weights"] if told else _EVEN)
    order = sorted(worth, key=lambda number: -worth[number])
    return [str(cards[number]["product_id"]) for number in order]


def card_good(number: int, card: Mapping[str, Any]) -> Good:
    """The facts of a search card in the units of the catalogue."""
    price = card["price"]
    return Good(
        number=number,
        price_low=None if price is None else round(price * 100),
        rating=round(card["rating"] * 100),
        rating_count=card["rating_count"],
        ship_days=card["ship_days"],
        stock=card["stock_qty"],
        brand=card["brand"],
    )
