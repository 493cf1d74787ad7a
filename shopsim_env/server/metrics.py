"""`/metrics`: counters of the pool and times of the endpoints, in the Prometheus text form.

Belongs here: collecting at the moment of a scrape. Requests only add to plain numbers, because the step is
too short for a lock. Labels are endpoint names and error codes, never tasks or leases.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from shopsim_env.pool.reception import Reception

_BOUNDS: Final = (0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 60.0)


class _Times:
    """Seconds of one endpoint, counted into buckets."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(_BOUNDS) + 1)
        self.total = 0.0

    def buckets(self) -> list[tuple[str, float]]:
        """Upper bounds and how many were within."""
        sum_, rows = 0, []
        for bound, count in zip((*map(str, _BOUNDS), "+Inf"), self.counts, strict=True):
            sum_ += count
            rows.append((bound, float(sum_)))
        return rows


class Metrics:
    """The numbers of one server, and a Prometheus collector of them.

    Args:
        pools: Gives the pools at the moment of a scrape, by the prefix of their names.
        dropped: Gives the number of log lines that were not written.
    """

    def __init__(self, pools: Callable[[], Mapping[str, Reception]], dropped: Callable[[], int]) -> None:
        self._pools = pools
        self._dropped = dropped
        self._times: dict[str, _Times] = {}
        self._refusals: dict[str, int] = {}
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def answered(self, name: str, seconds: float) -> None:
        """Counts an answer of an endpoint."""
        times = self._times.get(name)
        if times is None:
            times = self._times[name] = _Times()
        times.counts[bisect_left(_BOUNDS, seconds)] += 1
        times.total += seconds

    def refused(self, code: str) -> None:
        """Counts a refusal."""
        self._refusals[code] = self._refusals.get(code, 0) + 1

    def page(self) -> tuple[bytes, bytes]:
        """The text and its media type."""
        return generate_latest(self._registry), CONTENT_TYPE_LATEST.encode()

    def collect(self) -> Iterator[Any]:
        """Everything, for a scrape."""
        for prefix, pool in self._pools().items():
            yield from _of_pool(prefix, pool)
        refusals = CounterMetricFamily("shopsim_refusals", "Refused requests by code", labels=["code"])
        for code, count in sorted(self._refusals.items()):
            refusals.add_metric([code], count)
        yield refusals
        about = "Log lines that were not written because nobody read them"
        yield CounterMetricFamily("shopsim_log_lines_dropped", about, value=self._dropped())
        answers = HistogramMetricFamily(
            "shopsim_answer_seconds", "Seconds from the read headers to the answer", labels=["endpoint"]
        )
        for name, times in sorted(self._times.items()):
            answers.add_metric([name], times.buckets(), times.total)
        yield answers


def _of_pool(prefix: str, pool: Reception) -> Iterator[Any]:
    gauges = {
        "slots": (pool.slots, "Slots of the pool"),
        "free_slots": (pool.free_slots, "Slots without a lease"),
        "running_episodes": (pool.running, "Leases whose episode has not ended"),
        "waiting_requests": (pool.waiting, "Requests that wait for a slot"),
    }
    for name, (value, about) in gauges.items():
        yield GaugeMetricFamily(f"shopsim_{prefix}{name}", about, value=value)
    for name, value in asdict(pool.counters).items():
        about = f"Counter {name} of the pool, see docs/server.md"
        yield CounterMetricFamily(f"shopsim_{prefix}pool_{name}", about, value=value)
