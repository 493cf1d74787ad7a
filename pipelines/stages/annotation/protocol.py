"""The offline annotation protocol: kinds, validation of one answer, the resolved record.

Belongs here: what a single annotation means. Which tasks need one is in `persona_tasks`, the rule over both
texts in `resolution`, requests and caches in later modules. Error messages name task and field, never texts.

Source: seed section on offline cleaning, prior art section 4.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from pipelines.errors import DatasetError
from shopsim_env.tasks.budget import TOLERANCE, approximate_ceiling

ANNOTATION_VERSION = "qwen-persona-price-upper-v3"
FALLBACK_VERSION = "runtime-regex-fallback-v1"
FALLBACK_KIND = "runtime_regex_fallback"
FALLBACK_FIELD = "runtime_regex"
FALLBACK_REASON = "explicitly_ignored_llm_failure"

CEILING_KINDS = ("hard_upper", "approximate_upper")
KINDS = (*CEILING_KINDS, "no_budget", "lower_only", "non_total_price", "ambiguous")
SIMPLE_FIELD = "instruction_simple"
FULL_FIELD = "instruction"
SOURCE_FIELDS = (SIMPLE_FIELD, FULL_FIELD)
ANSWER_KEYS = frozenset(("task_id", "kind", "amount", "evidence"))


class AnnotationError(DatasetError):
    """An annotation breaks the protocol or does not belong to its task."""

    default_code = "annotation_error"


@dataclass(frozen=True, slots=True)
class AnnotationRequest:
    """One text that is to be annotated: the task, which of its texts, and the text itself."""

    task_id: int
    source_field: str
    text: str


@dataclass(frozen=True, slots=True)
class Annotation:
    """A validated annotation of one task; money in yuan.

    `price_upper` is the inclusive ceiling or None. `missing_field` is set for run-time fallbacks alone and
    names the text that was never annotated.
    """

    kind: str
    amount: Decimal | None
    evidence: str
    source_field: str
    price_upper: Decimal | None
    missing_field: str = ""

    @property
    def has_ceiling(self) -> bool:
        """Whether the kind carries a ceiling, so that the full text is not asked."""
        return self.kind in CEILING_KINDS

    def as_record(self) -> dict[str, Any]:
        """The record as the published audit holds it, without the keys that name the task."""
        record: dict[str, Any] = {
            "kind": self.kind,
            "amount": _number(self.amount),
            "evidence": self.evidence,
            "source_field": self.source_field,
            "price_upper": _number(self.price_upper),
            "annotation_version": ANNOTATION_VERSION,
            "approximate_upper_multiplier": (float(TOLERANCE) if self.kind == "approximate_upper" else None),
        }
        if self.kind == FALLBACK_KIND:
            record["annotation_version"] = FALLBACK_VERSION
            record["fallback_reason"] = FALLBACK_REASON
            record["missing_source_field"] = self.missing_field
        return record


def validate_answer(payload: Any, request: AnnotationRequest) -> Annotation:
    """Checks an answer against the text it was made from.

    Args:
        payload: Decoded answer, exactly `task_id`, `kind`, `amount`, `evidence`. Numeric strings pass.
        request: What was asked.

    Raises:
        AnnotationError: With codes unknown_kind, wrong_task, wrong_keys, bad_amount or bad_evidence.
    """
    if not isinstance(payload, Mapping) or payload.keys() != ANSWER_KEYS:
        raise _error(request, "", f"expected an object with exactly {sorted(ANSWER_KEYS)}", "wrong_keys")
    if _as_task_id(payload["task_id"]) != request.task_id:
        raise _error(request, "task_id", "expected the id that was asked, found another", "wrong_task")
    kind: str = payload["kind"]
    if kind not in KINDS:
        raise _error(request, "kind", f"expected one of {', '.join(KINDS)}, found another", "unknown_kind")
    amount = _checked_amount(payload["amount"], kind, request)
    evidence = _checked_evidence(payload["evidence"], kind, request)
    upper = price_upper(kind, amount)
    # The tolerance can leave the range of a JSON number, the rounding can leave nothing.
    if upper is not None and not _fits(upper):
        raise _error(request, "amount", "expected a positive finite ceiling with the tolerance", "bad_amount")
    return Annotation(kind, amount, evidence, request.source_field, upper)


def price_upper(kind: str, amount: Decimal | None) -> Decimal | None:
    """Ceiling of a valid (kind, amount): the amount, 1.1 times it rounded to 8 decimals, or None."""
    if amount is None or kind not in CEILING_KINDS:
        return None
    if kind == "hard_upper":
        return amount
    return approximate_ceiling(amount)


def fallback_annotation(missing_field: str) -> Annotation:
    """The record of a task that was explicitly left to the run-time parser; no answer is made up."""
    return Annotation(FALLBACK_KIND, None, "", FALLBACK_FIELD, None, missing_field)


def _checked_amount(value: Any, kind: str, request: AnnotationRequest) -> Decimal | None:
    if kind not in CEILING_KINDS:
        if value is not None:
            raise _error(request, "amount", f"expected null for {kind}, found a value", "bad_amount")
        return None
    amount = _as_amount(value)
    if amount is None:
        raise _error(request, "amount", f"expected a positive finite number for {kind}", "bad_amount")
    return amount


def _checked_evidence(value: object, kind: str, request: AnnotationRequest) -> str:
    if not isinstance(value, str):
        raise _error(request, "evidence", "expected a string", "bad_evidence")
    if kind == "no_budget":
        if value:
            raise _error(request, "evidence", "expected an empty string for no_budget", "bad_evidence")
    elif not value.strip() or value not in request.text:
        raise _error(
            request,
            "evidence",
            f"expected a non-empty verbatim part of {request.source_field} for {kind}",
            "bad_evidence",
        )
    return value


def _as_task_id(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    try:
        return int(value)
    except (TypeError, ValueError):
        return None


def _as_amount(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal)):
        return None
    try:
        amount = Decimal(str(value).strip())
    except InvalidOperation:
        return None
    return amount if _fits(amount) else None


def _fits(amount: Decimal) -> bool:
    """As a JSON number outside, it must stay finite and positive there too."""
    return amount.is_finite() and 0 < float(amount) < math.inf


def _number(value: Decimal | None) -> float | None:
    return None if value is None else float(value)


def _error(request: AnnotationRequest, name: str, message: str, code: str) -> AnnotationError:
    return AnnotationError(
        f"task {request.task_id} ({request.source_field}): {message}", field=name, code=code
    )
