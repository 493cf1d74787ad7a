"""The page state machine: (page, action) -> (page, feedback). No goals, no counting, no text rendering.

Pure: pages are values and the catalogue is read-only, so whatever raises in the catalogue leaves the episode
as it was. The order of checks is that of the published environment, with the whole click value compared with
the page before anything else is held against it (contract 7.9).
"""

from dataclasses import dataclass, replace
from typing import Protocol

from shopsim_env.catalog.product import Product
from shopsim_env.search.result import SearchResult
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
    clickable,
    open_options,
)
from shopsim_env.versions import TOP_K


class Catalogue(Protocol):
    """What the pages read: a release or anything that behaves like one."""

    def product(self, asin: str, /) -> Product:
        """The product with this asin."""

    def search(self, query: str, top_k: int, /) -> SearchResult:
        """At most `top_k` ranked hits."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Outcome of one action. `bought` is the product page whose `buy now` was executed."""

    page: Page
    feedback: Feedback
    bought: ProductDetail | None = None


def play(page: Page, parsed: Parsed, catalogue: Catalogue) -> Turn:
    """Applies one action to a page; a refused action returns the page unchanged."""
    action = parsed.action
    if (
        isinstance(action, Click)
        and isinstance(page, (SearchResults, ProductDetail))
        and action.value in clickable(page)
    ):
        return _click(page, action.value, parsed.text, catalogue)
    if action is None or parsed.problem:
        reason = parsed.problem or "invalid_format"
        return Turn(page, refused(parsed.text, reason, PROBLEM_MESSAGES[reason]))
    if isinstance(action, Search):
        return _search(page, action.query, parsed.text, catalogue)
    if isinstance(action, AskShopper):
        message = "当前环境不提供向顾客提问的操作"
        return Turn(page, refused(parsed.text, "unavailable_action", message))
    return Turn(page, _refused_click(page, action.value, parsed.text))


def _search(page: Page, query: str, text: str, catalogue: Catalogue) -> Turn:
    if not query.strip():
        return Turn(page, refused(text, "empty_argument", "搜索内容不能为空"))
    if not isinstance(page, SearchHome):
        return Turn(page, refused(text, "search_unavailable", "当前页面不提供搜索操作"))
    result = catalogue.search(query, TOP_K)
    if result.status == "empty_query":
        message = "搜索内容中没有可检索的文字，请使用汉字、字母或数字"
        return Turn(page, refused(text, "empty_query", message))
    asins = result.asins
    return Turn(SearchResults(query, asins), executed(text, "搜索已执行"))


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
    return ProductDetail.open(catalogue.product(value), page)


def _choose(page: ProductDetail, label: str) -> ProductDetail:
    # Axis names and values may hold "=", so two pairs can share a text. An axis without a choice goes first,
    # then page order: buying stays possible and every combination reachable.
    pairs = [pair for pair in open_options(page) if page.axes[pair[0]].labels[pair[1]] == label]
    axis, index = min(pairs, key=lambda pair: (page.chosen[pair[0]] >= 0, pair))
    chosen = (*page.chosen[:axis], index, *page.chosen[axis + 1 :])
    return replace(page, chosen=chosen)


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
