"""One active task for the audit's tests, from a product of our own. Defaults are a sound standard task."""

from typing import Any

from raw_records import axis, instruction, product

from pipelines.stages.audit.cases import Case, iter_cases
from pipelines.stages.audit.findings import Finding

TASK_ID = 7


def record(**changes: Any) -> dict[str, Any]:
    """A cleaned product whose one task is sound: 暖光 costs 10, the ceiling is 15."""
    given = product(instructions=[instruction("要防水的营地灯，选暖光，预算15元以内")]) | changes
    for task in given["instructions"]:
        task.update({"task_id": TASK_ID, "task_uid": "u", "price_upper": task.get("price_upper")})
    return given


def case(
    text: str = "要防水的营地灯，选暖光，预算15元以内",
    simple: str | None = None,
    *,
    options: list[str] | None = None,
    attributes: list[str] | None = None,
    axes: dict[str, list[dict[str, Any]]] | None = None,
    persona: dict[str, Any] | None = None,
    price_upper: float | None = None,
    **changes: Any,
) -> Case:
    """A case of one task with these texts and targets on a product with these axes."""
    task = instruction(text, simple, price_upper=price_upper)
    task["instruction_options"] = ["暖光"] if options is None else options
    task["attributes"] = ["防水"] if attributes is None else attributes
    given = record(instructions=[task], **changes)
    if axes is not None:
        given["customization_options"] = axes
    if persona is not None:
        given["user_persona"] = persona
    (found,) = iter_cases([given])
    return found


def values(*names: str, price: float = 10) -> list[dict[str, Any]]:
    """Values of one axis with one price."""
    return axis(*((name, price) for name in names))


def codes_of(findings: Any) -> list[str]:
    """Codes of findings, in order."""
    return [item.code for item in findings]


def only(findings: Any) -> Finding:
    """The single finding."""
    (found,) = findings
    return found
