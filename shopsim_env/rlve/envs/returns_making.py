"""Drawing goals of RETURN: what the shop will say, a history around it, a line that a few facts single out.

Belongs here: the shares of outcomes and edges, and fitting the plan into the turns. Grading is in `returns`.
"""

from dataclasses import dataclass, replace
from typing import Final

from shopsim_env.errors import UsageError
from shopsim_env.rlve.choosing.choice import Choice, Limits, choose
from shopsim_env.rlve.choosing.constraint import Constraint
from shopsim_env.rlve.choosing.pool import Pool
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.envs.base import Setting, Task, turns_for
from shopsim_env.rlve.envs.goods import LEAST_AVAILABLE
from shopsim_env.rlve.envs.order_goods import BACKGROUND_ORDERS, draw_goods, history_length
from shopsim_env.rlve.envs.returns import GoodsReturn, Plea, Replacement, Terms
from shopsim_env.rlve.envs.told_orders import (
    DATE,
    GOODS,
    MONEY,
    Candidate,
    Told,
    describe,
    goods_facts,
    line_candidates,
)
from shopsim_env.rlve.fact_model import Good
from shopsim_env.rlve.overlay import STATUSES, Plan, order_book
from shopsim_env.rlve.overlay.orders import AGES, CANCELLED, CONFIRMED, DELIVERED, IN_TRANSIT, SHIPPED
from shopsim_env.rlve.overlay.returns import (
    FEES,
    NOT_DELIVERED,
    NOT_RETURNABLE,
    ORDER_CANCELLED,
    REASONS,
    WINDOW_CLOSED,
    WINDOWS,
    group_of,
)
from shopsim_env.rlve.wishes import BOUNDS

LEAST_LINES: Final = 8
# However many orders there are, the day of one seldom singles out a line.
_LINES_PER_ORDER: Final = 2
_P_REPLACEMENT: Final = 0.5
# Of the orders at the edge of their window one in five is a day too old; of the others fifteen in a hundred
# are refused.
_EDGE_DAYS: Final = (-1, -1, 0, 0, 1)
_P_REFUSED: Final = 0.15
_REFUSED: Final = (WINDOW_CLOSED, NOT_DELIVERED, ORDER_CANCELLED, NOT_RETURNABLE)
_TRIES: Final = 40
# A catalogue may have no goods that never go back: after so many tries another refusal is taken.
_PATIENT: Final = 12
_YOUNGEST, _OLDEST = AGES[DELIVERED]
_SHORTEST: Final = min(days for days in WINDOWS.values() if days)


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What the shop will say (None: it may go back), days from the end of the window (None: off the edge)."""

    refusal: str | None
    edge: int | None
    replacement: bool


def make(setting: Setting) -> Task:
    """Draws a goal of returning or exchanging; it makes the order book of the overlay.

    Raises:
        UsageError: the catalogue offers no such goal (code `no_choice`).
    """
    draws = setting.draws.fork("goal")
    outcome = _outcome(setting, draws.fork("outcome"))
    for attempt in range(_TRIES):
        if attempt == _PATIENT and outcome.refusal == NOT_RETURNABLE:
            outcome = replace(outcome, refusal=NOT_DELIVERED)
        found = _attempt(setting, draws.fork("attempt", attempt), outcome)
        if found is not None:
            return found
    raise UsageError(
        "expected an order history in which a few facts single out one line, found none; the catalogue is "
        "too small or its products are too much alike",
        code="no_choice",
    )


def _outcome(setting: Setting, draws: Draws) -> _Outcome:
    edge = draws.pick(_EDGE_DAYS) if draws.chance(setting.task_axes.return_p_edge) else None
    refusal = draws.pick(_REFUSED) if edge is None and draws.chance(_P_REFUSED) else None
    if edge is not None and edge > 0:
        refusal = WINDOW_CLOSED
    fits = 2 + _preparing(setting, exchange=True) + 1 <= setting.axes.T_max
    return _Outcome(refusal, edge, fits and draws.chance(_P_REPLACEMENT))


def _preparing(setting: Setting, *, exchange: bool) -> int:
    """Turns for the check, and the search for a replacement."""
    return turns_for(1 + exchange, setting.axes.B_tool)


def _attempt(setting: Setting, draws: Draws, outcome: _Outcome) -> GoodsReturn | None:
    choice = _choice(setting, draws) if outcome.replacement else None
    pool = choice.pool if choice else setting.pools.pool(draws.pick(setting.pools.categories))
    if choice is None and not pool.category.levels and len(setting.pools.categories) > 1:
        # "Any category" describes nothing.
        return None
    good = draws.pick(pool.goods)
    window = _window(setting, good)
    if good.price_low is None or (window == 0) != (outcome.refusal == NOT_RETURNABLE):
        return None
    _book(setting, draws, _target_plan(outcome, window, good.number, draws), pool)
    candidates = line_candidates(setting.overlay)
    meant = next(one for one in candidates if one.lines[0].number == good.number)
    if choice and not _replaceable(setting, choice, meant):
        return None
    ending = _preparing(setting, exchange=outcome.replacement) + 1
    description = describe(
        candidates,
        meant,
        _options(setting, draws, meant),
        always=[Told(GOODS, pool.category)],
        tool_budget=setting.axes.B_tool,
        most_turns=setting.axes.T_max - ending,
        reads_lines=True,
    )
    if description is None:
        return None
    switched = draws.chance(setting.axes.p_switch)
    terms = None if choice else _terms(draws, switched)
    replacement = _replacement(choice, draws, switched) if choice else None
    plea = Plea(meant, pool.category, description, outcome.refusal, terms, replacement)
    return GoodsReturn(setting, plea, description.turns - 1 + ending)


def _window(setting: Setting, good: Good) -> int:
    """Days in which a product may go back."""
    overlay = setting.overlay
    return WINDOWS[group_of(overlay.world.category(overlay.shelf.item(good.number).facts.category).levels)]


def _choice(setting: Setting, draws: Draws) -> Choice:
    # Not `limits_of`: a search shows fewer, and one replacement is enough.
    available = 1 - setting.axes.p_oos or LEAST_AVAILABLE
    limits = Limits(max(1, setting.axes.m - 1), setting.task_axes.slack, available=available)
    stock = setting.overlay.stock
    return choose(setting.pools, draws.fork("replacement"), limits, stock.remains)


def _target_plan(outcome: _Outcome, window: int, product: int, draws: Draws) -> Plan:
    """Status and age of the order that is meant."""
    if outcome.edge is not None:
        return Plan(DELIVERED, window + outcome.edge, product)
    if outcome.refusal == NOT_DELIVERED:
        return _drawn(draws, draws.pick((CONFIRMED, SHIPPED, IN_TRANSIT)), product)
    if outcome.refusal == ORDER_CANCELLED:
        return Plan(CANCELLED, draws.between(0, window), product)
    if outcome.refusal == WINDOW_CLOSED:
        return Plan(DELIVERED, draws.between(window + 2, _OLDEST), product)
    # Goods that never go back are as new as those that do.
    return Plan(DELIVERED, draws.between(_YOUNGEST, max(window, _SHORTEST) - 2), product)


def _book(setting: Setting, draws: Draws, plan: Plan, pool: Pool) -> None:
    """The history: two of three other orders were delivered lately, so that other lines could go back too."""
    overlay, count = setting.overlay, history_length(setting)
    plans = [plan]
    for at in range(count - 1):
        lately = at % BACKGROUND_ORDERS < BACKGROUND_ORDERS - 1
        plans.append(
            Plan(DELIVERED, draws.between(_YOUNGEST, _SHORTEST))
            if lately
            else _drawn(draws, draws.pick(STATUSES))
        )
    lines = max(LEAST_LINES, _LINES_PER_ORDER * count)
    overlay.book = order_book(
        overlay.shelf,
        draw_goods(setting, draws, lines, pool, plan.product),
        draws.fork("book"),
        overlay.today,
        count,
        account=overlay.account,
        least_lines=lines,
        plans=plans,
    )


def _drawn(draws: Draws, status: str, product: int | None = None) -> Plan:
    return Plan(status, draws.between(*AGES[status]), product)


def _replaceable(setting: Setting, choice: Choice, meant: Candidate) -> bool:
    """Whether some feasible product other than the returned one is there as often as it was bought.

    None may have variants, as those of a journey's cart do: any would be right, and an exchange wants one.
    """
    line, stock, variants = meant.lines[0], setting.overlay.stock, setting.overlay.variants
    numbers = [good.number for good in choice.feasible]
    return not any(number in variants for number in numbers) and any(
        number != line.number and stock.units(number) >= line.quantity for number in numbers
    )


def _options(setting: Setting, draws: Draws, meant: Candidate) -> list[Told]:
    first = [Told(DATE, meant.order.date), Told(MONEY, meant.money)]
    return draws.shuffled([*first, *goods_facts(meant, draws, setting.task_axes.slack)])


def _terms(draws: Draws, switched: bool) -> Terms:
    methods = draws.shuffled(list(FEES))
    return Terms(draws.pick(REASONS), methods[0], methods[1] if switched else methods[0])


def _replacement(choice: Choice, draws: Draws, switched: bool) -> Replacement:
    first = choice.constraints[0]
    return Replacement(choice, _wider(first, draws) if switched and first.kind in BOUNDS else None)


def _wider(bound: Constraint, draws: Draws) -> Constraint:
    """The bound before it was tightened, 20 to 60 per cent wider, in whole units of money."""
    _, least = BOUNDS[bound.kind]
    value = int(bound.value)
    shift = max(100, value * draws.between(20, 60) // 100 // 100 * 100)
    return replace(bound, value=max(100, value - shift) if least else value + shift)
