"""The text that the agent reads, a pure function of `observation_state`.

Belongs here: page layout in Chinese, and the refusal of states that must not be shown. Nothing but the state
is read. Every value goes through `one_line`, so no catalogue or model text can forge a line. Source of the
layout: the published renderer for `shopping-observation-v7`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from shopsim_env.canonical import compact_json
from shopsim_env.errors import ObservationError
from shopsim_env.shop.display import one_line
from shopsim_env.shop.pages import BUTTONS
from shopsim_env.versions import OBSERVATION_VERSION, PAGE_SIZE

PRIVATE_KEYS = frozenset({"goal", "reward", "reward_detail", "target_asin", "answer"})
_UNKNOWN = "未提供"
_State = Mapping[str, Any]


def render_observation_state(state: _State) -> str:
    """Text of one state: page block, result of the last action, possible interactions.

    A state without `observation_version` is read as the current version; a fact that a product lacks is shown
    as `未提供`.

    Raises:
        ObservationError: private top-level key, other version, unknown page, missing or contradictory field.
    """
    private = sorted(PRIVATE_KEYS.intersection(state))
    if private:
        raise ObservationError(f"the state holds private keys {private}; take them out before rendering")
    version = state.get("observation_version", OBSERVATION_VERSION)
    if version != OBSERVATION_VERSION:
        raise ObservationError(f"observation_version: expected {OBSERVATION_VERSION!r}, found {version!r}")
    name = state.get("page_type")
    page = _PAGES.get(str(name))
    if page is None:
        raise ObservationError(f"page_type: expected one of {sorted(_PAGES)}, found {name!r}")
    try:
        blocks = [page(state), *_last_action(state), *_interactions(state)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ObservationError(f"the state lacks a field or holds a wrong type: {error!r}") from error
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _text(value: Any, default: str = _UNKNOWN) -> str:
    if value is None:
        return default
    if isinstance(value, (list, tuple, dict)):
        value = compact_json(value)
    return one_line(str(value)) or default


def _home(_state: _State) -> list[str]:
    return ["页面：搜索首页"]


def _terminal(_state: _State) -> list[str]:
    return ["页面：任务已终止", "不能再执行操作。"]


def _results(state: _State) -> list[str]:
    products = state["products"]
    _check_listing([product["asin"] for product in products], state["actions"])
    lines = [
        "页面：搜索结果",
        f"搜索词：{_text(state['search_text'])}",
        f"结果：第 {state['page']}/{state['total_pages']} 页，共 {state['total_results']} 项，"
        f"当前显示排名 {state['rank_start']}-{state['rank_end']}",
        "",
        "商品列表：",
    ]
    for product in products:
        lines.append(f"{product['rank']}. {_text(product.get('title'), '未命名商品')}")
        lines.extend(f"   {line}" for line in _facts(product, product.get("price")))
    return lines if products else [*lines, "（本页没有商品）"]


def _check_listing(listed: list[str], actions: list[str]) -> None:
    offered = [action for action in actions if action not in BUTTONS]
    if listed != offered or len(listed) > PAGE_SIZE:
        raise ObservationError(
            f"expected at most {PAGE_SIZE} products that equal the clickable ones, "
            f"found {listed} listed and {offered} clickable"
        )


def _facts(product: _State, price: Any) -> list[str]:
    lines = [
        f"ASIN：{_text(product['asin'])}",
        f"价格：{_text(price)}",
        f"品牌：{_text(product.get('brand'))}",
        f"类别：{_text(product.get('category'))}",
    ]
    attributes = [text for item in product.get("key_attributes") or () if (text := _text(item, ""))]
    return [*lines, f"关键属性：{'；'.join(attributes)}"] if attributes else lines


def _product(state: _State) -> list[str]:
    product = state["product"]
    price = state.get("selected_price")
    facts = _facts(product, product.get("price") if price is None else price)
    return [
        "页面：商品详情",
        "商品：",
        f"- 标题：{_text(product.get('title'), '未命名商品')}",
        *(f"- {line}" for line in facts),
        "",
        "规格选择：",
        *_options(state),
    ]


def _options(state: _State) -> list[str]:
    lines: list[str] = []
    for axis, values in state["available_options"].items():
        chosen = state["selected_options"].get(axis)
        status = "尚未选择" if chosen is None else f"已选择 {_text(chosen)}"
        lines.append(f"- {_text(axis)}：{status}")
        lines.append(f"  可选值：{' / '.join(_text(value) for value in values)}")
    if not lines:
        lines.append("- 此商品没有规格选项")
    missing = state["missing_option_axes"]
    if missing:
        return [*lines, f"仍需选择：{'、'.join(_text(axis) for axis in missing)}"]
    return [*lines, "规格状态：已选择全部规格，可以购买"] if state["options_complete"] else lines


def _last_action(state: _State) -> list[list[str]]:
    feedback = state.get("last_action")
    if feedback is None:
        return []
    lines = [
        "上次交互结果：",
        f"- 结果：{'成功' if feedback['valid'] else '无效'}",
        f"- 说明：{_text(feedback['message'])}",
    ]
    if feedback["reason"] != "executed":
        lines.append(f"- 原因代码：{_text(feedback['reason'])}")
    return [lines]


def _interactions(state: _State) -> list[list[str]]:
    blocks: list[list[str]] = []
    if state["search_available"]:
        blocks.append(["页面能力：", "- 支持商品搜索"])
    if state["actions"]:
        blocks.append(["可点击元素：", *(f"- {_text(action)}" for action in state["actions"])])
    return blocks or [["当前页面没有可交互元素。"]]


_PAGES: dict[str, Callable[[_State], list[str]]] = {
    "search_home": _home,
    "search_results": _results,
    "product_detail": _product,
    "terminal": _terminal,
}
