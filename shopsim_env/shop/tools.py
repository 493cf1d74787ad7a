"""OpenAI-style tool schemas for a page (`shopping-tools-v5`).

Belongs here: the dynamic schema, whose enum is what the page shows, and the static one for trainers that
freeze schemas. Reading a call is in `actions`. Source: seed, 运行闭环.
"""

from collections.abc import Mapping
from typing import Any


def tools_for(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Tools of one page: `search` iff `search_available`, `click` over the shown values iff there are any.

    `ask_shopper` follows iff `ask_available`, which multi-turn states have. The terminal page has none.
    """
    tools = []
    if state["search_available"]:
        tools.append(_search())
    if state["actions"]:
        tools.append(_click({"type": "string", "enum": list(state["actions"])}))
    if state.get("ask_available"):
        tools.append(_ask())
    return tools


def static_tools(shopper: bool = False) -> list[dict[str, Any]]:
    """The same tools on every page, `ask_shopper` with a shopper; values to click are in the observation."""
    tools = [_search(), _click({"type": "string", "minLength": 1})]
    return [*tools, _ask()] if shopper else tools


def _search() -> dict[str, Any]:
    query = {"type": "string", "minLength": 1, "description": "要搜索的商品关键词"}
    return _function("search", "在搜索首页搜索商品。", "query", query)


def _click(value: dict[str, Any]) -> dict[str, Any]:
    described = {**value, "description": "当前页面列出的可点击元素，须与页面文字完全一致"}
    return _function("click", "点击当前页面中的一个元素。", "value", described)


def _ask() -> dict[str, Any]:
    message = {"type": "string", "minLength": 1, "description": "要问顾客的话"}
    return _function("ask_shopper", "向顾客提问，页面保持不变。", "message", message)


def _function(name: str, description: str, argument: str, schema: dict[str, Any]) -> dict[str, Any]:
    parameters = {
        "type": "object",
        "properties": {argument: schema},
        "required": [argument],
        "additionalProperties": False,
    }
    function = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": function}
