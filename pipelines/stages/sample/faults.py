"""The faults that a sample carries on purpose: codes, how often, and which of them make a task unwinnable.

The side file `*.truth.json` lists every planted one, so that tests can count what the audit must find.
What a fault does to a record is done where the part is made (`catalogue`, `tasks`).
"""

MULTI_PRICE_AXES = "multi_price_axes"
GOLD_OPTION_MISSING = "gold_option_missing"
GOLD_OPTION_LOST_EMOJI = "gold_option_lost_emoji"
GOLD_ABOVE_BUDGET = "gold_above_budget"
PLACEHOLDER_PRICE = "placeholder_price"
BLANK_ATTRIBUTES = "blank_attributes"
ATTRIBUTES_EMPTY = "attributes_empty"
UNIT_PRICE = "unit_price"
DEPOSIT = "deposit"
BUDGET_AMBIGUOUS = "budget_ambiguous"
BUDGET_CONFLICT = "budget_conflict"
OPTION_IS_NO_GOODS = "option_is_no_goods"
UNPRICED_OPTIONS = "unpriced_options"

# Faults that are a budget family; the plan tags them when it deals out the families.
BY_FAMILY = {"unit_price": UNIT_PRICE, "deposit": DEPOSIT, "ambiguous": BUDGET_AMBIGUOUS}

# Planted records per 800 products. Lost emoji (63 of 4,666 persona tasks) and blank attributes (55 of 4,666)
# have the real share, the others are as rare as a test can bear.
PLANTED = {
    BUDGET_CONFLICT: 4,
    GOLD_OPTION_MISSING: 4,
    GOLD_OPTION_LOST_EMOJI: 8,
    GOLD_ABOVE_BUDGET: 5,
    PLACEHOLDER_PRICE: 4,
    BLANK_ATTRIBUTES: 9,
    ATTRIBUTES_EMPTY: 4,
    OPTION_IS_NO_GOODS: 4,
    UNPRICED_OPTIONS: 4,
}
ALL_CODES = (MULTI_PRICE_AXES, *BY_FAMILY.values(), *PLANTED)

# These only bite when the task has a ceiling.
NEEDS_BUDGET = (GOLD_ABOVE_BUDGET, PLACEHOLDER_PRICE, UNPRICED_OPTIONS)

# Buying the gold product with the gold options inside the ceiling cannot succeed. A lost emoji is unwinnable
# only where two own values fit the requirement.
UNWINNABLE = (GOLD_OPTION_MISSING, GOLD_ABOVE_BUDGET, PLACEHOLDER_PRICE, UNPRICED_OPTIONS)


def planted_count(per_800: int, products: int) -> int:
    """Records with one fault in a sample of `products`; at least one from 200 products on."""
    count = round(per_800 * products / 800)
    return max(1, count) if products >= 200 else count
