"""Which fields an answer has in each environment, as JSON schemas in both languages.

Belongs here: names, types and what each field means. Reading an answer is in `protocol`, grading it in
`scores`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from shopsim_env.rlve.environments import ENVIRONMENTS, environment
from shopsim_env.rlve.overlay.orders import STATUSES
from shopsim_env.rlve.overlay.returns import REFUSALS
from shopsim_env.rlve.scores.policy import KINDS

# CART is graded by the cart alone; its answer says that the agent is done.
ANSWER_FIELDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "PD": ("recommended_product_ids",),
        "SUB": ("recommended_product_ids",),
        "CART": (),
        "RETURN": ("selected_order_id", "selected_line_id", "refusal_reason"),
        "STATUS": ("selected_order_id", "order_status"),
        "POLICY": ("policy_answer", "policy_rule_id"),
        "BUNDLE": ("recommended_product_ids",),
        "JOURNEY": (
            *("env", "recommended_product_ids", "selected_order_id", "selected_line_id", "order_status"),
            *("refusal_reason", "policy_answer", "policy_rule_id"),
        ),
    }
)
_TEXT: Final = {"type": "string"}
_PARTS: Final = tuple(name for name in ENVIRONMENTS if name != "JOURNEY")
# Field: schema, and what it means in Chinese and English.
_FIELDS: Final[Mapping[str, tuple[dict[str, Any], str, str]]] = {
    "env": (
        {"enum": list(_PARTS)},
        "答案对应的任务；不填则为最后提出且未回答的任务",
        "the task that the answer is for; without it, the one brought up last and not answered",
    ),
    "recommended_product_ids": (
        {"type": "array", "items": _TEXT},
        "推荐的商品编号，最好的在前",
        "ids of the recommended products, the best first",
    ),
    "selected_order_id": (_TEXT, "订单编号", "order id"),
    "selected_line_id": (_TEXT, "订单行编号", "id of the order line"),
    "order_status": ({"enum": list(STATUSES)}, "订单状态", "status of the order"),
    "refusal_reason": (
        {"enum": list(REFUSALS)},
        "不能退货的原因代码；可以退时不填",
        "code of why the line cannot go back; not given when it can",
    ),
    "policy_answer": (
        {
            "type": "object",
            "properties": {
                "kind": {"enum": list(KINDS)},
                "value": {"type": ["number", "string", "boolean", "null"]},
                "currency": {"type": ["string", "null"]},
            },
            "required": ["kind"],
            "additionalProperties": False,
        },
        "带单位的答案：金额（含币种）、天数、百分比、是或否、没有规定",
        "typed answer: amount with currency, days, percent, yes or no, or not covered by any rule",
    ),
    "policy_rule_id": (_TEXT, "起决定作用的规则编号", "id of the rule that decides"),
    "done": (
        {"type": "boolean"},
        "true：任务完成，请求评分",
        "true: the task is done and may be graded",
    ),
}


def answer_schema(env_id: str, language: str = "zh") -> dict[str, Any]:
    """JSON schema of the answer that an environment asks for.

    Raises:
        UsageError: `unknown_environment`.
    """
    environment(env_id)
    place = 1 if language == "zh" else 2
    names = (*ANSWER_FIELDS[env_id], "done")
    return {
        "type": "object",
        "properties": {name: {**_FIELDS[name][0], "description": _FIELDS[name][place]} for name in names},
        "additionalProperties": False,
    }
