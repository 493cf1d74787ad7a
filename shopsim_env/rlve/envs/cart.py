"""CART, cart building: the visited products that the customer means, in the right variants and quantities.

Belongs here: the grading of CART and what the customer says of the cart. Drawing a goal is in `cart_making`,
the score is `scores.goods`.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Final

from shopsim_env.rlve.choosing.constraint import value_words
from shopsim_env.rlve.customer.needs import Brief, Need, Remark, Revision
from shopsim_env.rlve.envs.base import (
    Heard,
    Setting,
    Task,
    ToolRecord,
    category_filter,
    category_words,
    constraint_need,
    left_out,
    questions_for,
    turns_for,
)
from shopsim_env.rlve.envs.cart_items import Held, Issue, Item, first_issue
from shopsim_env.rlve.envs.cart_words import CartWords
from shopsim_env.rlve.overlay import Variant
from shopsim_env.rlve.protocol import Answer
from shopsim_env.rlve.reward import UsedIds
from shopsim_env.rlve.scores.common import UNANSWERED, TaskScore
from shopsim_env.rlve.scores.goods import CartLine, score_cart

_TOUCHING: Final = frozenset({"cart.add", "cart.remove", "cart.set_quantity", "order.checkout"})


class CartBuilding(Task):
    """A goal of cart building; it prepares visit history, variants and stock of the overlay."""

    env_id = "CART"
    best_score = 1.0

    def __init__(self, setting: Setting, items: Sequence[Item]) -> None:
        self._setting = setting
        self._items = tuple(items)
        self._words = CartWords(setting.language, len(items))
        self._changed = any(item.units != item.units_before for item in items)
        self._replies = 0
        self._corrected = False
        self._strayed = False
        self.turn_budget = setting.axes.T_max
        self.brief = self._brief()
        self._pending = self.brief.pending
        questions = questions_for(len(self.brief.pending))
        self.least_turns = max(1, questions) + _other_turns(setting, items)
        # Variants can be looked up beside the second question; a turn that brings an answer or a new wish
        # is free.
        looked_up = _lookups(setting, items) if questions < 2 else 0
        heard = max(questions, int(self._changed))
        self.least_charged = (heard == 0) + looked_up + turns_for(len(items), setting.axes.B_tool)
        self._chance = self._forced_chance()

    def grade(self, answer: Answer | None, heard: Heard) -> TaskScore:
        """F1 of the units bought, else of those in the cart; `first_try`: right without a correction.

        No success once the customer found a product in the cart that it did not ask for: who may try one
        after the other needs no description.
        """
        if answer is None:
            return UNANSWERED
        lines = [CartLine(str(number), variant, units) for (number, variant), units in self._held().items()]
        required = {
            (str(item.number), item.variant.id if item.variant else None): item.wanted(heard.revised)
            for item in self._items
        }
        found = score_cart(lines, required)
        first = float(found.success and not self._corrected)
        parts = {**found.parts, "first_try": first}
        return replace(found, success=found.success and not self._strayed, parts=parts)

    def used(self, answer: Answer | None) -> UsedIds:
        """The final list and every id that was named to the cart."""
        listed = answer.recommended_product_ids if answer else ()
        return UsedIds(recommended=listed, carted=tuple(self._setting.overlay.carted))

    def remark(self, results: Sequence[ToolRecord]) -> Remark | None:
        """Corrects the first thing that is wrong in a cart that was touched; confirms a whole one."""
        # A change of mind is said with the first reply: what was done before followed the old words.
        revised = self._replies > 0
        self._replies += 1
        if not any(record.name in _TOUCHING and "error" not in record.result for record in results):
            return None
        held = self._held()
        # Also where another mistake is told first, which may say as much of the product.
        wanted = {item.number for item in self._items}
        self._strayed |= any(number not in wanted for number, _ in held)
        right = sum(item.is_right(held, revised) for item in self._items)
        issue = first_issue(self._items, held, revised)
        if issue is not None:
            self._corrected = True
            return Remark("correct", self._say(issue), right / len(self._items))
        return Remark("confirm", self._words.whole(), 1.0) if right == len(self._items) else None

    def forced_chance(self) -> Fraction:
        """1 / (ways to pick, for each item, a visited product of its category that is in stock).

        The guess is one that leaves out the descriptions alone: variants and units are told to who asks.
        """
        return self._chance

    def goal(self) -> dict[str, Any]:
        """Products, variants and units; descriptions."""
        families, language = self._setting.families, self._setting.language
        ids = self._setting.overlay.ids
        return {
            "items": [
                {
                    "product_id": ids.product_id(item.number),
                    "variant_id": item.variant.id if item.variant else None,
                    "quantity": item.units,
                    "quantity_before": item.units_before,
                    "category": list(item.visited.pool.category.levels),
                    "facts": [fact.text(language, families) for fact in item.visited.facts],
                }
                for item in self._items
            ]
        }

    def _held(self) -> Held:
        """Units by product and variant: what was bought once something was, else what is in the cart."""
        overlay = self._setting.overlay
        if not overlay.checkout:
            return overlay.cart.quantities()
        held: Counter[tuple[int, str | None]] = Counter()
        for line in (line for order in overlay.checkout for line in order.lines):
            named = (item.id for item in overlay.variants.get(line.number, ()) if item.name == line.variant)
            held[line.number, next(named, None)] += line.quantity
        return held

    def _say(self, issue: Issue) -> str:
        """The words for a mistake; what is wanted is named if the opening said it."""
        if issue.surplus is not None:
            return self._words.surplus(self._setting.overlay.world.facts_at(issue.surplus).price_low)
        at, item = issue.at, self._items[issue.at]
        if issue.variant is not None:
            found = self._setting.overlay.variant(item.number, issue.variant)
            wanted = None if f"i{at}.variant" in self._pending else item.variant
            return self._words.variant(at, self._value(found), self._value(wanted))
        return self._words.units(at, issue.fewer, None if f"i{at}.units" in self._pending else issue.wanted)

    def _value(self, variant: Variant | None) -> str:
        if variant is None:
            return ""
        return value_words(self._setting.families[variant.family], variant.value, self._setting.language)[1]

    def _brief(self) -> Brief:
        setting, words = self._setting, self._words
        needs = [need for at, item in enumerate(self._items) for need in self._needs(at, item)]
        revision = None
        for at, item in enumerate(self._items):
            if item.units != item.units_before:
                revision = Revision(self._units_need(at, item.units))
        kept = {revision.need.id} if revision else set()
        categories = [category_words(item.visited.pool.category, setting.language) for item in self._items]
        return Brief(
            env_id=self.env_id,
            request=words.request(categories),
            needs=tuple(needs),
            pending=left_out(
                setting, [need for need in needs if need.id not in kept], _other_turns(setting, self._items)
            ),
            revision=revision,
            data={
                "items": [{"filters": category_filter(item.visited.pool.category)} for item in self._items]
            },
            keep=tuple(categories),
        )

    def _needs(self, at: int, item: Item) -> list[Need]:
        setting, prefix = self._setting, self._words.of(at)
        found = [
            constraint_need(setting, f"i{at}.c{place}", fact, prefix)
            for place, fact in enumerate(item.visited.facts)
        ]
        if item.variant is not None:
            family = setting.families[item.variant.family]
            name, value = value_words(family, item.variant.value, setting.language)
            need = Need(
                id=f"i{at}.variant",
                kind="variant",
                value=prefix + self._words.variant_wish(name, value),
                topics=frozenset({"variant", family.name}),
                data={"variant": {family.name: item.variant.name}},
                keep=(name, value),
            )
            found.append(need)
        if item.units_before > 1 or item.units != item.units_before:
            found.append(self._units_need(at, item.units_before))
        return found

    def _units_need(self, at: int, units: int) -> Need:
        return Need(
            id=f"i{at}.units",
            kind="quantity",
            value=self._words.of(at) + self._words.units_wish(units),
            topics=frozenset({"quantity"}),
            data={"quantity": units},
        )

    def _forced_chance(self) -> Fraction:
        overlay = self._setting.overlay
        visited = [good for item in self._items for good in (item.visited.good, *item.visited.others)]
        offered = set(overlay.stock.remaining(good.number for good in visited if good.stock > 0))
        ways, earlier = 1, list[Item]()
        for item in self._items:
            category = item.visited.pool.category
            fits = {good.number for good in visited if category.number <= good.category <= category.last}
            taken = sum(other.number in fits for other in earlier)
            ways *= max(1, len(fits & offered) - taken)
            earlier.append(item)
        return Fraction(1, ways)


def _lookups(setting: Setting, items: Sequence[Item]) -> int:
    return turns_for(sum(item.variant is not None for item in items), setting.axes.B_tool)


def _other_turns(setting: Setting, items: Sequence[Item]) -> int:
    """Turns after the history was read, which shares its turn with a question: variants, and adding them."""
    return _lookups(setting, items) + turns_for(len(items), setting.axes.B_tool)
