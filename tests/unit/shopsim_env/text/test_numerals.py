"""Numbers as shoppers write them."""

from decimal import Decimal

import pytest

from shopsim_env.text.numerals import read_numeral


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("260元", "260"),
        ("1,299元", "1299"),
        ("1,299.5", "1299.5"),
        ("9.9包邮", "9.9"),
        ("3百", "300"),
        ("1万5", "15000"),
        ("1万5000", "15000"),
        ("1万2千", "12000"),
        ("4千4百", "4400"),
        ("2千五", "2500"),
        ("1.5万元", "15000"),
        ("1.5 万元", "15000"),
        ("2.1w元", "21000"),
        ("2k元", "2000"),
        ("3万50000", "30000"),
        ("七", "7"),
        ("十五", "15"),
        ("三十五", "35"),
        ("一百五", "150"),
        ("一百零五", "105"),
        ("三千五", "3500"),
        ("一千八百五", "1850"),
        ("一千零五十", "1050"),
        ("两万五", "25000"),
        ("一万八千", "18000"),
        ("一亿两千万", "120000000"),
        ("百元", "100"),
        ("一三五", "135"),
    ],
)
def test_exact_numbers(text: str, value: str) -> None:
    number = read_numeral(text, 0)
    assert number is not None
    assert (number.value, number.vague, number.spread) == (Decimal(value), False, False)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("20多元", "20"),
        ("三千多", "3000"),
        ("30来块", "30"),
        ("百来块", "100"),
        ("千把块", "1000"),
        ("30多万", "300000"),
        ("一百六十多点", "160"),
        ("十几块", "19"),
        ("二十几块", "29"),
        ("80几元", "89"),
        ("300几", "390"),
        ("三百几", "390"),
    ],
)
def test_and_some_is_vague_and_ji_counts_as_nine(text: str, value: str) -> None:
    number = read_numeral(text, 0)
    assert number is not None
    assert (number.value, number.vague) == (Decimal(value), True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("两三块", "3"),
        ("七八十", "80"),
        ("五六百", "600"),
        ("十五六", "16"),
        ("一百五六", "160"),
        ("三五百", "500"),
    ],
)
def test_two_neighbouring_digits_mean_the_upper_one(text: str, value: str) -> None:
    number = read_numeral(text, 0)
    assert number is not None
    assert (number.value, number.spread) == (Decimal(value), True)


@pytest.mark.parametrize("text", ["几百", "几十块", "几"])
def test_ji_without_digit_has_no_value(text: str) -> None:
    number = read_numeral(text, 0)
    assert number is not None
    assert number.value is None


@pytest.mark.parametrize(
    ("text", "end"),
    [("100多功能", 3), ("100来买", 3), ("2kg", 1), ("30w灯", 3), ("12,20元", 2), ("1万2个", 3)],
)
def test_a_number_ends_before_the_next_word(text: str, end: int) -> None:
    number = read_numeral(text, 0)
    assert number is not None
    assert number.end == end


def test_no_number() -> None:
    assert read_numeral("预算", 0) is None
