"""Denied categories, by segment."""

import pytest

from shopsim_env.rlve.fact_model import Category
from shopsim_env.rlve.safety import DENIED, denied, denied_path

PUBLISHED = (
    *("weapons", "firearms", "ammunition", "explosives", "adult_explicit", "controlled_substances"),
    *("tobacco", "counterfeit_goods", "surveillance_equipment", "hazardous_materials"),
)


def test_the_published_words_are_denied() -> None:
    assert DENIED.issuperset(PUBLISHED)
    assert all(denied_path(["shop", word, "other"]) for word in PUBLISHED)


@pytest.mark.parametrize(
    "levels",
    [
        *(["烟草"], ["食品", "香烟"], ["户外", "武器", "弓"], ["酒水/烟草"]),
        *(["Adult Explicit"], [" TOBACCO "], ["hazardous-materials"]),
    ],
)
def test_segments_are_denied_however_they_are_written(levels: list[str]) -> None:
    assert denied_path(levels)


@pytest.mark.parametrize(
    "levels", [[], ["玩具", "玩具武器"], ["books on tobacco"], ["weaponsmith games"], ["无烟灶具"]]
)
def test_part_of_a_segment_is_not_enough(levels: list[str]) -> None:
    assert not denied_path(levels)


def test_a_category_is_denied_by_its_path() -> None:
    assert denied(Category(7, ("户外", "武器"), 1, 7, 3, ()))
    assert not denied(Category(1, (), None, 9, 30, ()))
