"""One function called for many items, in several processes, with the results in order.

Belongs here: how items reach the processes and results come back, so that neither piles up. Does not belong
here: what is computed; a stage gives a function of its module.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import islice
from multiprocessing import get_context
from typing import Any

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""Calls a function for each item, as `map` does."""


@contextmanager
def in_processes(workers: int, *, alone: int = 0, chunk: int = 1) -> Iterator[Each]:
    """A `map` whose calls run in several processes, which end with the block.

    Args:
        workers: Processes; with 1 or less this one does it all.
        alone: Items that this process does itself before it starts the others, which takes a while.
        chunk: Items that go to a process at a time.
    """
    if workers <= 1:
        yield map
        return
    # spawn: a forked child would share the parent's SQLite connections and threads.
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        yield partial(_each, pool, 2 * workers, alone, chunk)


def batched(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Lists of up to `size` items, read as they are needed."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def _each(
    pool: ProcessPoolExecutor,
    ahead: int,
    alone: int,
    chunk: int,
    function: Callable[[Any], Any],
    items: Iterable[Any],
) -> Iterator[Any]:
    """A bounded number of chunks is in flight; `pool.map` would read all items first."""
    items = iter(items)
    yield from map(function, islice(items, alone))
    waiting: deque[Future[list[Any]]] = deque()
    for batch in batched(items, chunk):
        waiting.append(pool.submit(_call_each, function, batch))
        if len(waiting) > ahead:
            yield from waiting.popleft().result()
    while waiting:
        yield from waiting.popleft().result()


def _call_each(function: Callable[[Any], Any], batch: list[Any]) -> list[Any]:
    return list(map(function, batch))
