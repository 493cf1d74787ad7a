"""Filters of `shopsim search`: price, brand and category, as wishes about the world facts of a release.

Belongs here: reading the options. What a wish means is in `shopsim_env.rlve.wishes`; the engines then rank
the products that meet all of them, and those alone.
"""

import argparse
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

from shopsim_env.errors import UsageError
from shopsim_env.release import Release
from shopsim_env.rlve.facts import ROOT_CATEGORY, World
from shopsim_env.rlve.wishes import Wishes
from shopsim_env.search.where import ProductSet

_LISTED = 10
_LARGEST = Decimal(10) ** 12


def add_filters(parser: argparse.ArgumentParser) -> None:
    """Adds the options; products without the fact that is asked for are left out."""
    group = parser.add_argument_group("filters", "ranked are the products that meet all of them")
    group.add_argument("--min-price", metavar="P", help="lowest price of the product is at least P")
    group.add_argument("--max-price", metavar="P", help="lowest price of the product is at most P")
    group.add_argument("--brand", metavar="NAME", help="brand, spelled as in the catalogue")
    group.add_argument(
        "--category",
        action="append",
        metavar="LEVEL",
        help="category with all below it; repeat the option for each further level",
    )


def filtered(arguments: argparse.Namespace, release: Release) -> ProductSet | None:
    """The products to rank; None without a filter.

    Raises:
        UsageError: a price that is no amount or a range upside down; a brand or category that no product of
            the release has.
        ReleaseError: the release has world facts of another version (code `world_mismatch`).
    """
    least, most = (
        _hundredths("--min-price", arguments.min_price),
        _hundredths("--max-price", arguments.max_price),
    )
    if least is not None and most is not None and least > most:
        raise UsageError(
            f"expected --min-price up to --max-price, found {arguments.min_price} above {arguments.max_price}"
        )
    if least is most is arguments.brand is arguments.category is None:
        return None
    with World.of(release) as world:
        category = _category(world, arguments.category)
        if arguments.brand is not None and not world.matching(Wishes(brand=arguments.brand), limit=1):
            raise UsageError(
                f"--brand: expected a brand of this release, spelled as there, found {arguments.brand!r}; "
                "product pages show brands"
            )
        wishes = Wishes(category=category, brand=arguments.brand, price_min=least, price_max=most)
        return release.product_set(world.matching(wishes, limit=max(1, len(world))))


def _hundredths(option: str, text: str | None) -> int | None:
    """The amount in hundredths of the currency, as facts have it."""
    if text is None:
        return None
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal(-1)
    # A comparison with NaN raises, so finite comes first.
    if not amount.is_finite() or not 0 <= amount < _LARGEST or amount != round(amount, 2):
        raise UsageError(f"{option}: expected an amount like 29 or 29.90, found {text!r}")
    return int(amount * 100)


def _category(world: World, levels: list[str] | None) -> int | None:
    """Number of the category with these levels, from the top."""
    if levels is None:
        return None
    number, where = ROOT_CATEGORY, "at the top"
    for level in levels:
        below = {category.levels[-1]: category.number for category in world.subcategories(number)}
        if level not in below:
            raise UsageError(f"--category: expected one {where} ({_listed(below)}), found {level!r}")
        number, where = below[level], f"below {level}"
    return number


def _listed(names: Iterable[str]) -> str:
    known = list(names)
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return (", ".join(known[:_LISTED]) or "there is none") + more
