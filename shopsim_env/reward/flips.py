"""The smallest change that turns one component of a purchase from met to unmet or back.

Belongs here: the search for it, per component. Changes that a buyer could have made (other values) go before
changes of the product. What is found quotes the goal, so only `evidence` uses it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from itertools import product as all_of
from typing import Any

from shopsim_env.catalog.prices import resolve_price
from shopsim_env.catalog.product import Product, option_key
from shopsim_env.private import Goal
from shopsim_env.reward.attribute import attribute_witnesses
from shopsim_env.reward.option import count_matches, match_option
from shopsim_env.reward.price import match_price
from shopsim_env.reward.type_match import (
    SHARED_LEVELS,
    category_levels,
    match_type,
    title_overlap,
    title_terms,
    type_reward,
)

# Selections that are tried for one purchase; real products need a few dozen.
MOST_SELECTIONS = 20_000
_FARTHEST = Decimal("Infinity")


@dataclass(frozen=True, slots=True, repr=False)
class Change:
    """One change. `action` is a code, the rest says where and to what.

    choose: value `text` on axis `where`; add_attribute, remove_attribute, add_level, remove_level, add_term,
    remove_term: `text` of the product's attributes or texts, category path, title terms; price_up_to,
    price_above, ceiling_below: `amount` in yuan (None: any); too_many_choices: not searched to the end.
    """

    action: str
    where: str = ""
    text: str = ""
    amount: Decimal | None = None

    def as_dict(self) -> dict[str, Any]:
        """JSON form; the amount is a number there."""
        amount = None if self.amount is None else float(self.amount)
        return {"action": self.action, "where": self.where, "text": self.text, "amount": amount}

    def __repr__(self) -> str:
        return f"Change({self.action!r}, ...)"


Flip = tuple[Change, ...] | None


def flip_type(bought: Product, goal: Goal, option_match: str) -> Flip:
    """Fewest category levels or title terms to gain, or those to lose."""
    mine, gold = (
        category_levels(bought.category, option_match),
        category_levels(goal.product.category, option_match),
    )
    terms, gold_terms = title_terms(bought, goal.product)
    shared, common = sorted(mine & gold), sorted(terms & gold_terms)
    if match_type(bought, goal.product, option_match=option_match).r_type == 1:
        losing = [Change("remove_level", "category", text) for text in shared[SHARED_LEVELS - 1 :]]
        lost = next(
            count
            for count in range(len(common) + 1)
            if type_reward(False, title_overlap(frozenset(common[count:]), gold_terms)) < 1
        )
        return (*losing, *(Change("remove_term", "title", text) for text in common[:lost]))
    ways: list[tuple[Change, ...]] = []
    missing = sorted(gold - mine)[: SHARED_LEVELS - len(shared)]
    if len(missing) == SHARED_LEVELS - len(shared):
        ways.append(tuple(Change("add_level", "category", text) for text in missing))
    absent = sorted(gold_terms - terms)
    for count in range(len(absent) + 1):
        if type_reward(False, title_overlap(frozenset([*common, *absent[:count]]), gold_terms)) == 1:
            ways.append(tuple(Change("add_term", "title", text) for text in absent[:count]))
            break
    return min(ways, key=len, default=None)


def flip_attributes(product: Product, goal: Goal, option_match: str) -> Flip:
    """The unmet targets to add; when all are met, the target that fewest places show, to be lost there."""
    shown = {
        target: attribute_witnesses(target, product, option_match=option_match) for target in goal.attributes
    }
    unmet = [target for target, places in shown.items() if not places]
    if unmet:
        return tuple(Change("add_attribute", "attribute", target) for target in unmet)
    if not shown:
        return None
    weakest = min(shown, key=lambda target: len(shown[target]))
    return tuple(Change("remove_attribute", str(place), weakest) for place in shown[weakest])


def flip_options(product: Product, selected: Mapping[str, str], goal: Goal, option_match: str) -> Flip:
    """Fewest axes to choose anew so that all required values are met, or that one no longer is."""

    def met(selection: Mapping[str, str]) -> bool:
        return count_matches(goal.options, selection, product, rule=option_match) == len(goal.options)

    was_met = met(selected)
    if was_met:
        values = list(_other_values(product, selected))
    else:
        fitting = [options_that_fit(wanted, product, option_match) for wanted in goal.options]
        if not all(fitting):
            return None
        values = [pair for pairs in fitting for pair in pairs]
    for tried, change in enumerate(_changes(values)):
        if tried == MOST_SELECTIONS:
            return (Change("too_many_choices"),)
        if met({**selected, **change}) != was_met:
            return tuple(Change("choose", axis, value) for axis, value in change.items())
    return None


def flip_price(product: Product, selected: Mapping[str, str], goal: Goal) -> Flip:
    """Another value whose price flips the component, the nearest price first; else the price itself."""
    ceiling = goal.budget_upper
    resolution = resolve_price(product, selected)
    if ceiling is None:
        return (Change("ceiling_below", amount=resolution.price),)
    within = match_price(resolution, ceiling).r_price == 1
    found: list[tuple[Decimal, int, Change]] = []
    for number, (axis, value) in enumerate(_other_values(product, selected)):
        other = resolve_price(product, {**selected, axis: value})
        if (match_price(other, ceiling).r_price == 1) != within:
            start = ceiling if resolution.price is None else resolution.price
            distance = _FARTHEST if other.price is None else abs(other.price - start)
            found.append((distance, number, Change("choose", axis, value, other.price)))
    if found:
        return (min(found, key=lambda item: item[:2])[2],)
    return (Change("price_above" if within else "price_up_to", amount=ceiling),)


def options_that_fit(wanted: str, product: Product, option_match: str) -> list[tuple[str, str]]:
    """(axis, public value) of the product's own values that meet a requirement, in page order."""
    own = [value.raw for axis in product.axes for value in axis.values]
    return [
        (axis.name, value.public)
        for axis in product.axes
        for value in axis.values
        if value.public.strip() and match_option(wanted, value.public, own, rule=option_match).match
    ]


def _changes(values: Iterable[tuple[str, str]]) -> Iterator[dict[str, str]]:
    """Selections of (axis, value) pairs: on one axis first, then on two, and so on."""
    by_axis: dict[str, dict[str, None]] = {}
    for axis, value in values:
        by_axis.setdefault(axis, {})[value] = None
    for count in range(1, len(by_axis) + 1):
        for axes in combinations(by_axis, count):
            for chosen in all_of(*(by_axis[axis] for axis in axes)):
                yield dict(zip(axes, chosen, strict=True))


def _other_values(product: Product, selected: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for axis in product.axes:
        chosen = option_key(selected[axis.name]) if axis.name in selected else None
        for value in axis.values:
            if value.public.strip() and value.key != chosen:
                yield axis.name, value.public
