"""Why a purchase was scored as it was: private evidence for reports and user interfaces after the end.

Belongs here: per component what was asked, what was bought, which rule decided, and the smallest change that
would flip the component (found in `flips`). Everything here quotes the goal, so it needs one and is reached
through `PrivateRelease.explain`; `RewardDetail` stays the public part. Source: contract 3.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shopsim_env.catalog.prices import resolve_price
from shopsim_env.catalog.product import Product
from shopsim_env.private import Goal
from shopsim_env.reward.attribute import Place, attribute_witnesses, closest_attribute
from shopsim_env.reward.flips import (
    Change,
    flip_attributes,
    flip_options,
    flip_price,
    flip_type,
    options_that_fit,
)
from shopsim_env.reward.fuzzy import MATCH_ABOVE
from shopsim_env.reward.option import count_matches, match_option
from shopsim_env.reward.price import match_price
from shopsim_env.reward.total import score_purchase
from shopsim_env.reward.type_match import category_levels, match_type, title_terms

COMPONENTS = ("type", "attributes", "options", "price")


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """One requirement: `asked` met `found` at `where` or not, by `rule` (a code).

    `where` is an axis name, a place such as `attribute 2` or `title`, or "" for the whole product.
    """

    asked: str
    found: str
    where: str
    rule: str
    met: bool

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __repr__(self) -> str:
        return "Finding(...)"


@dataclass(frozen=True, slots=True, repr=False)
class Component:
    """One component: its reward, its findings, and the smallest set of changes that flips it.

    A component is met when its reward is 1; flipping makes it met or unmet. `flip` is None when nothing that
    is known of this product does.
    """

    name: str
    reward: float
    findings: tuple[Finding, ...]
    flip: tuple[Change, ...] | None

    @property
    def met(self) -> bool:
        """Whether the reward of this component is 1."""
        return self.reward == 1

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return {
            "name": self.name,
            "reward": self.reward,
            "met": self.met,
            "findings": [finding.as_dict() for finding in self.findings],
            "flip": None if self.flip is None else [change.as_dict() for change in self.flip],
        }

    def __repr__(self) -> str:
        return f"Component({self.name!r}, ...)"


@dataclass(frozen=True, slots=True, repr=False)
class PurchaseEvidence:
    """Private evidence of one purchase; `components` in the order of `COMPONENTS`."""

    task_id: int
    asin: str
    option_match: str
    components: tuple[Component, ...]

    def as_dict(self) -> dict[str, Any]:
        """JSON form. It quotes the goal: for private files and admins only."""
        return {
            "task_id": self.task_id,
            "asin": self.asin,
            "option_match": self.option_match,
            "components": [component.as_dict() for component in self.components],
        }

    def __repr__(self) -> str:
        return f"PurchaseEvidence(task_id={self.task_id}, ...)"


def explain_purchase(
    product: Product, selected: Mapping[str, str], goal: Goal, *, option_match: str = "anchored"
) -> PurchaseEvidence:
    """Evidence of the purchase that `score_purchase` scores with the same arguments.

    Raises:
        UsageError: unknown `option_match`.
    """
    detail = score_purchase(product, selected, goal, option_match=option_match)
    parts = {
        "type": (detail.r_type, _type(product, goal, option_match), flip_type(product, goal, option_match)),
        "attributes": (
            detail.r_att,
            tuple(_attribute(target, product, option_match) for target in goal.attributes),
            flip_attributes(product, goal, option_match),
        ),
        "options": (
            detail.r_option,
            _options(product, selected, goal, option_match),
            flip_options(product, selected, goal, option_match),
        ),
        "price": (detail.r_price, _price(product, selected, goal), flip_price(product, selected, goal)),
    }
    components = tuple(Component(name, *parts[name]) for name in COMPONENTS)
    return PurchaseEvidence(goal.task_id, product.asin, option_match, components)


def _type(product: Product, goal: Goal, option_match: str) -> tuple[Finding, ...]:
    kind = match_type(product, goal.product, option_match=option_match)
    shared = category_levels(product.category, option_match) & category_levels(
        goal.product.category, option_match
    )
    bought, gold = title_terms(product, goal.product)
    levels = Finding(
        goal.product.category,
        "›".join(sorted(shared)),
        "category",
        "shared_levels" if kind.category_match else "too_few_levels",
        kind.category_match,
    )
    close = kind.title_score > 0 and not kind.category_match and kind.r_type == 1
    terms = Finding(
        " ".join(sorted(gold)),
        " ".join(sorted(bought & gold)),
        "title",
        "shared_terms" if close else "too_few_terms",
        close,
    )
    # Once the category is shared the title is not asked.
    return (levels,) if kind.category_match else (levels, terms)


def _attribute(target: str, product: Product, option_match: str) -> Finding:
    places = attribute_witnesses(target, product, option_match=option_match)
    if places:
        rule = "score_above" if places[0].kind == "attribute" else "contained"
        return Finding(target, text_at(product, places[0]), str(places[0]), rule, True)
    closest = closest_attribute(target, product)
    if closest is None:
        return Finding(target, "", "", "no_attributes", False)
    place = Place("attribute", closest[0])
    rule = "other_numbers" if closest[1] > MATCH_ABOVE else "score_below"
    return Finding(target, text_at(product, place), str(place), rule, False)


def text_at(product: Product, place: Place) -> str:
    """The text of a product at a place."""
    if place.kind == "attribute":
        return product.attributes[place.number]
    if place.kind == "bullet":
        return product.bullets[place.number]
    return product.title if place.kind == "title" else product.description


def _options(
    product: Product, selected: Mapping[str, str], goal: Goal, option_match: str
) -> tuple[Finding, ...]:
    """A requirement counts when it raises the number of met ones among those before it."""
    findings = []
    before = 0
    for number, wanted in enumerate(goal.options, start=1):
        count = count_matches(goal.options[:number], selected, product, rule=option_match)
        findings.append(_option(wanted, product, selected, option_match, counted=count > before))
        before = count
    return tuple(findings)


def _option(
    wanted: str, product: Product, selected: Mapping[str, str], option_match: str, *, counted: bool
) -> Finding:
    own = [value.raw for axis in product.axes for value in axis.values]
    matches = {axis: match_option(wanted, value, own, rule=option_match) for axis, value in selected.items()}
    fitting = next((axis for axis, match in matches.items() if match.match), None)
    if fitting is not None:
        rule = f"{matches[fitting].rule}:{matches[fitting].why}" if counted else "value_used_up"
        return Finding(wanted, selected[fitting], fitting, rule, counted)
    offered = options_that_fit(wanted, product, option_match)
    axis = next((axis for axis, _ in offered if axis in selected), None)
    if axis is None:
        return Finding(wanted, "", "", "not_chosen" if offered else "not_offered", False)
    return Finding(wanted, selected[axis], axis, f"{matches[axis].rule}:{matches[axis].why}", False)


def _price(product: Product, selected: Mapping[str, str], goal: Goal) -> tuple[Finding, ...]:
    resolution = resolve_price(product, selected)
    match = match_price(resolution, goal.budget_upper)
    asked = "" if goal.budget_upper is None else f"{goal.budget_upper:f}"
    found = "" if resolution.price is None else f"{resolution.price:f}"
    rule = "no_ceiling" if goal.budget_upper is None else resolution.reason or resolution.method
    return (Finding(asked, found, "", rule, match.r_price == 1),)
