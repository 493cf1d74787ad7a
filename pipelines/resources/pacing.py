"""The one limiter that all workers share: starts of requests, pauses after a 429, a rate that halves.

Belongs here: when the next request may start. The window itself is pyrate-limiter's sliding log, which we ask
without its own blocking loop: that loop advances timestamps by what it meant to sleep, we record real ones.

Source: seed section on offline cleaning; contract 7.19.
"""

import math
import threading
import time
from collections.abc import Callable

from pyrate_limiter import InMemoryBucket, Rate, RateItem


class Stopped(Exception):  # noqa: N818 - an order, not a defect
    """The run was told to stop while this worker waited for its slot."""


class Pacer:
    """Grants starts one by one. At most `limit` in any `window_s + margin_s` seconds, evenly spread.

    The first start waits for one gap too: a run that follows a killed one at once keeps the limit with it.

    Args:
        limit: Starts a window.
        window_s: The window that the endpoint measures, in seconds.
        margin_s: Added to the window here: two requests may take unequally long to arrive.
        cooldown_s: Pause of all workers after a minute-scale 429.
        clock: Monotonic seconds.
        wait: Waits that many seconds or until the run is stopped, and says whether it was.
    """

    def __init__(
        self,
        limit: int,
        *,
        window_s: float,
        margin_s: float,
        cooldown_s: float,
        wait: Callable[[float], bool],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limit = limit
        self.waves = 0
        self._window_ms = math.ceil((window_s + margin_s) * 1000)
        self._cooldown_s = cooldown_s
        self._clock, self._wait = clock, wait
        self._bucket = InMemoryBucket(self._rates())
        self._blocked_until = clock() + self._gap_ms() / 1000
        self._state = threading.Lock()
        # Waiters queue here, so that one of them watches the clock and not all.
        self._turn = threading.Lock()

    def acquire(self) -> int:
        """Waits for a start and returns its ticket, for `cool`.

        Raises:
            Stopped: the run was stopped first.
        """
        with self._turn:
            while True:
                if self._wait(0):
                    raise Stopped
                with self._state:
                    pause = self._try_start()
                    if pause <= 0:
                        return self.waves
                self._wait(pause)

    def cool(self, ticket: int, retry_after: float) -> None:
        """Pauses everything after a minute-scale 429 of the request with this ticket.

        Requests that started before the pause belong to the same wave, however late their 429 comes; it can
        only lengthen the pause. Each wave after the first halves the rate.
        """
        with self._state:
            pause = retry_after
            if ticket == self.waves:
                self.waves += 1
                pause = max(self._cooldown_s, retry_after)
                if self.waves > 1:
                    self.limit = max(1, self.limit // 2)
                    self._bucket.rates = self._rates()
            self._blocked_until = max(self._blocked_until, self._clock() + pause)

    def _try_start(self) -> float:
        """0 when a start was granted now, else seconds until it is worth trying again."""
        now = self._clock()
        if now < self._blocked_until:
            return self._blocked_until - now
        item = RateItem("start", math.floor(now * 1000))
        self._bucket.leak(item.timestamp)
        if self._bucket.put(item):
            return 0.0
        waiting = self._bucket.waiting(item)
        # The bucket is a synchronous one. At least a millisecond: no busy loop when the clock stands.
        return max(1, int(waiting)) / 1000  # type: ignore[arg-type]

    def _rates(self) -> list[Rate]:
        """The limit itself, and starts spread over the window instead of a burst at its beginning."""
        window, gap = Rate(self.limit, self._window_ms), self._gap_ms()
        return [Rate(1, gap), window] if self.limit > 1 and gap else [window]

    def _gap_ms(self) -> int:
        return self._window_ms // self.limit
