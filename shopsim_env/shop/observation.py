"""`observation_state`, schema `shopping-observation-v7`: the only public source of page facts and actions.

Belongs here: the structured state of each page. Does not belong here: its text (`render`), goals, rewards.
Every call builds fresh lists and dicts, so a caller may change them without touching an episode.
"""

from typing import Any

from shopsim_env.catalog.product import Product
from shopsim_env.shop.feedback import Feedback
from shopsim_env.shop.pages import (
    Page,
    ProductDetail,
    SearchHome,
    SearchResults,
    Terminal,
    clickable,
)
from shopsim_env.shop.session import Catalogue
from shopsim_env.text.normalize import normalize_query
from shopsim_env.versions import OBSERVATION_VERSION, PAGE_SIZE

KEY_ATTRIBUTES = 10
SHOWN_VALUES = 100


def build_state(page: Page, feedback: Feedback | None, catalogue: Catalogue) -> dict[str, Any]:
    """The state of `page`; `last_action` is present once an action was taken."""
    state: dict[str, Any] = {
        "observation_version": OBSERVATION_VERSION,
        "page_type": page_type(page),
        "search_available": isinstance(page, SearchHome),
        "actions": list(clickable(page)),
    }
    if isinstance(page, SearchResults):
        state.update(_results(page, catalogue))
    elif isinstance(page, ProductDetail):
        state.update(_product(page))
    if feedback is not None:
        state["last_action"] = feedback.as_dict()
    return state


def page_type(page: Page) -> str:
    """`search_home`, `search_results`, `product_detail` or `terminal`."""
    names = {
        SearchHome: "search_home",
        SearchResults: "search_results",
        ProductDetail: "product_detail",
        Terminal: "terminal",
    }
    return names[type(page)]


def _summary(product: Product) -> dict[str, Any]:
    attributes = [text for text in product.attributes if text.strip()]
    return {
        "asin": product.asin,
        "title": product.title,
        "brand": product.brand,
        "category": product.category,
        "price": product.listing_text or None,
        "key_attributes": attributes[:KEY_ATTRIBUTES],
    }


def _results(page: SearchResults, catalogue: Catalogue) -> dict[str, Any]:
    first = (page.number - 1) * PAGE_SIZE + 1
    shown = page.shown
    products = [
        {**_summary(catalogue.product(asin)), "rank": rank} for rank, asin in enumerate(shown, start=first)
    ]
    return {
        "search_text": page.query,
        "normalized_search_text": normalize_query(page.query),
        "page": page.number,
        "total_pages": page.total_pages,
        "total_results": len(page.asins),
        "rank_start": first if shown else 0,
        "rank_end": first + len(shown) - 1 if shown else 0,
        "products": products,
    }


def _product(page: ProductDetail) -> dict[str, Any]:
    missing = list(page.missing_axes)
    facts: dict[str, Any] = {
        "product": _summary(page.product),
        "selected_options": page.shown_selection,
        "available_options": {axis.name: list(axis.values[:SHOWN_VALUES]) for axis in page.axes},
        "missing_option_axes": missing,
        "options_complete": not missing,
    }
    resolution = page.price
    if resolution.status == "pass" and resolution.price is not None:
        facts["selected_price"] = float(resolution.price)
    return facts
