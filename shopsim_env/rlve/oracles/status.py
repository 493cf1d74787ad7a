"""The oracle of order status: lists the orders, opens what it takes to tell them apart, answers.

Belongs here: its plan. Finding the order is in `orders`.
"""

from typing import Any

from shopsim_env.rlve.oracles.base import Agent, answer, ask_rest
from shopsim_env.rlve.oracles.cards import ask_and_call
from shopsim_env.rlve.oracles.orders import OrderFinder
from shopsim_env.rlve.sight import Sight


class StatusOracle(Agent):
    """Plays STATUS."""

    def __init__(self) -> None:
        self._finder = OrderFinder(lines=False)
        self._listed = False

    def act(self, sight: Sight) -> dict[str, Any]:
        """Lists and asks, opens, answers."""
        self._finder.read(sight.results)
        if sight.open_needs and self._listed:
            return ask_rest(sight)
        calls = self._finder.calls(sight)
        if calls:
            self._listed = True
            return ask_and_call(sight, *calls)
        order_id, _ = self._finder.found(sight)
        return answer(sight, selected_order_id=order_id, order_status=self._finder.status(order_id))
