"""Search of an episode: filters before ranking, the episode's stock, retrieval depth and noise.

Belongs here: which products a search shows, in which order. Cards and arguments are in `catalog`.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.overlay.overlay import Overlay
from shopsim_env.rlve.overlay.refusal import RefusalError
from shopsim_env.rlve.shelf import Item
from shopsim_env.rlve.tools.filtering import Picked
from shopsim_env.search.result import EMPTY_QUERY

# Draws for one replacement before the hit keeps its place.
_TRIES: Final = 8
_SPARE: Final = 16


class Found(NamedTuple):
    """What a search shows, and how many products the filter leaves when there was no query."""

    items: list[Item]
    total: int | None


def find(overlay: Overlay, query: str, picked: Picked, top_k: int) -> Found:
    """The products that a search shows, best first; at most `top_k` and what the difficulty allows.

    Raises:
        RefusalError: Neither a word to search for nor a filter (`empty_query`).
    """
    most = min(top_k, overlay.axes.top_k)
    total = None
    if query.strip():
        ranked = _ranked(overlay, query, picked, most)
        if ranked is None and picked.is_empty:
            raise RefusalError(
                "expected a query with a word in it, or filters; found neither", code="empty_query"
            )
    elif picked.is_empty:
        raise RefusalError("expected a query or filters, found neither", code="empty_query")
    else:
        ranked = None
    if ranked is None:
        ranked, total = _listed(overlay, picked, most)
    return Found(_disturbed(overlay, ranked, picked), total)


def _ranked(overlay: Overlay, query: str, picked: Picked, most: int) -> list[Item] | None:
    """Hits of a query; None when it has no word. Asks for more until stock leaves enough or none is left."""
    release, where = overlay.release, None
    if not picked.is_empty:
        chosen = overlay.shelf.selections.selection(picked.category, picked.constraints, picked.least > 0)
        where = chosen.product_set()
    asked = most
    if picked.least:
        asked = int(most / (1 - min(0.9, overlay.axes.p_oos))) + _SPARE
    while True:
        result = release.search(query, asked, where=where)
        if result.status == EMPTY_QUERY:
            return None
        hits = _kept(overlay, result.asins, picked.least, most)
        if len(hits) == most or len(result.asins) < asked:
            return hits
        asked *= 4


def _kept(overlay: Overlay, asins: Sequence[str], least: int, most: int) -> list[Item]:
    """The first hits in stock; as many are read at once as may be shown."""
    found: list[Item] = []
    at = 0
    while len(found) < most and at < len(asins):
        some = overlay.shelf.items_of(asins[at : at + most - len(found)])
        at += len(some)
        found += [item for item in some if not least or overlay.stock.units(item.facts.number) >= least]
    return found


def _listed(overlay: Overlay, picked: Picked, most: int) -> tuple[list[Item], int]:
    """The cheapest products that meet the filter, and how many there are."""
    selections = overlay.shelf.selections
    every = selections.selection(picked.category, picked.constraints, picked.least > 0).numbers
    numbers = overlay.stock.remaining(every, picked.least) if picked.least else every
    return overlay.shelf.items(numbers[:most]), len(numbers)


def _disturbed(overlay: Overlay, items: list[Item], picked: Picked) -> list[Item]:
    """Hits of which some gave way to another product of their category that meets the filter.

    A replacement that comes later in the list changes places, so nothing is listed twice and a list of all
    products that fit stays one.
    """
    overlay.searches += 1
    share = overlay.axes.eps_rank
    if not share:
        return items
    draws = overlay.draws.fork("search noise", overlay.searches)
    shown = [item.facts.number for item in items]
    categories = [item.facts.category for item in items]
    places = {number: place for place, number in enumerate(shown)}
    for place in range(len(shown)):
        if not draws.chance(share):
            continue
        number = _rival(overlay, draws, categories[place], place, picked, places)
        if number is None:
            continue
        later = places.pop(number, None)
        replaced = shown[place]
        shown[place] = number
        places[number] = place
        if later is None:
            del places[replaced]
        else:
            shown[later], categories[later] = replaced, categories[place]
            places[replaced] = later
    return overlay.shelf.items(shown)


def _rival(
    overlay: Overlay, draws: Draws, category: int, place: int, picked: Picked, places: dict[int, int]
) -> int | None:
    """Another product of the category of the hit at a place that meets the filter and is not shown before it.

    None when a few draws find none, and for a category of so many products that it is no kind of goods.
    """
    selections = overlay.shelf.selections
    if not selections.is_small(category):
        return None
    numbers = selections.selection(category, picked.constraints, picked.least > 0).numbers
    for _ in range(_TRIES):
        number = draws.pick(numbers)
        is_later = places.get(number, place + 1) > place
        if is_later and (not picked.least or overlay.stock.remains(number, picked.least)):
            return number
    return None
