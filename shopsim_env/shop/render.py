"""The text that the agent reads, a pure function of `observation_state`.

Belongs here: page layout in Chinese, and the refusal of states that must not be shown. Nothing but the state
is read. Every value goes through `one_line`, so no catalogue or model text can forge a line. Source of the
layout: the published renderer for `shopping-observation-v7`; v8 adds the dialogue with the shopper.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shopsim_env.canonical import compact_json
from shopsim_env.errors import ObservationError
from shopsim_env.shop.display import one_line
from shopsim_env.shop.pages import BUTTONS
from shopsim_env.versions import OBSERVATION_VERSION, PAGE_SIZE, SHOPPER_OBSERVATION_VERSION

PRIVATE_KEYS = frozenset({"goal", "reward", "reward_detail", "target_asin", "answer"})
BLANK_LINE = "\n\n"
_UNKNOWN = "未提供"
_VERSIONS = [OBSERVATION_VERSION, SHOPPER_OBSERVATION_VERSION]
_SPEAKERS = {"shopper": "顾客", "agent": "提问"}
_State = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PageText:
    """The two blocks of a text that depend on the page alone: the page itself, and what can be clicked."""

    page: str
    clickable: str


def render_observation_state(state: _State, text: PageText | None = None) -> str:
    """Text of one state: page block, result of the last action, possible interactions.

    A state without `observation_version` is read as the current version; a fact that a product lacks is shown
    as `未提供`. The environment passes the `text` that `page_text` made of an equal page, to save work.

    Raises:
        ObservationError: private top-level key, other version, unknown page, missing or contradictory field.
    """
    if not PRIVATE_KEYS.isdisjoint(state):
        private = sorted(PRIVATE_KEYS.intersection(state))
        raise ObservationError(f"the state holds private keys {private}; take them out before rendering")
    version = state.get("observation_version", OBSERVATION_VERSION)
    if version not in _VERSIONS:
        raise ObservationError(f"observation_version: expected one of {_VERSIONS}, found {version!r}")
    name = state.get("page_type")
    if str(name) not in _PAGES:
        raise ObservationError(f"page_type: expected one of {sorted(_PAGES)}, found {name!r}")
    try:
        text = text or page_text(state)
        talk = ["\n".join(shopper_lines(state))] if version == SHOPPER_OBSERVATION_VERSION else []
        feedback = state.get("last_action")
        last = [] if feedback is None else [last_action_block(feedback)]
        blocks = [text.page, *talk, *last, *_interactions(state, text.clickable)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ObservationError(f"the state lacks a field or holds a wrong type: {error!r}") from error
    return BLANK_LINE.join(blocks) + "\n"


def page_text(state: _State, listed: Sequence[str] | None = None) -> PageText:
    """The blocks of a state that depend on its page alone.

    Args:
        state: A state that may be rendered.
        listed: `listing_text` of its products, where somebody has them.
    """
    if state["page_type"] == "search_results":
        lines = _results(state, listed)
    else:
        lines = _PAGES[state["page_type"]](state)
    clickable = "\n- ".join(["可点击元素：", *_texts(state["actions"])])
    return PageText("\n".join(lines), clickable if state["actions"] else "")


def _text(value: Any, default: str = _UNKNOWN) -> str:
    if type(value) is str:
        return one_line(value) or default
    if value is None:
        return default
    if isinstance(value, (list, tuple, dict)):
        value = compact_json(value)
    return one_line(str(value)) or default


def _texts(values: Sequence[Any]) -> Sequence[str]:
    """`_text` of each value. Many clean texts are recognised at once, which most lists of a page are."""
    try:
        flat = " ".join(values)
    except TypeError:
        flat = ""
    if flat and one_line(flat) is flat:
        return values
    return [_text(value) for value in values]


def _home(_state: _State) -> list[str]:
    return ["页面：搜索首页"]


def _terminal(_state: _State) -> list[str]:
    return ["页面：任务已终止", "不能再执行操作。"]


def _results(state: _State, listed: Sequence[str] | None = None) -> list[str]:
    products = state["products"]
    _check_listing([product["asin"] for product in products], state["actions"])
    listed = [listing_text(product) for product in products] if listed is None else listed
    lines = [
        "页面：搜索结果",
        f"搜索词：{_text(state['search_text'])}",
        f"结果：第 {state['page']}/{state['total_pages']} 页，共 {state['total_results']} 项，"
        f"当前显示排名 {state['rank_start']}-{state['rank_end']}",
        "",
        "商品列表：",
        *(f"{product['rank']}. {text}" for product, text in zip(products, listed, strict=True)),
    ]
    return lines if products else [*lines, "（本页没有商品）"]


def listing_text(product: _State) -> str:
    """A product in a list of results, without its rank."""
    facts = (f"   {line}" for line in _facts(product, product.get("price")))
    return "\n".join([_text(product.get("title"), "未命名商品"), *facts])


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
        lines.append(f"  可选值：{' / '.join(_texts(values))}")
    if not lines:
        lines.append("- 此商品没有规格选项")
    missing = state["missing_option_axes"]
    if missing:
        return [*lines, f"仍需选择：{'、'.join(_text(axis) for axis in missing)}"]
    return [*lines, "规格状态：已选择全部规格，可以购买"] if state["options_complete"] else lines


def shopper_lines(state: _State) -> list[str]:
    """The dialogue of a v8 state, one line a turn."""
    turns = state["shopper"]["dialogue"]
    return ["顾客对话：", *(f"- {_SPEAKERS[turn['speaker']]}：{_text(turn['text'])}" for turn in turns)]


def last_action_block(feedback: _State) -> str:
    """What came of the last action: the block between the page and what can be done on it."""
    lines = [
        "上次交互结果：",
        f"- 结果：{'成功' if feedback['valid'] else '无效'}",
        f"- 说明：{_text(feedback['message'])}",
    ]
    if feedback["reason"] != "executed":
        lines.append(f"- 原因代码：{_text(feedback['reason'])}")
    return "\n".join(lines)


def _interactions(state: _State, clickable: str) -> list[str]:
    blocks: list[str] = []
    abilities = ["- 支持商品搜索"] if state["search_available"] else []
    if state.get("ask_available"):
        abilities.append("- 支持向顾客提问")
    if abilities:
        blocks.append("\n".join(["页面能力：", *abilities]))
    if clickable:
        blocks.append(clickable)
    return blocks or ["当前页面没有可交互元素。"]


_PAGES: dict[str, Callable[[_State], list[str]]] = {
    "search_home": _home,
    "search_results": _results,
    "product_detail": _product,
    "terminal": _terminal,
}
