"""Tables of `catalog.sqlite` that hold products, and what a public row is.

Belongs here: the statements that create `product` and `title_noun`, and the projection of a raw record to its
public row. Does not belong here: the search tables (`search.schema`), reading (`store`), filling (pipeline).
"""

from collections.abc import Mapping
from typing import Any, Final

from shopsim_env.catalog.product import PUBLIC_FIELDS

# `id` is the rank of the asin in code point order, from 1: the row of the search table has the same number,
# so that the order by number is the order by asin.
PRODUCT_DDL: Final = (
    "CREATE TABLE product (id INTEGER PRIMARY KEY, asin TEXT NOT NULL UNIQUE, body TEXT NOT NULL)"
)
# Apart from `product`, because a tagger may change while the products do not.
TITLE_NOUN_DDL: Final = "CREATE TABLE title_noun (id INTEGER PRIMARY KEY, nouns TEXT NOT NULL)"


def public_record(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The public row of a raw record.

    An allow list: instructions, persona, tag, task ids and unknown keys never pass. Null fields are left out
    (absent and null mean the same). Options keep axis, value and recorded price; picture, variant id and
    availability of the crawl do not pass.
    """
    row = {field: raw[field] for field in PUBLIC_FIELDS if raw.get(field) is not None}
    options = raw.get("customization_options")
    if isinstance(options, Mapping):
        row["customization_options"] = {
            str(name): [_public_option(entry) for entry in entries or ()] for name, entries in options.items()
        }
    return row


def _public_option(entry: Any) -> dict[str, Any]:
    is_object = isinstance(entry, Mapping)
    value = entry.get("value") if is_object else entry
    option: dict[str, Any] = {"value": "" if value is None else str(value)}
    if is_object and entry.get("price") is not None:
        option["price"] = entry["price"]
    return option
