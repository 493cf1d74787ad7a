"""Rules of one well-typed raw record: its identity, and the tasks that it carries.

Belongs here: rules between the fields of a record. Types of single fields are in `ingest_schema`, rules
between records in `ingest`. Error codes: missing_field, invalid_asin and the reasons in `QUARANTINE_REASONS`.
"""

import re
from collections.abc import Mapping
from typing import Any

from pipelines.errors import DatasetError

# Letters are accepted because other worlds use them; blanks, punctuation and the crawler's literal `nan` are
# not: see `usable_asin`. Observed in the archive: 10 to 12 digits.
_ASIN = re.compile(r"(?!(?i:nan)\Z)[0-9A-Za-z]{1,20}")

QUARANTINE_REASONS: Mapping[str, str] = {
    "persona_without_simple": "expected a simple text beside the persona, found none",
    "simple_without_persona": "expected a persona beside the simple text, found none",
    "instruction_missing": "expected the full text of the task, found none",
    "instruction_asin_mismatch": "expected the asin of the product, found another one",
    "no_target": "expected a target attribute or option, found none",
}
# Set aside without `lenient`: the row is as the source meant it, but a purchase of anything alike would win.
ALWAYS_QUARANTINED = frozenset({"no_target"})


def check_identity(index: int, record: Mapping[str, Any]) -> None:
    """Refuses a record without a title or without a usable asin (contract 7.18)."""
    for name in ("asin", "title"):
        if not text_of(record, name).strip():
            raise DatasetError(
                f"expected a non-blank string, found {_absence(record, name)}",
                record=index,
                field=name,
                code="missing_field",
            )
    asin = record["asin"]
    if not usable_asin(asin):
        raise DatasetError(
            f"expected 1 to 20 ASCII digits or letters, found {asin[:40]!r}",
            record=index,
            field="asin",
            code="invalid_asin",
        )


def usable_asin(text: str) -> bool:
    """Whether a text may be the id of a product: it is a click value and part of file names."""
    return _ASIN.fullmatch(text) is not None


def task_fault(record: Mapping[str, Any]) -> tuple[str, str]:
    """First broken rule among the tasks of a well-typed record: (reason, dotted field), or ("", "").

    For every instruction "has a simple text" must equal "the product has a persona" (an empty object is
    none). Source: prior art section 2.1.
    """
    has_persona = bool(record.get("user_persona"))
    for position, instruction in enumerate(record.get("instructions") or ()):
        where = f"instructions[{position}]"
        has_simple = bool(text_of(instruction, "instruction_simple").strip())
        if has_persona and not has_simple:
            return "persona_without_simple", f"{where}.instruction_simple"
        if has_simple and not has_persona:
            return "simple_without_persona", "user_persona"
        if not text_of(instruction, "instruction").strip():
            return "instruction_missing", f"{where}.instruction"
        if text_of(instruction, "asin") not in ("", record["asin"]):
            return "instruction_asin_mismatch", f"{where}.asin"
    return _missing_target(record)


def _missing_target(record: Mapping[str, Any]) -> tuple[str, str]:
    for position, instruction in enumerate(record.get("instructions") or ()):
        if not has_target(instruction):
            return "no_target", f"instructions[{position}].instruction_options"
    return "", ""


def has_target(instruction: Mapping[str, Any]) -> bool:
    """Whether a target attribute or option is left after blank ones are dropped (contract 7.5)."""
    given = [*(instruction.get("attributes") or ()), *(instruction.get("instruction_options") or ())]
    return any(isinstance(item, str) and item.strip() for item in given)


def text_of(record: Mapping[str, Any], name: str) -> str:
    """A text field, "" when it is missing or null."""
    value: str | None = record.get(name)
    return value or ""


def _absence(record: Mapping[str, Any], name: str) -> str:
    if name not in record:
        return "no such field"
    return "null" if record[name] is None else "a blank string"
