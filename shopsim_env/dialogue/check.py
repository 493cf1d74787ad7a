"""The check of a language model's wording: it tells exactly the intended facts, and nothing else at all.

Belongs here: drafts and the reasons to refuse a text. The check is closed: besides the told values a text may
hold only words of `harmless`, so a requirement cannot be invented in words that nobody thought of.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shopsim_env.dialogue.harmless import SHOP, Vocabulary, made_of
from shopsim_env.dialogue.ledger import Fact, bounded, mentions, plain
from shopsim_env.tasks.budget import parse_budget

PROBLEMS = (
    "empty",
    "too_long",
    "missing_fact",
    "negated_fact",
    "undisclosed_fact",
    "added_digits",
    "added_topic",
    "added_words",
    "changed_budget",
)
_SPARE_LENGTH = 80
_AMOUNT = re.compile("[0-9]|[零一二两三四五六七八九十百千万几]+(?:元|块|毛)")
_NEGATION = re.compile("(?:不要|别|不是|不想要|不用|不需要|除了|没有|并非|不能是)[^，。；,;]{0,4}$")
# No question mark: a question tells nothing.
_CLAUSES = re.compile("[，。！；、：,.!;:~… ]+")
_QUOTES = re.compile("[“”\"'‘’「」]")
# Told values and labels are replaced by letters of a private area, which no text may hold itself.
_VALUE, _LABEL = 0xE000, 0xE800
_MARK = re.compile("[\ue000-\uf8ff]")


@dataclass(frozen=True, slots=True)
class Draft:
    """A sentence to word: the template's text, the facts it tells, those still hidden, the topics asked."""

    text: str
    told: tuple[Fact, ...]
    hidden: tuple[Fact, ...] = ()
    topics: tuple[str, ...] = ()


def wording_problem(text: str, draft: Draft, vocabulary: Vocabulary = SHOP) -> str:
    """Why `text` does not tell exactly the draft's facts: one of `PROBLEMS`, or "".

    Every told value must occur verbatim and not negated, beside its own label if it has one there; no hidden
    value or part of one may, no further digit, amount or topic. What is left must be made of harmless words:
    those of our templates for the kind of fact in the clause, names of its topics, connectives and
    politeness. A told budget must read as the same ceiling. `vocabulary` has the words and topics: the
    Shop's, unless another customer speaks.
    """
    found = plain(text)
    if not found:
        return "empty"
    if len(text) > len(draft.text) + _SPARE_LENGTH:
        return "too_long"
    values = sorted((plain(fact.value) for fact in draft.told), key=len, reverse=True)
    if not all(fact.value in text and mentions(found, plain(fact.value)) for fact in draft.told):
        return "missing_fact"
    if any(_NEGATION.search(found[: found.index(value)]) for value in values):
        return "negated_fact"
    rest = _without(found, [*values, *(plain(fact.label) for fact in draft.told)])
    return (
        _added(rest, draft, vocabulary)
        or _strange_words(found, draft, vocabulary)
        or _changed_budget(text, draft, vocabulary)
    )


def _without(text: str, values: Iterable[str]) -> str:
    for value in values:
        text = re.sub(bounded(value), "，", text) if value else text
    return text


def _added(rest: str, draft: Draft, vocabulary: Vocabulary) -> str:
    hidden = (name for fact in draft.hidden for name in (fact.value, *fact.names))
    if any(mentions(rest, plain(name)) for name in hidden):
        return "undisclosed_fact"
    if _AMOUNT.search(rest):
        return "added_digits"
    allowed = set(draft.topics).union(*(fact.topics for fact in draft.told))
    return "added_topic" if set(vocabulary.asked(rest)) - allowed - vocabulary.neutral else ""


def _strange_words(found: str, draft: Draft, vocabulary: Vocabulary) -> str:
    if _MARK.search(found):
        return "added_words"
    clauses = _CLAUSES.split(_QUOTES.sub("", _marked(found, draft.told)))
    return "" if all(_is_harmless(clause, draft, vocabulary) for clause in clauses) else "added_words"


def _marked(found: str, told: Sequence[Fact]) -> str:
    """`found` with one letter for each told value and label; longer texts first."""
    texts = [(plain(fact.value), chr(_VALUE + number)) for number, fact in enumerate(told)]
    texts += [(plain(fact.label), chr(_LABEL + number)) for number, fact in enumerate(told)]
    for text, mark in sorted(texts, key=lambda pair: -len(pair[0])):
        found = re.sub(bounded(text), mark, found) if text else found
    return found


def _is_harmless(clause: str, draft: Draft, vocabulary: Vocabulary) -> bool:
    """Whether a clause says nothing besides the told facts in it."""
    marks = [ord(mark) for mark in _MARK.findall(clause)]
    told = [draft.told[mark - _VALUE] for mark in marks if mark < _LABEL]
    named = [draft.told[mark - _LABEL] for mark in marks if mark >= _LABEL]
    if any(fact.label != label.label for label in named for fact in told) or (named and not told):
        return False
    words = vocabulary.common
    if told:
        kinds = {fact.kind for fact in told}
        if len(kinds) == 1:  # 以内 beside a size would change it
            words = words | vocabulary.kinds.get(kinds.pop(), frozenset())
        words = words | vocabulary.named(frozenset.intersection(*(fact.topics for fact in told)))
    elif len(draft.told) == 1:
        words = words | vocabulary.named(draft.told[0].topics | frozenset(draft.topics))
    return all(made_of(piece, words) for piece in _MARK.split(clause))


def _changed_budget(text: str, draft: Draft, vocabulary: Vocabulary) -> str:
    """A told ceiling must still be one: 40元起 and 40元左右 are not 不超过40元."""
    if "budget" not in vocabulary.kinds or all(fact.kind != "budget" for fact in draft.told):
        return ""
    before, after = parse_budget(draft.text), parse_budget(text)
    same = (before.kind, before.upper) == (after.kind, after.upper)
    return "" if same else "changed_budget"
