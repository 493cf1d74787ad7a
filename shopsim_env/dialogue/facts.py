"""From the parts of a goal to facts that a customer can tell.

Belongs here: which topics ask for a fact, the merging of facts that repeat each other, and what is never
told. The parts come in as plain values, so this module needs no goal type. A fact's text never contains
another fact's, so "its text was said" and "it was told" mean the same.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal

from shopsim_env.catalog.product import Axis, option_key
from shopsim_env.dialogue.ledger import Fact, mentions, plain
from shopsim_env.dialogue.topics import ANY_ATTRIBUTE, ANY_OPTION, ATTRIBUTE, OPTION, TOPICS, topics_held
from shopsim_env.shop.display import one_line

_LEVEL = re.compile("[›>]")
_PIECE = re.compile(r"[\s/|,，;；、+＋()（）【】\[\]{}<>《》「」_-]+")
_ENDS_CLAUSE = re.compile(r"(?:$|[\s，。？！,.?!；;])")
_LONGEST_NOUN = 8


def category_word(category: str, nouns: Sequence[str], texts: Sequence[str]) -> str:
    """What the customer calls the thing: the last level of the category, else a noun of its own text.

    Args:
        category: Path with `›` or `>` between levels; may be blank.
        nouns: Title terms of the product, for records without a category.
        texts: The task's texts. Only a noun that the customer wrote itself is used, first the one that
            ends a clause.

    Returns:
        One line of text, "" when neither source gives one.
    """
    levels = [level for part in _LEVEL.split(category) if (level := one_line(part))]
    if levels:
        return levels[-1]
    found: list[tuple[bool, int, int, str]] = []
    for noun in nouns:
        for text in texts:
            at = text.casefold().find(noun)
            if at >= 0 and 2 <= len(noun) <= _LONGEST_NOUN:
                ends = bool(_ENDS_CLAUSE.match(text, at + len(noun)))
                found.append((not ends, at, -len(noun), noun))
    return min(found)[3] if found else ""


def shop_facts(
    what: str,
    options: Iterable[str],
    attributes: Iterable[str],
    ceiling: Decimal | None,
    *,
    axes: Iterable[Axis] = (),
    brand: str = "",
    never: Iterable[str] = (),
) -> tuple[Fact, ...]:
    """The facts of a task: category, options, attributes, budget, in this order.

    Args:
        what: Category word, "" for none.
        options: Target option values.
        attributes: Target attributes.
        ceiling: Inclusive ceiling in yuan, None without a budget.
        axes: Axes of the wanted product; the name of the axis that owns a target value becomes its label.
        brand: Brand of the wanted product; the attribute that equals it answers questions about the brand.
        never: Texts that may not be told (title and id of the product): a fact that contains one is left out.
            The category may: a title that is no more than it gives nothing away.
    """
    owned = list(axes)
    facts = [Fact("category", "category", one_line(what), frozenset({"category"}))]
    facts += [_option(number, value, owned) for number, value in enumerate(options)]
    facts += [_attribute(number, value, brand) for number, value in enumerate(attributes)]
    if ceiling is not None:
        facts.append(Fact("budget", "budget", f"{money(ceiling)}元", frozenset({"budget"})))
    barred = [text for item in never if (text := plain(item))]
    return _merged([fact for fact in facts if _can_be_told(fact, barred)])


def money(amount: Decimal) -> str:
    """An amount without exponent and trailing zeros: `275`, `97.9`."""
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _can_be_told(fact: Fact, barred: Sequence[str]) -> bool:
    value = plain(fact.value)
    return bool(value) and (fact.kind == "category" or not any(mentions(value, text) for text in barred))


def _option(number: int, value: str, axes: Sequence[Axis]) -> Fact:
    key = option_key(value)
    owner = next((axis.name for axis in axes if any(item.key == key for item in axis.values)), "")
    special = topics_held(plain(owner), OPTION) | topics_held(plain(value), OPTION)
    every = frozenset(topic.name for topic in TOPICS if topic.kind == OPTION)
    # A value that fits no special topic answers questions about any of them.
    topics = special | {ANY_OPTION} if special else every
    return Fact(f"option:{number}", OPTION, one_line(value), topics, one_line(owner), _pieces(value))


def _attribute(number: int, value: str, brand: str) -> Fact:
    topics = topics_held(plain(value), ATTRIBUTE) | {ANY_ATTRIBUTE}
    if plain(brand) and plain(brand) == plain(value):
        topics |= {"brand"}
    return Fact(f"attribute:{number}", ATTRIBUTE, one_line(value), topics, "", _pieces(value))


def _pieces(value: str) -> tuple[str, ...]:
    """Parts of a composite value that stand for it in a question: 香辣 for 【250g两袋装】香辣."""
    parts = [piece for piece in _PIECE.split(value) if len(plain(piece)) >= 2]
    return tuple(dict.fromkeys(parts)) if len(parts) > 1 else ()


def _merged(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """A fact whose text another one contains is told with that one, which then answers its topics too."""
    kept: list[Fact] = []
    for fact in sorted(facts, key=lambda item: -len(plain(item.value))):
        holder = next((item for item in kept if mentions(plain(item.value), plain(fact.value))), None)
        if holder is None:
            kept.append(fact)
        else:
            position = kept.index(holder)
            kept[position] = replace(
                holder,
                topics=holder.topics | fact.topics,
                label=holder.label or fact.label,
                names=tuple(dict.fromkeys((*holder.names, fact.value))),
            )
    order = {fact.id: number for number, fact in enumerate(facts)}
    return tuple(sorted(kept, key=lambda item: order[item.id]))
