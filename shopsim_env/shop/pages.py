"""The four pages as immutable values, what each offers to click, and which options a product offers.

Belongs here: page data and the order of clickable texts. Transitions are in `session`, public facts in
`observation`. A page is a value, so a failed step has nothing to undo and episodes share pages freely.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from shopsim_env.catalog.prices import PriceResolution, resolve_price
from shopsim_env.catalog.product import Axis, Product
from shopsim_env.errors import UsageError
from shopsim_env.shop.display import one_line
from shopsim_env.versions import PAGE_SIZE

BACK = "back to search"
PREVIOUS = "< prev"
NEXT = "next >"
BUY = "buy now"
BUTTONS = frozenset({BACK, PREVIOUS, NEXT, BUY})


@dataclass(frozen=True, slots=True)
class OfferedAxis:
    """One axis as the page offers it.

    `name` is the original name; `labels` are the clickable texts `axis=value`; `values` the public values as
    shown; `public` the same values as price and reward code knows them (they differ only when a value holds
    control characters).
    """

    name: str
    labels: tuple[str, ...]
    values: tuple[str, ...]
    public: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SearchHome:
    """The only page that can search."""


@dataclass(frozen=True, slots=True)
class SearchResults:
    """Page `number` (from 1) of stored hits, `page_size` products each; paging never searches again."""

    query: str
    asins: tuple[str, ...]
    number: int = 1
    page_size: int = PAGE_SIZE

    @property
    def total_pages(self) -> int:
        """At least 1, also without hits."""
        return max(1, -(-len(self.asins) // self.page_size))

    @property
    def shown(self) -> tuple[str, ...]:
        """The asins of this page in rank order."""
        start = (self.number - 1) * self.page_size
        return self.asins[start : start + self.page_size]


@dataclass(frozen=True, slots=True)
class ProductDetail:
    """One opened product. `chosen` holds per offered axis the index of the chosen value, -1 for none."""

    product: Product
    axes: tuple[OfferedAxis, ...]
    chosen: tuple[int, ...]
    origin: SearchResults

    @classmethod
    def open(cls, product: Product, origin: SearchResults) -> "ProductDetail":
        """The page of `product`, nothing chosen, with the results page that `< prev` returns to."""
        axes = offered_axes(product)
        return cls(product, axes, (-1,) * len(axes), origin)

    @property
    def missing_axes(self) -> tuple[str, ...]:
        """Original names of the axes without a choice, in source order."""
        pairs = zip(self.axes, self.chosen, strict=True)
        return tuple(axis.name for axis, index in pairs if index < 0)

    @property
    def selected(self) -> dict[str, str]:
        """Axis name -> chosen public value, for price and reward."""
        pairs = zip(self.axes, self.chosen, strict=True)
        return {axis.name: axis.public[index] for axis, index in pairs if index >= 0}

    @property
    def shown_selection(self) -> dict[str, str]:
        """Axis name -> chosen value as shown."""
        pairs = zip(self.axes, self.chosen, strict=True)
        return {axis.name: axis.values[index] for axis, index in pairs if index >= 0}

    @property
    def price(self) -> PriceResolution:
        """Price of what is chosen so far (contract 7.2)."""
        return resolve_price(self.product, self.selected)


@dataclass(frozen=True, slots=True)
class Terminal:
    """After the end, on every path: nothing to search, nothing to click."""


Page: TypeAlias = SearchHome | SearchResults | ProductDetail | Terminal


def offered_axes(product: Product) -> tuple[OfferedAxis, ...]:
    """Axes that can be chosen on the page, in source order.

    Blank values are not offered; equal shown values on one axis collapse to the first; an axis with a blank
    name or without any usable value is left out and not required for buying. So every product that is shown
    can be bought; the three cases are faults that the pipeline's audit reports (contract 7.9).
    """
    return tuple(axis for axis in map(_offer, product.axes) if axis is not None)


def public_selection(product: Product, shown: Mapping[str, str]) -> dict[str, str]:
    """A selection as it was shown (`ProductDetail.shown_selection`), in the values that rewards know.

    Raises:
        UsageError: an axis or a value that the product does not offer (code `unknown_option`).
    """
    axes = {axis.name: axis for axis in offered_axes(product)}
    for name, value in shown.items():
        if name not in axes or value not in axes[name].values:
            raise UsageError(
                f"expected axes and values that product {product.asin} offers, found {name!r}: {value!r}",
                code="unknown_option",
            )
    return {name: axes[name].public[axes[name].values.index(value)] for name, value in shown.items()}


def _offer(axis: Axis) -> OfferedAxis | None:
    name = one_line(axis.name)
    shown: dict[str, str] = {}
    for value in axis.values:
        shown.setdefault(one_line(value.public), value.public)
    shown.pop("", None)
    if not name or not shown:
        return None
    labels = tuple(f"{name}={text}" for text in shown)
    return OfferedAxis(axis.name, labels, tuple(shown), tuple(shown.values()))


def clickable(page: Page) -> tuple[str, ...]:
    """Texts that a click may carry, in order: buttons, products, option values.

    Each occurs once. `buy now` appears when every offered axis has a choice; a chosen value is not repeated.
    """
    if isinstance(page, SearchResults):
        previous = (PREVIOUS,) if page.number > 1 else ()
        following = (NEXT,) if page.number < page.total_pages else ()
        return (BACK, *previous, *following, *page.shown)
    if isinstance(page, ProductDetail):
        buy = () if page.missing_axes else (BUY,)
        pairs = zip(page.axes, page.chosen, strict=True)
        # Two axes can share a text; it is shown once.
        options = dict.fromkeys(chain.from_iterable(_unchosen(axis, index) for axis, index in pairs))
        return (BACK, PREVIOUS, *buy, *options)
    return ()


def offers(page: Page, value: str) -> bool:
    """Whether `value` is in `clickable(page)`."""
    if isinstance(page, ProductDetail):
        if value in (BACK, PREVIOUS):
            return True
        for axis, index in zip(page.axes, page.chosen, strict=True):
            if value in axis.labels and (index < 0 or axis.labels[index] != value):
                return True
        return value == BUY and -1 not in page.chosen
    if isinstance(page, SearchResults) and value in page.shown:
        return True
    return value in clickable(page)


def _unchosen(axis: OfferedAxis, index: int) -> tuple[str, ...]:
    return axis.labels if index < 0 else axis.labels[:index] + axis.labels[index + 1 :]
