"""Handlers of `catalog.*`: search, rerank, product, variants."""

from shopsim_env.rlve.overlay.overlay import Overlay
from shopsim_env.rlve.tools.arguments import ProductRef, Rerank, Search
from shopsim_env.rlve.tools.filtering import read_filters
from shopsim_env.rlve.tools.searching import find
from shopsim_env.rlve.tools.showing import Result, card, known_product, variant_row


def search(overlay: Overlay, args: Search) -> Result:
    """Cards of the hits; `total` is there when filters alone decide."""
    found = find(overlay, args.query, read_filters(overlay.shelf, args.filters), args.top_k)
    for item in found.items:
        overlay.show(item.facts.number, "search")
    result: Result = {"products": [card(overlay, item) for item in found.items]}
    if found.total is not None:
        result["total"] = found.total
    return result


def rerank(overlay: Overlay, args: Rerank) -> Result:
    """Known candidates by likeness to the query; those without a word of it follow in the order given."""
    known = dict.fromkeys(name for name in args.candidate_product_ids if overlay.ids.number(name) is not None)
    numbers = {overlay.ids.number(name): name for name in known}
    if not known:
        return {"product_ids": []}
    where = overlay.release.product_set(number for number in numbers if number is not None)
    result = overlay.release.search(args.query, len(known), where=where)
    ranked = [numbers[item.facts.number] for item in overlay.shelf.items_of(result.asins)]
    return {"product_ids": list(dict.fromkeys([*ranked, *known]))[: args.top_k]}


def get_product(overlay: Overlay, args: ProductRef) -> Result:
    """The card with the product's texts."""
    item = overlay.shelf.item(known_product(overlay, args.product_id))
    product = overlay.release.product(item.facts.asin)
    return {
        **card(overlay, item),
        "currency": overlay.currency,
        "description": product.description,
        "features": list(product.bullets),
        "attributes": list(product.attributes),
        "has_variants": bool(overlay.variants.get(item.facts.number)),
    }


def get_variants(overlay: Overlay, args: ProductRef) -> Result:
    """The variants of a product, none for a product without."""
    number = known_product(overlay, args.product_id)
    rows = [variant_row(overlay, number, item) for item in overlay.variants.get(number, ())]
    return {"product_id": args.product_id, "currency": overlay.currency, "variants": rows}
