"""What environments about choosing goods share: limits of a choice, its goal before a change of mind.

Belongs here: rules that more than one of product discovery, substitution and bundles follow.
"""

from dataclasses import replace
from typing import Final

from shopsim_env.rlve.choosing.choice import FEWEST_FEASIBLE, MOST_FEASIBLE, Choice, Limits, complete
from shopsim_env.rlve.choosing.constraint import KINDS, Constraint
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.envs.base import Setting
from shopsim_env.rlve.wishes import BOUNDS

PRICED: Final = frozenset({"price_max", "price_min"})
_STOCKED: Final = frozenset({"stock_min"})
# Generators cannot plan for a shop in which everything is out of stock.
LEAST_AVAILABLE: Final = 0.05
# The earlier goal's bound is wider by a share from this range, in per cent.
_WIDER: Final = (20, 60)


def limits_of(setting: Setting, constraints: int) -> Limits:
    """Limits of a choice of so many constraints at this difficulty.

    One search shows all that is feasible: beyond its depth, noise could hide a product that is needed.
    """
    available = max(LEAST_AVAILABLE, 1 - setting.axes.p_oos)
    most = max(FEWEST_FEASIBLE, min(MOST_FEASIBLE, setting.axes.top_k))
    return Limits(constraints, setting.task_axes.slack, available, most=most, kinds=kinds_of(setting))


def kinds_of(setting: Setting, without: frozenset[str] = frozenset()) -> frozenset[str] | None:
    """Kinds of wishes of a task, None for all: not these, and none about the stock of a shared shop."""
    left = frozenset(KINDS) - without - (_STOCKED if setting.shared else frozenset())
    return None if len(left) == len(KINDS) else left


def wish_limits(setting: Setting) -> Limits:
    """Limits of the wishes of product discovery and substitution.

    A single wish is not about the price: searches give the cheapest first, which would meet it unread.
    """
    limits = limits_of(setting, setting.axes.m)
    return replace(limits, kinds=kinds_of(setting, PRICED)) if setting.axes.m == 1 else limits


def loosened(setting: Setting, choice: Choice, limits: Limits, draws: Draws) -> Choice | None:
    """The choice before the customer changed its mind: one bound was wider, and more products met it.

    None when no bound can be widened so.
    """
    allowed = replace(limits, most=2 * limits.most)
    numeric = [at for at, item in enumerate(choice.constraints) if item.kind in BOUNDS]
    for at in draws.shuffled(numeric):
        wider = _widened(choice.constraints[at], draws.between(*_WIDER))
        constraints = (*choice.constraints[:at], wider, *choice.constraints[at + 1 :])
        before = complete(choice.pool, constraints, allowed, setting.overlay.stock.remains)
        if before and len(before.feasible) > len(choice.feasible):
            return before
    return None


def changed(before: Choice, after: Choice) -> int:
    """Place of the constraint that differs between a choice and its loosened form."""
    pairs = zip(before.constraints, after.constraints, strict=True)
    return next(at for at, (old, new) in enumerate(pairs) if old != new)


def _widened(item: Constraint, share: int) -> Constraint:
    value = int(item.value)
    step = {"price_max": 100, "price_min": 100, "rating_min": 10}.get(item.kind, 1)
    shift = max(step, value * share // 100 // step * step)
    return replace(item, value=max(step, value - shift) if BOUNDS[item.kind][1] else value + shift)
