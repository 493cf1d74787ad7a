"""Normaliser, tokens and literal terms: seed (search section), worked out by hand."""

import pytest

from shopsim_env.text.normalize import fold, normalize_query
from shopsim_env.text.nouns import LiteralTagger, literal_terms, noun_terms, tagger_fingerprint
from shopsim_env.text.tokens import tokenize


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("人民币100 和 50块钱", "元100 和 50元"),
        ("3yuan 4 yuans", "3元 4 yuans"),
        ("20 RMB", "20元"),
        ("20 cny以内", "20元以内"),
        ("rmb20", "rmb20"),
        ("3yuan_x", "3yuan_x"),
        ("１００ＲＭＢ", "100元"),
        ("  保温杯，。；;：:！!？?、|| 大号\t\n ", "保温杯 大号"),
        ("预算1,299元", "预算1 299元"),
        ("A–B…", "a–b..."),
        ("", ""),
        ("，。", ""),
    ],
)
def test_normalize_query(text: str, expected: str) -> None:
    assert normalize_query(text) == expected


def test_fold() -> None:
    assert fold("ＷＨ－①Straße") == "wh-1strasse"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("小型加湿器", ["小型", "型加", "加湿", "湿器"]),
        ("锅", ["锅"]),
        ("灯灯灯", ["灯灯"]),
        ("WH-1000XM5 头戴耳机", ["头戴", "戴耳", "耳机", "wh-1000xm5"]),
        ("ＡＢＣ１２", ["abc12"]),
        ("2.4G/5G 双频", ["双频", "2.4g/5g"]),
        ("Straße 5mm×3", ["strasse", "5mm", "3"]),
        ("c++ 入门", ["入门", "c"]),
        ("！！！", []),
        ("", []),
        # a run ends at anything that is not Han; a run of one stays
        ("杯A杯垫", ["杯", "杯垫", "a"]),
        ("保温,杯", ["保温", "杯"]),
        # joiners hold together only singly and only inside
        ("-a--b_c.d+e/f-", ["a", "b_c.d+e/f"]),
        # extension A counts; kana, Hangul, accents, rarer planes and 〇 are dropped
        ("㐀㐁", ["㐀㐁"]),
        ("カメラ 한글 é 𠀀 〇", []),
        ("café", ["caf"]),
        # both sides of search see money words alike
        ("50块钱", ["元", "50"]),
        # compatibility ideographs become unified ones
        ("\uf9b4\u8896", ["領袖"]),
    ],
)
def test_tokenize(text: str, expected: list[str]) -> None:
    assert tokenize(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A4纸 双面纸", ("a4", "纸", "双面", "面纸")),
        ("WH-1000XM5", ("wh", "1000xm5")),
        ("灯灯灯", ("灯灯",)),
        ("！", ()),
    ],
)
def test_literal_terms(text: str, expected: tuple[str, ...]) -> None:
    assert literal_terms(text) == expected


def test_noun_terms_are_folded_distinct_and_in_order() -> None:
    assert noun_terms(["杯子", "LED", "led ", " ", "杯子"], "任意") == ("杯子", "led")


def test_without_nouns_the_literal_terms_stand_in() -> None:
    assert noun_terms([" "], "很大的") == ("很大", "大的")


def test_literal_tagger() -> None:
    tagger = LiteralTagger()
    assert tagger.nouns("保温杯") == ("保温", "温杯")
    assert list(tagger.nouns_of(["锅", "A4"])) == [("锅",), ("a4",)]
    assert tagger.fingerprint == LiteralTagger().fingerprint
    assert len(tagger.fingerprint) == 64


def test_fingerprint_depends_on_every_part() -> None:
    prints = {
        tagger_fingerprint("a", "1", {}),
        tagger_fingerprint("b", "1", {}),
        tagger_fingerprint("a", "2", {}),
        tagger_fingerprint("a", "1", {"file x": "0"}),
        tagger_fingerprint("a", "1", {"file x": "1"}),
    }
    assert len(prints) == 5
