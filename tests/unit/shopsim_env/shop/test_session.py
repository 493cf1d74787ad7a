import pytest
from shop_world import LAMP, ODD, PLAIN, TENTS, TWINS, WIDE

from shopsim_env.catalog.product import Product
from shopsim_env.shop.actions import AskShopper, Click, Search, parse_action
from shopsim_env.shop.pages import ProductDetail, SearchHome, SearchResults, Terminal, clickable
from shopsim_env.shop.session import play


def play_all(release, *actions, page=None):
    """The last turn of a run; each action is given as text or typed."""
    page = page or SearchHome()
    turn = None
    for action in actions:
        turn = play(page, parse_action(action), release)
        page = turn.page
    return turn


def opened(release, asin):
    return ProductDetail.open(release.product(asin), SearchResults("词", (asin,)))


def reason(turn):
    return turn.feedback.valid, turn.feedback.reason


def test_home_offers_search_and_nothing_to_click(release):
    assert clickable(SearchHome()) == ()
    turn = play_all(release, "click[search]")
    assert reason(turn) == (False, "unavailable_action")
    assert turn.feedback.message == "当前页面不存在可点击项：search"


def test_search_opens_the_first_results_page(release):
    turn = play_all(release, "search[帐篷]")
    assert reason(turn) == (True, "executed")
    assert turn.feedback.message == "搜索已执行"
    assert turn.page.number == 1
    assert len(turn.page.asins) == TENTS


def test_47_hits_make_pages_of_20_20_and_7(release):
    first = play_all(release, "search[帐篷]").page
    second = play_all(release, "click[next >]", page=first).page
    third = play_all(release, "click[next >]", page=second).page
    assert [len(page.shown) for page in (first, second, third)] == [20, 20, 7]
    assert first.total_pages == 3
    assert first.shown + second.shown + third.shown == first.asins
    assert clickable(first) == ("back to search", "next >", *first.shown)
    assert clickable(second) == ("back to search", "< prev", "next >", *second.shown)
    assert clickable(third) == ("back to search", "< prev", *third.shown)
    assert play_all(release, "click[< prev]", page=second).page == first


def test_at_most_150_hits_make_8_pages(release):
    page = play_all(release, "search[毛毡]").page
    assert (len(page.asins), page.total_pages) == (150, 8)
    last = play_all(release, *["click[next >]"] * 7, page=page)
    assert len(last.page.shown) == 10
    assert reason(play_all(release, "click[next >]", page=last.page)) == (False, "unavailable_action")


def test_no_hits_is_one_empty_page_but_no_token_is_no_search(release):
    empty = play_all(release, "search[zzz]")
    assert reason(empty) == (True, "executed")
    assert (empty.page.total_pages, empty.page.shown) == (1, ())
    assert clickable(empty.page) == ("back to search",)
    turn = play_all(release, "search[！！！]")
    assert (reason(turn), turn.page) == ((False, "empty_query"), SearchHome())


@pytest.mark.parametrize(
    ("action", "message"), [("search[ ]", "搜索内容不能为空"), ("click[]", "点击内容不能为空")]
)
def test_empty_argument_comes_before_anything_about_the_page(release, action, message):
    for page in (SearchHome(), SearchResults("x", ()), opened(release, LAMP)):
        turn = play(page, parse_action(action), release)
        assert (reason(turn), turn.feedback.message, turn.page) == ((False, "empty_argument"), message, page)


def test_searching_needs_the_home_page(release):
    for page in (SearchResults("x", ()), opened(release, LAMP), Terminal()):
        turn = play_all(release, "search[灯]", page=page)
        assert reason(turn) == (False, "search_unavailable")
        assert turn.feedback.message == "当前页面不提供搜索操作"
        assert turn.page is page


def test_opening_a_product_and_going_back_to_its_results_page(release):
    second = play_all(release, "search[帐篷]", "click[next >]").page
    detail = play_all(release, f"click[{second.shown[3]}]", "click[颜色=绿]", page=second).page
    assert detail.product.asin == second.shown[3]
    assert play_all(release, "click[< prev]", page=detail).page == second
    assert play_all(release, "click[back to search]", page=detail).page == SearchHome()
    again = play_all(release, "click[< prev]", f"click[{second.shown[3]}]", page=detail).page
    assert again.selected == {}


def test_back_to_search_then_the_same_words_start_at_page_one(release):
    turn = play_all(release, "search[帐篷]", "click[next >]", "click[back to search]", "search[帐篷]")
    assert turn.page.number == 1


def test_options_are_chosen_changed_and_complete(release):
    page = opened(release, LAMP)
    # Axes come in the order of the stored row, which is sorted by name: 套 U+5957 before 颜 U+989C.
    assert clickable(page) == (
        "back to search",
        "< prev",
        "套装=单灯",
        "套装=灯 | 支架 xl",
        "颜色分类=雾蓝",
        "颜色分类=沙色",
    )
    page = play_all(release, "click[颜色分类=雾蓝]", page=page).page
    assert page.selected == {"颜色分类": "雾蓝"}
    assert page.missing_axes == ("套装",)
    assert page.price.price == 39
    page = play_all(release, "click[颜色分类=沙色]", page=page).page
    assert page.price.price == 59
    page = play_all(release, "click[套装=灯 | 支架 xl]", page=page).page
    assert page.selected == {"套装": "灯 | 支架 xl", "颜色分类": "沙色"}
    assert clickable(page) == ("back to search", "< prev", "buy now", "套装=单灯", "颜色分类=雾蓝")


def test_buying_needs_every_axis(release):
    page = opened(release, LAMP)
    turn = play_all(release, "click[buy now]", page=page)
    assert reason(turn) == (False, "incomplete_options")
    assert turn.feedback.message == "购买前还需选择规格轴：套装、颜色分类"
    assert turn.feedback.as_dict()["missing_option_axes"] == ["套装", "颜色分类"]
    assert (turn.page, turn.bought) == (page, None)
    turn = play_all(release, "click[套装=单灯]", "click[颜色分类=雾蓝]", "click[buy now]", page=page)
    assert reason(turn) == (True, "executed")
    assert turn.feedback.message == "购买已执行"
    assert turn.page == Terminal()
    assert turn.bought.selected == {"套装": "单灯", "颜色分类": "雾蓝"}
    assert "missing_option_axes" not in turn.feedback.as_dict()


def test_a_product_without_axes_can_be_bought_at_once(release):
    page = opened(release, PLAIN)
    assert clickable(page) == ("back to search", "< prev", "buy now")
    assert play_all(release, "click[buy now]", page=page).bought == page


def test_chosen_again(release):
    page = play_all(release, "click[颜色分类=雾蓝]", page=opened(release, LAMP)).page
    turn = play_all(release, "click[颜色分类=雾蓝]", page=page)
    assert reason(turn) == (False, "already_selected")
    assert turn.feedback.message == "该规格已经选中：颜色分类=雾蓝"


@pytest.mark.parametrize(
    "value",
    ["Buy Now", "颜色分类=不存在", " 颜色分类=雾蓝", "颜色分类＝雾蓝", "雾蓝", "next >", LAMP, "\ud800"],
)
def test_clicks_are_compared_exactly(release, value):
    page = opened(release, LAMP)
    turn = play_all(release, Click(value), page=page)
    assert (reason(turn), turn.page) == ((False, "unavailable_action"), page)


def test_no_shown_value_is_unclickable(release):
    page = opened(release, ODD)
    odd = [text for text in clickable(page) if text.startswith("尺寸=长x宽=")]
    assert [text[len("尺寸=长x宽=") :] for text in odd] == [
        "a] click[buy now",
        "=",
        "１２ｃｍ【大】",
        "送🎐",
        "两行 字",
        "x" * 5_000,
    ]
    for text in odd:
        for action in (Click(text), f"click[{text}]"):
            turn = play_all(release, action, page=page)
            assert reason(turn) == (True, "executed")
            assert turn.page.shown_selection["尺寸=长x宽"] == text[len("尺寸=长x宽=") :]


def test_a_second_action_is_refused_when_the_page_does_not_show_the_text(release):
    page = opened(release, LAMP)
    turn = play_all(release, "click[套装=单灯] click[buy now]", page=page)
    assert (reason(turn), turn.page) == ((False, "multiple_actions_not_allowed"), page)
    assert reason(play_all(release, "x" * 5_000, page=page)) == (False, "too_long")
    assert reason(play_all(release, "open[1]", page=page)) == (False, "invalid_format")


def test_blank_axes_and_repeated_values_never_block_a_purchase(release):
    page = opened(release, ODD)
    assert [axis.name for axis in page.axes] == ["尺寸=长x宽", "重复"]
    assert page.axes[1].values == ("m | l",)
    turn = play_all(release, "click[重复=m | l]", "click[尺寸=长x宽==]", "click[buy now]", page=page)
    assert turn.bought.selected == {"重复": "m | l", "尺寸=长x宽": "="}


def test_two_pairs_with_one_text_stay_reachable(release):
    page = opened(release, TWINS)
    assert clickable(page).count("a=b=c") == 1
    page = play_all(release, "click[a=b=c]", page=page).page
    assert page.selected == {"a": "b=c"}
    page = play_all(release, "click[a=b=c]", page=page).page
    assert page.selected == {"a": "b=c", "a=b": "c"}
    assert reason(play_all(release, "click[a=b=c]", page=page)) == (False, "already_selected")


def test_a_shared_text_completes_an_open_axis_before_it_changes_a_choice(release):
    page = play_all(release, "click[a=d]", "click[a=b=c]", page=opened(release, TWINS)).page
    assert page.selected == {"a": "d", "a=b": "c"}


def test_values_that_look_alike_collapse_to_the_first():
    product = Product.from_record({"asin": "1", "customization_options": {"色": ["红\x00", "红", "绿"]}})
    page = ProductDetail.open(product, SearchResults("词", ("1",)))
    assert page.axes[0].labels == ("色=红", "色=绿")
    assert page.axes[0].public == ("红\x00", "绿")


def test_every_value_is_clickable_also_beyond_those_shown(release):
    assert len([text for text in clickable(opened(release, WIDE)) if text.startswith("色号=")]) == 130


def test_asking_needs_a_shopper(release):
    turn = play_all(release, AskShopper("预算多少？"))
    assert (reason(turn), turn.page) == ((False, "unavailable_action"), SearchHome())


@pytest.mark.parametrize("query", ["<r>", "<a>", "search_results", '" OR *', "a' AND NOT b", "^灯 NEAR(x)"])
def test_no_query_has_a_special_meaning(release, query):
    turn = play_all(release, Search(query))
    assert reason(turn) == (True, "executed")
    assert turn.page.query == query


def test_the_terminal_page_offers_nothing(release):
    assert clickable(Terminal()) == ()
    assert reason(play_all(release, "click[buy now]", page=Terminal())) == (False, "unavailable_action")
