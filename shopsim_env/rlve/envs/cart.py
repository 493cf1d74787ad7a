"""CART, cart building: the visited products that the customer means, in the right variants and quantities.

Belongs here: the goal of CART, its grading and what the customer says of the cart. The products and their
descriptions are drawn in `visits`, the score is `scores.goods`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, factorial, prod
from typing import Any, Final

from shopsim_env.rlve.choosing.constraint import value_words
from shopsim_env.rlve.customer.needs import Brief, Need, Remark, Revision
from shopsim_env.rlve.draws import Draws
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
)
from shopsim_env.rlve.envs.cart_words import CartWords
from shopsim_env.rlve.envs.visits import Visited, Wanted, choose_visits
from shopsim_env.rlve.overlay import Variant, synthesize
from shopsim_env.rlve.overlay.variants import VARIANTS
from shopsim_env.rlve.protocol import Answer
from shopsim_env.rlve.reward import UsedIds
from shopsim_env.rlve.scores.common import UNANSWERED, TaskScore
from shopsim_env.rlve.scores.goods import CartLine, score_cart

_TOUCHING: Final = frozenset({"cart.add", "cart.remove", "cart.set_quantity", "order.checkout"})
_LEAST_UNITS, _MOST_UNITS = 2, 4
_MOST_FACTS: Final = 2
Held = Mapping[tuple[int, str | None], int]


@dataclass(frozen=True, slots=True)
class Item:
    """One wanted product: the visited one, the variant if one is required, and units before and after a revision."""

    visited: Visited
    variant: Variant | None
    units: int
    units_before: int

    @property
    def number(self) -> int:
        """Its number."""
        return self.visited.good.number

    def wanted(self, revised: bool) -> int:
        """Units in force."""
        return self.units if revised else self.units_before


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
        self.turn_budget = setting.axes.T_max
        self.brief = self._brief()
        self._pending = self.brief.pending
        questions = questions_for(len(self.brief.pending))
        self.least_turns = max(1, questions) + _other_turns(setting, items)
        # Variants can be looked up beside the second question; a turn that ends with an answer or a new wish is free.
        looked_up = _lookups(setting, items) if questions < 2 else 0
        heard = max(questions, int(self._changed))
        self.least_charged = (heard == 0) + looked_up + _batches(setting, len(items))
        self._chance = self._forced_chance()

    def grade(self, answer: Answer | None, heard: Heard) -> TaskScore:
        """F1 of the units that were bought, else of those in the cart; `first_try` is 1 when no correction helped."""
        if answer is None:
            return UNANSWERED
        lines = [CartLine(str(number), variant, units) for (number, variant), units in self._held().items()]
        required = {
            (str(item.number), item.variant.id if item.variant else None): item.wanted(heard.revised)
            for item in self._items
        }
        found = score_cart(lines, required)
        first = float(found.success and not self._corrected)
        return replace(found, parts={**found.parts, "first_try": first})

    def used(self, answer: Answer | None) -> UsedIds:
        """The final list and every id that was named to the cart."""
        listed = answer.recommended_product_ids if answer else ()
        return UsedIds(recommended=listed, carted=tuple(self._setting.overlay.carted))

    def remark(self, results: Sequence[ToolRecord]) -> Remark | None:
        """A correction of the first thing that is wrong in a cart that was touched; a confirmation of a whole one."""
        # A change of mind is said with the first reply: what was done before it was asked for in the old words.
        revised = self._replies > 0
        self._replies += 1
        if not any(record.name in _TOUCHING and "error" not in record.result for record in results):
            return None
        held = self._held()
        right = sum(self._right(item, held, revised) for item in self._items)
        satisfaction = right / len(self._items)
        text = self._issue(held, revised)
        if text is not None:
            self._corrected = True
            return Remark("correct", text, satisfaction)
        return Remark("confirm", self._words.whole(), 1.0) if right == len(self._items) else None

    def forced_chance(self) -> Fraction:
        """1 / (ways to pick the items among the visited products in stock, with their variants and units).

        Units that the opening says are known to the guess, but not which product they are for.
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

    def _right(self, item: Item, held: Held, revised: bool) -> bool:
        units = _units(item.number, held)
        wanted = item.wanted(revised)
        if item.variant is None:
            return sum(units.values()) == wanted
        return units == {item.variant.id: wanted}

    def _issue(self, held: Held, revised: bool) -> str | None:
        """The first thing that is wrong: a variant, too few, too many, a product that should not be there.

        A product of which nothing is in the cart is no mistake, it may still come.
        """
        present = [(at, item, _units(item.number, held)) for at, item in enumerate(self._items)]
        present = [(at, item, units) for at, item, units in present if units]
        for at, item, units in present:
            wrong = next((id_ for id_ in units if item.variant and id_ and id_ != item.variant.id), None)
            if wrong is not None:
                return self._wrong_variant(at, item, wrong)
        for fewer in (True, False):
            for at, item, units in present:
                held_units, wanted = sum(units.values()), item.wanted(revised)
                if held_units != wanted and (held_units < wanted) == fewer:
                    return self._words.units(at, fewer, None if f"i{at}.units" in self._pending else wanted)
        surplus = next(
            (number for number, _ in held if number not in {item.number for item in self._items}), None
        )
        if surplus is None:
            return None
        return self._words.surplus(self._setting.overlay.world.facts_at(surplus).price_low)

    def _wrong_variant(self, at: int, item: Item, wrong: str) -> str:
        """Names the wrong one, and the wanted one if the opening said it."""
        found = self._setting.overlay.variant(item.number, wrong)
        wanted = None if f"i{at}.variant" in self._pending else item.variant
        return self._words.variant(at, self._value(found), self._value(wanted))

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
        visited = (good for item in self._items for good in (item.visited.good, *item.visited.others))
        offered = len(overlay.stock.remaining(good.number for good in visited if good.stock > 0))
        pending = [at for at in range(len(self._items)) if f"i{at}.units" in self._pending]
        # Items whose units are known are alike when these are the same.
        alike = Counter(0 if at in pending else item.units for at, item in enumerate(self._items))
        orders = factorial(len(self._items)) // prod(factorial(count) for count in alike.values())
        variants = prod(len(overlay.variants[item.number]) for item in self._items if item.variant)
        units = (_MOST_UNITS - _LEAST_UNITS + 1) ** len(pending)
        return Fraction(1, comb(offered, len(self._items)) * orders * variants * units)


def make(setting: Setting) -> Task:
    """Draws a goal of cart building.

    Raises:
        UsageError: the catalogue has no products that a few facts tell apart (code `no_choice`).
    """
    draws, axes, level = setting.draws.fork("goal"), setting.axes, setting.task_axes
    count = level.cart_items
    while count > 1 and 1 + 2 * _batches(setting, count) > axes.T_max:
        count -= 1
    wanted = Wanted(count, min(axes.m, _MOST_FACTS), level.cart_visits - level.cart_items, level.slack)
    visited = choose_visits(setting.pools, draws, wanted, setting.overlay.stock)
    changed = draws.below(count) if draws.chance(axes.p_switch) else None
    items = [_item(setting, draws, one, at == changed) for at, one in enumerate(visited)]
    numbers = [good.number for one in visited for good in (one.good, *one.others)]
    setting.overlay.visits = tuple(draws.shuffled(numbers))
    return CartBuilding(setting, items)


def _item(setting: Setting, draws: Draws, visited: Visited, changed: bool) -> Item:
    """Units and variant of an item; as many of the products beside it have variants as of the wanted ones."""
    level, stock, number = setting.task_axes, setting.overlay.stock, visited.good.number
    units = draws.between(_LEAST_UNITS, _MOST_UNITS) if draws.chance(level.cart_p_quantity) else 1
    before = (
        draws.pick([other for other in range(1, _MOST_UNITS + 1) if other != units]) if changed else units
    )
    if visited.good.stock < max(units, before):
        stock.force(number, _MOST_UNITS)
    families = _variant_families(setting, visited)
    for good in (visited.good, *visited.others):
        if families and draws.chance(level.cart_p_variant):
            _plan_variants(setting, good.number, families)
    # Any of them, not the one that the product's own facts name: those are on its card.
    variants = setting.overlay.variants.get(number)
    return Item(visited, draws.pick(variants) if variants else None, units, before)


def _variant_families(setting: Setting, visited: Visited) -> list[str]:
    """Families for variants, without those by which the customer describes the product."""
    said = {fact.family for fact in visited.facts}
    families = setting.families
    return [
        name
        for name in visited.pool.category.families
        if name not in said and len(families[name].pool) >= VARIANTS
    ]


def _plan_variants(setting: Setting, number: int, families: Sequence[str]) -> None:
    overlay, draws = setting.overlay, setting.draws

    def made() -> tuple[Variant, ...]:
        facts = overlay.shelf.item(number).facts
        return synthesize(
            facts, families, draws.fork("variants", number), overlay.world, least_stock=_MOST_UNITS
        )[0]

    overlay.variants.plan(number, made)


def _units(number: int, held: Held) -> dict[str | None, int]:
    return {variant: units for (product, variant), units in held.items() if product == number}


def _batches(setting: Setting, calls: int) -> int:
    """Turns that it takes to make so many calls."""
    return -(-calls // setting.axes.B_tool)


def _lookups(setting: Setting, items: Sequence[Item]) -> int:
    return _batches(setting, sum(item.variant is not None for item in items))


def _other_turns(setting: Setting, items: Sequence[Item]) -> int:
    """Turns after the history was read, which shares its turn with a question: variants, and adding them."""
    return _lookups(setting, items) + _batches(setting, len(items))
