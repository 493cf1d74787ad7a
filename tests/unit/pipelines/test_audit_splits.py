"""Clean splits, what splits share, and where the tasks of excluded products would have gone."""

from pathlib import Path
from typing import Any

from raw_records import axis, instruction, persona_product, product, raw_rows

from pipelines.stages.audit.findings import Finding
from pipelines.stages.audit.lineage import UNDETERMINED, build_lineage
from pipelines.stages.clean_splits import build_clean_splits
from pipelines.stages.contamination import contamination_report, shared_values
from pipelines.stages.persona_groups import PersonaRecord
from pipelines.stages.price_axes import find_exclusions
from pipelines.stages.split_allocation import SplitPolicy
from pipelines.stages.splits import SourceBounds
from pipelines.stages.task_ids import TaskRow, assign_task_ids

TWO_AXES = {"颜色": axis(("红", 1), ("蓝", 2)), "尺码": axis(("大", 3), ("小", 4))}


def test_clean_splits_leave_the_quarantined_out() -> None:
    splits = {"source/train": [1, 2, 3], "project/test": [2], "project/val": []}
    built = build_clean_splits(splits, {3: ("unit_price",), 2: ("deposit",)})
    assert built == {
        "quarantined_task_ids": [2, 3],
        "splits": {"source/train_clean": [1], "project/test_clean": [], "project/val_clean": []},
    }


def persona(task_id: int, **keys: str) -> PersonaRecord:
    names = ("asin", "instruction_simple", "instruction", "persona_fingerprint", "user_id")
    return PersonaRecord(task_id, tuple(keys.get(name, f"{name}{task_id}") for name in names))


def near(task_id: int, *others: int) -> Finding:
    evidence = {"tasks": [{"task_id": other, "likeness": 0.9} for other in others]}
    return Finding("near_duplicate_instruction", str(task_id), task_id, evidence)


def test_what_disjoint_splits_share_is_counted_with_its_tasks() -> None:
    records = [
        persona(1, user_id="u"),
        persona(2, user_id="u"),
        persona(3, user_id=""),
        persona(4, user_id=""),
    ]
    splits = {"project/train": [1, 3], "project/test": [2, 4], "source/all": [1, 2], "source/part": [1]}
    report = contamination_report(records, splits, [])
    assert list(report["shared"]) == ["project/train, project/test"], "source splits overlap by design"
    shared = report["shared"]["project/train, project/test"]
    assert shared["user_id"] == {"values": 1, "task_ids": [1, 2]}
    assert {name: found["values"] for name, found in shared.items()} == {
        "asin": 0, "instruction_simple": 0, "instruction": 0, "persona_fingerprint": 0, "user_id": 1,
    }  # fmt: skip
    (line,) = shared_values(report, "project")
    assert "user_id" in line
    assert "[1, 2]" in line
    assert shared_values(report, "source") == []


def test_a_task_in_two_project_splits_is_the_worst_case_and_reported() -> None:
    splits = {"project/train": [1, 2], "project/val": [4], "project/test": [2, 3], "source/all": [1, 2]}
    report = contamination_report([persona(number) for number in (1, 2, 3, 4)], splits, [])
    pair = "project/train, project/test"
    assert list(report["shared"]) == ["project/train, project/val", pair, "project/val, project/test"]
    assert {key: found["values"] for key, found in report["shared"][pair].items()} == {
        "task": 1, "asin": 1, "instruction_simple": 1, "instruction": 1,
        "persona_fingerprint": 1, "user_id": 1,
    }  # fmt: skip
    assert report["shared"][pair]["task"]["task_ids"] == [2]
    assert (
        shared_values(report, "project")[0] == f"{pair}: 1 values of task in both, such as those of tasks [2]"
    )
    assert "task" not in report["shared"]["project/train, project/val"]


def test_near_texts_count_where_a_family_parts_them() -> None:
    splits = {
        "project/train": [1],
        "project/test": [2],
        "source/eval": [2],
        "source/persona_eval": [2],
        "source/train": [1, 3],
    }
    report = contamination_report([], splits, [near(1, 2, 3), near(2, 1), near(3, 1), near(9, 10)])
    assert report["near_duplicates"]["pairs"] == [
        {
            "family": "project",
            "task_ids": [1, 2],
            "splits": [["project/train"], ["project/test"]],
            "likeness": 0.9,
        },
        {
            "family": "source",
            "task_ids": [1, 2],
            "splits": [["source/train"], ["source/eval", "source/persona_eval"]],
            "likeness": 0.9,
        },
    ]


def test_a_private_text_is_not_near_a_public_one_in_public() -> None:
    """Task 1 is a persona task, 2 and 3 are not; the text of 2 would tell the text of 1."""
    records = [persona(1)]
    splits = {"source/one": [1, 2], "source/two": [3]}
    found = [near(1, 3), near(3, 1, 2), near(2, 3)]
    pairs = contamination_report(records, splits, found)["near_duplicates"]["pairs"]
    assert [pair["task_ids"] for pair in pairs] == [[2, 3]]


def lineage(folder: Path, records: list[dict[str, Any]], policy: SplitPolicy) -> list[dict[str, Any]]:
    rows = raw_rows(folder, records)
    tasks = assign_task_ids(rows)
    return build_lineage(rows, tasks, find_exclusions(rows, tasks), None, policy)


def test_the_lineage_of_an_excluded_product(tmp_path: Path) -> None:
    """Three single groups; the excluded one shares its user with the persona product beside it."""
    same_user = {"用户ID": "U7"}
    records = [
        product("700000000001"),
        persona_product("700000000002", customization_options=TWO_AXES, user_persona=same_user),
        persona_product("700000000003", "另一盏灯，预算90元", user_persona=same_user),
        product("700000000004", customization_options=TWO_AXES, tag="eval"),
        product("700000000005", customization_options=TWO_AXES, instructions=[]),
    ]
    found = lineage(tmp_path, records, SplitPolicy(validation_size=0, test_size=2))
    assert [row["asin"] for row in found] == ["700000000002", "700000000004", "700000000005"]
    assert found[0] == {
        "asin": "700000000002",
        "source_product_index": 1,
        "price_affecting_axes": ["颜色", "尺码"],
        "axes": [
            {"axis": "颜色", "values": 2, "distinct_prices": 2, "prices": [1.0, 2.0]},
            {"axis": "尺码", "values": 2, "distinct_prices": 2, "prices": [3.0, 4.0]},
        ],
        "task_ids": [1],
        # Both tasks of the user make the test split of two.
        "would_have_gone": {"1": ["project/test", "source/all_train", "source/persona_train"]},
    }
    assert found[1]["would_have_gone"] == {"3": ["source/standard_eval"]}
    assert found[2]["would_have_gone"] == {}


def test_sizes_that_no_groups_reach_leave_the_project_split_open(tmp_path: Path) -> None:
    same = {"用户ID": "U7"}
    records = [
        persona_product("700000000002", customization_options=TWO_AXES, user_persona=same),
        persona_product("700000000003", "另一盏灯，预算90元", user_persona=same),
    ]
    (row,) = lineage(tmp_path, records, SplitPolicy(validation_size=0, test_size=1))
    assert UNDETERMINED in row["would_have_gone"]["0"]


def test_a_task_without_target_would_have_gone_to_the_published_split(tmp_path: Path) -> None:
    no_target = instruction("买灯", attributes=[], instruction_options=[])
    records = [product("700000000001", customization_options=TWO_AXES, instructions=[no_target])]
    rows = raw_rows(tmp_path, records)
    tasks = assign_task_ids(rows)
    bounds = [SourceBounds("everything", 0, 5, None)]
    (row,) = build_lineage(rows, tasks, find_exclusions(rows, tasks), bounds, SplitPolicy())
    # The published files hold such tasks; a release does not offer them (decision 0006).
    assert row["would_have_gone"] == {"0": ["source/everything"]}


def test_of_products_that_left_before_the_bounds_are_all_that_is_known(tmp_path: Path) -> None:
    """Another one leaves now; nobody can deal all persona tasks again, but bounds go by the source index."""
    left = {
        "asin": "700000000009",
        "source_product_index": 7,
        "price_affecting_axes": ["颜色", "尺码"],
        "reason": "multiple_price_affecting_axes",
        "task_ids": [5],
    }
    rows = raw_rows(tmp_path, [persona_product("700000000002", customization_options=TWO_AXES)])
    tasks = [*assign_task_ids(rows), TaskRow(5, "", 7, 0, "700000000009", False, "")]
    exclusions = [*find_exclusions(rows, tasks), left]
    bounds = [SourceBounds("first", 0, 5, None), SourceBounds("last", 5, 9, None)]
    policy = SplitPolicy(validation_size=0, test_size=0)
    now, before = build_lineage(rows, tasks, exclusions, bounds, policy, {7})
    assert now["would_have_gone"] == {"0": [UNDETERMINED, "source/first"]}
    assert "unknown" not in now
    assert (before["axes"], before["would_have_gone"]) == ([], {"5": ["source/last"]})
    assert before["unknown"] == ["axes", "project_splits"]
    *_, before = build_lineage(rows, tasks, exclusions, None, policy, {7})
    assert before["would_have_gone"] == {"5": []}
    assert before["unknown"] == ["axes", "project_splits", "source_splits"]
