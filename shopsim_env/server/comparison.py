"""Gold against bought: why a purchase got its reward. For holders of the admin token alone.

Belongs here: the evidence of one purchase, recomputed by the functions that scored it. Who may see it is
checked by the routes.
"""

from collections.abc import Mapping
from typing import Any

from shopsim_env.catalog.prices import resolve_price
from shopsim_env.catalog.product import Product, option_key
from shopsim_env.private import Goal
from shopsim_env.release import Release
from shopsim_env.reward.attribute import count_attributes
from shopsim_env.reward.option import count_matches, match_option
from shopsim_env.reward.total import score_purchase


def comparison(
    release: Release, task_id: int, purchase: Mapping[str, Any] | None, option_match: str
) -> dict[str, Any]:
    """The goal of a task beside what was bought, or the goal alone.

    Args:
        release: The release that the episode was played on.
        task_id: The task.
        purchase: `asin` and `selected_options` (axis to public value), or None.
        option_match: Rule of the episode.

    Raises:
        ShopSimError: the release lacks the task or the product.
    """
    goal = release.private().goal(task_id)
    answer: dict[str, Any] = {
        "task_id": task_id,
        "instruction": goal.instruction,
        "budget_kind": goal.budget_kind,
        "budget_upper": None if goal.budget_upper is None else float(goal.budget_upper),
        "gold": _facts(goal.product, {}, goal),
        "required_options": list(goal.options),
        "bought": None,
    }
    if purchase is None:
        return answer
    bought = release.product(str(purchase.get("asin")))
    selected = _selection(purchase.get("selected_options"))
    return {
        **answer,
        "bought": _facts(bought, selected, goal),
        "attributes": [
            {"target": target, "met": count_attributes([target], bought, option_match=option_match) == 1}
            for target in goal.attributes
        ],
        "options": [_option(required, selected, bought, option_match) for required in goal.options],
        "price": resolve_price(bought, selected).as_dict(),
        "detail": score_purchase(bought, selected, goal, option_match=option_match).as_dict(),
    }


def _selection(value: Any) -> dict[str, str]:
    pairs = value.items() if isinstance(value, Mapping) else ()
    return {axis: chosen for axis, chosen in pairs if isinstance(axis, str) and isinstance(chosen, str)}


def _facts(product: Product, selected: Mapping[str, str], goal: Goal) -> dict[str, Any]:
    """Public facts of a product; each option value says whether it is required and whether it was chosen."""
    required = {option_key(text) for text in goal.options}
    chosen = {axis: option_key(text) for axis, text in selected.items()}
    return {
        "asin": product.asin,
        "title": product.title,
        "brand": product.brand,
        "category": product.category,
        "price": product.listing_text,
        "attributes": list(product.attributes),
        "axes": [
            {
                "name": axis.name,
                "values": [
                    {
                        "value": value.raw,
                        "gold": option_key(value.raw) in required,
                        "chosen": chosen.get(axis.name) == option_key(value.raw),
                    }
                    for value in axis.values
                ],
            }
            for axis in product.axes
        ],
    }


def _option(required: str, selected: Mapping[str, str], bought: Product, rule: str) -> dict[str, Any]:
    own = [value.raw for axis in bought.axes for value in axis.values]
    tried = [
        {"axis": axis, "value": value, "why": match_option(required, value, own, rule=rule).why}
        for axis, value in selected.items()
    ]
    met = count_matches([required], selected, bought, rule=rule) == 1
    return {"required": required, "met": met, "tried": tried}
