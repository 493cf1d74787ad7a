"""Legal calls, faults and their words, published forms of the tools; all from one source."""

import json
import subprocess
import sys
from typing import Any

import pytest
from places import ROOT
from rlve_shop import call, episode, shown

from shopsim_env.errors import UsageError
from shopsim_env.rlve import tools
from shopsim_env.rlve.overlay import Overlay
from shopsim_env.rlve.protocol import Call
from shopsim_env.rlve.shelf import Shelf
from shopsim_env.rlve.tools import (
    ALIASES,
    TOOLS,
    ToolFault,
    check_call,
    functions,
    run_tool,
    schemas,
    tool_text,
)

NAMES = [
    "catalog.search",
    "catalog.rerank",
    "catalog.get_product",
    "catalog.get_variants",
    "cart.view",
    "cart.add",
    "cart.remove",
    "cart.set_quantity",
    "order.list",
    "order.get_status",
    "order.checkout",
    "return.check_eligibility",
    "return.initiate",
    "return.exchange",
    "policy.search",
    "datetime.now",
    "user.get_visit_history",
]


def test_the_seventeen_tools() -> None:
    assert list(TOOLS) == NAMES
    assert ALIASES["catalog_get_product"] == "catalog.get_product"
    assert len(ALIASES) == 17


def test_an_alias_is_the_same_tool(shelf: Shelf) -> None:
    overlay = episode(shelf)
    assert call(overlay, "datetime_now") == call(overlay, "datetime.now")


@pytest.mark.parametrize(
    ("name", "args", "code", "words"),
    [
        ("cart.ad", {}, "unknown_tool", "did you mean cart.add?"),
        ("???", {}, "unknown_tool", "the tools are catalog.search"),
        (
            "cart.add",
            {"product_id": "p", "qty": 2},
            "bad_arguments",
            "qty: unknown argument, did you mean quantity?",
        ),
        ("cart.view", {"x": 1}, "bad_arguments", "x: unknown argument (known: none)"),
        ("cart.add", {}, "bad_arguments", "product_id: Field required"),
        ("cart.add", {"product_id": "p", "quantity": "2"}, "bad_arguments", "quantity"),
        ("cart.add", {"product_id": "p", "quantity": True}, "bad_arguments", "quantity"),
        ("cart.add", {"product_id": "p", "quantity": 2.0}, "bad_arguments", "quantity"),
        ("cart.add", {"product_id": "p", "quantity": 0}, "bad_arguments", "quantity"),
        ("catalog.search", {"query": "a", "top_k": 0}, "bad_arguments", "top_k"),
        ("catalog.search", {"query": "a", "top_k": 501}, "bad_arguments", "top_k"),
        (
            "catalog.search",
            {"query": "a", "filters": {"cat": "x"}},
            "bad_arguments",
            "filters.cat: unknown argument",
        ),
        (
            "catalog.search",
            {"query": "a", "filters": {"price_max": float("nan")}},
            "bad_arguments",
            "price_max",
        ),
        ("catalog.search", {"query": "a", "filters": {"price_max": -1}}, "bad_arguments", "price_max"),
        ("catalog.search", {"query": "\ud800"}, "bad_arguments", "query"),
        (
            "catalog.rerank",
            {"query": "a", "candidate_product_ids": []},
            "bad_arguments",
            "candidate_product_ids",
        ),
        ("order.list", {"days": 366}, "bad_arguments", "days"),
        ("return.initiate", {"a": 1, "b": 1, "c": 1, "d": 1}, "bad_arguments", "and 5 more"),
    ],
)
def test_faults_say_what_is_wrong(
    shelf: Shelf, name: str, args: dict[str, Any], code: str, words: str
) -> None:
    overlay = episode(shelf)
    for run in (lambda: run_tool(overlay, Call(name, args)), lambda: check_call(Call(name, args))):
        with pytest.raises(ToolFault) as caught:
            run()
        assert caught.value.code == code
        assert words in str(caught.value)
    assert not overlay.carted, "nothing happened"


def test_a_call_is_read_once_and_run_later(shelf: Shelf) -> None:
    overlay = episode(shelf)
    args = {"product_id": shown(overlay, 1)}
    legal = check_call(Call("catalog.get_product", args))
    assert legal.run(overlay) == run_tool(overlay, Call("catalog_get_product", args))
    unknown = check_call(Call("catalog.get_product", {"product_id": "p_guessed"}))
    assert unknown.run(overlay)["error"]["code"] == "product_not_found"


@pytest.mark.parametrize("top_k", [1, 500])
def test_bounds_of_top_k_are_legal(top_k: int) -> None:
    """Case tool-search-topk-bounds; the other two values are among the faults."""
    check_call(Call("catalog.search", {"query": "a", "top_k": top_k}))


def test_null_stands_for_an_absent_argument(shelf: Shelf) -> None:
    overlay = episode(shelf)
    name = shown(overlay, 1)
    added = call(overlay, "cart.add", product_id=name, variant_id=None)
    assert added["lines"][0]["quantity"] == 1


def test_forms_for_prompts_and_function_calling() -> None:
    zh, en = schemas("zh"), schemas("en")
    assert list(zh) == NAMES
    add = en["cart.add"]
    assert add["required"] == ["product_id"]
    assert add["additionalProperties"] is False
    assert add["properties"]["quantity"] == {
        "default": 1,
        "description": "units",
        "maximum": 1000,
        "minimum": 1,
        "type": "integer",
    }
    assert zh["cart.add"]["properties"]["quantity"]["description"] == "数量"
    text = json.dumps([zh, en])
    assert not any(word in text for word in ("$ref", "$defs", "x-en", '"title"'))
    filters = en["catalog.search"]["properties"]["filters"]["anyOf"][0]
    assert set(filters["properties"]) == {
        *(
            "category",
            "brand",
            "price_min",
            "price_max",
            "rating_min",
            "rating_count_min",
            "rating_count_max",
        ),
        *("ship_days_min", "ship_days_max", "stock_min", "in_stock", "attributes"),
    }
    assert filters["additionalProperties"] is False
    listed = functions("en", ["cart.add"])
    assert listed == [
        {
            "type": "function",
            "function": {"name": "cart_add", "description": "Put a product into the cart", "parameters": add},
        }
    ]
    assert len(functions()) == 17


def test_text_for_prompts_names_every_tool_and_argument() -> None:
    text = tool_text("en")
    lines = text.splitlines()
    assert [line.partition(":")[0] for line in lines if not line.startswith(" ")] == NAMES
    assert "  quantity?: integer (= 1). units" in lines
    assert "    price_max?: number. highest price" in lines
    assert "  candidate_product_ids: [string]. ids of the products to rank" in lines
    assert "  query: string. 要查的规则" in tool_text("zh").splitlines()


def test_an_agent_is_told_how_rules_are_read() -> None:
    """Which rule decides is nowhere else in what an agent sees."""
    said = {language: functions(language, ["policy.search"])[0]["function"] for language in ("zh", "en")}
    assert "优先级数字最大的一条" in said["zh"]["description"]
    assert "greatest precedence decides; cite its id" in said["en"]["description"]


class Rules:
    """Rules that refuse an empty query, as the policy base does."""

    def search(self, query: str, top_k: int, language: str) -> list[dict[str, Any]]:
        if not query:
            raise UsageError("expected a word", code="policy_query")
        return [{"snippet_id": f"{language}-{query}"}] * top_k


def test_policy_clock_and_history(shelf: Shelf) -> None:
    overlay = episode(shelf)
    assert call(overlay, "policy.search", query="x") == {"snippets": []}
    overlay.policies = Rules()
    assert call(overlay, "policy.search", query="x", top_k=2) == {"snippets": [{"snippet_id": "zh-x"}] * 2}
    assert call(overlay, "policy.search", query="")["error"]["code"] == "policy_query"
    now = call(overlay, "datetime.now")
    assert set(now) == {"date", "day_of_week", "time"}
    assert now["date"] == overlay.today.isoformat() == episode(shelf).today.isoformat()
    assert now["day_of_week"] == overlay.today.strftime("%A")
    assert call(overlay, "user.get_visit_history") == {"products": []}
    overlay.visits = (3, 1)
    cards = call(overlay, "user.get_visit_history")["products"]
    assert [card["title"] for card in cards] == ["item2 widget even", "item0 widget even"]
    assert [overlay.seen.source(card["product_id"]) for card in cards] == ["history", "history"]


def guess(overlay: Overlay) -> str:
    return overlay.ids.product_id(1)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("catalog.get_product", {}),
        ("catalog.get_variants", {}),
        ("cart.add", {}),
    ],
)
def test_a_guessed_id_is_not_found_and_not_seen(shelf: Shelf, name: str, more: dict[str, Any]) -> None:
    """Cases seen-guess and tool-add-unknown-product: even the right id, guessed, is nothing."""
    overlay = episode(shelf)
    for product_id in (guess(overlay), "zzz"):
        assert call(overlay, name, product_id=product_id, **more)["error"]["code"] == "product_not_found"
    assert call(overlay, "catalog.rerank", query="widget", candidate_product_ids=[guess(overlay)]) == {
        "product_ids": []
    }
    assert guess(overlay) not in overlay.seen
    assert overlay.ids.number(guess(overlay)) is None
    assert not overlay.cart.lines


def test_without_pydantic_the_first_use_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['pydantic'] = None\n"
        "from shopsim_env.errors import UsageError\n"
        "from shopsim_env.rlve.protocol import Call\n"
        "from shopsim_env.rlve.tools import check_call\n"
        "try: check_call(Call('cart.view'))\n"
        "except UsageError as error: print(error.code, error)"
    )
    command = [sys.executable, "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert found.stdout.strip() == (
        "missing_extra the tools of RLVE need the pydantic package; install 'shopsim[rlve]'."
    )
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tools.nothing  # noqa: B018
