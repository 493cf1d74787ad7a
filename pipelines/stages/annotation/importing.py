"""Answers from an older cache or a published audit file, each checked against the text at hand.

Belongs here: which foreign records may join a cache, under which provenance. Records match by task uid and
text, so ids that moved with a changed archive do no harm; what is already cached is kept.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipelines.errors import ConfigError
from pipelines.stages.annotation.cache import (
    Answers,
    Identity,
    Key,
    annotation_of,
    answer_record,
    key_of,
    now_text,
)
from pipelines.stages.annotation.cache_file import read_lines
from pipelines.stages.annotation.persona_tasks import PersonaTask
from pipelines.stages.annotation.protocol import FALLBACK_KIND, FULL_FIELD, SIMPLE_FIELD
from pipelines.stages.annotation.resolution import missing_field
from shopsim_env.canonical import sha256_file


@dataclass(slots=True)
class Imported:
    """Lines to append to the cache, and counts of what was read.

    Counts: `found`, `imported`, `kept` (already cached), `fallback` (no answer), `other_task` (no eligible
    task has that uid), `refused` (another text, or not valid).
    """

    lines: list[dict[str, Any]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)


def import_answers(
    path: Path, identity: Identity, tasks: Sequence[PersonaTask], answers: Answers
) -> Imported:
    """Reads a JSON Lines cache or an audit file and returns what may be appended to the cache.

    Args:
        path: Cache of any identity, or `persona_price_annotations.v2.json`.
        identity: Identity under which the answers will count.
        tasks: Eligible persona tasks with their present texts.
        answers: What the cache holds already; those answers are kept.

    Raises:
        ConfigError: no such file, or neither format.
    """
    imported = Imported()
    by_uid = {task.task_uid: task for task in tasks}
    source = {"file": path.name, "sha256": _digest(path)}
    latest: dict[tuple[str, str], dict[str, Any]] = {}
    for record in _records(path):
        key = key_of(record)
        imported.counts["found"] += 1
        if record.get("annotation", {}).get("kind") == FALLBACK_KIND:
            imported.counts["fallback"] += 1
        elif key is None or record.get("task_uid") not in by_uid:
            imported.counts["other_task"] += 1
        else:
            latest[record["task_uid"], key[1]] = record
    for (uid, _), record in sorted(latest.items(), key=_simple_first):
        _take(record, by_uid[uid], identity, answers, imported, source)
    imported.counts["imported"] = len(imported.lines)
    return imported


def _simple_first(item: tuple[tuple[str, str], dict[str, Any]]) -> tuple[str, bool]:
    (uid, name), _ = item
    return uid, name == FULL_FIELD


def _take(
    record: dict[str, Any],
    task: PersonaTask,
    identity: Identity,
    answers: Answers,
    imported: Imported,
    source: dict[str, str],
) -> None:
    name = record["source_field"]
    key: Key = (task.task_id, name)
    if key in answers.valid or not missing_field(task, answers.valid):
        imported.counts["kept"] += 1
        return
    annotation = annotation_of(record, task.request(name))
    # A final answer vouches for the first one; a cache must bring the first one along.
    orphan = name == FULL_FIELD and not record["final"] and (task.task_id, SIMPLE_FIELD) not in answers.valid
    if annotation is None or orphan:
        imported.counts["refused"] += 1
        return
    answers.valid[key] = annotation
    known = {key: record[key] for key in ("model", "api_url", "prompt_sha256") if key in record}
    imported.lines.append(
        answer_record(
            identity,
            task,
            annotation,
            answered_at=str(record.get("answered_at") or now_text()),
            imported_from=source | known,
        )
    )


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """Records in the cache's shape, with `final` telling an audit file's from a cache's."""
    audit = _audit(path)
    if audit is None:
        lines = [line for line in read_lines(path) if line is not None]
        if not any("annotation" in line for line in lines):
            raise ConfigError(
                f"{path}: expected a cache (JSON Lines with `annotation`) or an audit file (a JSON array of "
                "annotations), found neither",
                code="import_format",
            )
        for line in lines:
            if isinstance(line.get("annotation"), dict):
                yield line | {"annotation": _answer(line["annotation"]), "final": False}
        return
    for record in audit:
        kept = {name: record.get(name) for name in ("task_id", "task_uid", "source_field")}
        yield {**kept, "annotation": _answer(record), "final": True}


def _answer(record: dict[str, Any]) -> dict[str, Any]:
    """What an answer states; ceilings that a record adds are computed anew."""
    return {name: record.get(name) for name in ("kind", "amount", "evidence")}


def _audit(path: Path) -> list[dict[str, Any]] | None:
    try:
        value = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        return None
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else None


def _digest(path: Path) -> str:
    if not path.is_file():
        raise ConfigError(f"{path}: expected a file to import, found none", code="import_missing")
    return sha256_file(path)
