"""Task ids: running numbers over the raw corpus, and the uid formula."""

from pathlib import Path

import pytest
from raw_records import instruction, persona_product, product, raw_rows

from pipelines.errors import ArtifactError
from pipelines.stages.task_ids import (
    TaskRow,
    active_tasks,
    assign_task_ids,
    read_task_rows,
    task_uid,
    write_task_rows,
)


def test_uid_is_the_hash_of_asin_index_and_text() -> None:
    assert task_uid("700000000021", 0, "买一盏营地灯") == "shopsim-0966967468b8676508b1f92b"


def test_uid_depends_on_each_part() -> None:
    # printf '["1",1,"乙"]' | sha256sum
    assert task_uid("1", 1, "乙") == "shopsim-348258978992e1b8c70a926b"
    assert (
        len({task_uid("1", 0, "乙"), task_uid("1", 1, "乙"), task_uid("2", 1, "乙"), task_uid("1", 1, "")})
        == 4
    )


def test_ids_run_over_products_then_instructions(tmp_path: Path) -> None:
    rows = raw_rows(
        tmp_path,
        [product("1"), product("2"), product("3", instructions=[instruction("甲"), instruction("乙")])],
    )
    tasks = assign_task_ids(rows)
    assert [(task.asin, task.task_id, task.instruction_index) for task in tasks] == [
        ("1", 0, 0),
        ("2", 1, 0),
        ("3", 2, 0),
        ("3", 3, 1),
    ]
    # Product 2 excluded: the ids of the others stay, the gap stays.
    assert [task.task_id for task in active_tasks(tasks, frozenset({1}))] == [0, 2, 3]


def test_products_without_tasks_take_no_id(tmp_path: Path) -> None:
    rows = raw_rows(tmp_path, [product("1", instructions=None), product("2", instructions=[]), product("3")])
    assert [(task.task_id, task.source_product_index) for task in assign_task_ids(rows)] == [(0, 2)]
    assert assign_task_ids([]) == []


def test_rows_carry_persona_tag_and_quarantine(tmp_path: Path) -> None:
    rows = raw_rows(
        tmp_path,
        [
            persona_product("1", tag="eval"),
            product("2", instructions=[instruction("甲", "简单")], tag=None),
            product("3", instructions=[instruction(text="")]),
        ],
        lenient=True,
    )
    tasks = assign_task_ids(rows)
    assert [(task.persona, task.tag, task.quarantine) for task in tasks] == [
        (True, "eval", ""),
        (False, "", "simple_without_persona"),
        (False, "train", "instruction_missing"),
    ]
    assert tasks[2].task_uid == task_uid("3", 0, "")
    assert [task.task_id for task in active_tasks(tasks, frozenset())] == [0]


def test_rows_survive_the_file(tmp_path: Path) -> None:
    tasks = [
        TaskRow(0, "shopsim-a", 0, 0, "1", True, "", "eval"),
        TaskRow(1, "shopsim-b", 3, 1, "2", False, "instruction_missing", ""),
    ]
    assert write_task_rows(tmp_path / "task_ids.parquet", tasks) == 2
    assert list(read_task_rows(tmp_path / "task_ids.parquet")) == tasks


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"task_ids\.parquet"):
        list(read_task_rows(tmp_path / "task_ids.parquet"))
