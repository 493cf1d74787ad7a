"""STATUS, order tracking: which order the customer means, and how it stands.

Belongs here: the goal of STATUS and its grading. How an order is told is in `told_orders`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from shopsim_env.rlve.customer.needs import Brief, Need, Revision
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.envs.base import Heard, Setting, Task, left_out, questions_for
from shopsim_env.rlve.envs.order_goods import different_days, draw_goods, history_length, of_status
from shopsim_env.rlve.envs.told_orders import (
    DATE,
    GOODS,
    MONEY,
    Candidate,
    Description,
    Told,
    describe,
    order_candidates,
    sets_of_kinds,
    told_need,
)
from shopsim_env.rlve.overlay import STATUSES, Order, order_book
from shopsim_env.rlve.protocol import Answer
from shopsim_env.rlve.scores.common import UNANSWERED, TaskScore
from shopsim_env.rlve.scores.orders import score_status

_ANSWER_TURNS: Final = 1
_REQUEST: Final = {
    "zh": "我想查一个订单现在的状态，请告诉我订单号和状态",
    "en": "I would like to know how one of my orders stands; please give me the order id and the status",
}
_ID: Final = {"zh": "订单号是{}", "en": "the order id is {}"}


@dataclass(frozen=True, slots=True)
class Asked:
    """An order that is asked for; without a description the customer names its id."""

    order: Order
    description: Description | None

    @property
    def turns(self) -> int:
        """Turns until the order is found; a named one is looked up or listed at once."""
        return self.description.turns if self.description else 1


class OrderStatus(Task):
    """A goal of order tracking. `before` is the order that was asked for before a change of mind."""

    env_id = "STATUS"
    best_score = 1.0

    def __init__(self, setting: Setting, asked: Asked, before: Asked | None) -> None:
        self._setting = setting
        self._asked = asked
        self._before = before
        # A purchase in the episode adds to the book.
        self._orders = len(setting.overlay.book.orders)
        self.turn_budget = setting.axes.T_max
        needs, later = self._needs(before or asked), self._needs(asked)
        revision = Revision(later[0]) if before else None
        others = asked.turns - 1 + _ANSWER_TURNS
        self.brief = Brief(
            env_id=self.env_id,
            request=_REQUEST[setting.language],
            needs=tuple(needs),
            pending=frozenset() if before else left_out(setting, needs, others),
            revision=revision,
        )
        questions = questions_for(len(self.brief.pending))
        self.least_turns = max(1, questions) + others
        self.least_charged = self.least_turns - max(questions, int(before is not None))

    def grade(self, answer: Answer | None, heard: Heard) -> TaskScore:
        """Order id and status, of the order that was in force."""
        if answer is None:
            return UNANSWERED
        asked = self._asked if self._before is None or heard.revised else self._before
        return score_status(
            answer.selected_order_id, answer.order_status, order=asked.order.id, status=asked.order.status
        )

    def forced_chance(self) -> Fraction:
        """1 / orders for a listed one with its status; a named order leaves one status of five to guess."""
        one = Fraction(1, self._orders)
        return one if self._asked.description else max(one, Fraction(1, len(STATUSES)))

    def goal(self) -> dict[str, Any]:
        """Order and status, and the order before a change of mind."""
        return {
            "order_id": self._asked.order.id,
            "status": self._asked.order.status,
            "order_before": self._before.order.id if self._before else None,
        }

    def _needs(self, asked: Asked) -> list[Need]:
        if asked.description is None:
            return [_named(self._setting, asked.order)]
        return [
            told_need(self._setting, f"d{at}", fact, of_line=False)
            for at, fact in enumerate(asked.description.facts)
        ]


def make(setting: Setting) -> Task:
    """Draws a goal of order tracking; it makes the order book of the overlay.

    Raises:
        UsageError: no catalogue to order from (`no_choice`).
    """
    draws, overlay = setting.draws.fork("goal"), setting.overlay
    count = history_length(setting)
    # Every status is as likely: no guess of a status, or of a place in the list, is better than another.
    plans = different_days(of_status(draws, draws.pick(STATUSES)) for _ in range(count))
    goods = draw_goods(setting, draws, 2 * count)
    overlay.book = order_book(
        overlay.shelf, goods, draws.fork("book"), overlay.today, count, account=overlay.account, plans=plans
    )
    candidates = draws.shuffled(order_candidates(overlay))
    indirect = draws.chance(setting.task_axes.status_p_indirect)
    if draws.chance(setting.axes.p_switch):
        first, second = (_asked(setting, draws, candidates, one, indirect, 1) for one in candidates[:2])
        return OrderStatus(setting, first, second)
    return OrderStatus(setting, _asked(setting, draws, candidates, candidates[0], indirect, 2), None)


def _asked(
    setting: Setting,
    draws: Draws,
    candidates: Sequence[Candidate],
    meant: Candidate,
    indirect: bool,
    most_facts: int,
) -> Asked:
    """An order as the customer tells it: by its id where no description is wanted, or none fits."""
    description = None
    if indirect:
        categories = dict.fromkeys(facts.category for facts in meant.goods)
        world = setting.overlay.world
        options = [Told(DATE, meant.order.date), Told(MONEY, meant.money)]
        options += [Told(GOODS, world.category(number)) for number in categories]
        description = describe(
            candidates,
            meant,
            sets_of_kinds(draws.shuffled(options), most_facts),
            tool_budget=setting.axes.B_tool,
            most_turns=setting.axes.T_max - _ANSWER_TURNS,
            reads_lines=False,
        )
    return Asked(meant.order, description)


def _named(setting: Setting, order: Order) -> Need:
    return Need(
        id="d0",
        kind="order",
        value=_ID[setting.language].format(order.id),
        topics=frozenset({"order"}),
        data={"order_id": order.id},
        keep=(order.id,),
    )
