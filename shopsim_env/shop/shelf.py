"""What pages need of products and queries, made once and kept for a while.

Belongs here: bounded caches over a release, shared by all episodes that play it. Everything kept is a pure
function of the release, so the caches change speed and memory and nothing that is shown; what is handed out
is immutable or copied. Texts are made by `render`, states by `observation`. No goals.
"""

import sys
from dataclasses import dataclass, field
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from shopsim_env.cache import BoundedCache
from shopsim_env.catalog.product import Product
from shopsim_env.locks import fork_safe_lock
from shopsim_env.search.result import SearchResult
from shopsim_env.shop.pages import OfferedAxis, Page, ProductDetail, SearchResults, offered_axes
from shopsim_env.shop.render import PageText, listing_text
from shopsim_env.versions import TOP_K

KEY_ATTRIBUTES = 10

LISTINGS = 16_384
OPENED = 2_048
QUERIES = 4_096
RESULTS = 2_048
VIEWS = 4_096
SCORES = 8_192
STARTS = 512
DETAILS = 2_048
TURNS = 8_192


class Catalogue(Protocol):
    """What the pages read: a release or anything that behaves like one."""

    def product(self, asin: str, /) -> Product:
        """The product with this asin."""

    def search(self, query: str, top_k: int, /) -> SearchResult:
        """At most `top_k` ranked hits."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A product in a list of results: its facts, to be copied, and its text without the rank."""

    facts: dict[str, Any]
    text: str


@dataclass(frozen=True, slots=True)
class View:
    """A page as it is shown: what its state has because of the page, to be copied, and its text.

    `encoded` is for a server: the page as bytes, made at most once.
    """

    page: Page
    state: dict[str, Any]
    text: PageText
    encoded: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class Found:
    """Status and ranked asins of a query."""

    status: str
    asins: tuple[str, ...]


class ShelfCaches:
    """The bounded caches of one release.

    `scores` belongs to the episode: purchases scored lately. `details`, `starts` and `turns` belong to a
    server: reward details as JSON, starts of episodes, and what came of an action on a page.
    """

    __slots__ = ("details", "listings", "opened", "queries", "results", "scores", "starts", "turns", "views")

    def __init__(self) -> None:
        self.listings: BoundedCache[str, Listing] = BoundedCache(LISTINGS)
        self.opened: BoundedCache[str, tuple[Product, tuple[OfferedAxis, ...]]] = BoundedCache(OPENED)
        self.queries: BoundedCache[str, Found] = BoundedCache(QUERIES)
        self.results: BoundedCache[tuple[Any, ...], View] = BoundedCache(RESULTS)
        self.views: BoundedCache[tuple[Any, ...], View] = BoundedCache(VIEWS)
        self.scores: BoundedCache[tuple[Any, ...], Any] = BoundedCache(SCORES)
        self.details: BoundedCache[int, tuple[Any, bytes]] = BoundedCache(DETAILS)
        self.starts: BoundedCache[tuple[Any, ...], Any] = BoundedCache(STARTS)
        self.turns: BoundedCache[tuple[Any, ...], Any] = BoundedCache(TURNS)

    def clear(self) -> None:
        """Forgets everything."""
        for name in self.__slots__:
            getattr(self, name).clear()


_CACHES: "WeakKeyDictionary[Any, ShelfCaches]" = WeakKeyDictionary()
_CACHES_LOCK = fork_safe_lock()


def caches_of(release: Any) -> ShelfCaches:
    """The caches of a release, which live as long as it does.

    An object that cannot be referred to weakly gets new ones each time.
    """
    try:
        with _CACHES_LOCK:
            known = _CACHES.get(release)
            if known is None:
                known = _CACHES[release] = ShelfCaches()
            return known
    except TypeError:
        return ShelfCaches()


class Shelf:
    """A catalogue that remembers. `product` and `search` answer as the catalogue does.

    Args:
        catalogue: A release or anything that behaves like one.
        caches: Shared caches; new ones by default.
    """

    __slots__ = ("_caches", "_catalogue")

    def __init__(self, catalogue: Catalogue, caches: ShelfCaches | None = None) -> None:
        self._catalogue = catalogue
        self._caches = ShelfCaches() if caches is None else caches

    def product(self, asin: str) -> Product:
        """The product with this asin."""
        return self._catalogue.product(asin)

    def search(self, query: str, top_k: int = TOP_K) -> SearchResult:
        """Ranked hits, computed by the catalogue."""
        return self._catalogue.search(query, top_k)

    def find(self, query: str) -> Found:
        """The best 150 asins for a query."""
        found = self._caches.queries.get(query)
        if found is None:
            result = self.search(query, TOP_K)
            # Interned, because the same few thousand asins fill the lists of all queries and episodes.
            asins = tuple(sys.intern(asin) for asin in result.asins)
            found = Found(result.status, asins)
            self._caches.queries.put(query, found)
        return found

    def listing(self, asin: str) -> Listing:
        """The product as lists show it."""
        card = self._caches.listings.get(asin)
        if card is None:
            facts = summary(self.product(asin))
            card = Listing(facts, listing_text(facts))
            self._caches.listings.put(asin, card)
        return card

    def open(self, asin: str, origin: SearchResults) -> ProductDetail:
        """The page of a product, nothing chosen."""
        opened = self._caches.opened.get(asin)
        if opened is None:
            product = self.product(asin)
            opened = (product, offered_axes(product))
            self._caches.opened.put(asin, opened)
        product, axes = opened
        return ProductDetail(product, axes, (-1,) * len(axes), origin)

    def view(self, page: Page) -> View | None:
        """The view of an equal page that was shown lately."""
        view = self._views(page).get(_key(page))
        return view if view is not None and _equal(view.page, page) else None

    def keep(self, view: View) -> None:
        """Remembers how a page is shown."""
        self._views(view.page).put(_key(view.page), view)

    def _views(self, page: Page) -> BoundedCache[tuple[Any, ...], View]:
        return self._caches.results if isinstance(page, SearchResults) else self._caches.views


def _key(page: Page) -> tuple[Any, ...]:
    """A short key; different pages share it only in different catalogues."""
    if isinstance(page, SearchResults):
        return (page.query, page.number, page.page_size)
    if isinstance(page, ProductDetail):
        return (page.product.asin, page.chosen)
    return (type(page),)


def _equal(kept: Page, page: Page) -> bool:
    if isinstance(page, SearchResults):
        return isinstance(kept, SearchResults) and (kept.asins is page.asins or kept.asins == page.asins)
    if isinstance(page, ProductDetail):
        return isinstance(kept, ProductDetail) and kept.product is page.product
    return True


def as_shelf(catalogue: Catalogue) -> Shelf:
    """`catalogue` itself when it remembers already, else a shelf over it for the moment."""
    return catalogue if isinstance(catalogue, Shelf) else Shelf(catalogue)


def copied(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts as a fresh dict."""
    fresh = facts.copy()
    fresh["key_attributes"] = fresh["key_attributes"].copy()
    return fresh


def summary(product: Product) -> dict[str, Any]:
    """The facts of a product that lists and pages show."""
    attributes = [text for text in product.attributes if text.strip()]
    return {
        "asin": product.asin,
        "title": product.title,
        "brand": product.brand,
        "category": product.category,
        "price": product.listing_text or None,
        "key_attributes": attributes[:KEY_ATTRIBUTES],
    }
