"""The published token-set score in its difflib form; values by hand from 2M/T."""

import pytest

from shopsim_env.reward.fuzzy import token_set_ratio


@pytest.mark.parametrize(
    ("left", "right", "score"),
    [
        ("深空灰", "深空灰 标准版", 100),  # containment
        ("A-B", "b a", 100),  # case, order and signs do not count
        ("深蓝色", "深蓝", 80),  # 2*2/5
        ("XXL", "XXXL", 86),  # 2*3/7
        ("xl", "xxl", 80),  # 2*2/5
        ("白色大号", "黑色大号", 75),  # 2*3/8
        ("高级深海蓝色", "高级深海蓝", 91),  # 2*5/11
        ("红", "蓝", 0),
        ("❤❤", "★", 100),  # both are without words
    ],
)
def test_scores(left: str, right: str, score: int) -> None:
    assert token_set_ratio(left, right) == score
