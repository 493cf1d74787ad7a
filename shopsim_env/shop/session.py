"""The page state machine: (page, action) -> (page, feedback). No goals, no counting, no text rendering.

Pure: pages are values and the catalogue is read-only, so whatever raises in the catalogue leaves the episode
as it was. The order of checks is that of the published environment, with the whole click value compared with
the page before anything else is held against it (contract 7.9).
"""

from dataclasses import replace
from typing import NamedTuple

from shopsim_env.shop.actions import AskShopper, Click, Parsed, Search
from shopsim_env.shop.display import echo, one_line
from shopsim_env.shop.feedback import PROBLEM_MESSAGES, Feedback, executed, refused
from shopsim_env.shop.pages import (
    BACK,
    BUY,
    NEXT,
    PREVIOUS,
    Page,
    ProductDetail,
    SearchHome,
    SearchResults,
    Terminal,
    offers,
)
from shopsim_env.shop.shelf import Catalogue, as_shelf
from shopsim_env.versions import PAGE_SIZE


class Turn(NamedTuple):
    """Outcome of one action. `bought` is the product page whose `buy now` was executed."""

    page: Page
    feedback: Feedback
    bought: ProductDetail | None = None


def play(page: Page, parsed: Parsed, catalogue: Catalogue, page_size: int = PAGE_SIZE) -> Turn:
    """Applies one action to a page; a refused action returns the page unchanged.

    `page_size` is the number of products on a results page.
    """
    action = parsed.action
    if (
        isinstance(action, Click)
        and isinstance(page, (SearchResults, ProductDetail))
        and offers(page, action.value)
    ):
        return _click(page, action.value, parsed.text, catalogue)
    if action is None or parsed.problem:
        reason = parsed.problem or "invalid_format"
        return Turn(page, refused(parsed.text, reason, PROBLEM_MESSAGES[reason]))
    if isinstance(action, Search):
        return _search(page, action.query, parsed.text, catalogue, page_size)
    if isinstance(action, AskShopper):
        message = "当前环境不提供向顾客提问的操作"
        return Turn(page, refused(parsed.text, "unavailable_action", message))
    return Turn(page, _refused_click(page, action.value, parsed.text))


def _search(page: Page, query: str, text: str, catalogue: Catalogue, page_size: int) -> Turn:
    if not query.strip():
        return Turn(page, refused(text, "empty_argument", "搜索内容不能为空"))
    if not isinstance(page, SearchHome):
        return Turn(page, refused(text, "search_unavailable", "当前页面不提供搜索操作"))
    found = as_shelf(catalogue).find(query)
    if found.status == "empty_query":
        message = "搜索内容中没有可检索的文字，请使用汉字、字母或数字"
        return Turn(page, refused(text, "empty_query", message))
    return Turn(SearchResults(query, found.asins, page_size=page_size), executed(text, "搜索已执行"))


def _click(page: SearchResults | ProductDetail, value: str, text: str, catalogue: Catalogue) -> Turn:
    done = executed(text, "点击已执行")
    if value == BACK:
        return Turn(SearchHome(), done)
    if isinstance(page, ProductDetail):
        if value == BUY:
            return Turn(Terminal(), executed(text, "购买已执行"), page)
        return Turn(page.origin if value == PREVIOUS else _choose(page, value), done)
    return Turn(_from_results(page, value, catalogue), done)


def _from_results(page: SearchResults, value: str, catalogue: Catalogue) -> Page:
    if value == NEXT:
        return replace(page, number=page.number + 1)
    if value == PREVIOUS:
        return replace(page, number=page.number - 1)
    return as_shelf(catalogue).open(value, page)


def _choose(page: ProductDetail, label: str) -> ProductDetail:
    # Axis names and values may hold "=", so two pairs can share a text. An axis without a choice goes first,
    # then page order: buying stays possible and every combination reachable.
    pairs = [
        (position, axis.labels.index(label))
        for position, axis in enumerate(page.axes)
        if label in axis.labels
    ]
    free = [pair for pair in pairs if page.chosen[pair[0]] != pair[1]]
    axis, index = min(free, key=lambda pair: (page.chosen[pair[0]] >= 0, pair))
    chosen = (*page.chosen[:axis], index, *page.chosen[axis + 1 :])
    return ProductDetail(page.product, page.axes, chosen, page.origin)


def _refused_click(page: Page, value: str, text: str) -> Feedback:
    if not value.strip():
        return refused(text, "empty_argument", "点击内容不能为空")
    if isinstance(page, ProductDetail):
        pairs = zip(page.axes, page.chosen, strict=True)
        if any(index >= 0 and axis.labels[index] == value for axis, index in pairs):
            return refused(text, "already_selected", f"该规格已经选中：{echo(value)}")
        if value == BUY:
            missing = page.missing_axes
            names = "、".join(one_line(name) for name in missing)
            return refused(text, "incomplete_options", f"购买前还需选择规格轴：{names}", missing)
    return refused(text, "unavailable_action", f"当前页面不存在可点击项：{echo(value)}")
