"""Properties of ids and splits that must hold for every data set."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.stages.ingest import RawRow
from pipelines.stages.persona_groups import group_tasks, read_persona_records
from pipelines.stages.project_splits import SplitSources, build_project_splits
from pipelines.stages.split_allocation import SplitPolicy, select_groups
from pipelines.stages.splits import build_source_splits
from pipelines.stages.task_ids import TaskRow, active_tasks, assign_task_ids

SOURCES = SplitSources(*"abcdefghi")
# Few values, so that links are frequent.
KEYS = st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(0, 6))


def cleaned(task_id: int, keys: tuple[int, int, int]) -> dict[str, Any]:
    simple, full, user = keys
    return {
        "asin": str(1000 + task_id),
        "source_product_index": task_id,
        "user_persona": {"用户ID": f"U{user}" if user else "", "序号": task_id},
        "instructions": [
            {"task_id": task_id, "instruction_simple": f"简{simple}", "instruction": f"全{full}"}
        ],
    }


def project(products: list[dict[str, Any]], seed: int) -> dict[str, Any]:
    records = read_persona_records(products)
    ids = [record.task_id for record in records]
    source = {"splits": {"persona_train": {"task_ids": ids, "persona": True}}}
    policy = SplitPolicy(seed=seed, validation_size=None, test_size=None)
    return build_project_splits(records, source, policy, SOURCES)


@settings(max_examples=60, deadline=None)
@given(st.lists(KEYS, max_size=60), st.integers(0, 5), st.randoms(use_true_random=False))
def test_project_splits_partition_whole_groups_in_any_input_order(
    keys: list[tuple[int, int, int]], seed: int, random: Any
) -> None:
    products = [cleaned(3 * n, values) for n, values in enumerate(keys)]
    manifest = project(products, seed)
    parts = {name: set(split["task_ids"]) for name, split in manifest["splits"].items()}
    assert sorted(task for part in parts.values() for task in part) == [3 * n for n in range(len(keys))]
    for group in group_tasks(read_persona_records(products)):
        assert sum(not part.isdisjoint(group.task_ids) for part in parts.values()) == 1
    shuffled = list(products)
    random.shuffle(shuffled)
    assert project(shuffled, seed) == manifest


@settings(max_examples=60, deadline=None)
@given(st.lists(KEYS, max_size=40))
def test_tasks_of_different_groups_share_no_key(keys: list[tuple[int, int, int]]) -> None:
    records = read_persona_records([cleaned(n, values) for n, values in enumerate(keys)])
    group_of = {task: group.group_id for group in group_tasks(records) for task in group.task_ids}
    for first in records:
        for second in records:
            if any(a == b and a for a, b in zip(first.keys, second.keys, strict=True)):
                assert group_of[first.task_id] == group_of[second.task_id]


@given(st.lists(st.integers(1, 9), max_size=14), st.integers(0, 30))
def test_the_subset_sum_is_the_best_total_of_distinct_groups(sizes: list[int], target: int) -> None:
    reachable = {0}
    for size in sizes:
        reachable |= {total + size for total in reachable}
    total, positions = select_groups(sizes, target)
    assert total == max(item for item in reachable if item <= target)
    assert positions == sorted(set(positions))
    assert sum(sizes[position] for position in positions) == total


ROWS = st.lists(
    st.tuples(st.integers(0, 3), st.booleans(), st.booleans(), st.sampled_from(["eval", "train", ""])),
    max_size=30,
)


def raw_row(index: int, shape: tuple[int, bool, bool, str]) -> RawRow:
    tasks, persona, faulty, tag = shape
    record = {"instructions": [{"instruction": f"买{index}-{n}"} for n in range(tasks)]}
    quarantine = "persona_without_simple" if faulty else ""
    return RawRow(index, str(index), "灯", "", "", tag, persona, tasks, quarantine, record)


@given(ROWS, st.frozensets(st.integers(0, 29)))
def test_filtering_never_moves_an_id(
    shapes: list[tuple[int, bool, bool, str]], excluded: frozenset[int]
) -> None:
    tasks = assign_task_ids(raw_row(index, shape) for index, shape in enumerate(shapes))
    assert [task.task_id for task in tasks] == list(range(sum(shape[0] for shape in shapes)))
    clean = assign_task_ids(
        raw_row(index, (count, persona, False, tag)) for index, (count, persona, _, tag) in enumerate(shapes)
    )
    uid_of = {task.task_id: task.task_uid for task in clean}
    assert all(uid_of[task.task_id] == task.task_uid for task in active_tasks(tasks, excluded))
    assert len(set(uid_of.values())) == len(tasks)


@given(ROWS, st.frozensets(st.integers(0, 29)), st.randoms(use_true_random=False))
def test_tag_splits_hold_every_active_task_and_no_other(
    shapes: list[tuple[int, bool, bool, str]], excluded: frozenset[int], random: Any
) -> None:
    tasks: list[TaskRow] = assign_task_ids(raw_row(index, shape) for index, shape in enumerate(shapes))
    result = build_source_splits(tasks, excluded)
    ids = {name: split["task_ids"] for name, split in result["splits"].items()}
    active = {task.task_id for task in active_tasks(tasks, excluded)}
    assert sorted(ids["standard_eval"] + ids["persona_train"] + ids["standard_train"]) == sorted(active)
    assert sorted(ids["persona_train"] + ids["standard_train"]) == ids["all_train"]
    assert set(ids["persona_eval"]) <= set(ids["standard_eval"])
    random.shuffle(tasks)
    assert build_source_splits(tasks, excluded) == result
