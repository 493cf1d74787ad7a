"""What the agent emits in one turn: a message, tool calls, an answer; read strictly.

Belongs here: the turn format and its refusals. Whether a tool exists, and what it takes, is in `tools`; what
an answer is worth, in `scores`.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from shopsim_env.errors import ShopSimError, UsageError
from shopsim_env.rlve.environments import ENVIRONMENTS
from shopsim_env.rlve.scores.policy import AMOUNT, DAYS, KINDS, NOT_COVERED, PERCENT, PolicyAnswer
from shopsim_env.strict_json import StrictJsonError, check_value, read_strict

MAX_TURN: Final = 64 * 1024
MOST_IDS: Final = 100
_TURN_FIELDS: Final = ("assistant_message", "tool_calls", "answer")
_CALL_FIELDS: Final = ("name", "args")
_ANSWER_TEXTS: Final = (
    "env",
    "selected_order_id",
    "selected_line_id",
    "order_status",
    "refusal_reason",
    "policy_rule_id",
)
_ANSWER_FIELDS: Final = (*_ANSWER_TEXTS, "recommended_product_ids", "policy_answer", "done")
_POLICY_FIELDS: Final = ("kind", "value", "currency")
_DECIMAL: Final = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,9})?")


class FormatFault(ShopSimError):  # noqa: N818 - the episode's word: a fault ends it
    """A turn that is not one; the episode ends with the failure score."""

    default_code = "bad_turn"
    wrong_use = True


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call. The name is dotted (`catalog.search`); an alias (`catalog_search`) is renamed."""

    name: str
    args: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Answer:
    """What the agent answers; fields that its environment does not ask for are None or empty."""

    env: str | None = None
    recommended_product_ids: tuple[str, ...] = ()
    selected_order_id: str | None = None
    selected_line_id: str | None = None
    order_status: str | None = None
    refusal_reason: str | None = None
    policy_answer: PolicyAnswer | None = None
    policy_rule_id: str | None = None
    done: bool = False


@dataclass(frozen=True, slots=True)
class AgentTurn:
    """One turn of the agent."""

    message: str
    calls: tuple[Call, ...] = ()
    answer: Answer | None = None


def read_turn(raw: str | bytes | Mapping[str, Any], strict: bool = True) -> AgentTurn:
    """The turn of a JSON text, or of the object that it stands for.

    Args:
        raw: One object: `assistant_message`, `tool_calls` and `answer`; see docs/rlve-tools.md.
        strict: False lets the message be absent or empty, for people who only press buttons.

    Raises:
        FormatFault: Anything else; the message says what was expected and found.
    """
    turn = _object(_value(raw), "the turn", _TURN_FIELDS)
    message = turn.get("assistant_message")
    if message is None and not strict:
        message = ""
    if not isinstance(message, str) or (strict and not message.strip()):
        raise FormatFault(
            f"assistant_message: expected a text that is not empty, found {_kind(message)}",
            code="bad_message",
        )
    calls = turn.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise FormatFault(f"tool_calls: expected a list, found {_kind(calls)}", code="bad_tool_call")
    answer = turn.get("answer")
    return AgentTurn(
        message,
        tuple(_call(item, place) for place, item in enumerate(calls or ())),
        None if answer is None else _answer(answer),
    )


def dotted(name: str) -> str:
    """The dotted name of a tool: `catalog_get_product` is `catalog.get_product`."""
    return name if "." in name else name.replace("_", ".", 1)


def _value(raw: str | bytes | Mapping[str, Any]) -> Any:
    try:
        if isinstance(raw, Mapping):
            value: Any = dict(raw)
            check_value(value)
            return value
        if not isinstance(raw, (str, bytes)):
            return raw  # no object, which is said where an object is expected
        if len(raw) > MAX_TURN:
            raise FormatFault(f"expected at most {MAX_TURN} letters, found {len(raw)}", code="too_long")
        value = read_strict(raw)
        # Escapes may spell half a surrogate pair, which no transcript can hold.
        if (b"\\u" if isinstance(raw, bytes) else "\\u") in raw:  # type: ignore[operator]
            check_value(value)
    except StrictJsonError as error:
        raise FormatFault(str(error), code=error.code) from error
    return value


def _call(item: Any, place: int) -> Call:
    where = f"tool_calls[{place}]"
    found = _object(item, where, _CALL_FIELDS)
    name, args = found.get("name"), found.get("args")
    if not isinstance(name, str) or not name:
        raise FormatFault(
            f"{where}.name: expected the name of a tool, found {_kind(name)}", code="bad_tool_call"
        )
    if args is not None and not isinstance(args, dict):
        raise FormatFault(f"{where}.args: expected an object, found {_kind(args)}", code="bad_tool_call")
    return Call(dotted(name), args or {})


def _answer(item: Any) -> Answer:
    found = _object(item, "answer", _ANSWER_FIELDS)
    for name in _ANSWER_TEXTS:
        value = found.get(name)
        if value is not None and not isinstance(value, str):
            raise FormatFault(
                f"answer.{name}: expected a text or null, found {_kind(value)}", code="bad_answer"
            )
    env = found.get("env")
    if env is not None and env not in ENVIRONMENTS:
        raise FormatFault(
            f"answer.env: expected one of {', '.join(ENVIRONMENTS)}, found {_kind(env)}", code="bad_answer"
        )
    done = found.get("done", False)
    if not isinstance(done, bool):
        raise FormatFault(f"answer.done: expected true or false, found {_kind(done)}", code="bad_answer")
    policy = found.get("policy_answer")
    return Answer(
        recommended_product_ids=_ids(found.get("recommended_product_ids")),
        policy_answer=None if policy is None else read_policy_answer(policy),
        done=done,
        **{name: found.get(name) for name in _ANSWER_TEXTS},
    )


def _ids(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    if (
        not isinstance(value, list)
        or len(value) > MOST_IDS
        or not all(isinstance(item, str) for item in value)
    ):
        raise FormatFault(
            f"answer.recommended_product_ids: expected at most {MOST_IDS} texts, found {_kind(value)}",
            code="bad_answer",
        )
    return tuple(value)


def read_policy_answer(value: Any) -> PolicyAnswer:
    """A typed answer from JSON: `{"kind": "amount", "value": "12.50", "currency": "CNY"}`.

    Numbers are read as written, exactly; an amount that is no whole number of hundredths is refused.

    Raises:
        FormatFault: Another form (`bad_answer`), another field (`unknown_field`).
    """
    found = _object(value, "answer.policy_answer", _POLICY_FIELDS)
    kind, given, currency = found.get("kind"), found.get("value"), found.get("currency")
    if kind not in KINDS:
        raise FormatFault(
            f"answer.policy_answer.kind: expected one of {', '.join(KINDS)}, found {_kind(kind)}",
            code="bad_answer",
        )
    typed: int | Fraction | bool | None = given
    if kind in (AMOUNT, DAYS, PERCENT):
        number = _exact(given)
        typed = number * 100 if kind == AMOUNT else number
        if kind == AMOUNT and typed.denominator != 1:
            raise FormatFault(
                "answer.policy_answer.value: expected an amount with at most two decimals, found more",
                code="bad_answer",
            )
        typed = int(typed) if typed.denominator == 1 else typed
    try:
        if currency is not None and not isinstance(currency, str):
            raise UsageError(f"found {_kind(currency)}")
        return PolicyAnswer(kind, typed, currency)
    except UsageError as error:
        raise FormatFault(
            f"answer.policy_answer: expected for {kind} {_EXPECTED.get(kind, _NUMBER)}, found as value "
            f"{_kind(given)}, as currency {_kind(currency)}",
            code="bad_answer",
        ) from error


_NUMBER: Final = "a number and no currency"
_EXPECTED: Final = {
    AMOUNT: "a number and a currency such as CNY",
    "yes_no": "true or false and no currency",
    NOT_COVERED: "neither value nor currency",
}


def _exact(value: Any) -> Fraction:
    if isinstance(value, float):
        # The shortest text that gives this float is what the agent wrote.
        return Fraction(Decimal(repr(value)))
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**15:
        return Fraction(value)
    if isinstance(value, str) and _DECIMAL.fullmatch(value):
        return Fraction(value)
    raise FormatFault(
        'answer.policy_answer.value: expected a number, or a decimal text such as "12.50" without unit, '
        f"found {_kind(value)}",
        code="bad_answer",
    )


def _object(value: Any, where: str, fields: Sequence[str]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatFault(f"{where}: expected an object, found {_kind(value)}", code="bad_turn")
    for name in value:
        if name not in fields:
            close = difflib.get_close_matches(str(name)[:64], fields, 1, 0.4)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise FormatFault(
                f"{where}: expected the fields {', '.join(fields)}, found {str(name)[:64]!r}{hint}",
                code="unknown_field",
            )
    return value


def _kind(value: Any) -> str:
    """What a value is, never the value itself: it may be long."""
    if isinstance(value, str):
        return "an empty text" if not value.strip() else f"the text {value[:40]!r}"
    names = {type(None): "nothing", bool: "true or false", int: "a number", float: "a number", list: "a list"}
    return names.get(type(value), "an object")
