"""What rules decide for a context: the one rule that decides, and the exact answer.

Belongs here: the meaning of rules, for the generator, the verifier and agents alike. It reads nothing but
rules and a context, so that what search results say is enough.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shopsim_env.errors import UsageError
from shopsim_env.rlve.policy.rules import (
    DECIDES,
    DEFINITION,
    EXCEPTION,
    SUPPLEMENT,
    Rule,
    Value,
    rule_from_dict,
)
from shopsim_env.rlve.scores.policy import NOT_COVERED, PolicyAnswer


@dataclass(frozen=True, slots=True)
class Decision:
    """What the rules say.

    Args:
        answer: The answer, supplements included; `not_covered` where no rule decides.
        rule: Id of the rule that decides, which is the one to cite; None where no rule does.
    """

    answer: PolicyAnswer
    rule: str | None


_NOTHING = Decision(PolicyAnswer(NOT_COVERED), None)


def evaluate(rules: Iterable[Rule], family: str, context: Mapping[str, Value]) -> Decision:
    """What the rules of a family decide.

    1. Definitions give the topics that the context does not state itself.
    2. Exceptions that apply set their rules aside.
    3. Of the deciding rules left that apply, the one of greatest precedence decides.
    4. The supplements left that apply are added to its value.

    A topic that neither the context nor a definition gives holds for no condition.

    Args:
        rules: Rules of the family and the definitions; others are ignored.
        family: The subject asked about.
        context: Topic to value; money in cents.

    Raises:
        UsageError: `policy_tie` if two rules decide with the same precedence.
    """
    own: list[Rule] = []
    definitions: list[Rule] = []
    for rule in rules:
        if rule.effect == DEFINITION:
            definitions.append(rule)
        elif rule.family == family:
            own.append(rule)
    return decide(own, complete(definitions, context))


def complete(definitions: Iterable[Rule], context: Mapping[str, Value]) -> dict[str, Value]:
    """The context with what definitions say of it; what it states itself stays.

    Raises:
        UsageError: `policy_tie` if two definitions of equal precedence give a topic.
    """
    full = dict(context)
    by_topic: dict[str, list[Rule]] = {}
    for rule in definitions:
        if rule.defines and rule.defines[0] not in context and rule.applies(context):
            by_topic.setdefault(rule.defines[0], []).append(rule)
    for topic, found in by_topic.items():
        best = _first(found)
        if best.defines:
            full[topic] = best.defines[1]
    return full


def decide(rules: Sequence[Rule], context: Mapping[str, Value]) -> Decision:
    """What the rules of one family decide for a completed context; see `evaluate`."""
    applying = [rule for rule in rules if rule.applies(context)]
    aside = {rule.suspends for rule in applying if rule.effect == EXCEPTION}
    deciding = [rule for rule in applying if rule.effect == DECIDES and rule.id not in aside]
    if not deciding:
        return _NOTHING
    first = _first(deciding)
    added = [rule for rule in applying if rule.effect == SUPPLEMENT and rule.id not in aside]
    return Decision(_sum(first, added), first.id)


def oracle_answer(
    snippets: Iterable[Mapping[str, Any]], family: str, context: Mapping[str, Value]
) -> Decision:
    """What search results decide: their structured rules, evaluated.

    Args:
        snippets: Results of the policy search of one or more queries; the same one may come twice.
        family: The subject asked about.
        context: What the customer told.

    Raises:
        UsageError: `bad_policy_rule`, `policy_tie`.
    """
    parsed = {item["snippet_id"]: rule_from_dict(item["rule"]) for item in snippets}
    return evaluate(parsed.values(), family, context)


def _first(rules: Sequence[Rule]) -> Rule:
    first = max(rules, key=lambda rule: rule.precedence)
    ties = [rule.id for rule in rules if rule.precedence == first.precedence]
    if len(ties) > 1:
        raise UsageError(
            f"policy rules: expected different precedences, found {first.precedence} in {', '.join(ties)}",
            code="policy_tie",
        )
    return first


def _sum(first: Rule, added: Sequence[Rule]) -> PolicyAnswer:
    answer = first.outcome
    if answer is None:
        raise UsageError(f"policy rule {first.id}: decides without an outcome", code="bad_policy_rule")
    if not added:
        return answer
    value = answer.value
    for rule in added:
        change = rule.outcome
        if change is None or (change.kind, change.currency) != (answer.kind, answer.currency):
            raise UsageError(
                f"policy rule {rule.id}: expected a supplement in {answer.kind}, found {change}",
                code="bad_policy_rule",
            )
        value = (value or 0) + (change.value or 0)
    return PolicyAnswer(answer.kind, value, answer.currency)
