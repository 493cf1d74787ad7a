from shop_world import LAMP, PLAIN, WIDE

from shopsim_env.shop.actions import parse_action
from shopsim_env.shop.feedback import executed, refused
from shopsim_env.shop.observation import build_state
from shopsim_env.shop.pages import ProductDetail, SearchHome, SearchResults, Terminal
from shopsim_env.shop.session import play


def results(release, query):
    return play(SearchHome(), parse_action(f"search[{query}]"), release).page


def test_home_state(release):
    assert build_state(SearchHome(), None, release) == {
        "observation_version": "shopping-observation-v7",
        "page_type": "search_home",
        "search_available": True,
        "actions": [],
    }


def test_results_state_of_the_last_page(release):
    page = results(release, "帐篷，zz")
    page = SearchResults(page.query, page.asins, page.total_pages)
    state = build_state(page, executed("click[next >]", "点击已执行"), release)
    assert state["search_text"] == "帐篷，zz"
    assert state["normalized_search_text"] == "帐篷 zz"
    assert (state["page"], state["total_pages"], state["total_results"]) == (3, 3, 47)
    assert (state["rank_start"], state["rank_end"]) == (41, 47)
    assert [product["rank"] for product in state["products"]] == list(range(41, 48))
    assert state["actions"][2:] == [product["asin"] for product in state["products"]]
    assert state["last_action"] == {
        "action": "click[next >]",
        "valid": True,
        "reason": "executed",
        "message": "点击已执行",
    }
    assert state["search_available"] is False


def test_empty_results_state(release):
    state = build_state(results(release, "zzz"), None, release)
    assert (state["rank_start"], state["rank_end"], state["products"]) == (0, 0, [])
    assert "last_action" not in state


def test_product_state_before_and_after_choosing(release):
    page = ProductDetail.open(release.product(LAMP), SearchResults("灯", (LAMP,)))
    state = build_state(page, None, release)
    assert state["product"] == {
        "asin": LAMP,
        "title": "星野 便携 台灯",
        "brand": "山野小店",
        "category": "户外用品›照明›台灯",
        "price": "39.0 to 59.0",
        "key_attributes": ["可充电", "防水"],
    }
    assert state["selected_options"] == {}
    assert state["available_options"] == {"套装": ["单灯", "灯 | 支架 xl"], "颜色分类": ["雾蓝", "沙色"]}
    assert state["missing_option_axes"] == ["套装", "颜色分类"]
    assert state["options_complete"] is False
    assert "selected_price" not in state
    page = play(page, parse_action("click[颜色分类=沙色]"), release).page
    state = build_state(page, None, release)
    assert state["selected_price"] == 59.0
    assert state["selected_options"] == {"颜色分类": "沙色"}
    assert state["missing_option_axes"] == ["套装"]


def test_product_without_axes_is_complete(release):
    page = ProductDetail.open(release.product(PLAIN), SearchResults("杯垫", (PLAIN,)))
    state = build_state(page, None, release)
    assert (state["available_options"], state["options_complete"]) == ({}, True)
    assert state["product"]["key_attributes"] == []


def test_lists_are_cut_but_every_value_stays_clickable(release):
    page = ProductDetail.open(release.product(WIDE), SearchResults("颜料", (WIDE,)))
    state = build_state(page, None, release)
    assert len(state["product"]["key_attributes"]) == 10
    assert len(state["available_options"]["色号"]) == 100
    assert len([text for text in state["actions"] if text.startswith("色号=")]) == 130


def test_terminal_state_keeps_the_last_action_only(release):
    state = build_state(Terminal(), refused("x", "invalid_format", "错"), release)
    assert set(state) == {"observation_version", "page_type", "search_available", "actions", "last_action"}
    assert (state["page_type"], state["actions"], state["search_available"]) == ("terminal", [], False)


def test_states_are_fresh_copies(release):
    page = ProductDetail.open(release.product(LAMP), SearchResults("灯", (LAMP,)))
    first = build_state(page, None, release)
    first["actions"].clear()
    first["available_options"]["套装"].clear()
    first["product"]["key_attributes"].append("x")
    second = build_state(page, None, release)
    assert second["available_options"]["套装"] == ["单灯", "灯 | 支架 xl"]
    assert second["product"]["key_attributes"] == ["可充电", "防水"]
    assert len(second["actions"]) == 6
