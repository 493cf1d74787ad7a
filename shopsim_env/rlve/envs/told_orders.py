"""How a customer tells which order, or which line of one, it means: facts that fit one of them and no other.

Belongs here: the facts, what it takes to find what they fit, and the choice among them. What the customer
wants of the order is in `returns` and `status`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import reduce
from itertools import combinations, islice
from operator import and_
from typing import Any, Final

from shopsim_env.rlve.choosing.constraint import Constraint, decimal_text
from shopsim_env.rlve.customer.needs import Need
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.envs.base import Setting, category_filter, category_words, constraint_need, turns_for
from shopsim_env.rlve.envs.visits import said_of
from shopsim_env.rlve.fact_model import Category, Facts
from shopsim_env.rlve.overlay import Order, OrderLine, Overlay
from shopsim_env.rlve.shelf import units

DATE, MONEY, GOODS = "date", "money", "goods"
# Facts of the goods that are tried, of all that could be said.
_GOODS_TRIED: Final = 6
_WORDS: Final = {
    "zh": {
        "date": "下单日期是{year}年{month}月{day}日",
        "unit price": "单价是{amount}元",
        "total": "订单总价是{amount}元",
        "goods": "订单里有这一类商品：{category}",
        "item": "要退的商品：",
    },
    "en": {
        "date": "it was ordered on {year}-{month:02d}-{day:02d}",
        "unit price": "the unit price is {amount}",
        "total": "the order total is {amount}",
        "goods": "the order has something of this category: {category}",
        "item": "the product to return: ",
    },
}


@dataclass(frozen=True, slots=True)
class Told:
    """One fact: of the date, of money, or of the goods.

    Args:
        kind: `DATE`, `MONEY` (a line's unit price, an order's total) or `GOODS`.
        value: Day, hundredths, or what is said of the goods.
    """

    kind: str
    value: date | int | Constraint | Category


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line, or an order, that may be meant, as the facts see it."""

    order: Order
    lines: tuple[OrderLine, ...]
    money: int
    goods: tuple[Facts, ...]

    def meets(self, fact: Told) -> bool:
        """Whether a fact fits it."""
        value = fact.value
        if isinstance(value, date):
            return self.order.date == value
        if isinstance(value, Constraint):
            return any(value.met(one) for one in self.goods)
        if isinstance(value, Category):
            return any(value.number <= one.category <= value.last for one in self.goods)
        return self.money == value


@dataclass(frozen=True, slots=True)
class Description:
    """Facts that fit one candidate, and the turns that finding it takes, the list of orders included."""

    facts: tuple[Told, ...]
    turns: int


def line_candidates(overlay: Overlay) -> list[Candidate]:
    """Every line of the book."""
    return [
        Candidate(order, (line,), line.unit_price, (overlay.shelf.item(line.number).facts,))
        for order in overlay.book.orders
        for line in order.lines
    ]


def order_candidates(overlay: Overlay) -> list[Candidate]:
    """Every order of the book."""
    return [
        Candidate(
            order,
            order.lines,
            total(order),
            tuple(overlay.shelf.item(line.number).facts for line in order.lines),
        )
        for order in overlay.book.orders
    ]


def total(order: Order) -> int:
    """Price of an order in hundredths."""
    return sum(line.quantity * line.unit_price for line in order.lines)


def goods_facts(candidate: Candidate, draws: Draws, slack: float) -> list[Told]:
    """Some of what can be said of the first product of a candidate."""
    facts = candidate.goods[0]
    values = {item.family: item.value for item in reversed(facts.attributes)}
    said = said_of(facts, values.get, values, draws, slack)
    return [Told(GOODS, fact) for fact in islice(said, _GOODS_TRIED)]


def describe(
    candidates: Sequence[Candidate],
    meant: Candidate,
    sets: Iterable[tuple[Told, ...]],
    *,
    always: Sequence[Told] = (),
    tool_budget: int,
    most_turns: int,
    reads_lines: bool,
) -> Description | None:
    """The first of the sets of facts that fits what is meant and nothing else, and that can be found in time.

    Sets of which each fact is needed come first: without it another candidate fits too.

    Args:
        candidates: All that may be meant.
        meant: The one that is.
        sets: Sets of facts in order of preference.
        always: Facts that are said in any case.
        tool_budget: Calls in one turn.
        most_turns: Turns that finding it may take.
        reads_lines: Whether the order itself has to be opened, because one of its lines is meant.
    """
    fits: dict[Told, int] = {}

    def bits(fact: Told) -> int:
        if fact not in fits:
            fits[fact] = _bits(candidates, fact)
        return fits[fact]

    everyone, wanted = (1 << len(candidates)) - 1, 1 << candidates.index(meant)
    base = reduce(and_, map(bits, always), everyone)
    spare: Description | None = None
    for facts in sets:
        if reduce(and_, map(bits, facts), base) != wanted:
            continue
        needed = all(
            reduce(and_, (bits(other) for other in facts if other is not fact), base) != wanted
            for fact in facts
        )
        if spare is not None and not needed:
            continue
        told = {fact.kind: bits(fact) for fact in facts}
        turns = _turns(candidates, told.get(DATE, everyone), told.get(MONEY), tool_budget, reads_lines)
        found = Description(facts, turns)
        if found.turns <= most_turns:
            if needed:
                return found
            spare = spare or found
    return spare


def sets_of_kinds(options: Sequence[Told], most: int) -> Iterator[tuple[Told, ...]]:
    """Sets of up to so many facts of different kinds, by size."""
    for size in range(1, most + 1):
        for facts in combinations(options, size):
            if len({fact.kind for fact in facts}) == size:
                yield facts


def told_need(setting: Setting, id_: str, fact: Told, *, of_line: bool) -> Need:
    """The need that says a fact; the texts are those of a line or of an order."""
    words, value = _WORDS[setting.language], fact.value
    if isinstance(value, Constraint):
        return constraint_need(setting, id_, value, words["item"])
    if isinstance(value, Category):
        named = category_words(value, setting.language)
        text, topics = words["goods"].format(category=named), ("item", "category")
        return _need(id_, fact, text, topics, {"filters": category_filter(value)}, (named,))
    if isinstance(value, date):
        text = words["date"].format(year=value.year, month=value.month, day=value.day)
        return _need(id_, fact, text, ("order", "days"), {"date": value.isoformat()})
    name, key = ("unit price", "unit_price") if of_line else ("total", "total")
    text = words[name].format(amount=decimal_text(value))
    return _need(id_, fact, text, ("price", "amount"), {key: units(value)})


def _need(
    id_: str,
    fact: Told,
    text: str,
    topics: Iterable[str],
    data: Mapping[str, Any],
    keep: tuple[str, ...] = (),
) -> Need:
    return Need(id=id_, kind=fact.kind, value=text, topics=frozenset(topics), data=data, keep=keep)


def _bits(candidates: Sequence[Candidate], fact: Told) -> int:
    """The candidates that a fact fits, one bit each."""
    return sum(1 << at for at, one in enumerate(candidates) if one.meets(fact))


def _members(candidates: Sequence[Candidate], bits: int) -> list[Candidate]:
    return [one for at, one in enumerate(candidates) if bits >> at & 1]


def _turns(
    candidates: Sequence[Candidate], dated: int, priced: int | None, tool_budget: int, reads_lines: bool
) -> int:
    """Turns of the plan of `oracles.orders`: list, orders opened for money, products opened for goods.

    Args:
        candidates: All that may be meant.
        dated: Those that the told date fits.
        priced: Those that the told price fits; None where none is told.
        tool_budget: Calls in one turn.
        reads_lines: Whether lines are meant.
    """
    left = _members(candidates, dated)
    orders = {one.order.id for one in left}
    opened = (reads_lines and len(orders) == 1) or (priced is not None and len(left) > 1)
    turns = 1 + (turns_for(len(orders), tool_budget) if opened else 0)
    if opened and priced is not None:
        left = _members(candidates, dated & priced)
    if len(left) > 1:
        turns += turns_for(len({line.number for one in left for line in one.lines}), tool_budget)
    return turns + (reads_lines and not opened)
