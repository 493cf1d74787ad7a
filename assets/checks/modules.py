"""The list of check modules, in the order of the asset modules, and what a release requires of them."""

from types import ModuleType

from assets.checks import (
    annotations,
    audit,
    catalog,
    cleaned,
    products,
    release,
    rlve,
    search,
    splits,
    witnesses,
)
from assets.checks.blocking import REQUIRED

CHECK_MODULES: list[ModuleType] = [
    *(catalog, products, annotations, cleaned, audit, splits, search, rlve, witnesses, release),
]


def required_checks(asset: str) -> list[str]:
    """Names of the blocking checks of one artifact."""
    return list(REQUIRED[asset])
