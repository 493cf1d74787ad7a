"""A paid annotation run: health check, workers, retries, phases; every answer is on disk before it counts.

Belongs here: the order of work. When a request may start is decided in `pacing`, what a failure means in
`llm`, what is still missing in `pipelines.stages.annotation.plan`.

Source: seed section on offline cleaning; contract 7.19.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from pipelines.resources.llm import ChatEndpoint, MinuteLimit, ProviderError, Reply, TransientFailure
from pipelines.resources.pacing import Pacer, Stopped
from pipelines.resources.retries import retrying
from pipelines.settings import AnnotationSettings
from pipelines.stages.annotation.cache import Answers, Identity, answer_record, now_text
from pipelines.stages.annotation.cache_file import CacheFile
from pipelines.stages.annotation.persona_tasks import PersonaTask
from pipelines.stages.annotation.plan import PHASES, pending
from pipelines.stages.annotation.prompt import messages, read_answer
from pipelines.stages.annotation.protocol import Annotation, AnnotationError
from shopsim_env.errors import ShopSimError

_FAILURES_SHOWN = 10


@dataclass(slots=True)
class RunReport:
    """What a run did so far. `ended` is done, capped, failed (instructions given up) or stopped.

    `instructions` were scheduled, `requests` sent, `stored` are on disk. `retried` counts failures by code,
    those that were retried and the last ones. `given_up` holds (task id, field, code).
    """

    ended: str = "done"
    instructions: int = 0
    requests: int = 0
    stored: int = 0
    waves: int = 0
    requests_per_minute: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    retried: Counter[str] = field(default_factory=Counter)
    given_up: list[tuple[int, str, str]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """JSON form: ids, fields and codes, never a text."""
        values = {name: getattr(self, name) for name in self.__slots__}
        shown = [f"{task_id}:{name} {code}" for task_id, name, code in self.given_up[:_FAILURES_SHOWN]]
        return values | {"retried": dict(self.retried), "given_up": len(self.given_up), "examples": shown}


Progress = Callable[[RunReport, int], None]
"""Called after every finished instruction with the report and the instructions known to be ahead in total."""


class Annotator:
    """Asks what is missing and appends each valid answer to the cache.

    Args:
        settings: Limits and prices.
        identity: What the answers are recorded under.
        endpoint: Where to ask.
        cache: The cache, open for writing.
        progress: Told of every finished instruction, from the thread that runs `run`.
    """

    def __init__(
        self,
        settings: AnnotationSettings,
        identity: Identity,
        endpoint: ChatEndpoint,
        cache: CacheFile,
        progress: Progress = lambda _report, _total: None,
    ) -> None:
        self._settings, self._identity, self._endpoint = settings, identity, endpoint
        self._cache, self._progress = cache, progress
        self._stop = threading.Event()
        self._mutex = threading.Lock()
        self._in_a_row = 0
        self.report = RunReport(requests_per_minute=settings.requests_per_minute)
        self._pacer = Pacer(
            settings.requests_per_minute,
            window_s=settings.window_s,
            margin_s=settings.window_margin_s,
            cooldown_s=settings.cooldown_s,
            wait=self._stop.wait,
        )

    def run(
        self,
        tasks: Sequence[PersonaTask],
        answers: Answers,
        *,
        skip: frozenset[int] = frozenset(),
        max_requests: int | None = None,
    ) -> RunReport:
        """Both phases, in order; the second starts only when no simple text is missing any more.

        Args:
            tasks: Eligible persona tasks.
            answers: What the cache holds for them; new answers are added to it.
            skip: Tasks left to the run-time parser: not asked.
            max_requests: Instructions that may be asked, retries not counted; None: no cap.

        Raises:
            ShopSimError: an error that ends the run. What was in flight was stored first.
            KeyboardInterrupt: likewise.
        """
        started = time.monotonic()
        try:
            self._phases(tasks, answers, skip, max_requests)
        except BaseException:
            self.report.ended = "stopped"
            raise
        finally:
            self.report.seconds = round(time.monotonic() - started, 3)
            self.report.waves = self._pacer.waves
            self.report.requests_per_minute = self._pacer.limit
        return self.report

    def _phases(
        self, tasks: Sequence[PersonaTask], answers: Answers, skip: frozenset[int], cap: int | None
    ) -> None:
        fresh = answers.fresh
        with ThreadPoolExecutor(self._settings.workers, thread_name_prefix="annotate") as pool:
            for phase in PHASES:
                waiting = pending(tasks, fresh, phase, skip)
                allowed = len(waiting) if cap is None else max(0, cap - self.report.instructions)
                self._ask_all(pool, waiting[:allowed], phase, fresh)
                answers.valid.update(fresh)
                if self.report.given_up or allowed < len(waiting):
                    self.report.ended = "failed" if self.report.given_up else "capped"
                    return

    def _ask_all(
        self, pool: ThreadPoolExecutor, tasks: list[PersonaTask], phase: str, fresh: dict[Any, Annotation]
    ) -> None:
        """Asks the tasks with at most `workers` in flight; the very first one of the run alone."""
        total = self.report.instructions + len(tasks)
        queue = iter(tasks)
        running: dict[Future[Annotation], PersonaTask] = {}
        try:
            while True:
                # No second request before the first answer is on disk: it shows that account, model and
                # schema work.
                room = (self._settings.workers if self.report.stored else 1) - len(running)
                for task in islice(queue, max(0, room)):
                    self.report.instructions += 1
                    running[pool.submit(self._ask, task, phase)] = task
                if not running:
                    return
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    self._finish(future, running.pop(future), phase, fresh)
                    self._progress(self.report, total)
        except BaseException:
            self._drain(running, phase, fresh)
            raise

    def _drain(
        self, running: dict[Future[Annotation], PersonaTask], phase: str, fresh: dict[Any, Annotation]
    ) -> None:
        """Stops what waits for its slot, lets requests in flight finish; their workers store the answers."""
        self._stop.set()
        wait(running)
        for future, task in running.items():
            if not isinstance(future.exception(), (Stopped, ShopSimError)):
                self._finish(future, task, phase, fresh)

    def _finish(
        self, future: Future[Annotation], task: PersonaTask, phase: str, fresh: dict[Any, Annotation]
    ) -> None:
        try:
            fresh[task.task_id, phase] = future.result()
        except TransientFailure as error:
            self._give_up(task, phase, error)
        else:
            self._in_a_row = 0

    def _give_up(self, task: PersonaTask, phase: str, error: TransientFailure) -> None:
        self.report.given_up.append((task.task_id, phase, error.code))
        self._in_a_row += 1
        if not self.report.stored:
            raise ProviderError(
                f"the first instruction of the run (task {task.task_id}, {phase}) failed in all its tries, "
                f"at last with {error.code}: {error}. Nothing else was asked; if it is this text alone, "
                f"leave it out (--runtime-regex-task-id {task.task_id}).",
                code="health_check_failed",
            )
        if self._in_a_row >= self._settings.failures_in_a_row:
            raise ProviderError(
                f"{self._in_a_row} instructions in a row were given up, the last one (task {task.task_id}, "
                f"{phase}) with {error.code}; mend the endpoint and run again, answers so far are stored.",
                code="endpoint_failing",
            )

    def _ask(self, task: PersonaTask, phase: str) -> Annotation:
        """One instruction in a worker: asks until a valid answer is stored or its retries are used up."""
        try:
            return retrying(self._settings, self._stop.wait)(self._attempt, task, phase)
        except MinuteLimit:
            raise ProviderError(
                f"task {task.task_id} ({phase}): still rate-limited after "
                f"{self._settings.rate_limit_retries} retries; lower requests_per_minute or run again later",
                code="rate_limit_persists",
            ) from None

    def _attempt(self, task: PersonaTask, phase: str) -> Annotation:
        ticket = self._pacer.acquire()
        with self._mutex:
            self.report.requests += 1
        request = task.request(phase)
        try:
            reply = self._endpoint.ask(messages(request))
            self._count_tokens(reply)
            annotation = read_answer(reply.text, request)
        except MinuteLimit as error:
            self._pacer.cool(ticket, error.retry_after)
            self._count_failure(error.code)
            raise
        except (TransientFailure, AnnotationError) as error:
            self._count_failure(error.code)
            if isinstance(error, AnnotationError):
                raise TransientFailure(str(error), code=error.code) from None
            raise
        self._store(task, annotation, reply)
        return annotation

    def _store(self, task: PersonaTask, annotation: Annotation, reply: Reply) -> None:
        """Puts the answer on disk, in the worker that got it: nothing else may come in between."""
        usage = {"input_tokens": reply.usage.input_tokens, "output_tokens": reply.usage.output_tokens}
        ids = {name: getattr(reply, name) for name in ("response_id", "request_id", "system_fingerprint")}
        record = answer_record(
            self._identity,
            task,
            annotation,
            answered_at=now_text(),
            usage=usage,
            **{name: value for name, value in ids.items() if value},
        )
        self._cache.append(record)
        with self._mutex:
            self.report.stored += 1

    def _count_tokens(self, reply: Reply) -> None:
        """Answers that break the protocol are paid for too."""
        with self._mutex:
            self.report.input_tokens += reply.usage.input_tokens
            self.report.output_tokens += reply.usage.output_tokens
            self.report.cost = self._settings.cost(self.report.input_tokens, self.report.output_tokens)

    def _count_failure(self, code: str) -> None:
        with self._mutex:
            self.report.retried[code] += 1
