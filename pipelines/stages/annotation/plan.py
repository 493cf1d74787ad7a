"""What an annotation run would ask: pending requests of both phases, their tokens, their cost.

Belongs here: counting and choosing, by code alone. First every simple text; the full text only of tasks whose
simple one gave no ceiling, and only when no simple text is pending any more.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipelines.settings import AnnotationSettings
from pipelines.stages.annotation.cache import Answers, Key
from pipelines.stages.annotation.persona_tasks import PersonaTask
from pipelines.stages.annotation.prompt import SYSTEM_PROMPT
from pipelines.stages.annotation.protocol import FULL_FIELD, SIMPLE_FIELD, Annotation
from pipelines.stages.annotation.resolution import check_fallback_ids, missing_field

# Frame of the user message, and an answer: {"task_id":4436,"kind":"approximate_upper",...}.
_FRAME_TOKENS = 30
_ANSWER_TOKENS = 60
PHASES = (SIMPLE_FIELD, FULL_FIELD)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is cached, what is pending, and what asking it takes at least.

    `full_possible` is how many full texts may follow once the pending simple ones are answered. Tokens count
    one per character of prompt and text: rather too many than too few. `cost` is None without prices.
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

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)


def pending(
    tasks: Sequence[PersonaTask],
    answers: Mapping[Key, Annotation],
    phase: str,
    skip: frozenset[int] = frozenset(),
) -> list[PersonaTask]:
    """Tasks in order whose text of `phase` must be asked next, without those of `skip`."""
    return [task for task in tasks if task.task_id not in skip and missing_field(task, answers) == phase]


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
    simple, full = (pending(tasks, fresh, phase, skip) for phase in PHASES)
    asked = [task.instruction_simple for task in simple] + [task.instruction for task in full]
    asked = asked if max_requests is None else asked[:max_requests]
    tokens = sum(len(SYSTEM_PROMPT) + _FRAME_TOKENS + len(text) for text in asked)
    cost = settings.cost(tokens, _ANSWER_TOKENS * len(asked))
    return Plan(
        tasks=len(tasks),
        resolved=sum(not missing_field(task, answers.valid) for task in tasks),
        fallback=len(skip),
        cached_simple=sum(name == SIMPLE_FIELD for _, name in answers.valid),
        cached_full=sum(name == FULL_FIELD for _, name in answers.valid),
        pending_simple=len(simple),
        pending_full=len(full),
        full_possible=sum(task.instruction != task.instruction_simple for task in simple),
        expired=len(answers.expired),
        cache={name: answers.counts[name] for name in _CACHE_COUNTS},
        capped_at=max_requests,
        requests=len(asked),
        input_tokens=tokens,
        output_tokens=_ANSWER_TOKENS * len(asked),
        cost=None if cost is None else round(cost, 4),
        currency=settings.currency,
        minutes=round(len(asked) / settings.requests_per_minute * settings.window_s / 60, 1),
    )


_CACHE_COUNTS = ("lines", "damaged", "foreign", "unknown", "superseded", "invalidated", "imported")
