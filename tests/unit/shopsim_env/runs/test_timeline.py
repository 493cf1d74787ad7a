"""Episodes in one form: values of any type in a trace never break the page that shows them."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from run_folders import line, many

from shopsim_env.runs.rows import row_of
from shopsim_env.runs.timeline import purchase_of, timeline
from shopsim_env.server.replay_routes import encode

ODD: list[Any] = [None, True, 3, -1.5, "x", "\ud800", [], {}, [None], [[1]], {"a": {"b": []}}]
RELEASE: Any = SimpleNamespace(id="0" * 64)


def shown(record: dict[str, Any]) -> dict[str, Any]:
    found = timeline(row_of(record, 1, 0, 1), record, line(record), RELEASE)
    json.loads(encode(found))
    return found


def test_an_episode_in_one_form() -> None:
    (record,) = many(1)
    found = shown(record)
    assert (found["kind"], found["task_id"], found["same_release"]) == ("episode", 0, True)
    step = found["steps"][0]
    assert (step["number"], step["action"]) == (1, "search[杯]")
    assert step["observation"].startswith("页面：搜索首页")
    assert step["model"]["reasoning"] == "想" * 80
    assert found["final"]["termination_reason"] == "purchase"
    assert purchase_of(record) == {}


@pytest.mark.parametrize("value", ODD, ids=repr)
@pytest.mark.parametrize("name", ["provenance", "reset", "steps", "final", "error", "conversation", "status"])
def test_odd_values_of_an_episode(name: str, value: Any) -> None:
    (record,) = many(1)
    assert shown({**record, name: value})["task_id"] == 0


@pytest.mark.parametrize("value", ODD, ids=repr)
@pytest.mark.parametrize(
    "name", ["observation", "observation_state", "tools", "model", "action", "environment"]
)
def test_odd_values_of_a_step(name: str, value: Any) -> None:
    (record,) = many(1)
    found = shown({**record, "steps": [{**record["steps"][0], name: value}]})
    assert len(found["steps"]) == 1


@pytest.mark.parametrize("value", ODD, ids=repr)
@pytest.mark.parametrize(
    "name", ["tool_calls", "usage", "latency_ms", "reasoning", "content", "protocol_error"]
)
def test_odd_values_of_a_model(name: str, value: Any) -> None:
    (record,) = many(1)
    model = {**record["steps"][0]["model"], name: value}
    assert shown({**record, "steps": [{**record["steps"][0], "model": model}]})["steps"][0]["model"]
