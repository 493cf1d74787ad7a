from shopsim_env.shop.tools import static_tools, tools_for


def names(tools):
    return [tool["function"]["name"] for tool in tools]


def parameters(tool):
    return tool["function"]["parameters"]


def test_home_offers_search_alone():
    (search,) = tools_for({"search_available": True, "actions": []})
    assert search["type"] == "function"
    assert search["function"]["name"] == "search"
    query = parameters(search)["properties"]["query"]
    assert (query["type"], query["minLength"]) == ("string", 1)
    assert parameters(search)["required"] == ["query"]
    assert parameters(search)["additionalProperties"] is False


def test_other_pages_offer_clicks_on_what_they_show():
    (click,) = tools_for({"search_available": False, "actions": ["back to search", "颜色=红"]})
    assert click["function"]["name"] == "click"
    value = parameters(click)["properties"]["value"]
    assert (value["type"], value["enum"]) == ("string", ["back to search", "颜色=红"])
    assert parameters(click)["additionalProperties"] is False


def test_the_terminal_page_offers_nothing():
    assert tools_for({"search_available": False, "actions": []}) == []


def test_static_tools_do_not_depend_on_the_page():
    assert names(static_tools()) == ["search", "click"]
    assert "enum" not in parameters(static_tools()[1])["properties"]["value"]


def test_schemas_are_fresh_copies():
    static_tools()[0]["function"].clear()
    assert names(static_tools()) == ["search", "click"]
