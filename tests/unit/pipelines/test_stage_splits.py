"""Source splits by bounds and by tag; project splits: groups, ranking, subset sum, manifest."""

import hashlib
import itertools
from typing import Any

import pytest

from pipelines.errors import ConfigError, DatasetError
from pipelines.stages.persona_groups import (
    GROUP_KEYS,
    Group,
    PersonaRecord,
    group_id,
    group_tasks,
    normalize_text,
    persona_fingerprint,
    read_persona_records,
    user_id,
)
from pipelines.stages.project_splits import SplitSources, build_project_splits, task_ids_sha256
from pipelines.stages.split_allocation import SplitPolicy, rank_groups, select_groups, target_sizes
from pipelines.stages.splits import SourceBounds, build_source_splits
from pipelines.stages.task_ids import TaskRow

SOURCES = SplitSources(*"abcdefghi")


def task(task_id: int, *, tag: str = "train", persona: bool = False, quarantine: str = "") -> TaskRow:
    return TaskRow(task_id, f"u{task_id}", task_id, 0, str(task_id), persona, quarantine, tag)


# --- source splits ---


def test_bounds_cut_by_raw_product_index() -> None:
    tasks = [TaskRow(n, "u", n // 2, n % 2, "1", False, "x" if n == 4 else "", "") for n in range(10)]
    bounds = [
        SourceBounds("persona_eval", 0, 1, True),
        SourceBounds("standard_eval", 0, 2, False),
        SourceBounds("all_train", 2, 5, None),
    ]
    # Product 3 (tasks 6, 7) is excluded, task 4 is quarantined.
    assert build_source_splits(tasks, frozenset({3}), bounds) == {
        "version": "shopsimulator-stable-task-splits-v2",
        "id_semantics": "IDs assigned before filtering; gaps are intentional",
        "source_task_count": 10,
        "active_task_count": 7,
        "splits": {
            "persona_eval": {"task_ids": [0, 1], "persona": True},
            "standard_eval": {"task_ids": [0, 1, 2, 3], "persona": False},
            "all_train": {"task_ids": [5, 8, 9], "persona": None},
        },
    }


@pytest.mark.parametrize(
    "bounds",
    [
        [SourceBounds("a", 3, 2, None)],
        [SourceBounds("a", -1, 2, None)],
        [SourceBounds("a", 0, 1, None), SourceBounds("a", 1, 2, None)],
    ],
)
def test_bounds_must_make_sense(bounds: list[SourceBounds]) -> None:
    with pytest.raises(ConfigError, match="source split 'a'"):
        build_source_splits([task(0)], frozenset(), bounds)


def test_without_bounds_tags_and_personas_decide() -> None:
    tasks = [
        task(0, tag="eval", persona=True),
        task(1, tag="eval"),
        task(2, tag="train", persona=True),
        task(3, tag="train"),
        task(4, tag="", persona=True),
        task(5, tag=""),
        task(6, tag="eval", quarantine="instruction_missing"),
    ]
    splits = build_source_splits(tasks, frozenset({1}))["splits"]
    assert splits == {
        "persona_eval": {"task_ids": [0], "persona": True},
        "standard_eval": {"task_ids": [0], "persona": False},
        "persona_train": {"task_ids": [2, 4], "persona": True},
        "standard_train": {"task_ids": [3, 5], "persona": False},
        "all_train": {"task_ids": [2, 3, 4, 5], "persona": None},
    }


def test_an_unknown_tag_is_refused() -> None:
    with pytest.raises(DatasetError, match="expected the tag eval or train, found 'dev'") as caught:
        build_source_splits([task(0), task(1, tag="dev")], frozenset())
    assert (caught.value.record, caught.value.code) == (1, "unknown_tag")


def test_no_tasks_make_five_empty_splits() -> None:
    splits = build_source_splits([], frozenset())["splits"]
    assert [split["task_ids"] for split in splits.values()] == [[]] * 5


# --- keys ---


def test_texts_are_compared_normalised() -> None:
    assert normalize_text("  买　 一盏\n灯 ＡbC， ") == "买 一盏 灯 abc,"


@pytest.mark.parametrize(
    ("persona", "expected"),
    [
        ({"用户ID": "U1, "}, "u1,"),
        ({"user_id": "u1，"}, "u1,"),
        ({"User ID": "U1"}, "u1"),
        ({"ＵＳＥＲＩＤ": " U1 "}, "u1"),
        ({"用户_ID": 17}, "17"),
        ({"用户ID": None, "user_id": "U2"}, ""),
        ({"地区": {"用户ID": "U1"}}, ""),
        ({"用户ID": "U1", "user_id": "U2"}, "u1"),
    ],
)
def test_the_first_top_level_user_id_counts(persona: dict[str, Any], expected: str) -> None:
    assert user_id(persona) == expected


def test_the_fingerprint_drops_reasoning_at_every_depth() -> None:
    plain = {"b": [{"x": 1}], "a": "甲 "}
    noted = {"a": "甲 ", "b": [{"x": 1, "__reasoning__": "r"}], "__reasoning__": {"y": 2}}
    expected = hashlib.sha256('{"a":"甲 ","b":[{"x":1}]}'.encode()).hexdigest()
    assert persona_fingerprint(plain) == persona_fingerprint(noted) == expected
    assert persona_fingerprint({"b": [2, 1]}) != persona_fingerprint({"b": [1, 2]})
    assert persona_fingerprint({"a": "甲"}) != persona_fingerprint({"a": "甲 "})


def cleaned(
    task_id: Any, *, persona: Any = ..., simple: Any = ..., full: Any = ..., asin: str | None = None
) -> dict[str, Any]:
    return {
        "asin": asin or f"9{task_id}",
        "source_product_index": task_id,
        "user_persona": {"用户ID": f"U{task_id}"} if persona is ... else persona,
        "instructions": [
            {
                "task_id": task_id,
                "instruction_simple": f"简{task_id}" if simple is ... else simple,
                "instruction": f"全{task_id}" if full is ... else full,
            }
        ],
    }


def components(*products: dict[str, Any]) -> list[tuple[int, ...]]:
    return sorted(group.task_ids for group in group_tasks(read_persona_records(products)))


@pytest.mark.parametrize(
    ("first", "second", "linked"),
    [
        ({"persona": {"用户ID": "U1, "}}, {"persona": {"user_id": "u1，"}}, True),
        ({"persona": {"用户ID": "U1"}}, {"persona": {"用户ID": "U1,"}}, False),
        ({"simple": "买  一盏灯"}, {"simple": "买 一盏灯"}, True),
        ({"full": "买ＡＢ灯"}, {"full": "买ab灯"}, True),
        ({"full": ""}, {"full": None}, False),
        ({"persona": {"x": 1}}, {"persona": {"x": 1, "__reasoning__": "r"}}, True),
        ({"persona": {"x": 1}}, {"persona": {"x": 2}}, False),
        ({"asin": "77"}, {"asin": "77"}, True),
        ({"simple": "同文"}, {"full": "同文"}, False),
    ],
)
def test_tasks_are_linked_by_equal_keys_of_one_kind(
    first: dict[str, Any], second: dict[str, Any], linked: bool
) -> None:
    expected = [(1, 2)] if linked else [(1,), (2,)]
    assert components(cleaned(1, **first), cleaned(2, **second)) == expected


def test_links_reach_through_others() -> None:
    assert components(
        cleaned(5, simple="甲"), cleaned(3, simple="甲", full="乙"), cleaned(8, full="乙"), cleaned(1)
    ) == [(1,), (3, 5, 8)]


def test_groups_are_named_by_their_members_and_sorted() -> None:
    # printf '3,5' | sha256sum
    assert group_id((3, 5)) == "group-" + hashlib.sha256(b"3,5").hexdigest()[:16]
    groups = group_tasks(read_persona_records([cleaned(n) for n in range(6)]))
    names = [group.group_id for group in groups]
    assert names == sorted(names)


def test_standard_products_and_persona_products_without_tasks_are_passed_over() -> None:
    products = [
        cleaned(1, persona=None),
        cleaned(2, persona={}),
        cleaned(3) | {"instructions": []},
        cleaned(4),
    ]
    assert [record.task_id for record in read_persona_records(products)] == [4]
    assert repr(read_persona_records(products)) == "[PersonaRecord(task_id=4, ...)]"


@pytest.mark.parametrize(
    ("product", "field"),
    [
        (cleaned("5"), "task_id"),
        (cleaned(True), "task_id"),
        (cleaned(5, persona="U1"), "user_persona"),
        (cleaned(5, simple=" 　"), "instruction_simple"),
        (cleaned(5, simple=None), "instruction_simple"),
    ],
)
def test_bad_persona_tasks_are_refused(product: dict[str, Any], field: str) -> None:
    with pytest.raises(DatasetError) as caught:
        read_persona_records([product])
    assert (caught.value.field, caught.value.code) == (field, "bad_persona_task")


def test_an_id_used_twice_is_refused() -> None:
    with pytest.raises(DatasetError, match="task 5 once"):
        read_persona_records([cleaned(5), cleaned(5)])


# --- ranking and subset sum ---


def singles(count: int) -> list[Group]:
    return [Group(group_id((n,)), (n,)) for n in range(count)]


def test_groups_are_ranked_by_seed_split_and_id() -> None:
    assert [group.task_ids[0] for group in rank_groups(singles(5), 99, "test")] == [0, 2, 1, 4, 3]
    assert select_groups([1] * 5, 2) == (2, [0, 1])


@pytest.mark.parametrize(
    ("sizes", "target", "total", "positions"),
    [
        ([2, 1, 3], 3, 3, [0, 1]),
        ([5, 5], 3, 0, []),
        ([2, 2, 3], 3, 3, [2]),
        ([3, 2, 2], 4, 4, [1, 2]),
        ([4, 3, 2, 5], 7, 7, [0, 1]),
        ([2, 2, 2], 5, 4, [0, 1]),
        ([1, 2], 0, 0, []),
        ([], 0, 0, []),
        ([], 4, 0, []),
        ([1, 1, 1], 9, 3, [0, 1, 2]),
    ],
)
def test_the_first_groups_that_make_the_target_are_chosen(
    sizes: list[int], target: int, total: int, positions: list[int]
) -> None:
    assert select_groups(sizes, target) == (total, positions)


# --- project splits ---


def records_of(*groups: tuple[int, ...]) -> list[PersonaRecord]:
    """Records whose components are `groups`: members of one group share their user id."""
    return [
        PersonaRecord(member, (f"a{member}", f"s{member}", "", f"p{member}", f"u{number}"))
        for number, group in enumerate(groups)
        for member in group
    ]


def source_of(records: list[PersonaRecord], evaluation: int = 0) -> dict[str, Any]:
    ids = [record.task_id for record in records]
    return {
        "splits": {
            "persona_eval": {"task_ids": [n for n in ids if n < evaluation], "persona": True},
            "standard_eval": {"task_ids": [n for n in ids if n < evaluation], "persona": False},
            "persona_train": {"task_ids": [n for n in ids if n >= evaluation], "persona": True},
            "all_train": {"task_ids": [0, 999], "persona": None},
        }
    }


def build(records: list[PersonaRecord], evaluation: int = 0, **policy: Any) -> dict[str, Any]:
    return build_project_splits(records, source_of(records, evaluation), SplitPolicy(**policy), SOURCES)


def test_the_manifest_has_the_published_form() -> None:
    records = records_of((0, 1), (2,), (3,), (4,), (5,))
    manifest = build(records, 3, seed=7, validation_size=1, test_size=2)
    assert manifest["schema_version"] == manifest["version"] == "shopsimrl-persona-splits-v1"
    assert manifest["source"] == {
        "cleaned_archive": "a",
        "cleaned_archive_sha256": "b",
        "cleaned_data_sha256": "c",
        "clean_dataset_manifest": "d",
        "clean_dataset_manifest_sha256": "e",
        "clean_dataset_manifest_crlf_sha256": "f",
        "source_split_manifest": "g",
        "source_split_manifest_sha256": "h",
        "source_split_manifest_crlf_sha256": "i",
        "persona_task_count": 6,
    }
    assert manifest["policy"] == {
        "version": "exact-linked-components-v1",
        "seed": 7,
        "allocation_order": ["test", "val", "train"],
        "validation_size": 1,
        "test_size": 2,
        "held_out_max_group_size": 20,
        "normalization": "unicode-nfkc-casefold-whitespace-v1",
        "group_keys": ["asin", "instruction_simple", "instruction", "persona_fingerprint", "user_id"],
        "test_excluded_task_ids": [],
    }
    assert manifest["grouping"] == {"group_count": 5, "multi_task_group_count": 1, "max_group_size": 2}
    assert manifest["checks"] == {
        "complete_coverage": True,
        "linked_groups_disjoint": True,
        "pairwise_task_disjoint": True,
        "persona_task_count": 6,
        "test_exclusions_respected": True,
    }
    splits = manifest["splits"]
    assert {name: split["task_count"] for name, split in splits.items()} == {"test": 2, "val": 1, "train": 3}
    dealt = sorted(itertools.chain.from_iterable(split["task_ids"] for split in splits.values()))
    assert dealt == [0, 1, 2, 3, 4, 5]
    for name, split in splits.items():
        ids = split["task_ids"]
        evaluation = sum(task_id < 3 for task_id in ids)
        assert split["role"] == name
        assert split["persona"] is True
        assert ids == sorted(ids)
        assert split["task_ids_sha256"] == task_ids_sha256(ids)
        assert split["source_split_counts"] == {
            "persona_eval": evaluation,
            "persona_train": len(ids) - evaluation,
        }


def test_ids_are_hashed_as_a_compact_array() -> None:
    assert task_ids_sha256([1, 5, 8]) == "0f0c32f63a0f8475e2cc70d43e96564daebf06ec671d4c37643199fabd50d256"


def test_singletons_are_taken_in_rank_order() -> None:
    records = records_of((0,), (1,), (2,), (3,), (4,))
    manifest = build(records, seed=99, validation_size=0, test_size=2)
    assert manifest["splits"]["test"]["task_ids"] == [0, 2]
    assert manifest["splits"]["val"]["task_ids"] == []
    assert manifest["splits"]["val"]["max_group_size"] == 0


def test_large_groups_stay_in_train() -> None:
    records = records_of(tuple(range(10)), (10,), (11,), (12,))
    manifest = build(records, validation_size=1, test_size=1, held_out_max_group_size=9)
    assert set(manifest["splits"]["train"]["task_ids"]) >= set(range(10))
    with pytest.raises(ConfigError, match="exactly 4 tasks together, found 3 at most") as caught:
        build(records, validation_size=0, test_size=4, held_out_max_group_size=9)
    assert caught.value.code == "size_unreachable"


def test_groups_are_never_broken_to_meet_a_size() -> None:
    with pytest.raises(ConfigError, match="exactly 3 tasks"):
        build(records_of(tuple(range(5)), tuple(range(5, 10))), validation_size=0, test_size=3)


def test_test_exclusions_keep_their_whole_group_out_of_test_alone() -> None:
    records = records_of((0, 1), (2, 3), (4, 5))
    for seed in range(6):
        manifest = build(records, seed=seed, validation_size=2, test_size=2, test_excluded_task_ids=(1, 2))
        assert manifest["splits"]["test"]["task_ids"] == [4, 5]
        assert manifest["checks"]["test_exclusions_respected"] is True
        assert manifest["policy"]["test_excluded_task_ids"] == [1, 2]


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        ({"validation_size": 2, "test_size": 2}, "bad_sizes"),
        ({"validation_size": -1, "test_size": 1}, "bad_sizes"),
        ({"validation_size": None, "test_size": 1}, "bad_sizes"),
        ({"validation_size": 1, "test_size": None}, "bad_sizes"),
        ({"validation_size": 1, "test_size": 1, "test_excluded_task_ids": (9,)}, "unknown_exclusion"),
    ],
)
def test_impossible_policies_are_refused(policy: dict[str, Any], code: str) -> None:
    with pytest.raises(ConfigError) as caught:
        build(records_of((0,), (1,), (2,), (3,)), **policy)
    assert caught.value.code == code


def test_source_splits_must_cover_the_persona_tasks_exactly_once() -> None:
    records = records_of((0,), (1,), (2,))
    policy = SplitPolicy(validation_size=0, test_size=0)
    source = source_of(records)
    source["splits"]["persona_train"]["task_ids"] = [0, 1, 7, 8]
    with pytest.raises(DatasetError, match="3 persona tasks, found 1 missing and 2 extra"):
        build_project_splits(records, source, policy, SOURCES)
    source["splits"]["persona_eval"]["task_ids"] = [0]
    with pytest.raises(DatasetError, match="task 0 is in two persona source splits"):
        build_project_splits(records, source, policy, SOURCES)


PROPORTIONAL = {"validation_size": None, "test_size": None}


@pytest.mark.parametrize(
    ("tasks", "size"), [(0, 0), (1, 0), (5, 0), (6, 1), (16, 1), (17, 2), (160, 14), (4526, 400)]
)
def test_proportional_sizes_are_400_of_4526(tasks: int, size: int) -> None:
    # 6 * 400 / 4526 = 0.53, 16 -> 1.41, 17 -> 1.502, 160 -> 14.14
    assert target_sizes(SplitPolicy(**PROPORTIONAL), tasks) == {"test": size, "val": size}


def test_proportional_sizes_shrink_to_whole_groups() -> None:
    records = records_of(*[(2 * n, 2 * n + 1) for n in range(17)])  # 34 tasks: target 3, groups of 2
    manifest = build(records, **PROPORTIONAL)
    assert manifest["policy"]["version"] == "proportional-linked-components-v1"
    assert (manifest["policy"]["test_size"], manifest["policy"]["validation_size"]) == (2, 2)
    assert [split["task_count"] for split in manifest["splits"].values()] == [2, 2, 30]


@pytest.mark.parametrize("policy", [PROPORTIONAL, {"validation_size": 0, "test_size": 0}])
def test_no_persona_tasks_make_empty_splits(policy: dict[str, Any]) -> None:
    manifest = build([], **policy)
    assert [split["task_ids"] for split in manifest["splits"].values()] == [[], [], []]
    assert manifest["grouping"] == {"group_count": 0, "multi_task_group_count": 0, "max_group_size": 0}
    assert all(
        manifest["checks"][name] is True for name in manifest["checks"] if name != "persona_task_count"
    )


def test_the_keys_have_the_order_of_the_records() -> None:
    (record,) = read_persona_records(
        [cleaned(1, persona={"用户ID": "U9"}, simple="Ａ", full="Ｂ", asin="77")]
    )
    named = dict(zip(GROUP_KEYS, record.keys, strict=True))
    assert named == {
        "asin": "77",
        "instruction_simple": "a",
        "instruction": "b",
        "persona_fingerprint": hashlib.sha256('{"用户ID":"U9"}'.encode()).hexdigest(),
        "user_id": "u9",
    }
