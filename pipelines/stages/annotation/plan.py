"""What an annotation run would ask: pending requests of both phases, their tokens, their cost.

Belongs here: counting and choosing, by code alone. First every simple text; the full text only of tasks whose
simple one gave no ceiling, and only when no simple text is pending any more.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any

from pipelines.settings import AnnotationSettings
from pipelines.stages.annotation.cache import Answers, Key
from pipelines.stages.annotation.persona_tasks import PersonaTask
from pipelines.stages.annotation.prompt import SYSTEM_PROMPT
from pipelines.stages.annotation.protocol import FULL_FIELD, SIMPLE_FIELD, Annotation
from pipelines.stages.annotation.resolution import check_fallback_ids, missing_field

# Frame of the user message, and a usual answer: {"task_id":4436,"kind":"approximate_upper",...}.
_FRAME_TOKENS = 30
_ANSWER_TOKENS = 60
PHASES = (SIMPLE_FIELD, FULL_FIELD)


@dataclass(frozen=True, slots=True)
class Effort:
    """What a number of instructions takes, without retries; `cost` is None without prices.

    Input tokens count one per character of prompt and text: rather too many than too few.
    """

    requests: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    minutes: float

    @classmethod
    def of(cls, texts: Sequence[str], answer_tokens: int, settings: AnnotationSettings) -> "Effort":
        """The effort of `texts`, each with an answer of `answer_tokens`."""
        tokens = sum(len(SYSTEM_PROMPT) + _FRAME_TOKENS + len(text) for text in texts)
        answers = answer_tokens * len(texts)
        cost = settings.cost(tokens, answers)
        minutes = len(texts) / settings.requests_per_minute * settings.window_s / 60
        return cls(len(texts), tokens, answers, None if cost is None else round(cost, 4), round(minutes, 1))


@dataclass(frozen=True, slots=True)
class Plan:
    """What is cached, what is pending, what asking it takes, and what a run can take at most.

    `requests` are the instructions known now; `at_most` adds the full texts that may follow once the pending
    simple ones are answered, `full_possible` without a cap. Retries are not counted.
    """

    tasks: int
    resolved: int
    fallback: int
    cached_simple: int
    cached_full: int
    pending_simple: int
    pending_full: int
    full_possible: int
    expired: int
    cache: dict[str, int]
    capped_at: int | None
    requests: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    currency: str
    minutes: float
    at_most: Effort

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)


def pending(
    tasks: Sequence[PersonaTask],
    answers: Mapping[Key, Annotation],
    phase: str,
    skip: frozenset[int] = frozenset(),
    expired: Set[Key] = frozenset(),
) -> list[PersonaTask]:
    """Tasks in order whose text of `phase` must be asked next, without those of `skip`.

    An `expired` simple answer is asked again even where a full answer that is still fresh would do alone.
    """

    def wanted(task: PersonaTask) -> str:
        key = (task.task_id, SIMPLE_FIELD)
        renew = key in expired and key not in answers
        return SIMPLE_FIELD if renew else missing_field(task, answers)

    return [task for task in tasks if task.task_id not in skip and wanted(task) == phase]


def make_plan(
    tasks: Sequence[PersonaTask],
    answers: Answers,
    settings: AnnotationSettings,
    *,
    skip: frozenset[int] = frozenset(),
    max_requests: int | None = None,
) -> Plan:
    """Counts what a run would do.

    Args:
        tasks: Eligible persona tasks.
        answers: What the cache holds for them.
        settings: Endpoint, limits, prices.
        skip: Tasks left to the run-time parser: not asked.
        max_requests: Cap of the run, in instructions over both phases; None: no cap.

    Raises:
        AnnotationError: `skip` names a task that is no active persona task (code unknown_fallback).
    """
    check_fallback_ids(tasks, skip)
    fresh = answers.fresh
    simple, full = (pending(tasks, fresh, phase, skip, answers.expired) for phase in PHASES)
    possible = [task for task in simple if _may_need_full(task, fresh)]
    known, most = _efforts(simple, full, possible, settings, max_requests)
    return Plan(
        tasks=len(tasks),
        resolved=sum(not missing_field(task, answers.valid) for task in tasks),
        fallback=len(skip),
        cached_simple=sum(name == SIMPLE_FIELD for _, name in answers.valid),
        cached_full=sum(name == FULL_FIELD for _, name in answers.valid),
        pending_simple=len(simple),
        pending_full=len(full),
        full_possible=len(possible),
        expired=len(answers.expired),
        cache={name: answers.counts[name] for name in _CACHE_COUNTS},
        capped_at=max_requests,
        requests=known.requests,
        input_tokens=known.input_tokens,
        output_tokens=known.output_tokens,
        cost=known.cost,
        currency=settings.currency,
        minutes=known.minutes,
        at_most=most,
    )


def _efforts(
    simple: Sequence[PersonaTask],
    full: Sequence[PersonaTask],
    possible: Sequence[PersonaTask],
    settings: AnnotationSettings,
    cap: int | None,
) -> tuple[Effort, Effort]:
    """What the pending texts take, and the most that a run can take with the full texts of `possible`."""
    first = [task.instruction_simple for task in simple]
    second, more = ([task.instruction for task in some] for some in (full, possible))
    # Which full texts a cap leaves depends on the answers; the longest ones are the worst case.
    worst = first + sorted(second + more, key=len, reverse=True)
    return (
        Effort.of((first + second)[:cap], _ANSWER_TOKENS, settings),
        Effort.of(worst[:cap], settings.max_output_tokens, settings),
    )


def _may_need_full(task: PersonaTask, fresh: Mapping[Key, Annotation]) -> bool:
    return task.instruction != task.instruction_simple and (task.task_id, FULL_FIELD) not in fresh


_CACHE_COUNTS = ("lines", "damaged", "foreign", "unknown", "superseded", "invalidated", "imported")
