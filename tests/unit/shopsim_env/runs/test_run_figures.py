"""Figures of a run and paired differences, worked out by hand."""

import math
from typing import Any

import pytest

from shopsim_env.runs.figures import compared, figures, histogram, interval, mean, percentile, spread
from shopsim_env.runs.rows import Row


def row(task_id: int, reward: float | None, sample_id: int | None = None, **more: Any) -> Row:
    completed = reward is not None
    success = float(reward == 1.0)
    values: dict[str, Any] = {
        "offset": 0,
        "length": 1,
        "episode_id": f"{task_id}-{sample_id}",
        "task_id": task_id,
        "sample_id": sample_id,
        "seed": None,
        "status": "completed" if completed else "failed",
        "reason": "purchase" if completed else "",
        "reward": reward,
        "steps": 4,
        "invalid": 1,
        "protocol_errors": 0,
        "duration_ms": 100.0,
        "components": (reward, reward, success, 1.0, 1.0, 1.0, None) if completed else None,
        "tokens": (10, 2, 1, 12),
        "error": "" if completed else "timeout",
        "instruction": "",
        "release": "r",
    }
    return Row(**{**values, **more})


def test_figures_of_four_episodes() -> None:
    found = figures(
        [row(1, 1.0, steps=2), row(1, 0.0, steps=4), row(2, 0.5, steps=6, duration_ms=400.0), row(3, None)]
    )
    assert found["counts"] == {"recorded": 4, "completed": 3, "failed": 1, "scored": 3}
    assert found["reward"]["mean"] == 0.5
    assert found["reward"]["sem"] == pytest.approx(0.5 / math.sqrt(3))
    assert found["reward"]["success"] == pytest.approx(1 / 3)
    assert found["components"]["r_type"] == 1.0
    assert found["components"]["r_price"] is None
    assert found["behaviour"] == {
        "steps_mean": 4.0,
        "invalid_actions": 3,
        "invalid_rate": 3 / 12,
        "protocol_errors": 0,
    }
    assert found["cost"]["duration_ms_mean"] == 200.0
    assert found["cost"]["duration_ms_p95"] == 400.0
    assert found["cost"]["tokens"] == {
        "prompt_tokens": 30,
        "completion_tokens": 6,
        "reasoning_tokens": 3,
        "total_tokens": 36,
    }
    assert found["termination_reasons"] == [("purchase", 3)]
    assert found["errors"] == [("timeout", 1)]
    assert found["reward_histogram"] == [1, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    assert found["steps_histogram"] == [(2, 1), (4, 1), (6, 1)]


def test_nothing_has_no_mean() -> None:
    found = figures([])
    assert (found["reward"], found["cost"]["tokens"]) == ({"mean": None, "sem": None, "success": None}, None)
    assert found["behaviour"]["invalid_rate"] is None
    assert mean([]) is None
    assert percentile([], 0.95) is None
    assert spread([1.0]) == {"mean": 1.0, "sem": None}
    assert interval([1.0]) is None


def test_bins_hold_their_ends() -> None:
    assert histogram([0.0, 0.0999, 0.1, 1.0, -1.0, 2.0]) == [3, 1, 0, 0, 0, 0, 0, 0, 0, 2]


def test_pairs_by_sample_and_their_differences() -> None:
    ours = [row(1, 0.0, 0), row(1, 1.0, 1), row(2, 0.5, 0), row(3, 1.0, 0), row(5, 0.0, 0)]
    theirs = [row(1, 1.0, 1), row(1, 1.0, 0), row(2, 0.0, 0), row(4, 1.0, 0), row(5, None, 0)]
    found = compared(ours, theirs)
    assert found["pairs"] == 3
    assert (found["only_first"], found["only_second"], found["unpaired"]) == (1, 1, 4)
    # Differences: task 1 sample 0 +1, sample 1 0, task 2 -0.5.
    assert found["difference"]["mean"] == pytest.approx(0.5 / 3)
    assert (found["better"], found["equal"], found["worse"]) == (1, 1, 1)
    assert (found["success_gained"], found["success_lost"]) == (1, 0)
    assert found["tasks"] == [
        {"task_id": 1, "task": "1", "pairs": 2, "first": 0.5, "second": 1.0, "difference": 0.5},
        {"task_id": 2, "task": "2", "pairs": 1, "first": 0.5, "second": 0.0, "difference": -0.5},
    ]
    low, high = found["difference"]["interval"]
    # The differences 1, 0, -0.5 have the mean 1/6 and the variance 7/12 (n - 1).
    assert high - low == pytest.approx(2 * 1.959963984540054 * math.sqrt(7 / 12 / 3))


def test_episodes_without_sample_are_paired_in_order() -> None:
    found = compared([row(1, 0.0), row(1, 1.0)], [row(1, 1.0), row(1, 0.0), row(1, 0.0)])
    assert (found["pairs"], found["better"], found["worse"], found["unpaired"]) == (2, 1, 1, 1)
    assert (found["success_gained"], found["success_lost"]) == (1, 1)
