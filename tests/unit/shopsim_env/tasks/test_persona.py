"""What an agent may see of a persona."""

import copy
import json
from typing import Any

import pytest

from shopsim_env.errors import TaskError
from shopsim_env.tasks.persona import project_persona, without_searches

ASIN = "812345678901"
RAW: dict[str, Any] = {
    "用户ID": f"U{ASIN}, ",
    "注册时间": "2020-02-03T04:05:06Z",
    "最后更新时间": "2024-01-02T03:04:05Z",
    "注册渠道": "App",
    "__reasoning__": "chosen because of the goal",
    "人口属性": {"年龄段": "25-34, ", "user_id": 7, "reason_key": "x"},
    "兴趣偏好": {"品牌偏好": [{"品牌名称": "云杉", "__reasoning__": "y"}], "尺码偏好": {"上衣": ", "}},
    "行为特征": {
        "活跃时间段": [9, 22],
        "最近14天搜索关键词": ["浅色台灯", "护眼灯"],
        "交易特征": {"平均客单价": 12.5, "更新时间": "昨天"},
    },
}


def test_private_keys_go_at_every_depth_and_the_rest_stays_as_it_is() -> None:
    before = copy.deepcopy(RAW)
    assert project_persona(RAW, ASIN) == {
        "注册渠道": "App",
        "人口属性": {"年龄段": "25-34, "},
        "兴趣偏好": {"品牌偏好": [{"品牌名称": "云杉"}], "尺码偏好": {"上衣": ", "}},
        "行为特征": {
            "活跃时间段": [9, 22],
            "最近14天搜索关键词": ["浅色台灯", "护眼灯"],
            "交易特征": {"平均客单价": 12.5},
        },
    }
    assert before == RAW


@pytest.mark.parametrize(
    "key", ["用户ID", "用户 ID", "用户_ID", "UserID", "user id", "USER_ID", "ｕｓｅｒｉｄ", "User_Id "]
)
def test_user_id_keys_in_every_spelling(key: str) -> None:
    assert project_persona({"a": [{key: "U1"}]}, ASIN) == {"a": [{}]}


@pytest.mark.parametrize(
    "leak",
    [ASIN, f"看过{ASIN}号", int(ASIN), "８１２３４５６７８９０１", "8123 4567 8901", {ASIN: 1}, [[ASIN]]],
)
def test_entries_with_the_gold_id_are_left_out(leak: Any) -> None:
    projected = project_persona({"标签": ["灯具", leak], "备注": leak, "城市": "成都"}, ASIN)
    assert "812345678901" not in json.dumps(projected)
    assert projected["城市"] == "成都"
    assert projected["标签"][0] == "灯具"


def test_moments_are_dropped_under_any_key_but_other_texts_with_digits_stay() -> None:
    raw = {"登录": "2024-06-17T10:15:00+08:00, ", "区间": "25-34", "时区": "UTC+8, ", "created_at": 5}
    assert project_persona(raw, ASIN) == {"区间": "25-34", "时区": "UTC+8, "}


def test_reasons_are_dropped_under_any_name() -> None:
    raw = {
        "推理过程": "a",
        "推荐理由": {"x": "b"},
        "判断依据": ["c"],
        "原因": "d",
        "Reasoning": "e",
        "偏好": "简约",
    }
    assert project_persona({**raw, "Reasoning": "e", "偏好": "简约"}, ASIN) == {"偏好": "简约"}


def test_a_leak_across_entries_is_refused_without_showing_the_id() -> None:
    with pytest.raises(TaskError, match="still holds the product id") as caught:
        project_persona({"a": [12, 34]}, "12,34")
    assert caught.value.code == "persona_leak"
    assert "12,34" not in str(caught.value)


def test_a_blank_asin_is_refused() -> None:
    with pytest.raises(TaskError) as caught:
        project_persona({}, " ")
    assert caught.value.code == "persona_without_asin"


def test_the_view_without_searches() -> None:
    projected = project_persona(RAW, ASIN)
    view = without_searches(projected)
    assert view["行为特征"] == {"活跃时间段": [9, 22], "交易特征": {"平均客单价": 12.5}}
    assert "最近14天搜索关键词" in projected["行为特征"]
