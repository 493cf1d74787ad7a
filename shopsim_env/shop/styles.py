"""The two texts of a state: `full`, the published one, and `compact` for models with a small context.

Belongs here: the compact layout and the table of styles. The full layout is in `render`. Both are pure
functions of the state, both show every text that can be clicked, and both refuse the same states.
"""

from collections.abc import Callable, Mapping
from typing import Any

from shopsim_env.shop.display import one_line
from shopsim_env.shop.render import PageText, render_observation_state, shopper_lines

_State = Mapping[str, Any]


def render_compact(state: _State, text: PageText | None = None) -> str:
    """Short text of a state: each product on one line, each clickable text once.

    A product that is listed is clicked by the number in brackets (its asin). Brands, attributes and the
    category of listed products are left out; the page of a product shows them.

    Raises:
        ObservationError: as for `render_observation_state`.
    """
    render_observation_state(state, text)  # one place decides which states may be shown
    lines = [*_PAGES[state["page_type"]](state), *_last_action(state), *_answer(state)]
    listed = {product["asin"] for product in state.get("products", ())}
    clicks = [one_line(action) for action in state["actions"] if action not in listed]
    if state["search_available"]:
        lines.append("可搜索")
    if state.get("ask_available"):
        lines.append("可提问")
    if clicks or listed:
        lines.append("可点击：" + ("[ASIN]" if listed else ""))
    return "\n".join([*lines, *(f"- {text}" for text in clicks)]) + "\n"


def _home(_state: _State) -> list[str]:
    return ["搜索首页"]


def _terminal(_state: _State) -> list[str]:
    return ["任务已终止"]


def _results(state: _State) -> list[str]:
    head = f"搜索结果 {state['page']}/{state['total_pages']} 共{state['total_results']}：" + one_line(
        state["search_text"]
    )
    return [head, *(_listed(product) for product in state["products"])]


def _listed(product: _State) -> str:
    return one_line(f"{product['rank']} [{product['asin']}] {product['title']} ￥{product['price'] or '?'}")


def _product(state: _State) -> list[str]:
    product = state["product"]
    price = state.get("selected_price") or product["price"] or "?"
    facts = [
        product["title"],
        f"￥{price}",
        product["brand"],
        product["category"],
        *product["key_attributes"],
    ]
    chosen = [f"{axis}={value}" for axis, value in state["selected_options"].items()]
    missing = state["missing_option_axes"]
    return [
        f"商品 [{product['asin']}] " + "；".join(one_line(str(fact)) for fact in facts if fact),
        *([f"已选：{'；'.join(map(one_line, chosen))}"] if chosen else []),
        *([f"待选：{'、'.join(map(one_line, missing))}"] if missing else []),
    ]


def _last_action(state: _State) -> list[str]:
    feedback = state.get("last_action")
    if feedback is None or feedback["valid"]:
        return []
    return [f"无效：{one_line(feedback['message'])}（{feedback['reason']}）"]


def _answer(state: _State) -> list[str]:
    """The last question and its answer, or the opening."""
    return shopper_lines(state)[1:][-2:] if "shopper" in state else []


_PAGES: dict[str, Callable[[_State], list[str]]] = {
    "search_home": _home,
    "search_results": _results,
    "product_detail": _product,
    "terminal": _terminal,
}

RENDERERS: dict[str, Callable[[_State, PageText | None], str]] = {
    "full": render_observation_state,
    "compact": render_compact,
}
