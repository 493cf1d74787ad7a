"""Drawing goals of RETURN: what the shop will say, a history around it, a line that a few facts single out.

Belongs here: the shares of outcomes and edges, and fitting the plan into the turns. Grading is in `returns`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Final

from shopsim_env.errors import UsageError
from shopsim_env.rlve.choosing.choice import Choice, Limits, choose
from shopsim_env.rlve.choosing.constraint import Constraint
from shopsim_env.rlve.choosing.pool import Pool
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.envs.base import Setting, Task, turns_for
from shopsim_env.rlve.envs.goods import LEAST_AVAILABLE, kinds_of
from shopsim_env.rlve.envs.order_goods import Law, different_days, draw_goods, history_length, of_status
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
from shopsim_env.rlve.overlay import Plan, eligibility, order_book
from shopsim_env.rlve.overlay.orders import (
    AGES,
    CANCELLED,
    CONFIRMED,
    DELIVERED,
    IN_TRANSIT,
    MOST_BOUGHT,
    SHIPPED,
)
from shopsim_env.rlve.overlay.returns import (
    FEES,
    NOT_DELIVERED,
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
# Calls in a turn from which the products of a day can be looked up in time.
_CALLS_FOR_GOODS: Final = 3
_P_REPLACEMENT: Final = 0.5
# Share of a history's goods that are of the category that the customer names.
_SHARE_ALIKE: Final = Fraction(3, 4)
# Of the orders at the edge of their window one in seven is a day too old; of the others the shop refuses as
# many.
_EDGE_DAYS: Final = (-1, -1, -1, 0, 0, 0, 1)
_P_REFUSED: Final = 1 / 7
_REFUSED: Final = (WINDOW_CLOSED, NOT_DELIVERED, ORDER_CANCELLED)
# Chance of goods that never go back, among plain returns.
_P_BARRED: Final = 0.04
_TRIES: Final = 40
# A catalogue may have no such goods: after so many tries others are taken.
_PATIENT: Final = 12
_YOUNGEST, _OLDEST = AGES[DELIVERED]
_SHORTEST: Final = min(days for days in WINDOWS.values() if days)


def make(setting: Setting) -> Task:
    """Draws a goal of returning or exchanging; it makes the order book of the overlay.

    Raises:
        UsageError: the catalogue offers no such goal (code `no_choice`).
    """
    draws = setting.draws.fork("goal")
    exchange = _fits_exchange(setting) and draws.chance(_P_REPLACEMENT)
    barred = not exchange and draws.chance(_P_BARRED)
    for attempt in range(_TRIES):
        found = _attempt(setting, draws.fork("attempt", attempt), exchange, barred and attempt < _PATIENT)
        if found is not None:
            return found
    raise UsageError(
        "expected an order history in which a few facts single out one line, found none; the catalogue is "
        "too small or its products are too much alike",
        code="no_choice",
    )


def _fits_exchange(setting: Setting) -> bool:
    """Whether list and order, check and search, and the exchange fit into the turns."""
    return 2 + _preparing(setting, exchange=True) + 1 <= setting.axes.T_max


def _preparing(setting: Setting, *, exchange: bool) -> int:
    """Turns for the check, and the search for a replacement."""
    return turns_for(1 + exchange, setting.axes.B_tool)


def _attempt(setting: Setting, draws: Draws, exchange: bool, barred: bool) -> GoodsReturn | None:
    choice = _choice(setting, draws) if exchange else None
    pool = choice.pool if choice else setting.pools.pool(draws.pick(setting.pools.categories))
    if choice is None and not pool.category.levels and len(setting.pools.categories) > 1:
        # "Any category" describes nothing.
        return None
    window = _window(setting, draws.pick(pool.goods).category)
    if choice is None and (window == 0) != barred:
        return None
    _book(setting, draws, window, pool)
    every = line_candidates(setting.overlay)
    own = Told(GOODS, pool.category)
    alike = [one for one in every if one.meets(own) and _window(setting, one.goods[0].category) == window]
    if not alike or (choice and not _replaceable(setting, choice, alike)):
        return None
    # The history is made without regard to it: nothing but what the customer says tells it from the others.
    meant = draws.pick(alike)
    ending = _preparing(setting, exchange=exchange) + 1
    description = describe(
        every,
        meant,
        _facts(setting, draws, meant),
        always=[own],
        tool_budget=setting.axes.B_tool,
        most_turns=setting.axes.T_max - ending,
        reads_lines=True,
    )
    if description is None:
        return None
    switched = draws.chance(setting.axes.p_switch)
    # Where no exchange fits, no terms are set: a return with both would take more than an exchange.
    terms = _terms(draws, switched) if choice is None and _fits_exchange(setting) else None
    replacement = _replacement(choice, draws, switched) if choice else None
    refusal = eligibility(setting.overlay, meant.order.id, meant.lines[0].id).reason
    plea = Plea(meant, pool.category, len(alike), description, refusal, terms, replacement)
    return GoodsReturn(setting, plea, description.turns - 1 + ending)


def _window(setting: Setting, category: int) -> int:
    """Days in which goods of a category may go back."""
    return WINDOWS[group_of(setting.overlay.world.category(category).levels)]


def _choice(setting: Setting, draws: Draws) -> Choice:
    # Not `limits_of`: a search shows fewer, and one replacement is enough.
    available = 1 - setting.axes.p_oos or LEAST_AVAILABLE
    constraints, slack = max(1, setting.axes.m - 1), setting.task_axes.slack
    limits = Limits(constraints, slack, available=available, kinds=kinds_of(setting))
    stock = setting.overlay.stock
    return choose(setting.pools, draws.fork("replacement"), limits, stock.remains)


def _book(setting: Setting, draws: Draws, window: int, pool: Pool) -> None:
    """The history: every order by the same law, whichever of its lines will be meant."""
    overlay, count = setting.overlay, history_length(setting)
    # Orders of goods that never go back are as old as others.
    law_of = window or _SHORTEST
    lines = max(LEAST_LINES, _LINES_PER_ORDER * count)
    overlay.book = order_book(
        overlay.shelf,
        draw_goods(
            setting, draws, lines, pool, _SHARE_ALIKE, lambda good: _window(setting, good.category) == window
        ),
        draws.fork("book"),
        overlay.today,
        count,
        account=overlay.account,
        least_lines=lines,
        plans=different_days(_law(setting, draws, law_of) for _ in range(count)),
    )


def _law(setting: Setting, draws: Draws, window: int) -> Law:
    """What the shop will say of an order whose goods have this window, as a law of its status and age."""
    if draws.chance(setting.task_axes.return_p_edge):
        at_edge = Plan(DELIVERED, window + draws.pick(_EDGE_DAYS))
        return lambda: at_edge
    refusal = draws.pick(_REFUSED) if draws.chance(_P_REFUSED) else None
    if refusal == NOT_DELIVERED:
        return of_status(draws, draws.pick((CONFIRMED, SHIPPED, IN_TRANSIT)))
    if refusal == ORDER_CANCELLED:
        return lambda: Plan(CANCELLED, draws.between(0, window))
    if refusal == WINDOW_CLOSED:
        return lambda: Plan(DELIVERED, draws.between(window + 2, _OLDEST))
    return lambda: Plan(DELIVERED, draws.between(_YOUNGEST, window - 2))


def _replaceable(setting: Setting, choice: Choice, alike: Sequence[Candidate]) -> bool:
    """Whether each of the lines, however many units it could have, can be exchanged for a feasible product.

    Asked of all of them, or what can be exchanged would tell the line. None of the products may have
    variants, as those of a journey's cart do: any would be right, and an exchange wants one.
    """
    stock, variants = setting.overlay.stock, setting.overlay.variants
    numbers = [good.number for good in choice.feasible]
    enough = {number for number in numbers if stock.units(number) >= MOST_BOUGHT}
    bought = {one.lines[0].number for one in alike}
    return not any(number in variants for number in numbers) and (len(enough) > 1 or bool(enough - bought))


def _facts(setting: Setting, draws: Draws, meant: Candidate) -> Iterator[tuple[Told, ...]]:
    """What the customer may say of the line besides the category, of the same kinds for every line.

    Which kinds are said would else tell of how many lines the day has. One day and the unit price can be
    found with few calls; where there are more, it is the day and two facts of the product.
    """
    date = Told(DATE, meant.order.date)
    if setting.axes.B_tool < _CALLS_FOR_GOODS:
        return iter([(date, Told(MONEY, meant.money))])
    return ((date, *pair) for pair in combinations(goods_facts(meant, draws, setting.task_axes.slack), 2))


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
