"""The oracle of bundles: one search per slot, the cheapest product that meets its slot's requirements.

Belongs here: its plan.
"""

from collections.abc import Mapping
from typing import Any

from shopsim_env.rlve.choosing.constraint import merge_filters
from shopsim_env.rlve.envs.base import ToolRecord
from shopsim_env.rlve.oracles.base import Agent, answer, ask_rest, call_tools
from shopsim_env.rlve.sight import Sight


class BundleOracle(Agent):
    """Plays BUNDLE."""

    def __init__(self) -> None:
        self._asked: dict[int, dict[str, Any]] = {}
        self._found: dict[int, str] = {}
        self._order: list[int] = []

    def act(self, sight: Sight) -> dict[str, Any]:
        """Asks for what is open and searches in the same turn, until every slot's search is up to date."""
        self._read(sight.results)
        wanted = slot_filters(sight)
        stale = [slot for slot, filters in wanted.items() if self._asked.get(slot) != filters]
        self._order = stale[: sight.tool_budget]
        for slot in self._order:
            self._asked[slot] = wanted[slot]
        if self._order or sight.open_needs:
            calls = [_search(wanted[slot], sight.top_k) for slot in self._order]
            turn = call_tools(sight, *calls)
            return turn | ask_rest(sight) if sight.open_needs else turn
        return answer(sight, recommended_product_ids=[self._found[slot] for slot in wanted])

    def _read(self, results: tuple[ToolRecord, ...]) -> None:
        for slot, record in zip(self._order, results, strict=True):
            cards = [card for card in record.result["products"] if card["price"] is not None]
            self._found[slot] = min(cards, key=_price)["product_id"]


def slot_filters(sight: Sight) -> dict[int, dict[str, Any]]:
    """The search filter of each slot, from the request and the needs that were told."""
    found: dict[int, dict[str, Any]] = {}
    for slot, filters in enumerate(sight.request["slots"]):
        told = [need["filters"] for need in sight.needs.values() if need.get("slot") == slot]
        found[slot] = merge_filters([filters, *told, {"in_stock": True}])
    return found


def _search(filters: Mapping[str, Any], top_k: int) -> tuple[str, Mapping[str, Any]]:
    return "catalog.search", {"query": "", "filters": filters, "top_k": top_k}


def _price(card: Mapping[str, Any]) -> float:
    return float(card["price"])
