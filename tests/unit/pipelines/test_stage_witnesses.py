"""Playing tasks of a small shop: grades, reasons, the texts that are searched, the file."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shop_world import LAMP, SmallRelease, shop_release

from pipelines.stages.processes import Workers
from pipelines.stages.witnesses import (
    find_witness,
    hidden_queries,
    make_witnesses,
    modes_of,
    read_witnesses,
    replay,
    replayed,
    visible_queries,
    write_witnesses,
)
from shopsim_env.private import Witness
from shopsim_env.release import load_release
from shopsim_env.shop.env import ShopEnv

LOST_SEARCH = "请推荐毛毡彩色"  # 170 felts fit it better than the lamp
PERSONA = {"行为特征": {"最近搜索": ["彩色毛毡", "星野便携台灯"]}}
SIMPLE = "click[颜色分类=沙色]"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    small = shop_release(tmp_path_factory.mktemp("shop"))
    small.add(20, LAMP, LOST_SEARCH, simple=LOST_SEARCH, persona=PERSONA, options=("沙色",))
    small.add(21, LAMP, "想要\n星野便携台灯", options=("沙色",))
    small.add(22, LAMP, LOST_SEARCH, options=("夜光",))
    yield small
    small.close()


def witness_of(shop: Any, task_id: int, mode: str = "standard") -> Witness:
    return find_witness(shop, ShopEnv(shop, task_mode=mode), task_id)


def test_the_list_searches_what_the_mode_shows(shop: Any) -> None:
    bought = (f"click[{LAMP}]", "click[套装=单灯]", "click[颜色分类=雾蓝]", "click[buy now]")
    assert witness_of(shop, 3, "persona") == Witness(
        3, "persona", ("W1", "W2"), "text", "", ("search[找个星野便携台灯]", *bought)
    )
    assert witness_of(shop, 3) == Witness(
        3,
        "standard",
        ("W1", "W2"),
        "text",
        "",
        ("search[想要星野便携台灯，雾蓝色单灯，预算不超过40元]", *bought),
    )


def test_searches_of_the_persona_are_visible_too(shop: Any) -> None:
    witness = witness_of(shop, 20, "persona")
    assert (witness.grades, witness.found_by) == (("W1", "W2"), "searches")
    # All searches together find felts first; the lamp is among the best 150 all the same.
    assert witness.actions[0] in ("search[彩色毛毡 星野便携台灯]", "search[星野便携台灯]")
    standard = witness_of(shop, 20)
    assert (standard.grades, standard.found_by) == (("W1",), "title")
    assert standard.actions[0] == "search[星野 便携 台灯]"


def test_queries_in_their_order(shop: Any) -> None:
    start = ShopEnv(shop).reset(20)
    assert list(visible_queries(start)) == [
        ("text", LOST_SEARCH),
        ("searches", "彩色毛毡 星野便携台灯"),
        ("searches", "彩色毛毡"),
        ("searches", "星野便携台灯"),
    ]
    assert list(visible_queries(ShopEnv(shop).reset(7))) == [("text", "买一个素面竹制杯垫")]
    assert [name for name, _ in hidden_queries(shop.goal(20))] == ["full", "title"]


@pytest.mark.parametrize(
    ("task_id", "grades", "reason"),
    [
        (8, ("W2",), "over_budget"),
        (10, ("W2",), "option_missing"),
        (12, ("W2",), "price_unverifiable"),
        (22, (), "option_missing"),
    ],
)
def test_what_cannot_be_won_has_a_reason_and_no_list(
    shop: Any, task_id: int, grades: tuple[str, ...], reason: str
) -> None:
    assert witness_of(shop, task_id) == Witness(task_id, "standard", grades, "", reason, ())


@pytest.mark.parametrize("task_id", [11, 13])
def test_a_product_that_the_shown_text_does_not_find_is_found_by_its_title(shop: Any, task_id: int) -> None:
    witness = witness_of(shop, task_id)
    assert (witness.grades, witness.found_by) == (("W1",), "title")


def test_a_product_that_nothing_finds(tmp_path: Path) -> None:
    """Titles without a word that can be searched: nothing leads to the product."""
    shop = SmallRelease(tmp_path, [{"asin": "1", "title": "！", "pricing": [1.0]}])
    shop.add(1, "1", "？")
    assert witness_of(shop, 1) == Witness(1, "standard", (), "", "not_found_in_top_150", ())
    shop.close()


def test_a_text_of_several_lines_is_written_as_one(shop: Any) -> None:
    witness = witness_of(shop, 21)
    assert witness.actions[0] == "search[想要 星野便携台灯]"
    assert replay(shop, witness) == ""


def test_a_limit_that_another_text_keeps(shop: Any) -> None:
    env = ShopEnv(shop, task_mode="standard", max_actions=4)
    assert find_witness(shop, env, 3).reason == "action_limit"  # search, open, two values, buy: five


def test_replaying_says_what_went_wrong(shop: Any) -> None:
    witness = witness_of(shop, 3)
    assert replay(shop, witness) == ""
    cases = {
        "did not end": witness.actions[:-1],
        "ended with action 5 of 6": (*witness.actions, "click[buy now]"),
        "purchase": (*witness.actions[:3], SIMPLE, "click[buy now]"),
    }
    for problem, actions in cases.items():
        changed = Witness(3, "standard", ("W1",), "text", "", actions)
        assert replay(shop, changed) == problem


def test_modes() -> None:
    assert modes_of(has_persona=True) == ("persona", "standard")
    assert modes_of(has_persona=False) == ("standard",)


def test_the_file_keeps_everything(tmp_path: Path) -> None:
    rows = [
        Witness(1, "persona", ("W1", "W2", "W3"), "text", "", ("search[茶]", "click[9]", "click[buy now]")),
        Witness(1, "standard", (), "", "option_missing", ()),
    ]
    assert write_witnesses(tmp_path / "w.jsonl", iter(rows)) == 2
    assert list(read_witnesses(tmp_path / "w.jsonl")) == rows
    first = (tmp_path / "w.jsonl").read_text(encoding="utf-8").splitlines()[0]
    assert first == (
        '{"actions":["search[茶]","click[9]","click[buy now]"],"found_by":"text",'
        '"grades":["W1","W2","W3"],"mode":"persona","reason":"","task_id":1}'
    )
    assert json.loads(first)["task_id"] == 1


def test_a_witness_does_not_print_its_list() -> None:
    assert repr(Witness(1, "persona", ("W1",), "title", "", ("search[canary]",))) == (
        "Witness(task_id=1, mode='persona', ...)"
    )


def test_the_replayed_choice_is_seeded_and_leaves_out_what_has_no_list() -> None:
    won = [Witness(number, "standard", ("W1",), "text", "", ("x",)) for number in range(50)]
    lost = [Witness(99, "standard", ("W2",), "", "over_budget", ())]
    assert replayed([*won, *lost], 60) == won
    chosen = replayed([*won, *lost], 10)
    assert len(set(chosen)) == 10
    assert chosen == replayed([*won, *lost], 10)
    assert chosen != replayed([*won, *lost], 10, seed=1)


def test_processes_make_the_same_in_the_same_order(small_release: Path) -> None:
    with load_release(small_release) as release:
        stored = list(release.private().witnesses())
    derivable = {(item.task_id, item.mode): "W3" in item.grades for item in stored}
    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))

    assert list(make_witnesses(small_release, derivable, on_progress=progress)) == stored
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert list(make_witnesses(small_release, derivable, workers=Workers(2, always=True))) == stored
    assert [(item.task_id, item.mode) for item in stored] == [
        (0, "persona"),
        (0, "standard"),
        (2, "standard"),
        (3, "standard"),
    ]
