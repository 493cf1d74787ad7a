"""One function called for many items, in several processes, with the results in order.

Belongs here: how items reach the processes and results come back, so that neither piles up. Does not belong
here: what is computed, which a stage gives as a function of its module; processes that are not of this
machine, which `pipelines.resources.mapper` gives.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from multiprocessing import get_context
from typing import Any

Each = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""Calls a function for each item, as `map` does."""
Prepare = Callable[[], None]
"""What every process calls first; picklable."""


def spawned(count: int, prepare: Prepare | None) -> Executor:
    """Processes of this machine."""
    # spawn: a forked child would share the parent's SQLite connections and threads.
    return ProcessPoolExecutor(count, get_context("spawn"), prepare)


@dataclass(frozen=True, slots=True)
class Workers:
    """Processes that a stage may call its functions in; results never depend on them.

    Args:
        count: Number of processes; with 1 or less the caller's own does everything.
        start: Starts so many, each of which calls a function first.
        always: Start them for small work too, and for one process, as somebody asked who has them elsewhere.
    """

    count: int = 1
    start: Callable[[int, Prepare | None], Executor] = spawned
    always: bool = False

    @property
    def apart(self) -> bool:
        """Whether functions are called outside of this process."""
        return self.always or self.count > 1

    def for_work(self, size: int, least: int) -> "Workers":
        """These for work of at least `least` items, else the caller's own process."""
        return self if self.always or size >= least else ALONE

    def at_most(self, count: int) -> "Workers":
        """No more of these than there is work for."""
        return replace(self, count=max(1, min(self.count, count)))


ALONE = Workers()


@contextmanager
def in_processes(
    workers: Workers = ALONE, *, alone: int = 0, chunk: int = 1, prepare: Prepare | None = None
) -> Iterator[Each]:
    """A `map` whose calls run in several processes, which end with the block.

    Args:
        workers: The processes.
        alone: Items that this process does itself before it starts the others, which takes a while.
        chunk: Items that go to a process at a time.
        prepare: Called first in each of the others, and not in this one.
    """
    if not workers.apart:
        yield map
        return
    with workers.start(workers.count, prepare) as pool:
        yield partial(_each, pool, 2 * workers.count, 0 if workers.always else alone, chunk)


def batched(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Lists of up to `size` items, read as they are needed."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size)):
        yield chunk


def _each(
    pool: Executor,
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
