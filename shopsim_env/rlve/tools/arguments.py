"""Arguments of the seventeen tools as pydantic models: the one source of validation, schemas and prompts.

Belongs here: names, types, limits, and what each argument means in Chinese and English. What the tools do is
in the handler modules. The only module of the runtime that imports pydantic.
"""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shopsim_env.rlve.difficulty import MOST_HITS
from shopsim_env.rlve.overlay.cart import MOST_UNITS

_ENGLISH = "x-en"
Problem = dict[str, Any]


def _described(chinese: str, english: str, **limits: Any) -> Any:
    return Field(description=chinese, json_schema_extra={_ENGLISH: english}, **limits)


_Id = Annotated[str, Field(min_length=1, max_length=64)]
_Query = Annotated[str, Field(max_length=1000)]
_Bound = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0, le=10**9)]
_Quantity = Annotated[int, Field(ge=1, le=MOST_UNITS)]


class Arguments(BaseModel):
    """Base: unknown names are errors, and nothing is converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Nothing(Arguments):
    """No arguments."""


class Filters(Arguments):
    """What every hit must meet."""

    category: Annotated[str, Field(max_length=300)] | None = _described(
        "类目：完整路径（层级以 › 连接）或末级名称",
        "category: its whole path, levels joined by ›, or its last level",
        default=None,
    )
    brand: Annotated[str, Field(max_length=200)] | None = _described(
        "品牌，与商品卡片上的完全一致", "brand, exactly as on the card", default=None
    )
    price_min: _Bound | None = _described("最低价格", "lowest price", default=None)
    price_max: _Bound | None = _described("最高价格", "highest price", default=None)
    rating_min: Annotated[float, Field(ge=0, le=5, allow_inf_nan=False)] | None = _described(
        "最低评分（0 到 5）", "lowest rating, 0 to 5", default=None
    )
    rating_count_min: _Count | None = _described("最少评价数", "fewest reviews", default=None)
    rating_count_max: _Count | None = _described("最多评价数", "most reviews", default=None)
    ship_days_max: _Count | None = _described("最多发货天数", "most days to ship", default=None)
    ship_days_min: _Count | None = _described("最少发货天数", "fewest days to ship", default=None)
    stock_min: _Count | None = _described("最少库存件数", "fewest pieces in stock", default=None)
    in_stock: bool | None = _described("true：只要有货的", "true: only what is in stock", default=None)
    attributes: Annotated[dict[str, str | int | float], Field(max_length=16)] | None = _described(
        '属性名到属性值，如 {"color": "black"}，名称见商品卡片的 key_attrs',
        'attribute name to value, such as {"color": "black"}; names as in key_attrs of a card',
        default=None,
    )


class Search(Arguments):
    """catalog.search."""

    query: _Query = _described(
        "搜索词；给出 filters 时可为空，结果按价格从低到高",
        "words to search for; may be empty when filters are given, the cheapest then come first",
    )
    filters: Filters | None = _described("每个结果都必须满足的条件", "what every hit must meet", default=None)
    top_k: int = _described(
        "最多返回多少个结果；难度另有上限",
        "most hits to return; the difficulty has a cap of its own",
        default=20,
        ge=1,
        le=MOST_HITS,
    )


class Rerank(Arguments):
    """catalog.rerank."""

    query: _Query = _described("排序所依据的文字", "text to rank by")
    candidate_product_ids: Annotated[list[_Id], Field(min_length=1, max_length=MOST_HITS)] = _described(
        "要排序的商品编号", "ids of the products to rank"
    )
    top_k: int = _described("最多返回多少个", "most ids to return", default=10, ge=1, le=100)


class ProductRef(Arguments):
    """catalog.get_product and catalog.get_variants."""

    product_id: _Id = _described("商品编号", "product id")


class CartAdd(Arguments):
    """cart.add."""

    product_id: _Id = _described("商品编号", "product id")
    variant_id: _Id | None = _described(
        "规格编号；有规格的商品必填", "variant id; needed for a product with variants", default=None
    )
    quantity: _Quantity = _described("数量", "units", default=1)


class CartLineRef(Arguments):
    """cart.remove."""

    line_id: _Id = _described("购物车行编号", "id of the cart line")


class CartQuantity(Arguments):
    """cart.set_quantity."""

    line_id: _Id = _described("购物车行编号", "id of the cart line")
    quantity: Annotated[int, Field(ge=0, le=MOST_UNITS)] = _described(
        "新数量；0 表示移除", "new number of units; 0 removes the line"
    )


class OrderList(Arguments):
    """order.list."""

    days: int = _described(
        "最近多少天的订单，含截止日",
        "orders of the last so many days, the first one included",
        default=30,
        ge=1,
        le=365,
    )


class OrderRef(Arguments):
    """order.get_status."""

    order_id: _Id = _described("订单编号", "order id")


class Checkout(Arguments):
    """order.checkout."""

    shipping_address_id: _Id = _described(
        "收货地址编号，见 cart.view 或历史订单", "id of the address, see cart.view or an earlier order"
    )
    payment_method_id: _Id = _described(
        "支付方式编号，见 cart.view 或历史订单",
        "id of the means of payment, see cart.view or an earlier order",
    )


class OrderLineRef(Arguments):
    """return.check_eligibility."""

    order_id: _Id = _described("订单编号", "order id")
    line_id: _Id = _described("订单行编号", "id of the order line")


class ReturnStart(OrderLineRef):
    """return.initiate."""

    reason_code: _Id = _described(
        "退货原因代码，见 return.check_eligibility", "code of the reason, see return.check_eligibility"
    )
    method: _Id = _described(
        "退货方式，见 return.check_eligibility", "way of returning, see return.check_eligibility"
    )


class ExchangeStart(OrderLineRef):
    """return.exchange."""

    new_product_id: _Id = _described("换成的商品编号", "id of the product wanted instead")
    new_variant_id: _Id | None = _described(
        "换成的规格编号；有规格的商品必填", "variant id; needed for a product with variants", default=None
    )


class PolicySearch(Arguments):
    """policy.search."""

    query: _Query = _described("要查的规则", "what the rule is about")
    top_k: int = _described("最多返回多少条", "most snippets to return", default=5, ge=1, le=20)


def problems(error: ValidationError) -> list[Problem]:
    """Each problem of a validation: `loc`, `type`, `msg`; never the input."""
    return [
        dict(item) for item in error.errors(include_url=False, include_context=False, include_input=False)
    ]


def schema(model: type[Arguments], language: str) -> dict[str, Any]:
    """JSON schema of a model, without references, described in one language."""
    whole = model.model_json_schema()
    found: dict[str, Any] = _plain(whole, whole.get("$defs", {}), language)
    return {name: value for name, value in found.items() if name != "$defs"}


def _plain(node: Any, defined: dict[str, Any], language: str) -> Any:
    if isinstance(node, list):
        return [_plain(item, defined, language) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _plain(defined[node["$ref"].rsplit("/", 1)[1]], defined, language)
    english = node.get(_ENGLISH)
    # The sentence under a model's name is for readers of the code, not for an agent.
    hidden = {"description"} if "properties" in node else set()
    kept = {
        name: _plain(value, defined, language)
        for name, value in node.items()
        if name not in hidden and _is_kept(name, value)
    }
    if english is not None and language == "en":
        kept["description"] = english
    return kept


def _is_kept(name: str, value: Any) -> bool:
    # Pydantic's titles repeat the names; a property may be called so, then it is an object.
    return name != _ENGLISH and not (name == "title" and isinstance(value, str))
