"""Wordings have the gaps they must have, and numbers are said in words."""

import re

import pytest

from shopsim_env.rlve.customer.noise import cut
from shopsim_env.rlve.customer.words import GAPS, WORDINGS, count_words, fill, listed, sentence
from shopsim_env.rlve.draws import Draws

ALL = [
    (lang, occasion, text)
    for lang, table in WORDINGS.items()
    for occasion, texts in table.items()
    for text in texts
]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_every_occasion_has_wordings_and_an_opening_at_least_eight(language: str) -> None:
    assert set(WORDINGS[language]) == set(GAPS)
    assert all(len(set(texts)) == len(texts) >= 4 for texts in WORDINGS[language].values())
    assert all(
        len(WORDINGS[language][occasion]) >= 8 for occasion in ("open", "needs", "left", "tell", "continue")
    )


@pytest.mark.parametrize(("language", "occasion", "text"), ALL)
def test_a_wording_has_exactly_its_gaps_and_no_digit(language: str, occasion: str, text: str) -> None:
    gaps = re.findall(r"\{(\w+)\}", text)
    assert sorted(gaps) == sorted(GAPS[occasion])
    rest = re.sub(r"\{\w+\}", "", text)
    assert not re.search(r"[{}0-9]", rest)
    assert bool(re.search("[\u4e00-\u9fff]", rest + "字" * (not rest.strip("。")))) is (language == "zh")


@pytest.mark.parametrize(
    ("count", "zh", "en"),
    [
        (1, "一", "one more detail"),
        (2, "两", "two more details"),
        (3, "三", "three more details"),
        (10, "十", "ten more details"),
        (12, "十二", "twelve more details"),
        (20, "二十", "twenty more details"),
        (34, "三十四", "34 more details"),
    ],
)
def test_counts_in_words(count: int, zh: str, en: str) -> None:
    assert count_words("zh", count) == zh
    assert count_words("en", count) == en


def test_values_are_kept_and_joined() -> None:
    assert listed("zh", ["价格不超过3元", "品牌是甲"]) == [
        ("价格不超过3元", True),
        ("，", True),
        ("品牌是甲", True),
    ]
    assert "".join(text for text, _ in listed("en", ["a", "b", "c"])) == "a; b; c"
    assert listed("en", []) == []


@pytest.mark.parametrize(
    ("language", "text", "said"),
    [
        ("zh", "我想买笔", "我想买笔。"),
        ("zh", "有笔吗？", "有笔吗？"),
        ("en", "I need a pen", "I need a pen."),
        ("en", "Any pens?", "Any pens?"),
    ],
)
def test_a_sentence_ends(language: str, text: str, said: str) -> None:
    assert "".join(part for part, _ in sentence(language, text, ())) == said


def test_filling_keeps_the_pieces_of_a_gap() -> None:
    pieces = fill("zh", "open", Draws("x"), request=[("我想买", False), ("笔", True)])
    assert ("笔", True) in pieces
    assert all(not kept for text, kept in pieces if text != "笔")


def test_cutting_takes_longer_texts_first() -> None:
    assert cut("甲乙丙甲", ["甲", "甲乙", ""]) == [
        ("", False),
        ("甲乙", True),
        ("丙", False),
        ("甲", True),
        ("", False),
    ]
    assert cut("甲", ["丁"]) == [("甲", False)]
