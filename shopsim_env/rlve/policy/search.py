"""The search of `policy.search`: the rules that share words with a query, best first.

Belongs here: words of families and rules, scores, the form of a result. A search finds the rules of a
subject and does not evaluate them: limits, classes, tiers and zones of single rules are no search words, or
the first hit for a pasted question would be its answer.
"""

from functools import cache
from typing import Any

from shopsim_env.errors import UsageError
from shopsim_env.rlve.policy.rules import Rule
from shopsim_env.rlve.policy.tables import PolicyBase
from shopsim_env.rlve.policy.vocabulary import (
    DEFINING,
    FAMILIES,
    FLAGS,
    NAMES,
    SOURCES,
    check_language,
)
from shopsim_env.rlve.policy.wording import rule_text, rule_title
from shopsim_env.text.tokens import tokenize

DEFAULT_TOP_K = 5
MAX_TOP_K = 20
MAX_QUERY = 2000
_ID, _TITLE, _NAME, _CIRCUMSTANCE = 10_000, 100, 10, 1
# Words that stand in names and say nothing.
_COMMON = frozenset(("a", "an", "order", "订单"))


def search(
    base: PolicyBase, query: str, top_k: int = DEFAULT_TOP_K, language: str = "zh"
) -> list[dict[str, Any]]:
    """The best rules for a query; ties in the order of the base.

    Words of a family's title weigh most, then the names that a family of definitions explains, then
    circumstances that a rule reads. A rule's id finds it, and exceptions that name it, before all others.

    Args:
        base: The rules.
        query: Free text in either language, case and punctuation aside.
        top_k: 1 to 20; no family has more rules.
        language: `zh` or `en`, of the texts in the results.

    Returns:
        Dictionaries with `snippet_id` (the id of the rule), `title`, `text`, `family`, `rules_in_family`,
        `score` (a positive integer) and `rule` (its JSON form). Rules without a common word are left out.

    Raises:
        UsageError: `policy_query`, `policy_top_k`, `policy_language`.
    """
    check_language(language)
    _check(query, top_k)
    words = frozenset(tokenize(query)) - _COMMON
    hits = {code: _family_score(code, words) for code in FAMILIES}
    found = [(score, rule) for score, rule in _scored(base, words, hits) if score]
    found.sort(key=lambda item: -item[0])
    return [_result(base, rule, score, language) for score, rule in found[:top_k]]


def _scored(base: PolicyBase, words: frozenset[str], hits: dict[str, int]) -> list[tuple[int, Rule]]:
    named = any(word.startswith("r-") for word in words)
    circumstances = {flag: len(words & _flag_words(flag)) for flag in FLAGS if words & _flag_words(flag)}
    # Families without a word of the query are drawn only if it may mean a single rule of theirs.
    wanted = FAMILIES if named or not any(hits.values()) else [code for code in FAMILIES if hits[code]]
    if not named and not circumstances and not any(hits.values()):
        return []
    return [
        (hits[code] + _rule_score(rule, words, circumstances), rule)
        for code in wanted
        for rule in base.family(code)
    ]


def _rule_score(rule: Rule, words: frozenset[str], circumstances: dict[str, int]) -> int:
    score = 0
    if rule.id.lower() in words or (rule.suspends and rule.suspends.lower() in words):
        score += _ID
    if circumstances:
        read = (item.topic for item in rule.conditions + rule.exceptions)
        score += _CIRCUMSTANCE * sum(circumstances.get(topic, 0) for topic in read)
    return score


def _family_score(code: str, words: frozenset[str]) -> int:
    title, names = _family_words(code)
    return _TITLE * len(title & words) + _NAME * len(names & words)


@cache
def _family_words(code: str) -> tuple[frozenset[str], frozenset[str]]:
    """Words of the title, and of the names that definitions explain, in both languages."""
    family = FAMILIES[code]
    title = frozenset(tokenize(family.zh) + tokenize(family.en))
    topics = [topic for topic, defining in DEFINING.items() if defining == code]
    topics += [SOURCES[topic] for topic in topics]
    said = [text for topic in topics for pair in NAMES.get(topic, {}).values() for text in pair]
    return title, frozenset(word for text in said for word in tokenize(text) if len(word) > 1) - title


@cache
def _flag_words(flag: str) -> frozenset[str]:
    return frozenset(word for text in FLAGS[flag] for word in tokenize(text)) - _COMMON


def _result(base: PolicyBase, rule: Rule, score: int, language: str) -> dict[str, Any]:
    return {
        "snippet_id": rule.id,
        "title": rule_title(rule, language),
        "text": rule_text(rule, language, base.currency),
        "family": rule.family,
        "rules_in_family": len(base.family(rule.family)),
        "score": score,
        "rule": rule.as_dict(),
    }


def _check(query: str, top_k: int) -> None:
    if not isinstance(query, str) or not query.strip() or len(query) > MAX_QUERY:
        raise UsageError(
            f"policy search: expected a query of 1 to {MAX_QUERY} characters, found {query!r:.80}",
            code="policy_query",
        )
    if isinstance(top_k, bool) or not isinstance(top_k, int) or not 1 <= top_k <= MAX_TOP_K:
        raise UsageError(
            f"policy search: expected top_k from 1 to {MAX_TOP_K}, found {top_k!r}", code="policy_top_k"
        )
