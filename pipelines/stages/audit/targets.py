"""Targets: what a task wants of its gold product, and whether the product has it.

Belongs here: codes about target options and attributes. Whether the price fits is in `money`.
"""

from collections.abc import Iterator
from typing import Any

from pipelines.stages.audit import codes
from pipelines.stages.audit.cases import Case
from pipelines.stages.audit.findings import Finding
from pipelines.stages.audit.options import is_no_goods
from shopsim_env.catalog.product import option_key
from shopsim_env.reward.attribute import count_attributes
from shopsim_env.reward.option import lost_symbol_fits


def target_findings(case: Case) -> Iterator[Finding]:
    """Codes about the target options and attributes of one task."""
    for code, evidence in (*_options(case), *_attributes(case)):
        yield Finding(code, case.goal.product.asin, case.task_id, evidence)


def _options(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    yield from _unmet(case)
    notices = [option for option in case.goal.options if is_no_goods(option)]
    if notices:
        yield codes.OPTION_IS_NO_GOODS, {"options": notices}
    blank = _blanks(case, "instruction_options")
    if blank:
        yield codes.BLANK_OPTIONS, {"blank": blank}


def _unmet(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    own = [value.raw for axis in case.goal.product.axes for value in axis.values]
    keys = {option_key(value) for value in own}
    missing = []
    for option, places in zip(case.goal.options, case.fitting, strict=True):
        fits = [] if option_key(option) in keys else lost_symbol_fits(option, own)
        if fits:
            yield codes.GOLD_OPTION_LOST_EMOJI, {"option": option, "values": fits}
        if not places and len(fits) > 1:
            yield codes.GOLD_OPTION_AMBIGUOUS, {"option": option, "values": fits}
        elif not places:
            missing.append(option)
    if missing:
        yield codes.GOLD_OPTION_MISSING, {"options": missing}
    elif case.plan.reason == "option_missing" and all(case.fitting):
        yield codes.GOLD_OPTIONS_COLLIDE, {"options": list(case.goal.options)}


def _attributes(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    product, wanted = case.goal.product, case.goal.attributes
    absent = [target for target in wanted if not count_attributes([target], product)]
    if absent:
        yield codes.GOLD_ATTRIBUTE_MISSING, {"attributes": absent}
    blank = _blanks(case, "attributes")
    if blank:
        yield codes.BLANK_ATTRIBUTES, {"blank": blank}
    elif not case.instruction.get("attributes"):
        yield codes.ATTRIBUTES_EMPTY, {}


def _blanks(case: Case, field: str) -> int:
    """How many targets of the record the goal has not, because they are blank."""
    given = len(case.instruction.get(field) or ())
    return given - len(case.goal.attributes if field == "attributes" else case.goal.options)
