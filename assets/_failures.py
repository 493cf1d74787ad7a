"""How an intended error leaves an asset: as a Dagster failure with code and message, and nothing else.

What caused it is cut off, because foreign messages quote the data around a fault, which may be goal text, and
Dagster would store them.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from shopsim_env.errors import ShopSimError


@contextmanager
def intended_failures() -> Iterator[None]:
    """Turns a `ShopSimError` into `dg.Failure`; other errors are bugs and keep their trace."""
    try:
        yield
    except ShopSimError as error:
        failure = dg.Failure(description=f"{error.code}: {error}", allow_retries=False)
        # Neither as cause nor as context: Dagster serializes both.
        raise failure from None
