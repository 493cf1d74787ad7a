"""Lists of exclusions by hand: what they may say, how a fault is named, what they mean."""

from pathlib import Path

import pytest
from raw_records import axis, product, raw_rows

from pipelines.errors import ConfigError, DatasetError
from pipelines.stages.cleaning import inactive_tasks
from pipelines.stages.human_exclusions import check_targets, load_exclusions, read_document
from pipelines.stages.price_axes import exclusion_reasons, find_exclusions
from pipelines.stages.task_ids import active_tasks, assign_task_ids, set_aside

ENTRY = '[[exclude]]\nasin = "2"\nreason = "wrong photo"\nauthor = "li"\n'
TASK = '[[exclude]]\ntask = 0\nreason = "price per roll"\nauthor = "wu"\n'
HEAD = 'dataset = "shop"\nversion = "7"\n'
TWO_AXES = {"颜色": axis(("a", 1), ("b", 2)), "尺码": axis(("s", 1), ("m", 2))}


def configs(folder: Path, **files: str) -> Path:
    (folder / "exclusions").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / "exclusions" / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder


def test_lists_of_the_data_set_are_joined(tmp_path: Path) -> None:
    root = configs(
        tmp_path, a=HEAD + ENTRY, b=HEAD + TASK, other='dataset = "x"\nversion = "1"\nexclude = []\n'
    )
    listed = load_exclusions(root, "shop")
    assert listed.versions == {"a.toml": "7", "b.toml": "7"}
    assert (listed.asins, listed.tasks) == ({"2"}, {0})
    assert read_document(listed.as_document()).identity() == listed.identity()
    assert listed.identity()["entries"] == 2


def test_the_hash_is_that_of_the_entries_in_any_order(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    first = load_exclusions(configs(tmp_path / "one", a=HEAD + ENTRY + TASK), "shop")
    second = load_exclusions(configs(tmp_path / "two", z=HEAD + TASK + ENTRY), "shop")
    assert first.sha256() == second.sha256()
    assert first.sha256() != load_exclusions(configs(tmp_path / "one", a=HEAD + ENTRY), "shop").sha256()


def test_the_hash_of_the_document_knows_versions_and_file_names(tmp_path: Path) -> None:
    texts = {"a": HEAD + ENTRY, "b": HEAD.replace("7", "8") + ENTRY}
    folders = [("one", "a", "a"), ("two", "a", "b"), ("three", "z", "a"), ("four", "a", "a")]
    for folder, _, _ in folders:
        (tmp_path / folder).mkdir()
    listed = [
        load_exclusions(configs(tmp_path / folder, **{name: texts[text]}), "shop")
        for folder, name, text in folders
    ]
    assert len({one.sha256() for one in listed}) == 1
    first, version, renamed, again = [one.document_sha256() for one in listed]
    assert first == again
    assert len({first, version, renamed}) == 3


def test_no_list_is_an_empty_list(tmp_path: Path) -> None:
    listed = load_exclusions(tmp_path, "shop")
    assert (listed.versions, listed.entries) == ({}, ())


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (HEAD + ENTRY + '[[exclude]]\nasin = "3"\nauthor = "li"\n', "entry 2, reason: Field required"),
        (HEAD + ENTRY.replace("wrong photo", "  "), "entry 1, reason"),
        (HEAD + ENTRY + TASK + "asin = '4'\n", "entry 2: Value error, expected either asin or task"),
        (HEAD + '[[exclude]]\nreason = "x"\nauthor = "y"\n', "entry 1: Value error, expected either"),
        (HEAD + TASK.replace("0", '"0"'), "entry 1, task"),
        (HEAD + TASK.replace("0", "-1"), "entry 1, task"),
        (HEAD + TASK.replace("0", "true"), "entry 1, task"),
        (HEAD + ENTRY + "note = 1\n", "entry 1, note: Extra inputs"),
        (HEAD + ENTRY + ENTRY, "entry 2: asin 2 is listed already"),
        ('version = "7"\nexclude = []\n', "dataset: Field required"),
        ("dataset = ", "expected TOML"),
    ],
)
def test_a_fault_names_file_and_entry(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigError, match=named) as caught:
        load_exclusions(configs(tmp_path, bad=text), "shop")
    assert caught.value.code == "exclusions_invalid"
    assert "bad.toml" in str(caught.value)


def test_a_list_of_another_data_set_is_checked_too(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"bad\.toml"):
        load_exclusions(configs(tmp_path, bad="dataset = 1\n"), "shop")


def test_an_entry_that_names_nothing_is_refused(tmp_path: Path) -> None:
    listed = load_exclusions(configs(tmp_path, a=HEAD + ENTRY + TASK.replace("0", "9")), "shop")
    check_targets(listed, {"1", "2"}, 10)
    with pytest.raises(DatasetError, match=r"a\.toml: .* 2 others: asin 2, task 9") as caught:
        check_targets(listed, {"1"}, 9)
    assert caught.value.code == "unknown_exclusion"


def test_products_and_tasks_leave_with_their_reason(tmp_path: Path) -> None:
    rows = raw_rows(
        tmp_path, [product("1"), product("2"), product("3", customization_options=TWO_AXES), product("4")]
    )
    tasks = set_aside(assign_task_ids(rows), {0}, "human_exclusion")
    exclusions = find_exclusions(rows, tasks, {"2", "3"})
    assert exclusions[0] == {
        "asin": "2",
        "price_affecting_axes": ["颜色"],
        "reason": "human_exclusion",
        "source_product_index": 1,
        "task_ids": [1],
    }
    assert exclusions[1] == find_exclusions(rows, tasks)[0], "the published reason comes first"
    reasons = exclusion_reasons(exclusions)
    assert inactive_tasks(tasks, reasons) == {
        0: "human_exclusion",
        1: "human_exclusion",
        2: "multiple_price_affecting_axes",
    }
    assert [task.task_id for task in active_tasks(tasks, frozenset(reasons))] == [3]
