"""Task texts: the full instruction and, for persona products, the simple one.

Sentences are put together from clauses that fit the kind of each word, so that any choice of tags and options
reads as Chinese. What the budget is was decided in `budgets`; here it only finds its place in the sentence.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.stages.sample.clauses import (
    fitting_tags,
    measure_word,
    modifier,
    option_clauses,
    tag_clauses,
)
from pipelines.stages.sample.goods import Facts, Tag
from pipelines.stages.sample.options import AxisDraft
from pipelines.stages.sample.vocabulary import Kind

_ASK = ("有没有", "请问有没有", "有没有那种", "想问下有没有")
_WANT = (
    "想买一{u}",
    "帮我找一{u}",
    "我需要一{u}",
    "求推荐一{u}",
    "麻烦推荐一{u}",
    "打算入手一{u}",
    "请帮我挑一{u}",
    "我在找一{u}",
    "想换一{u}",
    "帮忙看看哪{u}合适，想要一{u}",
    "最近想入一{u}",
    "急需一{u}",
)
_SIMPLE_WANT = ("求推荐", "推荐一{u}", "想买一{u}", "帮我找一{u}", "我需要一{u}", "搜一下", "求购一{u}")
_CLOSERS = ("", "有推荐吗", "有合适的吗", "麻烦帮我看看", "谢谢", "帮我推荐一下")
_CLOSER_WEIGHTS = (62, 12, 8, 8, 6, 4)
_FILLERS = ("质量要过得去", "最好能早点发货", "评价好的优先", "售后要有保障", "做工别太差", "最好是正品")


@dataclass(frozen=True, slots=True)
class Clauses:
    """Parts of one full instruction before they are joined."""

    opening: str
    question: bool
    body: tuple[str, ...]
    budget: str


def full_instruction(rng: random.Random, facts: Facts, axes: Sequence[AxisDraft], budget: str) -> str:
    """The full task text: kind of goods, several tags, every wanted option and the budget phrase."""
    tags = _mentioned(rng, facts, axes)
    opening, question, rest = _opening(rng, facts.kind, tags, measure_word(facts.kind, axes))
    body = [*tag_clauses(rng, facts.kind, rest), *_shuffled(rng, option_clauses(rng, axes))]
    if sum(map(len, body)) + len(body) + len(opening) + len(budget) < 66 and rng.random() < 0.6:
        body.append(rng.choice(_FILLERS))
    return _join(rng, Clauses(opening, question, tuple(body), budget))


def simple_instruction(rng: random.Random, facts: Facts, axes: Sequence[AxisDraft], budget: str) -> str:
    """The short text of persona mode: the goods, one or two tags, the budget phrase if it belongs here."""
    kind = facts.kind
    tags = fitting_tags(facts.tags, axes)
    chosen = rng.sample(tags, min(len(tags), rng.choice((1, 1, 2))))
    goods = f"{modifier(rng, kind, chosen)}{kind.noun}"
    if len(goods) < 9 and axes and rng.random() < 0.35:
        goods += f"，{rng.choice(option_clauses(rng, axes))}"
    if rng.random() < 0.3:
        text = f"有没有{goods}"
        return f"{text}，{budget}的？" if _takes_de(budget) else f"{text}？{budget}{'。' if budget else ''}"
    want = rng.choice(_SIMPLE_WANT).format(u=measure_word(kind, axes))
    if budget and rng.random() < 0.35:
        return f"{budget}，{want}{goods}。"
    return f"{want}{goods}{'，' + budget if budget else ''}。"


def _mentioned(rng: random.Random, facts: Facts, axes: Sequence[AxisDraft]) -> list[Tag]:
    """Four to eight tags that the text names, any order: attributes first, then words of the title."""
    tags = fitting_tags(facts.tags, axes)
    count = rng.choice((4, 5, 6, 7, 8))
    chosen = rng.sample(tags, min(len(tags), count))
    more = fitting_tags(facts.title_tags, axes)
    return chosen + rng.sample(more, min(len(more), count - len(chosen)))


def _opening(rng: random.Random, kind: Kind, tags: list[Tag], unit: str) -> tuple[str, bool, list[Tag]]:
    """First clause, whether it asks, and the tags that are left."""
    taken = tags[: rng.choice((0, 1, 1, 2))]
    if len(taken) == 2 and _side(taken[0]) == _side(taken[1]):
        taken.pop()
    rest = tags[len(taken) :]
    noun = kind.noun if rng.random() < 0.9 else kind.alias[0]
    goods = f"{modifier(rng, kind, taken)}{noun}"
    if rng.random() < 0.2:
        return f"{rng.choice(_ASK)}{goods}", True, rest
    return f"{rng.choice(_WANT).format(u=unit)}{goods}", False, rest


def _side(tag: Tag) -> bool:
    return tag.kind in ("scene", "people")


def _shuffled(rng: random.Random, items: list[str]) -> list[str]:
    rng.shuffle(items)
    return items


def _takes_de(budget: str) -> bool:
    """Whether the phrase can be followed by 的: `价格在80元左右的`."""
    return budget.startswith(("价格", "售价", "价位")) and not budget.endswith(
        ("吗", "的", "就行", "更好", "问题")
    )


def _join(rng: random.Random, parts: Clauses) -> str:
    """Joins the clauses; the budget mostly comes last, sometimes first or after the goods."""
    place = rng.choices(("last", "first", "middle"), (80, 10, 10))[0] if parts.budget else "none"
    body = list(parts.body)
    if place == "middle":
        body.insert(0, parts.budget)
    if place == "last":
        body.append(parts.budget)
    first = f"{parts.budget}，{parts.opening}" if place == "first" else parts.opening
    if parts.question:
        return f"{first}？{_punctuated(rng, body)}{'。' if body else ''}"
    closer = rng.choices(_CLOSERS, _CLOSER_WEIGHTS)[0]
    end = "？" if closer.endswith("吗") else "！" if closer == "谢谢" else "。"
    middle = _punctuated(rng, [first, *body])
    return f"{middle}{'，' + closer if closer else ''}{end}"


def _punctuated(rng: random.Random, clauses: Sequence[str]) -> str:
    """Commas, and one full stop inside a long row of clauses."""
    cut = rng.randint(2, len(clauses) - 2) if len(clauses) > 5 and rng.random() < 0.4 else len(clauses)
    return "。".join(filter(None, ("，".join(clauses[:cut]), "，".join(clauses[cut:]))))
