"""`observation_state`, schema `shopping-observation-v7` (v8 with a shopper).

The only public source of page facts and actions.

Belongs here: the structured state of each page. Does not belong here: its text (`render`), goals, rewards.
Every call builds fresh lists and dicts, so a caller may change them without touching an episode.
"""

from typing import Any

from shopsim_env.shop.feedback import Feedback
from shopsim_env.shop.pages import (
    Page,
    ProductDetail,
    SearchHome,
    SearchResults,
    Terminal,
    clickable,
)
from shopsim_env.shop.render import PageText, page_text
from shopsim_env.shop.shelf import Catalogue, Listing, Shelf, View, as_shelf, copied, summary
from shopsim_env.text.normalize import normalize_query
from shopsim_env.versions import OBSERVATION_VERSION, SHOPPER_OBSERVATION_VERSION

SHOWN_VALUES = 100

_PAGE_TYPES: dict[type[Page], str] = {
    SearchHome: "search_home",
    SearchResults: "search_results",
    ProductDetail: "product_detail",
    Terminal: "terminal",
}


def build_state(
    page: Page,
    feedback: Feedback | None,
    catalogue: Catalogue,
    shopper: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The state of `page`; `last_action` is present once an action was taken.

    With a `shopper` block (fresh; multi-turn) it is a v8 state, which also says whether asking is possible.
    """
    return observe(page, feedback, as_shelf(catalogue), shopper)[0]


def observe(
    page: Page, feedback: Feedback | None, shelf: Shelf, shopper: dict[str, Any] | None = None
) -> tuple[dict[str, Any], PageText]:
    """The state of `page` as `build_state` gives it, and the blocks of its text that the page alone decides.

    Both come from the shelf when an equal page was shown lately; the state is a fresh copy then.
    """
    view = shelf.view(page)
    if view is None:
        template, listed = _template(page, shelf)
        state = _fresh(template)
        view = View(page, template, page_text(state, listed))
        shelf.keep(view)
    else:
        state = _fresh(view.state)
    if shopper is not None:
        state["observation_version"] = SHOPPER_OBSERVATION_VERSION
        state["ask_available"] = not isinstance(page, Terminal)
        state["shopper"] = shopper
    if feedback is not None:
        state["last_action"] = feedback.as_dict()
    return state, view.text


def _template(page: Page, shelf: Shelf) -> tuple[dict[str, Any], list[str] | None]:
    """What the page alone puts into a state, and the texts of listed products. Never handed out."""
    state: dict[str, Any] = {
        "observation_version": OBSERVATION_VERSION,
        "page_type": page_type(page),
        "search_available": isinstance(page, SearchHome),
        "actions": list(clickable(page)),
    }
    if isinstance(page, SearchResults):
        cards = [shelf.listing(asin) for asin in page.shown]
        state.update(_results(page, cards))
        return state, [card.text for card in cards]
    if isinstance(page, ProductDetail):
        state.update(_product(page))
    return state, None


def _fresh(state: dict[str, Any]) -> dict[str, Any]:
    fresh = state.copy()
    fresh["actions"] = state["actions"].copy()
    if "products" in state:
        fresh["products"] = products = [product.copy() for product in state["products"]]
        for rank, product in enumerate(products, start=state["rank_start"]):
            product["key_attributes"] = product["key_attributes"].copy()
            product["rank"] = rank
    elif "product" in state:
        fresh["product"] = copied(state["product"])
        fresh["selected_options"] = state["selected_options"].copy()
        fresh["missing_option_axes"] = state["missing_option_axes"].copy()
        options = state["available_options"].items()
        fresh["available_options"] = {axis: values.copy() for axis, values in options}
    return fresh


def page_type(page: Page) -> str:
    """`search_home`, `search_results`, `product_detail` or `terminal`."""
    return _PAGE_TYPES[type(page)]


def _results(page: SearchResults, cards: list[Listing]) -> dict[str, Any]:
    first = (page.number - 1) * page.page_size + 1
    return {
        "search_text": page.query,
        "normalized_search_text": normalize_query(page.query),
        "page": page.number,
        "total_pages": page.total_pages,
        "total_results": len(page.asins),
        "rank_start": first if cards else 0,
        "rank_end": first + len(cards) - 1 if cards else 0,
        "products": [card.facts for card in cards],  # shared; a copy gets its rank
    }


def _product(page: ProductDetail) -> dict[str, Any]:
    missing = list(page.missing_axes)
    facts: dict[str, Any] = {
        "product": summary(page.product),
        "selected_options": page.shown_selection,
        "available_options": {axis.name: list(axis.values[:SHOWN_VALUES]) for axis in page.axes},
        "missing_option_axes": missing,
        "options_complete": not missing,
    }
    resolution = page.price
    if resolution.status == "pass" and resolution.price is not None:
        facts["selected_price"] = float(resolution.price)
    return facts
