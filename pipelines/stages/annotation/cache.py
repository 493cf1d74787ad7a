"""What the lines of the answer cache mean: identity, one record per (task, field), what still counts.

Belongs here: records. Later lines win; lines of another archive, endpoint, model, protocol or prompt are
foreign: counted, never used. A record counts only while the task has the text it was made from and it still
passes validation. Bytes and locks are in `cache_file`.

Source: seed section on offline cleaning, prior art section 4.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pipelines.settings import AnnotationSettings
from pipelines.stages.annotation.cache_file import read_lines
from pipelines.stages.annotation.persona_tasks import PersonaTask
from pipelines.stages.annotation.prompt import PROMPT_SHA256
from pipelines.stages.annotation.protocol import (
    ANNOTATION_VERSION,
    FULL_FIELD,
    SIMPLE_FIELD,
    SOURCE_FIELDS,
    Annotation,
    AnnotationError,
    AnnotationRequest,
    validate_answer,
)
from shopsim_env.canonical import sha256_text

Key = tuple[int, str]


@dataclass(frozen=True, slots=True)
class Identity:
    """What must agree before an answer is used: source archive, endpoint, model, protocol, prompt."""

    source_archive_sha256: str
    api_url: str
    model: str
    protocol: str = ANNOTATION_VERSION
    prompt_sha256: str = PROMPT_SHA256

    @classmethod
    def of(cls, source_archive_sha256: str, settings: AnnotationSettings) -> "Identity":
        """The identity of answers for one archive under `settings`."""
        return cls(source_archive_sha256, settings.api_url, settings.model)

    def as_dict(self) -> dict[str, str]:
        """The identity keys of a record."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer, 0 where the endpoint did not say."""

    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(slots=True)
class Answers:
    """The answers of a cache that count for some tasks.

    `valid` holds every usable answer, `expired` the keys of those older than the settings allow. Counts:
    `lines`, `damaged` (no JSON object), `foreign`, `unknown` (no eligible task), `superseded` (a later line
    won), `invalidated` (text changed, or no longer valid), `imported`.
    """

    valid: dict[Key, Annotation] = field(default_factory=dict)
    expired: set[Key] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def fresh(self) -> dict[Key, Annotation]:
        """Answers that need not be asked again; an expired simple answer takes the full one with it."""
        if not self.expired:
            return dict(self.valid)
        stale = self.expired | {
            (task_id, FULL_FIELD) for task_id, name in self.expired if name == SIMPLE_FIELD
        }
        return {key: value for key, value in self.valid.items() if key not in stale}


def answer_record(
    identity: Identity,
    task: PersonaTask,
    annotation: Annotation,
    *,
    answered_at: str,
    **more: Any,
) -> dict[str, Any]:
    """One line of the cache. `more` are facts about the request, such as `usage` or `imported_from`."""
    request = task.request(annotation.source_field)
    recorded = annotation.as_record()
    return {
        **identity.as_dict(),
        "task_id": task.task_id,
        "task_uid": task.task_uid,
        "source_field": annotation.source_field,
        "text_sha256": sha256_text(request.text),
        "annotation": {name: recorded[name] for name in ("kind", "amount", "evidence")},
        "answered_at": answered_at,
        **more,
    }


def now_text() -> str:
    """The time of an answer: UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def read_answers(
    path: Path,
    identity: Identity,
    tasks: Sequence[PersonaTask],
    *,
    expires_days: float | None = None,
    now: datetime | None = None,
) -> Answers:
    """Answers in the cache at `path` that count for `tasks`.

    Args:
        path: Cache file; need not exist.
        identity: What records must agree with.
        tasks: Eligible persona tasks.
        expires_days: Age from which an answer counts as expired; None: never.
        now: Time that ages are measured from; None is the present.
    """
    answers = Answers()
    by_id = {task.task_id: task for task in tasks}
    oldest = None if expires_days is None else (now or datetime.now(UTC)) - timedelta(days=expires_days)
    seen: set[Key] = set()
    wanted = tuple(identity.as_dict().values())
    # From the end: the first record of a key is the one that wins, and none must be kept in between.
    for record in read_lines(path, newest_first=True):
        answers.counts["lines"] += 1
        key = None if record is None else key_of(record)
        if record is None or key is None:
            answers.counts["damaged"] += 1
        elif _identity_of(record) != wanted:
            answers.counts["foreign"] += 1
        elif key[0] not in by_id:
            answers.counts["unknown"] += 1
        elif key in seen:
            answers.counts["superseded"] += 1
        else:
            seen.add(key)
            _take(answers, key, record, by_id[key[0]], oldest)
    return answers


def _take(
    answers: Answers, key: Key, record: Mapping[str, Any], task: PersonaTask, oldest: datetime | None
) -> None:
    annotation = annotation_of(record, task.request(key[1]))
    if annotation is None:
        answers.counts["invalidated"] += 1
        return
    answers.valid[key] = annotation
    if "imported_from" in record:
        answers.counts["imported"] += 1
    if oldest is not None and _time_of(record) < oldest:
        answers.expired.add(key)


def _identity_of(record: Mapping[str, Any]) -> tuple[Any, ...]:
    get = record.get
    return tuple([get(name) for name in Identity.__slots__])


def key_of(record: Mapping[str, Any]) -> Key | None:
    """Task id and field of a record, None when it names none."""
    task_id, name = record.get("task_id"), record.get("source_field")
    if not isinstance(task_id, int) or isinstance(task_id, bool) or name not in SOURCE_FIELDS:
        return None
    return task_id, str(name)


def annotation_of(record: Mapping[str, Any], request: AnnotationRequest) -> Annotation | None:
    """The record's annotation, None when it was made from another text or is not valid for this one."""
    recorded = record.get("text_sha256")
    answer = record.get("annotation")
    if not isinstance(answer, dict) or (recorded is not None and recorded != sha256_text(request.text)):
        return None
    try:
        return validate_answer({"task_id": request.task_id, **answer}, request)
    except AnnotationError:
        return None


def _time_of(record: Mapping[str, Any]) -> datetime:
    """When the answer was given; a record that does not say counts as the oldest possible."""
    try:
        found = datetime.fromisoformat(str(record.get("answered_at")))
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
