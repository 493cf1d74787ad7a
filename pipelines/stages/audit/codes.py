"""The closed table of reason codes: what can be wrong with a product or a task, and what follows.

`quarantine` takes a task out of the `_clean` splits (a product's code: all its tasks); `note` only says so.
Public codes follow from the task's texts; of persona tasks, whose full text is private, they are not shown
(`audit.public`). All others would tell something about the gold product or the persona, so they stay with the
evidence in the private part. Meanings in full: docs/audit.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pipelines.stages.human_exclusions import HUMAN_EXCLUSION

QUARANTINE, NOTE = "quarantine", "note"
PRODUCT, TASK, EITHER = "product", "task", "either"

MULTI_PRICE_AXES = "multi_price_axes"
PLACEHOLDER_LISTING = "placeholder_listing"
VALUE_IS_NO_GOODS = "value_is_no_goods"
VALUE_COLLISION = "value_collision"
EMPTY_AXIS = "empty_axis"
EMPTY_VALUE = "empty_value"
NEAR_DUPLICATE_PRODUCT = "near_duplicate_product"
CATEGORY_CONFLICT = "category_conflict"
GOLD_OPTION_MISSING = "gold_option_missing"
GOLD_OPTION_LOST_EMOJI = "gold_option_lost_emoji"
GOLD_OPTION_AMBIGUOUS = "gold_option_ambiguous"
GOLD_OPTIONS_COLLIDE = "gold_options_collide"
GOLD_ATTRIBUTE_MISSING = "gold_attribute_missing"
OPTION_IS_NO_GOODS = "option_is_no_goods"
GOLD_ABOVE_BUDGET = "gold_above_budget"
UNVERIFIABLE_PRICE = "unverifiable_price"
PLACEHOLDER_PRICE = "placeholder_price"
UNIT_PRICE = "unit_price"
DEPOSIT = "deposit"
BUDGET_AMBIGUOUS = "budget_ambiguous"
BUDGET_CONFLICT = "budget_conflict"
BLANK_ATTRIBUTES = "blank_attributes"
BLANK_OPTIONS = "blank_options"
ATTRIBUTES_EMPTY = "attributes_empty"
PERSONA_LEAK_OPTION = "persona_leak_option"
PERSONA_LEAK_LONG = "persona_leak_long"
PERSONA_LEAK_SHORT = "persona_leak_short"
PERSONA_ID_IS_GOLD = "persona_id_is_gold"
NEAR_DUPLICATE_INSTRUCTION = "near_duplicate_instruction"


@dataclass(frozen=True, slots=True)
class Code:
    """One reason: what it is about, what follows, whether the code may stand in public, what it means."""

    name: str
    subject: str
    severity: str
    public: bool
    meaning: str


_ROWS = (
    (MULTI_PRICE_AXES, PRODUCT, QUARANTINE, False, "two or more option axes change the price"),
    (PLACEHOLDER_LISTING, PRODUCT, NOTE, False, "a recorded price of at most 1 yuan, or of nines alone"),
    (VALUE_IS_NO_GOODS, PRODUCT, NOTE, False, "an option value is a notice, not goods"),
    (VALUE_COLLISION, PRODUCT, QUARANTINE, False, "values of one axis that a buyer cannot tell apart"),
    (EMPTY_AXIS, PRODUCT, NOTE, False, "an option axis without a name or without a value"),
    (EMPTY_VALUE, PRODUCT, NOTE, False, "a blank option value"),
    (NEAR_DUPLICATE_PRODUCT, PRODUCT, NOTE, False, "another product has nearly the same title"),
    (CATEGORY_CONFLICT, PRODUCT, NOTE, False, "products of one title stand in different categories"),
    (GOLD_OPTION_MISSING, TASK, QUARANTINE, False, "no value of the gold product meets a target option"),
    (GOLD_OPTION_LOST_EMOJI, TASK, NOTE, False, "a target option has `?` where its value has a symbol"),
    (GOLD_OPTION_AMBIGUOUS, TASK, QUARANTINE, False, "a target with a lost symbol fits several values"),
    (GOLD_OPTIONS_COLLIDE, TASK, QUARANTINE, False, "target options that cannot be chosen together"),
    (GOLD_ATTRIBUTE_MISSING, TASK, QUARANTINE, False, "the gold product does not show a target attribute"),
    (OPTION_IS_NO_GOODS, TASK, QUARANTINE, False, "a target option is a notice, not goods"),
    (GOLD_ABOVE_BUDGET, TASK, QUARANTINE, False, "every fitting choice costs more than the ceiling"),
    (UNVERIFIABLE_PRICE, TASK, QUARANTINE, False, "a ceiling, and no known price of a fitting choice"),
    (PLACEHOLDER_PRICE, TASK, QUARANTINE, False, "a ceiling, and a fitting choice priced at 0"),
    (UNIT_PRICE, TASK, QUARANTINE, True, "the amount is a price per piece, area, hour or another part"),
    (DEPOSIT, TASK, QUARANTINE, True, "the amount is a deposit or an instalment"),
    (BUDGET_AMBIGUOUS, TASK, QUARANTINE, True, "amounts that disagree, or an amount without a digit"),
    (BUDGET_CONFLICT, TASK, QUARANTINE, True, "simple and full text name different ceilings"),
    (BLANK_ATTRIBUTES, TASK, NOTE, False, "blank target attributes, which are dropped"),
    (BLANK_OPTIONS, TASK, NOTE, False, "blank target options, which are dropped"),
    (ATTRIBUTES_EMPTY, TASK, NOTE, False, "a list of target attributes without any entry"),
    (PERSONA_LEAK_OPTION, TASK, NOTE, False, "the persona holds a whole target option"),
    (PERSONA_LEAK_LONG, TASK, NOTE, False, "the persona holds 8 or more characters of the goal in a row"),
    (PERSONA_LEAK_SHORT, TASK, NOTE, False, "the persona holds 4 to 7 characters of the goal in a row"),
    (PERSONA_ID_IS_GOLD, TASK, NOTE, False, "the source's user id holds the gold product's id"),
    (NEAR_DUPLICATE_INSTRUCTION, TASK, NOTE, True, "another task has nearly the same text"),
    (HUMAN_EXCLUSION, EITHER, QUARANTINE, True, "a person listed it for exclusion"),
)

CODES: Mapping[str, Code] = {row[0]: Code(*row) for row in _ROWS}
"""Every code, in the order of the documentation."""
