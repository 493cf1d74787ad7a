"""How an intended error leaves an asset: as a Dagster failure with code and message, and nothing else.

What caused it is cut off, because foreign messages quote the data around a fault, which may be goal text, and
Dagster would store them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import dagster as dg

from shopsim_env.errors import ShopSimError


@contextmanager
def intended_failures(metadata: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Turns a `ShopSimError` into `dg.Failure`; other errors are bugs and keep their trace.

    Args:
        metadata: Numbers to show with the failure, as they are when it happens; never a text of a task.
    """
    try:
        yield
    except ShopSimError as error:
        failure = dg.Failure(
            description=f"{error.code}: {error}", metadata=dict(metadata or {}), allow_retries=False
        )
        # Neither as cause nor as context: Dagster serializes both.
        raise failure from None
