"""A user's own training examples against the held-out tasks of a release."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import builds
import pytest

from shopsim_env import Release, TaskError, UsageError, check_contamination, load_release
from shopsim_env.cli import main
from shopsim_env.contamination import MEANINGS
from shopsim_env.release.public import make_public_copy

# Task 0 of `builds.small_records`: persona, task 2: standard.
SIMPLE = "找一盏营地灯，50元以内"
FULL = f"想买一盏防水的营地灯，{builds.CANARY_FULL}，预算50元以内"
STANDARD = "想要防水的露营帐篷，预算40元以内"
PERSONA = ("source/persona_train",)
SPLITS = ("source/persona_train", "source/standard_train")


@pytest.fixture
def release(small_release: Path) -> Iterator[Release]:
    with load_release(small_release) as opened:
        yield opened


@pytest.fixture
def public(small_release: Path, tmp_path: Path) -> Iterator[Release]:
    with load_release(make_public_copy(small_release, tmp_path / "public").path) as opened:
        yield opened


def found(release: Release, row: Any, splits: tuple[str, ...] = SPLITS) -> list[tuple[str, str, int]]:
    report = check_contamination([row], release, splits)
    assert report.ok == (not report.hits)
    return [(hit.field, hit.kind, hit.task_id) for hit in report.hits]


def test_rows_that_hold_no_task_are_clean(release: Release) -> None:
    rows = [
        {"messages": [{"role": "user", "content": "想买一把椅子，预算三百"}]},
        "别的",
        None,
        [1, True],
        {},
    ]
    report = check_contamination(rows, release, SPLITS)
    assert (report.ok, report.rows, report.tasks, report.full_texts) == (True, 5, 2, True)


@pytest.mark.parametrize(
    "content",
    [
        STANDARD,
        f"任务：{STANDARD}。请开始。",
        "想要 防水的 露营帐篷，\n预算４０元以内",  # blanks, line ends and width do not matter
        json.dumps({"instruction": STANDARD}),  # escaped inside a string
    ],
)
def test_a_text_word_for_word(release: Release, content: str) -> None:
    hits = found(release, {"messages": [{"role": "user", "content": content}]})
    assert {hit[1:] for hit in hits} == {("same_instruction", 2)}
    assert all(field.startswith("messages[0].content") for field, *_ in hits)


def test_a_text_that_is_nearly_the_same(release: Release) -> None:
    """16 characters, 14 triples; another last character changes one of them."""
    near = STANDARD.replace("以内", "以下")
    (hit,) = check_contamination([{"text": near}], release, SPLITS).hits
    assert (hit.kind, hit.task_id, hit.split) == ("near_instruction", 2, "source/standard_train")
    assert hit.share == round(13 / 14, 4)
    assert hit.explanation.startswith("row 1, text: holds most of the full text")
    assert "帐篷" not in hit.explanation


def test_triples_spread_over_many_lines_are_no_copy(release: Release) -> None:
    assert found(release, {"text": "\n".join(STANDARD[at : at + 4] for at in range(0, 16, 2))}) == []


def test_the_full_text_of_a_persona_task_is_known_to_the_private_part_alone(
    release: Release, public: Release
) -> None:
    assert ("text", "same_instruction", 0) in found(release, {"text": FULL})
    hits = check_contamination([{"text": FULL}], public, PERSONA)
    assert not hits.full_texts
    assert [hit.kind for hit in hits.hits] == []
    assert ("text", "same_instruction_simple", 0) in found(public, {"text": SIMPLE})


def test_personas_as_object_and_as_text(release: Release) -> None:
    persona = release.tasks[0].user_persona
    assert ("", "persona", 0) in found(release, {"user": persona})
    assert ("", "persona", 0) in found(release, {"tools": [json.dumps({"user": persona})]})
    assert found(release, {"user": {**persona, "用户标签": []}}) == [], "25-34 alone is nobody"


def test_fields_that_name_task_or_gold_product(release: Release, public: Release) -> None:
    assert found(release, {"meta": {"task_id": 2}}) == [("meta.task_id", "task_id", 2)]
    assert found(release, {"meta": {"task_id": 4, "id": 2}}) == []
    assert found(release, {"asin": "700000000003"}) == [("asin", "gold_product", 2)]
    assert found(release, {"shown": "700000000003"}) == [], "a product that was only shown"
    assert found(public, {"asin": "700000000003"}) == []


def test_a_file_names_its_lines(release: Release, tmp_path: Path) -> None:
    lines = ["", json.dumps({"text": "好"}), "", json.dumps({"text": STANDARD}, ensure_ascii=False)]
    plain, packed = tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"
    plain.write_text("\n".join(lines), encoding="utf-8")
    packed.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))
    for path in (plain, str(packed)):
        report = check_contamination(path, release, SPLITS)
        assert (report.rows, [hit.row for hit in report.hits]) == (2, [4])


@pytest.mark.parametrize("data", [b"{", b'{"a": 1}\nno json\n', b"\xff\xfe\n", b"[" * 100_000])
def test_files_that_are_no_json_lines_are_refused(release: Release, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(data)
    with pytest.raises(UsageError) as error:
        check_contamination(path, release, SPLITS)
    assert error.value.code == "invalid_rows"


@pytest.mark.parametrize(
    ("name", "data", "code", "found"),
    [
        ("missing.jsonl", None, "input_missing", "found no file"),
        ("folder", "folder", "input_missing", "found a folder"),
        ("a.jsonl", b"\xff\n", "invalid_rows", "byte 0xff, which is no UTF-8"),
        ("a.jsonl.gz", b'{"a": 1}\n', "invalid_rows", "a file that gzip did not pack"),
        (
            "a.jsonl.gz",
            gzip.compress(b'{"a": 1}\n' * 99, mtime=0)[:-9],
            "invalid_rows",
            "gzip file that ends too early",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_words(
    release: Release, tmp_path: Path, name: str, data: bytes | str | None, code: str, found: str
) -> None:
    path = tmp_path / name
    if data == "folder":
        path.mkdir()
    elif isinstance(data, bytes):
        path.write_bytes(data)
    with pytest.raises(UsageError, match=found) as error:
        check_contamination(path, release, SPLITS)
    assert error.value.code == code
    assert str(path) in str(error.value)
    assert "Errno" not in str(error.value)


def test_a_row_that_is_nested_without_end_is_refused(release: Release) -> None:
    deep: Any = "想"
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(UsageError, match="row 1"):
        check_contamination([deep], release, SPLITS)


def test_unknown_splits_are_refused(release: Release) -> None:
    for splits in ((), ("project/nope",)):
        with pytest.raises(TaskError) as error:
            check_contamination([], release, splits)
        assert error.value.code == "unknown_split"


def test_the_command(small_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({"text": STANDARD}) + "\n" + json.dumps({"text": FULL}) + "\n")
    base = ["contamination", str(path), "--release", str(small_release)]
    assert main(base) == 0
    assert capsys.readouterr().out == "0 hits: 2 rows against 0 tasks of project/val, project/test\n"
    assert main([*base, "--split", "source/standard_train"]) == 1
    out = capsys.readouterr().out
    assert out.splitlines() == [
        "row 1, text: holds the full text of the task word for word: task 2 of source/standard_train",
        "1 hits: 2 rows against 1 tasks of source/standard_train",
    ]
    assert main([*base, "--split", "source/persona_train", "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert (report["ok"], report["full_texts"], report["tasks"]) == (False, True, 1)
    assert {hit["kind"] for hit in report["hits"]} <= set(MEANINGS)
    assert builds.CANARY_FULL not in json.dumps(report)
    assert main(["contamination", str(tmp_path / "none.jsonl"), "--release", str(small_release)]) == 2


def test_the_command_says_what_a_public_copy_cannot_compare(
    small_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = make_public_copy(small_release, tmp_path / "public").path
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(json.dumps({"task_id": 0}) for _ in range(60)))
    command = ["contamination", str(path), "--release", str(copy), "--split", "source/persona_train"]
    assert main(command) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[50:] == [
        "... and 10 more (--json lists all)",
        "a public copy: full texts of persona tasks and gold products were not compared",
        "60 hits: 60 rows against 1 tasks of source/persona_train",
    ]


def test_a_persona_told_in_a_prompt() -> None:
    """On the sample, whose personas are as long as real ones; in another order and with words between."""
    with load_release() as release:
        task_id, *_ = release.splits["project/test"]
        persona = release.tasks[task_id].user_persona
        told = "\n".join(f"{key}是{json.dumps(value, ensure_ascii=False)}" for key, value in persona.items())
        report = check_contamination([{"prompt": told[::-1]}, {"prompt": f"用户画像\n{told}"}], release)
        hits = [(hit.row, hit.task_id, hit.kind) for hit in report.hits]
        assert hits == [(2, task_id, "persona")]
        everything = [
            {"text": release.tasks[number].instruction_simple, "user": release.tasks[number].user_persona}
            for number in release.splits["project/train"]
        ]
        # Groups stay whole, so training tasks of the release itself are clean.
        assert [hit for hit in check_contamination(everything, release).hits if hit.share == 1] == []
