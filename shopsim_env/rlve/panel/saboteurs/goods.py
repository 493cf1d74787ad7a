"""Saboteurs of product discovery and substitution.

Belongs here: lists with a product that does not meet the wishes, is not among the likest, or is one too many.
"""

from collections.abc import Sequence
from typing import Final

from shopsim_env.rlve.choosing.likeness import points
from shopsim_env.rlve.oracles.base import Request, results_of, search
from shopsim_env.rlve.oracles.discovery import DiscoveryOracle, ranked
from shopsim_env.rlve.oracles.substitution import SubstitutionOracle, card_traits
from shopsim_env.rlve.panel.saboteurs.base import Saboteur, Turn, wishes, with_answer
from shopsim_env.rlve.sight import Sight

IN_STOCK: Final = {"in_stock": True}


class OneViolator(Saboteur):
    """PD: the last of the list does not meet the wishes; it makes the list full where it can."""

    def __init__(self) -> None:
        super().__init__(DiscoveryOracle())

    def _looks(self, sight: Sight) -> Sequence[Request]:
        return [search(sight, sight.request["filters"], IN_STOCK)]

    def _spoil(self, sight: Sight, turn: Turn) -> Turn | None:
        listed = turn["answer"]["recommended_product_ids"][: sight.request["k"] - 1]
        strange = self._strange(wishes(sight))
        if not strange:
            return None
        return with_answer(turn, recommended_product_ids=[*listed, strange[0]["product_id"]])


class TooLong(Saboteur):
    """PD: the right list and one more product that meets the wishes, where there is one."""

    def __init__(self) -> None:
        super().__init__(DiscoveryOracle())

    def _spoil(self, sight: Sight, turn: Turn) -> Turn | None:
        cards = results_of(sight.results, "catalog.search")[0]["products"]
        longer = ranked(cards, sight)[: sight.request["k"] + 1]
        return with_answer(turn, recommended_product_ids=longer) if len(longer) > sight.request["k"] else None


class StrangeSubstitute(Saboteur):
    """SUB: the likest of what does not meet the wishes."""

    def __init__(self) -> None:
        super().__init__(SubstitutionOracle())

    def _looks(self, sight: Sight) -> Sequence[Request]:
        return [search(sight, sight.request["filters"], IN_STOCK)]

    def _spoil(self, sight: Sight, turn: Turn) -> Turn | None:
        (original,) = results_of(self._records, "catalog.get_product")[:1]
        traits = card_traits(original)
        # The original is out of stock, and so not among them.
        strange = self._strange(wishes(sight))
        if not strange:
            return None
        likest = max(strange, key=lambda card: points(traits, card_traits(card)))
        return with_answer(turn, recommended_product_ids=[likest["product_id"]])


class LessLike(SubstitutionOracle):
    """SUB: a product that meets all wishes and is not the likest of those that do."""

    def _likest(self, sight: Sight) -> list[str]:
        best = set(super()._likest(sight))
        cards = results_of(sight.results, "catalog.search")[0]["products"]
        assert self._original is not None  # noqa: S101 - opened in the first turn
        likeness = {card["product_id"]: points(self._original, card_traits(card)) for card in cards}
        top = max(likeness[name] for name in best)
        return [name for name, gained in likeness.items() if gained < top][:1]
