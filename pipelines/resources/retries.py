"""How often and how soon one instruction is asked again; the waiting after a 429 is the limiter's.

Belongs here: the two counters and the back-off, as tenacity strategies. Source: seed section on offline
cleaning.
"""

from collections.abc import Callable
from typing import Any

from tenacity import RetryCallState, Retrying, retry_if_exception_type
from tenacity.stop import stop_base
from tenacity.wait import wait_base

from pipelines.resources.llm import MinuteLimit, TransientFailure
from pipelines.settings import AnnotationSettings


def retrying(settings: AnnotationSettings, sleep: Callable[[float], object]) -> Retrying:
    """Retries for one instruction; the last error is raised when they are used up.

    Args:
        settings: Numbers of retries, back-off.
        sleep: Waits that many seconds, or less when the run is stopped.
    """

    def _sleep(seconds: float) -> None:
        sleep(seconds)

    return Retrying(
        retry=retry_if_exception_type((MinuteLimit, TransientFailure)),
        stop=_Allowance(settings),
        wait=_Backoff(settings),
        sleep=_sleep,
        reraise=True,
    )


class _Allowance(stop_base):
    """Retries of one instruction: rate limits and other failures have counters of their own."""

    def __init__(self, settings: AnnotationSettings) -> None:
        self._left = {MinuteLimit: settings.rate_limit_retries, TransientFailure: settings.retries}

    def __call__(self, retry_state: RetryCallState) -> bool:
        kind: Any = type(_error(retry_state))
        self._left[kind] -= 1
        return self._left[kind] < 0


class _Backoff(wait_base):
    """Doubling waits after transient failures; after a 429 the shared limiter does the waiting."""

    def __init__(self, settings: AnnotationSettings) -> None:
        self._settings = settings
        self._failures = 0

    def __call__(self, retry_state: RetryCallState) -> float:
        error = _error(retry_state)
        if isinstance(error, MinuteLimit):
            return 0.0
        pause = min(self._settings.backoff_max_s, self._settings.backoff_s * 2.0**self._failures)
        self._failures += 1
        asked = error.retry_after if isinstance(error, TransientFailure) else 0.0
        return max(pause, min(asked, self._settings.longest_wait_s))


def _error(retry_state: RetryCallState) -> BaseException | None:
    return retry_state.outcome.exception() if retry_state.outcome else None
