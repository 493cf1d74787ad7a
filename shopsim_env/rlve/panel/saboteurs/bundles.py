"""Saboteurs of bundles: a product that does not meet its slot's wishes, and a bundle above the budget.

Belongs here: what is chosen in the place of the cheapest fitting products.
"""

from collections.abc import Sequence

from shopsim_env.rlve.envs.base import ToolRecord
from shopsim_env.rlve.oracles.base import Request, answer, search
from shopsim_env.rlve.oracles.bundle import BundleOracle, slot_filters
from shopsim_env.rlve.panel.saboteurs.base import Saboteur, Turn, with_answer
from shopsim_env.rlve.sight import Sight


class StrangeBundle(Saboteur):
    """BUNDLE: in the first slot the cheapest product that does not meet its wishes."""

    def __init__(self) -> None:
        super().__init__(BundleOracle())

    def _looks(self, sight: Sight) -> Sequence[Request]:
        return [search(sight, sight.request["slots"][0], {"in_stock": True})]

    def _spoil(self, sight: Sight, turn: Turn) -> Turn | None:
        listed = turn["answer"]["recommended_product_ids"]
        strange = self._strange(slot_filters(sight)[0])
        if not strange:
            return None
        cheapest = min(strange, key=lambda card: float(card["price"]))
        return with_answer(turn, recommended_product_ids=self._listed(cheapest["product_id"], listed))

    def _listed(self, strange: str, right: Sequence[str]) -> list[str]:
        return [strange, *right[1:]]


class OnePickMore(StrangeBundle):
    """BUNDLE: the right bundle, and the cheapest product that does not meet the first slot's wishes."""

    def _listed(self, strange: str, right: Sequence[str]) -> list[str]:
        return [*right, strange]


class DearBundle(BundleOracle):
    """BUNDLE: in each slot the dearest product that meets its wishes, if that is more than the budget."""

    def __init__(self) -> None:
        super().__init__()
        self._prices: dict[int, float] = {}

    def act(self, sight: Sight) -> Turn:
        """As the oracle; no answer where the dearest products are within the budget."""
        turn = super().act(sight)
        budget = next((need["budget"] for need in sight.needs.values() if "budget" in need), 0.0)
        return answer(sight) if "answer" in turn and sum(self._prices.values()) <= budget else turn

    def _read(self, results: tuple[ToolRecord, ...]) -> None:
        for slot, record in zip(self._order, results, strict=True):
            cards = [card for card in record.result["products"] if card["price"] is not None]
            dearest = max(cards, key=lambda card: float(card["price"]))
            self._found[slot], self._prices[slot] = dearest["product_id"], float(dearest["price"])
