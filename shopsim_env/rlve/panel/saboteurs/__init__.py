"""Saboteurs: they do a task as the oracle does, but for one thing, which they make wrong on purpose.

None may ever succeed: one that does has found something that is not graded. Belongs here: which there are.
Where an episode gives nothing to make wrong, such as a variant where none is asked for, they give no answer.
"""

from collections.abc import Callable, Mapping
from typing import Final

from shopsim_env.rlve.oracles.base import Agent
from shopsim_env.rlve.panel.saboteurs.bundles import DearBundle, OnePickMore, StrangeBundle
from shopsim_env.rlve.panel.saboteurs.carts import OneProductMore, OtherProduct, OtherUnits, OtherVariant
from shopsim_env.rlve.panel.saboteurs.goods import LessLike, OneViolator, StrangeSubstitute, TooLong
from shopsim_env.rlve.panel.saboteurs.journeys import OnePartLess
from shopsim_env.rlve.panel.saboteurs.orders import (
    OneLineMore,
    OtherLine,
    OtherOrder,
    OtherReason,
    OtherRefusal,
    OtherReplacement,
    OtherStatus,
    Unchecked,
)
from shopsim_env.rlve.panel.saboteurs.rules import OtherRule, OtherUnit, OtherValue

SABOTEURS: Final[Mapping[str, tuple[str, Callable[[], Agent]]]] = {
    "one violator": ("PD", OneViolator),
    "one product too many": ("PD", TooLong),
    "violating substitute": ("SUB", StrangeSubstitute),
    "less like": ("SUB", LessLike),
    "other variant": ("CART", OtherVariant),
    "other product": ("CART", OtherProduct),
    "one product more": ("CART", OneProductMore),
    "other units": ("CART", OtherUnits),
    "other line": ("RETURN", OtherLine),
    "one line more": ("RETURN", OneLineMore),
    "other reason": ("RETURN", OtherReason),
    "other replacement": ("RETURN", OtherReplacement),
    "other refusal": ("RETURN", OtherRefusal),
    "refusal without a check": ("RETURN", Unchecked),
    "other status": ("STATUS", OtherStatus),
    "other order": ("STATUS", OtherOrder),
    "other value": ("POLICY", OtherValue),
    "other unit": ("POLICY", OtherUnit),
    "other rule": ("POLICY", OtherRule),
    "violator in a bundle": ("BUNDLE", StrangeBundle),
    "one pick more": ("BUNDLE", OnePickMore),
    "above the budget": ("BUNDLE", DearBundle),
    "one part less": ("JOURNEY", OnePartLess),
}
