"""Strata of the sample's tasks: the public side agrees with the private one where it says something."""

from collections import Counter
from collections.abc import Iterator

import pytest

from shopsim_env import load_release
from shopsim_env.errors import ReleaseError
from shopsim_env.evaluation.results import Result
from shopsim_env.evaluation.strata import DIMENSIONS, TaskStrata
from shopsim_env.release import Release
from shopsim_env.release.public import make_public_copy


@pytest.fixture(scope="module")
def release() -> Iterator[Release]:
    with load_release() as opened:
        yield opened


def test_public_strata_are_right_where_they_say_something(release: Release) -> None:
    public, goals = TaskStrata(release), release.private()
    said: Counter[str] = Counter()
    for task_id, task in release.tasks.items():
        goal = goals.goal(task_id)
        for mode in ("persona", "standard"):
            found = public.of(str(task_id), mode)
            grades = goals.witness(task_id, mode).grades
            truth = {
                "W3": "yes" if "W3" in grades else "no",
                "budget": goal.budget_kind,
                "options": "0" if not goal.options else found["options"],
            }
            for name, value in truth.items():
                assert found[name] in ("unknown", value), (task_id, mode, name)
                said[f"{mode} {task.has_persona} {name}"] += found[name] != "unknown"
            assert {found[name] for name in ("W1", "W2", "domain")} == {"unknown"}
    # The sample has 155 persona tasks and 621 standard ones; standard mode of the former shows private text.
    assert said["persona True W3"] == 155
    assert said["standard True W3"] == said["standard True budget"] == said["persona True budget"] == 0
    assert said["standard False W3"] == said["persona False W3"] == 621
    assert said["standard False budget"] == 621


def test_private_strata_are_classes_of_goals_and_witnesses(release: Release) -> None:
    private, goals = TaskStrata(release, "private"), release.private()
    for task_id in release.splits["project/test"]:
        found, goal = private.of(str(task_id), "persona"), goals.goal(task_id)
        grades = goals.witness(task_id, "persona").grades
        assert [found[name] for name in ("W1", "W2", "W3")] == [
            "yes" if name in grades else "no" for name in ("W1", "W2", "W3")
        ]
        assert found["options"] == {0: "0", 1: "1", 2: "2"}.get(len(goal.options), "3+")
        assert found["budget"] == goal.budget_kind
    domains = {private.of(str(task_id), "persona")["domain"] for task_id in release.splits["project/test"]}
    assert domains <= {
        "Home",
        "Clothing",
        "Appliances",
        "Beauty",
        "Leisure",
        "Kids",
        "Food",
        "Supplies",
        "Sports",
    }
    assert len(domains) > 3


def test_tasks_and_modes_that_are_not_known_are_unknown(release: Release) -> None:
    for strata in (TaskStrata(release), TaskStrata(release, "private")):
        assert dict(strata.of("99999999", "persona")) == dict.fromkeys(DIMENSIONS, "unknown")
    task_id = str(release.splits["project/test"][0])
    assert TaskStrata(release).of(task_id, "unknown")["W3"] == "unknown"
    assert TaskStrata(release, "private").of(task_id, "unknown")["W1"] == "unknown"


def test_domains_of_few_tasks_are_one_stratum(release: Release) -> None:
    ids = [str(task_id) for task_id in release.splits["project/train"][:60]]
    results = [Result(task, 0, ("persona", "single_turn"), "scored", {}) for task in ids]
    strata = TaskStrata(release, "private")
    domains = Counter(strata.of(task, "persona")["domain"] for task in ids)
    found = {name: len(members) for name, members in strata.split(results)["domain"].items()}
    few = sum(count for count in domains.values() if count < 5)
    expected = {name: count for name, count in domains.items() if count >= 5} | (
        {"other": few} if few else {}
    )
    assert found == expected
    assert sum(found.values()) == 60
    # `other` and `unknown` come last.
    assert list(found)[:-1] == sorted(list(found)[:-1])
    assert list(TaskStrata(release).split(results)["domain"]) == ["unknown"]


def test_private_strata_of_a_public_copy_are_refused(release: Release, tmp_path) -> None:
    make_public_copy(release.path, tmp_path / "copy")
    with load_release(tmp_path / "copy") as copy:
        assert TaskStrata(copy).of("0", "standard")["audit"] in ("clean", "quarantined")
        with pytest.raises(ReleaseError) as caught:
            TaskStrata(copy, "private")
    assert caught.value.code == "public_copy"
