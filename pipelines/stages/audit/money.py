"""Money: what a task says about its budget, and whether the gold product can be bought within it.

Belongs here: codes about budgets and prices. The readings are the runtime's (`tasks.budget`,
`catalog.prices`) and, for persona tasks, the recorded annotation; nothing is parsed here.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from pipelines.stages.annotation.protocol import Annotation
from pipelines.stages.audit import codes
from pipelines.stages.audit.cases import Case
from pipelines.stages.audit.findings import Finding
from shopsim_env.catalog.prices import PLACEHOLDER_PRICE, PriceResolution, resolve_price
from shopsim_env.catalog.product import Product
from shopsim_env.tasks.budget import names_deposit, parse_budget, task_budget

_NO_TOTAL = "non_total_price"
_LOW = Decimal(1)
_NINES = Decimal(9999)


def listing_findings(product: Product) -> Iterator[Finding]:
    """Prices that nobody pays: 0 and up to 1 yuan, or nines alone from 9999 on."""
    recorded = [value.price for axis in product.axes for value in axis.values if value.price is not None]
    odd = sorted({price for price in (*product.listing, *recorded) if _is_placeholder(price)})
    if odd:
        evidence = {"prices": [float(price) for price in odd]}
        yield Finding(codes.PLACEHOLDER_LISTING, product.asin, None, evidence)


def money_findings(case: Case, annotation: Annotation | None) -> Iterator[Finding]:
    """Codes about the budget of one task and the price of its gold product.

    Args:
        case: The task.
        annotation: Its recorded annotation, None for standard tasks.
    """
    for code, evidence in (*_budget(case, annotation), *_price(case)):
        yield Finding(code, case.goal.product.asin, case.task_id, evidence)


def _is_placeholder(price: Decimal) -> bool:
    return price <= _LOW or (price >= _NINES and set(f"{price.normalize():f}") == {"9"})


def _budget(case: Case, annotation: Annotation | None) -> Iterator[tuple[str, dict[str, Any]]]:
    goal = case.goal
    read = task_budget(goal.instruction_simple, goal.instruction)
    readings = [("parser", read.kind, read.evidence)]
    if annotation is not None and annotation.evidence:
        readings.append(("annotation", annotation.kind, annotation.evidence))
    yield from _kinds(readings).items()
    simple, full = parse_budget(goal.instruction_simple).upper, parse_budget(goal.instruction).upper
    if simple is not None and full is not None and simple != full:
        yield codes.BUDGET_CONFLICT, {"simple": float(simple), "full": float(full)}


def _kinds(readings: list[tuple[str, str, str]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for source, kind, evidence in readings:
        if kind == "ambiguous":
            found.setdefault(codes.BUDGET_AMBIGUOUS, {})[source] = evidence
        elif kind == _NO_TOTAL:
            code = codes.DEPOSIT if names_deposit(evidence) else codes.UNIT_PRICE
            found.setdefault(code, {})[source] = evidence
    return found


def _price(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    ceiling, reason = case.goal.budget_upper, case.plan.reason
    if ceiling is None or reason not in ("over_budget", "price_unverifiable"):
        return
    resolution = _planned_price(case)
    evidence = {"ceiling": float(ceiling), "price": resolution.as_dict()["price"], "why": resolution.reason}
    if reason == "over_budget":
        yield codes.GOLD_ABOVE_BUDGET, evidence
    elif resolution.reason == PLACEHOLDER_PRICE:
        yield codes.PLACEHOLDER_PRICE, evidence
    else:
        yield codes.UNVERIFIABLE_PRICE, evidence


def _planned_price(case: Case) -> PriceResolution:
    pairs = zip(case.axes, case.plan.chosen, strict=True)
    selected: Mapping[str, str] = {axis.name: axis.public[index] for axis, index in pairs}
    return resolve_price(case.goal.product, selected)
