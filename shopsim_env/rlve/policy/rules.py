"""A rule of the shop: when it applies, what it does, and how it is written as data.

Belongs here: the types, and their JSON form, which search results carry. What a set of rules decides together
is in `evaluate`, how an episode gets its rules in `tables`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

from shopsim_env.errors import ShopSimError, UsageError
from shopsim_env.rlve.policy.vocabulary import MONEY
from shopsim_env.rlve.scores.policy import AMOUNT, PolicyAnswer

Value: TypeAlias = str | int | bool

DECIDES, SUPPLEMENT, EXCEPTION, DEFINITION = "decides", "supplement", "exception", "definition"
EFFECTS = (DECIDES, SUPPLEMENT, EXCEPTION, DEFINITION)


@dataclass(frozen=True, slots=True)
class Condition:
    """One thing that must be so: a topic's value is one of some, or a number lies in a range.

    Args:
        topic: What it reads.
        values: Accepted names, or (True,) for a circumstance; empty for a range.
        low, high: Ends of the range, both included; None is open.
    """

    topic: str
    values: tuple[Value, ...] = ()
    low: int | None = None
    high: int | None = None

    def holds(self, context: Mapping[str, Value]) -> bool:
        """Whether the context says so; a topic that it does not name holds for nothing."""
        value = context.get(self.topic)
        if value is None:
            return False
        if self.values:
            return value in self.values
        number = int(value)
        return (self.low is None or number >= self.low) and (self.high is None or number <= self.high)

    def as_dict(self) -> dict[str, Any]:
        """JSON form: `topic` with `values`, or with `low` and `high`; money in units, as agents write it."""
        if self.values:
            return {"topic": self.topic, "values": list(self.values)}
        if self.topic in MONEY:
            return {"topic": self.topic, "low": _units(self.low), "high": _units(self.high)}
        return {"topic": self.topic, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Args:
        id: Opaque, drawn per episode.
        family: Subject, see `vocabulary.FAMILIES`.
        effect: One of `EFFECTS`.
        precedence: Different for all rules of a family; among deciding rules that apply the greatest wins.
        conditions: All must hold.
        exceptions: If one holds, the rule does not apply.
        outcome: The answer of a deciding rule; what a supplement adds, with its sign.
        suspends: Rule that an exception sets aside.
        defines: Topic and value that a definition gives.
    """

    id: str
    family: str
    effect: str
    precedence: int
    conditions: tuple[Condition, ...]
    exceptions: tuple[Condition, ...] = ()
    outcome: PolicyAnswer | None = None
    suspends: str | None = None
    defines: tuple[str, str] | None = None

    def applies(self, context: Mapping[str, Value]) -> bool:
        """Whether all conditions hold and no exception within the rule does."""
        for condition in self.conditions:
            if not condition.holds(context):
                return False
        return not any(condition.holds(context) for condition in self.exceptions)

    def as_dict(self) -> dict[str, Any]:
        """JSON form, with all that is needed to evaluate the rule; the outcome as in an agent's answer."""
        return {
            "id": self.id,
            "family": self.family,
            "effect": self.effect,
            "precedence": self.precedence,
            "conditions": [condition.as_dict() for condition in self.conditions],
            "exceptions": [condition.as_dict() for condition in self.exceptions],
            "outcome": self.outcome and _outcome_dict(self.outcome),
            "suspends": self.suspends,
            "defines": self.defines and {"topic": self.defines[0], "value": self.defines[1]},
        }


def rule_from_dict(data: Mapping[str, Any]) -> Rule:
    """The rule of its JSON form.

    Raises:
        UsageError: `bad_policy_rule` for anything that `Rule.as_dict` does not write.
    """
    try:
        rule = _parsed(data)
    except (KeyError, TypeError, AttributeError, ArithmeticError, ShopSimError) as problem:
        raise UsageError(
            f"policy rule: expected the fields of Rule.as_dict, found {data!r} ({problem!r})",
            code="bad_policy_rule",
        ) from problem
    if rule.effect not in EFFECTS:
        raise UsageError(
            f"policy rule: expected an effect among {', '.join(EFFECTS)}, found {rule.effect!r}",
            code="bad_policy_rule",
        )
    return rule


def _parsed(data: Mapping[str, Any]) -> Rule:
    outcome, defines = data["outcome"], data["defines"]
    return Rule(
        data["id"],
        data["family"],
        data["effect"],
        data["precedence"],
        _conditions(data["conditions"]),
        _conditions(data["exceptions"]),
        outcome and _outcome(outcome),
        data["suspends"],
        defines and (defines["topic"], defines["value"]),
    )


def _conditions(items: Sequence[Mapping[str, Any]]) -> tuple[Condition, ...]:
    return tuple(
        Condition(item["topic"], tuple(item["values"]))
        if "values" in item
        else Condition(
            item["topic"], (), *(_number(item["topic"] in MONEY, item[end]) for end in ("low", "high"))
        )
        for item in items
    )


def _outcome_dict(outcome: PolicyAnswer) -> dict[str, Any]:
    value = _units(int(outcome.value or 0)) if outcome.kind == AMOUNT else outcome.value
    return {"kind": outcome.kind, "value": value, "currency": outcome.currency}


def _outcome(data: Mapping[str, Any]) -> PolicyAnswer:
    value = _number(True, data["value"]) if data["kind"] == AMOUNT else data["value"]
    return PolicyAnswer(data["kind"], value, data["currency"])


def _units(hundredths: int | None) -> str | None:
    """Hundredths as a decimal text: -350 is `-3.50`."""
    return None if hundredths is None else f"{Decimal(hundredths).scaleb(-2):.2f}"


def _number(is_money: bool, value: Any) -> Any:
    """The number of a JSON value; money is a decimal text of whole hundredths."""
    if not is_money or value is None:
        return value
    hundredths = Decimal(value).scaleb(2)
    if not isinstance(value, str) or hundredths != int(hundredths):
        raise TypeError(f"expected an amount with two decimals, found {value!r}")
    return int(hundredths)
