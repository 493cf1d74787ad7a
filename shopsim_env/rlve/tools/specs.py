"""The seventeen tools: name, arguments, handler, what each is for; and their published forms.

Belongs here: the table, JSON schemas, function lists and the text for prompts, all from the models of
`arguments`. Running a call is in `running`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from shopsim_env.rlve.overlay.overlay import Overlay
from shopsim_env.rlve.policy.phrases import READING
from shopsim_env.rlve.tools import arguments as models
from shopsim_env.rlve.tools import cart, catalog, order, others, returns


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One tool. `about` says what it is for, by language."""

    name: str
    arguments: type[models.Arguments]
    handler: Callable[[Overlay, Any], dict[str, Any]]
    about: MappingProxyType[str, str]

    @property
    def alias(self) -> str:
        """The name that fits function calling: `catalog_search`."""
        return self.name.replace(".", "_")


def _spec(
    name: str,
    model: type[models.Arguments],
    handler: Callable[[Overlay, Any], dict[str, Any]],
    zh: str,
    en: str,
) -> ToolSpec:
    return ToolSpec(name, model, handler, MappingProxyType({"zh": zh, "en": en}))


_SPECS = (
    _spec("catalog.search", models.Search, catalog.search, "搜索商品", "Search the catalogue"),
    _spec(
        "catalog.rerank",
        models.Rerank,
        catalog.rerank,
        "按与文字的相关度给已知商品排序",
        "Rank known products by likeness to a text",
    ),
    _spec(
        "catalog.get_product",
        models.ProductRef,
        catalog.get_product,
        "查看一个商品的详情",
        "Show one product in full",
    ),
    _spec(
        "catalog.get_variants",
        models.ProductRef,
        catalog.get_variants,
        "查看一个商品的规格、价格和库存",
        "Show the variants of a product with prices and stock",
    ),
    _spec(
        "cart.view",
        models.Nothing,
        cart.view,
        "查看购物车，以及结算所需的地址和支付方式编号",
        "Show the cart, with the ids of address and payment for checkout",
    ),
    _spec("cart.add", models.CartAdd, cart.add, "把商品加入购物车", "Put a product into the cart"),
    _spec(
        "cart.remove", models.CartLineRef, cart.remove, "移除购物车中的一行", "Take a line out of the cart"
    ),
    _spec(
        "cart.set_quantity",
        models.CartQuantity,
        cart.set_quantity,
        "修改购物车中一行的数量",
        "Change the units of a cart line",
    ),
    _spec(
        "order.list",
        models.OrderList,
        order.list_orders,
        "列出顾客最近的订单",
        "List the customer's recent orders",
    ),
    _spec(
        "order.get_status",
        models.OrderRef,
        order.get_status,
        "查看一个订单的状态、送达日期和商品行",
        "Show status, delivery date and lines of an order",
    ),
    _spec(
        "order.checkout",
        models.Checkout,
        order.checkout,
        "把购物车结算成订单，之后购物车为空",
        "Turn the cart into an order; the cart is empty then",
    ),
    _spec(
        "return.check_eligibility",
        models.OrderLineRef,
        returns.check_eligibility,
        "查询一个订单行能否退货，以及原因代码、方式和费用",
        "Ask whether an order line may be returned, with reasons, ways and fees",
    ),
    _spec(
        "return.initiate",
        models.ReturnStart,
        returns.initiate,
        "为一个订单行发起退货",
        "Start the return of an order line",
    ),
    _spec(
        "return.exchange",
        models.ExchangeStart,
        returns.exchange,
        "把一个订单行换成另一个商品",
        "Exchange an order line for another product",
    ),
    _spec(
        "policy.search",
        models.PolicySearch,
        others.search_policy,
        f"搜索店铺规则。{READING['zh']}",
        f"Search the shop's rules. {READING['en']}",
    ),
    _spec("datetime.now", models.Nothing, others.now, "查看今天的日期", "Tell today's date"),
    _spec(
        "user.get_visit_history",
        models.Nothing,
        others.visit_history,
        "查看顾客浏览过的商品",
        "Show the products that the customer looked at",
    ),
)
TOOLS = MappingProxyType({item.name: item for item in _SPECS})
ALIASES = MappingProxyType({item.alias: item.name for item in _SPECS})


@cache
def _schema(name: str, language: str) -> dict[str, Any]:
    return models.schema(TOOLS[name].arguments, language)


def schemas(language: str = "zh") -> dict[str, dict[str, Any]]:
    """JSON schema of the arguments of every tool, by dotted name."""
    return {name: _schema(name, language) for name in TOOLS}


def functions(language: str = "zh", names: Iterable[str] = TOOLS) -> list[dict[str, Any]]:
    """The tools as a list for native function calling, under their aliases."""
    return [
        {
            "type": "function",
            "function": {
                "name": TOOLS[name].alias,
                "description": TOOLS[name].about[language],
                "parameters": _schema(name, language),
            },
        }
        for name in names
    ]


def tool_text(language: str = "zh", names: Iterable[str] = TOOLS) -> str:
    """The tools as text for a prompt: one line per tool, one per argument, filters included."""
    lines: list[str] = []
    for name in names:
        lines.append(f"{name}: {TOOLS[name].about[language]}")
        lines += _argument_lines(_schema(name, language), "  ")
    return "\n".join(lines)


def _argument_lines(schema: dict[str, Any], indent: str) -> list[str]:
    lines: list[str] = []
    required = schema.get("required", [])
    for name, part in schema.get("properties", {}).items():
        mark = "" if name in required else "?"
        default = part.get("default")
        ending = f" (= {default})" if default is not None else ""
        lines.append(f"{indent}{name}{mark}: {_type(part)}{ending}. {part.get('description', '')}")
        for choice in part.get("anyOf", ()):
            lines += _argument_lines(choice, indent + "  ")
    return lines


def _type(part: dict[str, Any]) -> str:
    choices = part.get("anyOf")
    if choices:
        return " | ".join(_type(item) for item in choices if item.get("type") != "null")
    if part.get("type") == "array":
        return f"[{_type(part['items'])}]"
    return str(part["type"])
