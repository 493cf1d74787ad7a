"""`shopsim audit`: the table of codes, and one case with its lineage; excluded products included."""

import json
from pathlib import Path
from typing import Any

import builds
import pytest

from shopsim_env import load_release
from shopsim_env.cli import main
from shopsim_env.release.public import make_public_copy


def audit(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = main(["audit", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def case(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    code, out, _ = audit(capsys, *arguments, "--json")
    assert code == 0
    report: dict[str, Any] = json.loads(out)
    return report


def test_the_table_of_codes(small_release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = case(capsys, small_release)
    assert {row["code"]: row["findings"] for row in report["codes"]} == {
        "multi_price_axes": 1,  # 700000000002
        "placeholder_listing": 1,  # 红 costs 1 yuan there
        "gold_option_missing": 1,  # the canary option of task 0
        "gold_attribute_missing": 1,  # and its canary attribute
        "blank_attributes": 1,  # task 3
        "persona_id_is_gold": 1,  # U700000000001...
    }
    assert report["quarantined_tasks"] == 1
    assert report["tasks_by_split"]["source/standard_eval"] == {"blank_attributes": 1}
    code, out, _ = audit(capsys, small_release)
    assert (code, "multi_price_axes" in out, "source/standard_train: no code" in out) == (0, True, True)


def test_an_excluded_product_is_shown_with_its_whole_lineage(
    small_release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    by_product, by_task = (
        case(capsys, small_release, "--asin", "700000000002"),
        case(capsys, small_release, "--task", "1"),
    )
    assert by_product == by_task
    assert (by_product["state"], by_product["price_affecting_axes"]) == ("excluded", ["颜色", "尺码"])
    assert [(axis["axis"], axis["prices"]) for axis in by_product["axes"]] == [
        ("颜色", [1.0, 2.0]),
        ("尺码", [1.0, 3.0]),
    ]
    (lost,) = by_product["tasks"]
    assert (lost["task_id"], lost["state"], lost["splits"]) == (1, "excluded", [])
    assert lost["would_have_gone"] == ["source/all_train", "source/standard_train"]
    _, out, _ = audit(capsys, small_release, "--asin", "700000000002")
    assert "axis 颜色: 2 values, 2 distinct prices (1, 2)  changes the price" in out
    assert "would have gone to source/all_train, source/standard_train" in out


def test_an_active_task(small_release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = case(capsys, small_release, "--task", "0")
    assert (report["asin"], report["state"]) == ("700000000001", "in_catalogue")
    (task,) = report["tasks"]
    assert task["state"] == "active"
    assert task["splits"] == ["project/train", "source/all_train", "source/persona_train"]
    assert [item["code"] for item in task["findings"]] == [
        "gold_option_missing",
        "gold_attribute_missing",
        "persona_id_is_gold",
    ]
    assert task["findings"][0]["evidence"] == {"options": [builds.CANARY_OPTION]}
    assert list(task["labels"]) == ["standard", "persona"]
    assert task["labels"]["persona"]["options"] == ["underivable"]
    _, out, _ = audit(capsys, small_release, "--task", "0")
    assert "persona, budget: stated" in out


def test_a_product_without_tasks(small_release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = case(capsys, small_release, "--asin", "700000000100")
    assert (report["state"], report["findings"], report["tasks"]) == ("in_catalogue", [], [])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--asin", "9"), "unknown_product"),
        (("--task", "4"), "unknown_task"),
        (("--task", "-1"), "unknown_task"),
        (("--task", str(2**70)), "unknown_task"),
    ],
)
def test_unknown_cases(
    small_release: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, str], code: str
) -> None:
    status, out, err = audit(capsys, small_release, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith(f"shopsim: {code}: ")


def test_a_public_copy_has_no_evidence(
    small_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = make_public_copy(small_release, tmp_path / "public").path
    for arguments in ((), ("--asin", "700000000002"), ("--task", "0")):
        status, out, err = audit(capsys, copy, *arguments)
        assert (status, out) == (1, "")
        assert err.startswith(f"shopsim: public_copy: {copy}: a public copy holds no findings of the audit.")
        assert "Give the full release from which it was made" in err


def test_the_release_shows_clean_splits_and_public_marks_alone(small_release: Path) -> None:
    with load_release(small_release) as release:
        published = [name for name in release.splits if not name.endswith("_clean")]
        assert sorted(release.splits) == sorted([*published, *(f"{name}_clean" for name in published)])
        assert release.splits["source/all_train"] == (0, 2)
        assert release.splits["source/all_train_clean"] == (2,)
        assert release.tasks[0].labels == (
            "persona",
            "project/train",
            "source/all_train",
            "source/persona_train",
            "quarantined",
            "persona/options=underivable",
            "persona/attributes=underivable",
            "persona/budget=stated",
        )
        assert "standard/attributes=stated" in release.tasks[2].labels
        assert release.metrics["audit"]["project/train"]["gold_option_missing"] == 1
        assert release.metrics["contamination"]["near_duplicates"]["pairs"] == []


def test_a_task_that_ingest_set_aside_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    untold = builds.task("买一盏灯", attributes=[], instruction_options=[])
    records = [*builds.small_records(), builds.record("700000000999", "无目标 营地灯", instructions=[untold])]
    report = builds.build(tmp_path, raw=builds.write_records(tmp_path / "raw.json.gz", records))
    assert report.ok, report.problems
    (task,) = case(capsys, str(report.release), "--asin", "700000000999")["tasks"]
    assert (task["task_id"], task["state"], task["splits"]) == (4, "no_target", [])
    # It stands in the exports, so it is labelled; nothing of it is graded.
    assert task["labels"] == {"standard": {"options": [], "attributes": [], "budget": "not_graded"}}
