"""Saboteurs: they do a task as the oracle does, but for one thing, which they make wrong on purpose.

None may ever succeed: one that does has found something that is not graded. Belongs here: which there are.
Where an episode gives nothing to make wrong, such as a variant where none is asked for, they give no answer.
"""

from collections.abc import Callable, Mapping
from typing import Final

from shopsim_env.rlve.oracles.base import Agent
from shopsim_env.rlve.panel.saboteurs.bundles import DearBundle, StrangeBundle
from shopsim_env.rlve.panel.saboteurs.carts import OtherProduct, OtherUnits, OtherVariant
from shopsim_env.rlve.panel.saboteurs.goods import LessLike, OneViolator, StrangeSubstitute
from shopsim_env.rlve.panel.saboteurs.journeys import OnePartLess
from shopsim_env.rlve.panel.saboteurs.orders import (
    OtherLine,
    OtherOrder,
    OtherReason,
    OtherRefusal,
    OtherReplacement,
    OtherStatus,
)
from shopsim_env.rlve.panel.saboteurs.rules import OtherRule, OtherValue

SABOTEURS: Final[Mapping[str, tuple[str, Callable[[], Agent]]]] = {
    "one violator": ("PD", OneViolator),
    "violating substitute": ("SUB", StrangeSubstitute),
    "less like": ("SUB", LessLike),
    "other variant": ("CART", OtherVariant),
    "other product": ("CART", OtherProduct),
    "other units": ("CART", OtherUnits),
    "other line": ("RETURN", OtherLine),
    "other reason": ("RETURN", OtherReason),
    "other replacement": ("RETURN", OtherReplacement),
    "other refusal": ("RETURN", OtherRefusal),
    "other status": ("STATUS", OtherStatus),
    "other order": ("STATUS", OtherOrder),
    "other value": ("POLICY", OtherValue),
    "other rule": ("POLICY", OtherRule),
    "violator in a bundle": ("BUNDLE", StrangeBundle),
    "above the budget": ("BUNDLE", DearBundle),
    "one part less": ("JOURNEY", OnePartLess),
}
