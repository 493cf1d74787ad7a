"""The shared limiter on a clock of the test's own: windows, spreading, waves, stopping."""

import math
import threading
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from pipelines.resources.pacing import Pacer, Stopped


class Clock:
    """A clock that moves only when somebody waits."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.stopped = False

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return self.stopped


def pacer(clock: Clock, limit: int, *, margin_s: float = 2.0) -> Pacer:
    return Pacer(
        limit, window_s=60, margin_s=margin_s, cooldown_s=65, wait=clock.wait, clock=lambda: clock.now
    )


def starts(pace: Pacer, clock: Clock, count: int) -> list[float]:
    times = []
    for _ in range(count):
        pace.acquire()
        times.append(clock.now)
    return times


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 32, 600])
def test_never_more_than_the_limit_in_any_window_even_when_arrivals_are_late(limit: int) -> None:
    clock = Clock()
    times = starts(pacer(clock, limit), clock, 3 * limit + 5)
    for early, late in zip(times, times[limit:], strict=False):
        # Unequal ways to the server: up to the margin of 2 s, and the sixty seconds still hold there.
        assert late - early > 62
    # Not much slower than allowed: each gap may last two milliseconds longer.
    assert times[-1] - times[0] < (3 * limit + 5) * (62 / limit + 0.002)


def test_starts_are_spread_not_a_burst() -> None:
    clock = Clock()
    times = starts(pacer(clock, 30), clock, 30)
    assert min(late - early for early, late in pairwise(times)) >= 2.066, "62 s over 30"


def test_the_limit_holds_across_runs_that_follow_each_other_at_once() -> None:
    clock = Clock()
    times = [start for _ in range(12) for start in starts(pacer(clock, 8), clock, 3)]
    for early, late in zip(times, times[8:], strict=False):
        # Whole milliseconds are lost in each of eight gaps, out of a margin of 2 s.
        assert late - early > 61.99


def test_the_window_holds_when_the_clock_jumps_ahead_between_starts() -> None:
    clock = Clock()
    pace = pacer(clock, 4)
    times = []
    for pause in (0, 50, 0.5, 0, 61, 0, 0, 0, 30, 0, 0, 0, 0):
        clock.now += pause
        times += starts(pace, clock, 1)
    assert all(late - early > 62 for early, late in zip(times, times[4:], strict=False))


def test_a_429_pauses_everything_for_the_cooldown_or_for_retry_after() -> None:
    clock = Clock()
    pace = pacer(clock, 31)
    ticket = pace.acquire()
    assert clock.now == 1002.0, "the first start waits for one gap: 62 s over 31"
    pace.cool(ticket, 0)
    assert starts(pace, clock, 1) == [1067.0]
    pace.cool(1, 90)
    assert starts(pace, clock, 1) == [1157.0]


def test_one_wave_counts_once_however_late_its_answers_come() -> None:
    clock = Clock()
    pace = pacer(clock, 32)
    tickets = [pace.acquire() for _ in range(5)]
    for ticket in tickets[:3]:
        pace.cool(ticket, 0)
    assert (pace.waves, pace.limit) == (1, 32)
    later = pace.acquire()
    pace.cool(tickets[3], 0)
    assert (pace.waves, pace.limit) == (1, 32), "asked before the pause: the same wave"
    assert later == 1


def test_a_late_answer_of_the_same_wave_may_lengthen_the_pause() -> None:
    clock = Clock()
    pace = pacer(clock, 32)
    first, second = pace.acquire(), pace.acquire()
    begun = clock.now
    pace.cool(first, 0)
    pace.cool(second, 100)
    assert starts(pace, clock, 1) == [begun + 100]


def test_each_later_wave_halves_the_rate_down_to_one() -> None:
    clock = Clock()
    pace = pacer(clock, 5)
    limits = []
    for _ in range(5):
        pace.cool(pace.acquire(), 0)
        limits.append(pace.limit)
    assert limits == [5, 2, 1, 1, 1]
    times = starts(pace, clock, 3)
    assert times[1] - times[0] > 62


def test_a_stopped_run_grants_nothing() -> None:
    clock = Clock()
    clock.stopped = True
    with pytest.raises(Stopped):
        pacer(clock, 32).acquire()


def run_threads(work: Callable[[], None], count: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
        assert not thread.is_alive()


def test_waiting_threads_are_woken_by_the_stop() -> None:
    stop, ended = threading.Event(), []
    pace = Pacer(1, window_s=0.1, margin_s=0, cooldown_s=3600, wait=stop.wait)
    pace.cool(pace.acquire(), 0)

    def work() -> None:
        with pytest.raises(Stopped):
            pace.acquire()
        ended.append(1)

    threading.Timer(0.1, stop.set).start()
    run_threads(work, 4)
    assert len(ended) == 4


def test_threads_share_one_window() -> None:
    stop = threading.Event()
    pace = Pacer(20, window_s=0.4, margin_s=0.05, cooldown_s=1, wait=stop.wait)
    times, mutex = [], threading.Lock()

    def work() -> None:
        for _ in range(10):
            pace.acquire()
            with mutex:
                times.append(time.monotonic())

    run_threads(work, 6)
    times.sort()
    # Noted after the grant, so a late note may seem close to the next: the margin is for that.
    assert len(times) == 60
    assert math.isclose(pace.limit, 20)
    assert times[-1] - times[0] >= 0.45 * 2
