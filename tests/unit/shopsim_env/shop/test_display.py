import pytest

from shopsim_env.shop.display import echo, one_line, well_formed


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("营地  挂灯 ", "营地 挂灯"),
        ("一\n二\r三\u2028四\u2029五\x85六", "一 二 三 四 五 六"),
        ("\x1b[2J红\x00", "[2J红"),
        ("a\u202eb\u2066c", "a b c"),
        ("\ud800", ""),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
        ("　全角　空格　", "全角 空格"),
    ],
)
def test_one_line(text, line):
    assert one_line(text) == line


def test_well_formed_keeps_text_and_mends_surrogates():
    assert well_formed("abc") == "abc"
    assert well_formed("灯🎐") == "灯🎐"
    assert well_formed("灯\udf90") == "灯\ufffd"


def test_echo_cuts_after_200_characters():
    assert echo("灯" * 200) == "灯" * 200
    assert echo("灯" * 201) == "灯" * 200 + "…"
    assert echo("a\nb") == "a b"
