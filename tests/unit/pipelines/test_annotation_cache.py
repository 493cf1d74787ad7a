"""The answer cache: durable lines, one writer, what counts; imports from older files."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from persona_texts import persona_task
from places import ROOT

from pipelines.errors import ConfigError
from pipelines.stages.annotation.cache import Answers, Identity, answer_record, read_answers
from pipelines.stages.annotation.cache_file import CacheError, CacheFile, read_lines
from pipelines.stages.annotation.importing import import_answers
from pipelines.stages.annotation.persona_tasks import PersonaTask
from pipelines.stages.annotation.protocol import validate_answer

SIMPLE, FULL = "instruction_simple", "instruction"
IDENTITY = Identity("a" * 64, "http://127.0.0.1/v1/chat/completions", "m")
TASKS = [
    persona_task(3, "灯，预算50元以内"),
    persona_task(4, "灯四", "灯四，70元左右"),
    persona_task(5, "灯五"),
]


def line(
    task: PersonaTask, field: str, kind: str, amount: Any, evidence: str, **changes: Any
) -> dict[str, Any]:
    payload = {"task_id": task.task_id, "kind": kind, "amount": amount, "evidence": evidence}
    annotation = validate_answer(payload, task.request(field))
    return answer_record(IDENTITY, task, annotation, answered_at="2026-11-30T12:00:00+00:00") | changes


HARD = line(TASKS[0], SIMPLE, "hard_upper", 50, "预算50元以内")
NONE = line(TASKS[1], SIMPLE, "no_budget", None, "")
ABOUT = line(TASKS[1], FULL, "approximate_upper", 70, "70元左右")


def write(path: Path, *records: Any) -> Path:
    lines = [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in records]
    path.write_text("".join(f"{item}\n" for item in lines), encoding="utf-8")
    return path


# --- the file ---


def test_appended_records_are_there_for_everyone_at_once(tmp_path: Path) -> None:
    path = tmp_path / "cache" / "answers.jsonl"
    with CacheFile(path) as cache:
        cache.append(HARD)
        assert list(read_lines(path)) == [HARD]
        cache.append(NONE, ABOUT)
    assert list(read_lines(path)) == [HARD, NONE, ABOUT]
    assert path.stat().st_mode & 0o077 == 0, "answers quote instructions: readable by the owner alone"


def test_no_file_holds_no_records(tmp_path: Path) -> None:
    assert list(read_lines(tmp_path / "none.jsonl")) == []


@pytest.mark.parametrize("cut", [1, 10, 100])
def test_a_torn_tail_is_cut_off_at_open_and_nothing_else(tmp_path: Path, cut: int) -> None:
    path = write(tmp_path / "c.jsonl", HARD, NONE)
    whole = path.read_bytes()
    path.write_bytes(whole + json.dumps(ABOUT).encode()[:cut])
    with CacheFile(path) as cache:
        assert cache.repaired_bytes == cut
        assert path.read_bytes() == whole
        cache.append(ABOUT)
    assert list(read_lines(path)) == [HARD, NONE, ABOUT]


def test_a_whole_last_record_without_newline_is_kept(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", HARD, NONE)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    with CacheFile(path) as cache:
        assert cache.repaired_bytes == 0
        cache.append(ABOUT)
    assert list(read_lines(path)) == [HARD, NONE, ABOUT]


def test_a_torn_tail_longer_than_a_chunk_is_found(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", HARD)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"x": "' + b"y" * 200_000)
    with CacheFile(path):
        assert path.read_bytes() == whole
    path.write_bytes(b'{"x": "' + b"y" * 200_000)
    with CacheFile(path):
        assert path.read_bytes() == b""


@contextmanager
def small_disk() -> Iterator[None]:
    """Files may not grow beyond 4 KiB: writes stop half-way, as on a full disk."""
    import resource
    import signal

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, ignored)


def test_a_full_disk_is_an_error_and_leaves_no_half_line(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    with CacheFile(path) as cache:
        cache.append(HARD)
        before = path.read_bytes()
        with small_disk(), pytest.raises(CacheError, match="make room") as caught:
            cache.append({"filler": "z" * 8000})
        assert caught.value.code == "cache_write_failed"
        assert path.read_bytes() == before
        cache.append(NONE)
    assert list(read_lines(path)) == [HARD, NONE]


HOLDER = """
import sys, time
from pathlib import Path
from pipelines.stages.annotation.cache_file import CacheFile
with CacheFile(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_told_who_writes(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        with pytest.raises(ConfigError, match=f"process {holder.pid} on ") as caught:
            CacheFile(path)
        assert caught.value.code == "cache_locked"
    finally:
        holder.kill()
        holder.communicate()
    # The lock dies with its process, however it ends.
    CacheFile(path).close()


# --- what counts ---


def test_answers_are_found_again(tmp_path: Path) -> None:
    answers = read_answers(write(tmp_path / "c.jsonl", HARD, NONE, ABOUT), IDENTITY, TASKS)
    kinds = {key: value.kind for key, value in answers.valid.items()}
    assert kinds == {(3, SIMPLE): "hard_upper", (4, SIMPLE): "no_budget", (4, FULL): "approximate_upper"}
    assert float(answers.valid[4, FULL].price_upper or 0) == 77.0
    assert answers.counts["lines"] == 3


@pytest.mark.parametrize("change", ["source_archive_sha256", "api_url", "model", "protocol", "prompt_sha256"])
def test_each_part_of_the_identity_makes_a_record_foreign(tmp_path: Path, change: str) -> None:
    path = write(tmp_path / "c.jsonl", HARD | {change: "another"}, HARD | {change: ["odd"]}, NONE)
    answers = read_answers(path, IDENTITY, TASKS)
    assert list(answers.valid) == [(4, SIMPLE)]
    assert answers.counts["foreign"] == 2


def test_later_lines_win(tmp_path: Path) -> None:
    later = line(TASKS[0], SIMPLE, "approximate_upper", 50, "50元")
    answers = read_answers(write(tmp_path / "c.jsonl", HARD, later), IDENTITY, TASKS)
    assert answers.valid[3, SIMPLE].kind == "approximate_upper"
    assert answers.counts["superseded"] == 1


def test_damaged_lines_are_counted_and_the_rest_is_used(tmp_path: Path) -> None:
    path = write(tmp_path / "c.jsonl", HARD, '{"torn', "[1]", '{"task_id": true}', NONE, '{"task_id": 3}')
    path.write_bytes(path.read_bytes() + b"\xff\xfe\n" + b"[" * 100_000 + b"\n")
    answers = read_answers(path, IDENTITY, TASKS)
    assert (answers.counts["damaged"], len(answers.valid)) == (6, 2)


def test_records_of_no_eligible_task_are_counted(tmp_path: Path) -> None:
    answers = read_answers(write(tmp_path / "c.jsonl", HARD, NONE), IDENTITY, TASKS[1:])
    assert (answers.counts["unknown"], list(answers.valid)) == (1, [(4, SIMPLE)])


@pytest.mark.parametrize(
    "change",
    [
        {"text_sha256": "0" * 64},
        {"annotation": {"kind": "hard_upper", "amount": 50, "evidence": "不在文中"}},
        {"annotation": {"kind": "hard_upper", "amount": 50}},
        {"annotation": None},
    ],
)
def test_an_answer_to_another_text_or_an_invalid_one_is_asked_again(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    answers = read_answers(write(tmp_path / "c.jsonl", HARD | change), IDENTITY, TASKS)
    assert (answers.counts["invalidated"], answers.valid) == (1, {})


def test_expired_answers_still_count_but_are_not_fresh(tmp_path: Path) -> None:
    old = "2026-11-01T00:00:00+00:00"
    path = write(tmp_path / "c.jsonl", HARD, NONE | {"answered_at": old}, ABOUT)
    now = datetime(2026, 12, 1, tzinfo=UTC)
    answers = read_answers(path, IDENTITY, TASKS, expires_days=7, now=now)
    assert len(answers.valid) == 3
    assert answers.expired == {(4, SIMPLE)}
    assert set(answers.fresh) == {(3, SIMPLE)}, "the full answer rests on the expired simple one"


@pytest.mark.parametrize("when", ["yesterday", None, ""])
def test_an_answer_of_unknown_age_is_expired(tmp_path: Path, when: Any) -> None:
    path = write(tmp_path / "c.jsonl", HARD | {"answered_at": when})
    assert read_answers(path, IDENTITY, TASKS, expires_days=1).expired == {(3, SIMPLE)}


# --- imports ---


def imported(path: Path, answers: Answers | None = None) -> tuple[dict[tuple[int, str], Any], dict[str, int]]:
    result = import_answers(path, IDENTITY, TASKS, answers or Answers())
    return {(item["task_id"], item["source_field"]): item for item in result.lines}, dict(result.counts)


def test_an_older_cache_is_taken_over_with_its_provenance(tmp_path: Path) -> None:
    old = {"source_archive_sha256": "b" * 64, "model": "older", "task_id": 90}
    path = write(tmp_path / "old.jsonl", ABOUT | old, NONE | old, HARD | old, "{torn")
    lines, counts = imported(path)
    assert set(lines) == {(3, SIMPLE), (4, SIMPLE), (4, FULL)}, "matched by task uid: ids may have moved"
    assert counts == {"found": 3, "imported": 3}
    for item in lines.values():
        assert {name: item[name] for name in IDENTITY.as_dict()} == IDENTITY.as_dict()
        assert item["imported_from"]["model"] == "older"
        assert item["answered_at"] == "2026-11-30T12:00:00+00:00", "importing makes no answer younger"
    answers = read_answers(write(tmp_path / "new.jsonl", *lines.values()), IDENTITY, TASKS)
    assert (len(answers.valid), answers.counts["imported"]) == (3, 3)


def test_what_is_cached_already_is_kept(tmp_path: Path) -> None:
    present = read_answers(write(tmp_path / "c.jsonl", HARD), IDENTITY, TASKS)
    lines, counts = imported(write(tmp_path / "old.jsonl", HARD, NONE), present)
    assert (set(lines), counts) == ({(4, SIMPLE)}, {"found": 2, "kept": 1, "imported": 1})


def test_records_are_checked_against_the_text_at_hand(tmp_path: Path) -> None:
    changed = HARD | {"text_sha256": "0" * 64}
    stranger = NONE | {"task_uid": "shopsim-unknown"}
    lines, counts = imported(write(tmp_path / "old.jsonl", changed, stranger, ABOUT))
    assert lines == {}, "a full answer without its simple one proves nothing"
    assert counts == {"found": 3, "refused": 2, "other_task": 1, "imported": 0}


def test_a_published_audit_file_is_taken_over(tmp_path: Path) -> None:
    def audit(task: PersonaTask, **values: Any) -> dict[str, Any]:
        return {"task_id": task.task_id, "task_uid": task.task_uid, "asin": task.asin, **values}

    records = [
        audit(TASKS[0], kind="hard_upper", amount=50, evidence="预算50元以内", source_field=SIMPLE),
        audit(TASKS[1], kind="approximate_upper", amount=70, evidence="70元左右", source_field=FULL),
        audit(
            TASKS[2], kind="runtime_regex_fallback", amount=None, evidence="", source_field="runtime_regex"
        ),
        "no object",
    ]
    path = tmp_path / "persona_price_annotations.v2.json"
    path.write_text(json.dumps(records), encoding="utf-8")
    lines, counts = imported(path)
    assert set(lines) == {(3, SIMPLE), (4, FULL)}
    assert counts == {"found": 3, "fallback": 1, "imported": 2}
    assert lines[4, FULL]["imported_from"]["file"] == path.name


@pytest.mark.parametrize("text", ["", "{}", '{"answers": []}', "plain words", "[" * 5000])
def test_another_format_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        imported(path)
    assert caught.value.code == "import_format"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nope\.jsonl") as caught:
        imported(tmp_path / "nope.jsonl")
    assert caught.value.code == "import_missing"


def test_records_hold_no_text_but_the_evidence() -> None:
    text = json.dumps(ABOUT, ensure_ascii=False)
    assert "70元左右" in text
    assert "灯四" not in text
    assert os.environ.get("SILICONFLOW_API_KEY", "no key") not in text
