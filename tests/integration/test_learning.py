"""The learning benchmark: what its agent can see, its arithmetic, and that a seed repeats it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from places import ROOT

from benchmarks import learning
from benchmarks.learning_chart import draw
from benchmarks.learning_policy import (
    NAMES,
    PLACE,
    SIZE,
    Mind,
    best,
    budget_of,
    chances,
    choices,
    keywords_of,
    pairs,
    price_range,
)
from shopsim_env import Release, ShopEnv, TaskIterator, load_release


@pytest.fixture(scope="module")
def release() -> Iterator[Release]:
    with load_release() as opened:
        yield opened


def test_the_agent_imports_nothing_of_the_project() -> None:
    """So nothing private can come in: it is given the request, the persona and states."""
    code = (
        "import sys, benchmarks.learning_policy; "
        "ours = {'shopsim_env', 'pipelines', 'assets'}; "
        "print([name for name in sys.modules if name.split('.')[0] in ours])"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_what_is_read() -> None:
    assert pairs("ＡＢ杯子，c") == {"ab", "b杯", "杯子", "c"}
    assert budget_of("3件装，价格250左右") == 250
    assert budget_of("要12寸的锅") is None
    assert price_range("115.0 to 1750.0") == (115.0, 1750.0)
    assert price_range(None) is None
    persona = {"行为特征": {"最近14天搜索关键词": ["杯子", " "], "常用设备": "手机"}}
    assert keywords_of(persona) == ["杯子"]


def product_page(**more: Any) -> dict[str, Any]:
    return {
        "search_available": False,
        "page_type": "product_detail",
        "actions": ["back to search", "颜色=红色", "颜色=蓝色"],
        "selected_options": {},
        "available_options": {"颜色": ["红色", "蓝色"]},
        "missing_option_axes": ["颜色"],
        "options_complete": False,
        **more,
    }


def test_features_of_a_product_page_by_hand() -> None:
    mind = Mind("要蓝色的杯子，30元以内", {}, 10)
    actions, table = choices(product_page(), mind)
    assert actions == ["click[back to search]", "click[颜色=红色]", "click[颜色=蓝色]"]
    rows = [{name: row[PLACE[name]] for name in NAMES if row[PLACE[name]]} for row in table]
    assert rows == [
        {"back": 1.0},
        {"value_missing_axis": 1.0, "value_first": 1.0},
        {"value_missing_axis": 1.0, "value_request": 1.0, "value_whole": 1.0, "value_best": 1.0},
    ]
    done = product_page(
        actions=["buy now"],
        selected_options={"颜色": "蓝色"},
        missing_option_axes=[],
        options_complete=True,
        selected_price=31.0,
    )
    mind.did("click[颜色=蓝色]")
    _, table = choices(done, mind)
    assert table[0, [PLACE[name] for name in ("buy", "buy_within", "buy_above", "buy_early")]].tolist() == [
        1.0,
        0.0,
        1.0,
        0.9,
    ]


def test_a_softmax_by_hand() -> None:
    table = np.zeros((2, SIZE))
    table[1, 0] = 1.0
    weights = np.zeros(SIZE)
    assert chances(table, weights).tolist() == [0.5, 0.5]
    weights[0] = np.log(3)
    assert np.allclose(chances(table, weights), [0.25, 0.75])
    assert best(np.array([0.4, 0.4, 0.2])) == 0


def test_the_gradient_is_the_slope(release: Release) -> None:
    """Against finite differences, on an episode that was really played."""
    env, draw_of = ShopEnv(release), np.random.default_rng(3)
    weights = draw_of.normal(size=SIZE) / 4
    task_id = release.splits["project/train"][0]
    played = learning.play(env, task_id, weights, lambda shares: int(draw_of.choice(len(shares), p=shares)))

    def value(at: np.ndarray) -> float:
        total = 0.0
        for table, pick in zip(played.tables, played.picks, strict=True):
            shares = chances(table, at)
            total += 0.7 * np.log(shares[pick]) - learning.ENTROPY * float(shares @ np.log(shares))
        return total

    slope = learning.gradient(played, weights, 0.7)
    for place in range(SIZE):
        step = np.zeros(SIZE)
        step[place] = 1e-5
        assert slope[place] == pytest.approx((value(weights + step) - value(weights - step)) / 2e-5, abs=1e-6)


def test_adam_takes_a_first_step_of_its_rate() -> None:
    slope = np.zeros(SIZE)
    slope[:2] = 5.0, -0.01
    assert np.allclose(learning.Adam(0.1).step(slope)[:3], [0.1, -0.1, 0.0], atol=1e-6)


def test_a_seed_repeats_itself_and_learns(release: Release) -> None:
    """Four updates are enough to leave the start, where every episode fails."""
    env = ShopEnv(release, task_mode="standard")
    held_out = release.splits["project/val"][:6]
    runs = [
        learning.learn(env, TaskIterator(release.splits, "project/train", seed=1), held_out, 1, 4)
        for _ in "ab"
    ]
    assert np.array_equal(runs[0].weights, runs[1].weights)
    assert runs[0].final == runs[1].final
    assert runs[0].updates == [0, 4]
    assert runs[0].held_out[0] == 0.0
    assert np.abs(runs[0].weights).max() > 0.1


def test_gains_by_hand() -> None:
    one = learning.Learned(0, [0], [0.0], [0.0], np.zeros(1), {1: {"r_strict": 1.0}, 2: {"r_strict": 1.0}})
    two = learning.Learned(1, [0], [0.0], [0.0], np.zeros(1), {1: {"r_strict": 0.0}, 2: {"r_strict": 0.0}})
    floor = {1: {"r_strict": 0.25}, 2: {"r_strict": 0.25}}
    assert learning.difference([one, two], floor) == (0.25, 0.25, 0.25)


def test_the_picture_holds_the_curve() -> None:
    found = {
        "mode": "persona",
        "updates": [0, 10],
        "curves": [[0.0, 0.5], [0.0, 1.0]],
        "floors": {"first-result": {"r_strict": 0.25}, "persona-keywords": {"r_strict": 0.25}},
        "tasks": {"held_out": 28},
        "episodes": 1280,
    }
    text = draw([json.loads(json.dumps(found))])
    svg = ElementTree.fromstring(text)  # noqa: S314
    name = "{http://www.w3.org/2000/svg}"
    (mean,) = svg.iter(f"{name}polyline")
    # 240 high from 40: reward 0 is at 280, 0.75 at 100; 360 wide from 50.
    assert mean.attrib["points"] == "50.0,280.0 410.0,100.0"
    (band,) = svg.iter(f"{name}polygon")
    assert band.attrib["points"] == "50.0,280.0 410.0,40.0 410.0,160.0 50.0,280.0"
    dashed = [line for line in svg.iter(f"{name}line") if "stroke-dasharray" in line.attrib]
    assert [line.attrib["y1"] for line in dashed] == ["220.0"]  # equal floors are one line
    assert "updates (128 episodes each)" in text
