"""The domain of a product: the coarsest kind of goods that its record names.

Belongs here: which field says it. Domains of gold products belong to goals; who counts them keeps them apart.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from shopsim_env.sqlite import open_readonly

NO_DOMAIN: Final = "(none)"


def domain_of(record: Mapping[str, Any]) -> str:
    """The domain of a public row: its own, else the first level of its category."""
    own = record.get("domain_en_short") or record.get("domain_zh")
    level = str(record.get("category") or "").replace("›", ">").split(">")[0].strip()
    return str(own) if own else level or NO_DOMAIN


def domains_of(catalogue: Path, asins: Iterable[str]) -> dict[str, str]:
    """Asin to domain, from `catalog.sqlite`; every asin must be in it."""
    with closing(open_readonly(catalogue)) as connection:
        select = "SELECT body FROM product WHERE asin = ?"
        return {
            asin: domain_of(json.loads(connection.execute(select, (asin,)).fetchone()[0]))
            for asin in dict.fromkeys(asins)
        }
