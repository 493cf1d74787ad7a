"""Every task of the shipped sample against the truth file; which can be won is in `test_sample_witnesses`."""

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from places import SAMPLES

from shopsim_env import Release, ShopEnv, load_release, parse_budget

TRUTH = json.loads((SAMPLES / "sample.truth.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def release() -> Iterator[Release]:
    with load_release() as opened:
        yield opened


def test_counts_are_those_of_the_truth_file(release: Release) -> None:
    excluded = {fault["task_id"] for fault in TRUTH["faults"]["multi_price_axes"]}
    assert TRUTH["products"] == 800
    assert set(release.tasks) == set(range(800)) - excluded
    assert release.manifest["counts"]["products"] == 800 - len(excluded)


def test_budgets_are_read_as_the_truth_file_says(release: Release) -> None:
    for task_id in release.tasks:
        goal, truth = release.private().goal(task_id), TRUTH["budgets"][str(task_id)]
        upper = None if truth["upper"] is None else Decimal(str(truth["upper"]))
        assert goal.budget_upper == upper, task_id


def test_the_runtime_parser_agrees_on_every_standard_text(release: Release) -> None:
    for task_id in release.tasks:
        task, truth = release.tasks[task_id], TRUTH["budgets"][str(task_id)]
        if not task.has_persona:
            budget = parse_budget(task.instruction or "")
            assert budget.kind == truth["kind"], task_id


def public_texts(env: ShopEnv, release: Release, task_id: int) -> Iterator[str]:
    """Everything that an agent or a log of its side would see of one episode, before its end."""
    start = env.reset(task_id)
    yield json.dumps([start.observation, start.observation_state, start.user_persona], ensure_ascii=False)
    yield json.dumps(env.tools(), ensure_ascii=False)
    gold = release.private().goal(task_id).product
    actions = [f"search[{gold.title}]", f"click[{gold.asin}]", "click[nothing]"]
    actions += [f"click[{axis.name}={axis.values[0].public}]" for axis in gold.axes]
    for action in [*actions, "click[buy now]"]:
        step = env.step(action)
        yield json.dumps([step.observation, step.observation_state, step.reward_detail], ensure_ascii=False)
        yield json.dumps([step.action_feedback, dict(step.info), env.tools()], ensure_ascii=False)
        yield repr(step)
    assert step.done, "the gold product was opened and bought, whatever its options"


def test_no_page_shows_the_full_text_of_a_persona_task_or_its_uid(release: Release) -> None:
    persona = [task_id for task_id in release.tasks if release.tasks[task_id].has_persona][:60]
    env = ShopEnv(release, task_mode="persona")
    for task_id in persona:
        goal = release.private().goal(task_id)
        for text in public_texts(env, release, task_id):
            assert goal.task_uid not in text
            if goal.instruction != goal.instruction_simple:
                assert goal.instruction not in text


def test_no_persona_holds_the_digits_of_its_gold_product(release: Release) -> None:
    for task_id in release.tasks:
        task = release.tasks[task_id]
        if task.has_persona:
            assert release.private().goal(task_id).product.asin not in (task.persona_json or "")


def test_public_tasks_and_products_hold_no_private_key(release: Release) -> None:
    names: set[str] = set()

    def collect(value: Any) -> None:
        if isinstance(value, dict):
            names.update(value)
            for item in value.values():
                collect(item)

    for task_id in release.tasks:
        collect(release.tasks[task_id].user_persona)
    assert not names & {"用户ID", "注册时间", "最后更新时间", "__reasoning__"}
