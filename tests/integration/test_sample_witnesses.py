"""Every witness of the shipped sample, played again by the installed runtime, against the truth file."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import product

import pytest
from places import SAMPLES

from shopsim_env import Release, ShopEnv, load_release, score_purchase
from shopsim_env.private import GRADES, Witness
from shopsim_env.shop.pages import offered_axes

TRUTH = json.loads((SAMPLES / "sample.truth.json").read_text(encoding="utf-8"))
# The fault that the sample plants -> what the player has to report.
REASONS = {
    "gold_above_budget": "over_budget",
    "gold_option_lost_emoji": "option_missing",
    "gold_option_missing": "option_missing",
    "placeholder_price": "price_unverifiable",
    "unpriced_options": "price_unverifiable",
}


@pytest.fixture(scope="module")
def release() -> Iterator[Release]:
    with load_release() as opened:
        yield opened


@pytest.fixture(scope="module")
def witnesses(release: Release) -> list[Witness]:
    return list(release.private().witnesses())


def test_every_task_has_one_for_each_mode(release: Release, witnesses: list[Witness]) -> None:
    expected = [
        (task_id, mode)
        for task_id in release.tasks
        for mode in (("persona", "standard") if release.tasks[task_id].has_persona else ("standard",))
    ]
    assert [(witness.task_id, witness.mode) for witness in witnesses] == expected
    # 800 products with a task each; 24 are excluded; of the 155 persona tasks each has two modes.
    assert len(witnesses) == 800 - 24 + 155


def test_every_list_reaches_full_reward(release: Release, witnesses: list[Witness]) -> None:
    won = set()
    for witness in witnesses:
        if "W1" not in witness.grades:
            continue
        env = ShopEnv(release, task_mode=witness.mode)
        env.reset(witness.task_id)
        *before, last = [env.step(action) for action in witness.actions]
        assert not any(step.done for step in before), witness
        assert last.terminated, witness
        assert (last.reward, last.reward_detail["r_success"]) == (1.0, 1), witness
        assert len(witness.actions) <= 30
        won.add(witness.task_id)
    assert len(won) == 757
    assert set(release.tasks) - won == set(TRUTH["unwinnable"])


def test_lists_also_win_with_a_shopper(release: Release, witnesses: list[Witness]) -> None:
    won = [witness for witness in witnesses if "W1" in witness.grades]
    for witness in won[:: len(won) // 25]:
        env = ShopEnv(release, task_mode=witness.mode, interaction_mode="multi_turn")
        env.reset(witness.task_id, seed=witness.task_id)
        last = [env.step(action) for action in witness.actions][-1]
        assert last.reward_detail["r_success"] == 1, witness


def test_reasons_are_the_planted_faults(witnesses: list[Witness]) -> None:
    planted = {
        fault["task_id"]: REASONS[kind]
        for kind, faults in TRUTH["faults"].items()
        for fault in faults
        if not fault["winnable"]
    }
    assert sorted(planted) == sorted(TRUTH["unwinnable"])
    assert {witness.task_id: witness.reason for witness in witnesses if witness.reason} == planted
    assert Counter(planted.values()) == {"over_budget": 5, "option_missing": 6, "price_unverifiable": 8}


def test_no_choice_at_all_wins_what_has_no_witness(release: Release, witnesses: list[Witness]) -> None:
    """Every combination of values of the gold product, scored one by one."""
    for task_id in {witness.task_id for witness in witnesses if witness.reason}:
        goal = release.private().goal(task_id)
        axes = offered_axes(goal.product)
        for values in product(*(axis.public for axis in axes)):
            selected = {axis.name: value for axis, value in zip(axes, values, strict=True)}
            assert score_purchase(goal.product, selected, goal).r_success == 0, task_id


def test_second_grade_means_that_what_is_shown_finds_the_product(
    release: Release, witnesses: list[Witness]
) -> None:
    for witness in witnesses:
        start = ShopEnv(release, task_mode=witness.mode).reset(witness.task_id)
        gold = release.private().goal(witness.task_id).product.asin
        found = gold in release.search(start.task_instruction).asins
        assert found == ("W2" in witness.grades), witness  # the sample needs no persona's searches
        if witness.actions:
            assert witness.actions[0] == f"search[{start.task_instruction}]"


def test_no_grade_of_a_task_is_public(release: Release) -> None:
    """Labels of a task say nothing about its gold product; a grade would (it can be bought, it is found)."""
    for task in release.tasks.values():
        assert not any(grade in label for label in task.labels for grade in GRADES)


def test_published_counts(release: Release) -> None:
    shares = release.metrics["witnesses"]
    assert set(shares) == {"all", *release.splits}
    assert (shares["all"]["standard"]["tasks"], shares["all"]["standard"]["W1"]) == (776, 757)
    assert shares["all"]["persona"]["tasks"] == 155
