"""Strict JSON as text and as values of Python: the same things are refused in both."""

from typing import Any

import pytest

from shopsim_env.strict_json import MAX_DEPTH, StrictJsonError, check_value, read_strict


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_values_that_pass() -> None:
    assert read_strict('{"a": [1, -2.5, "一", true, null]}') == {"a": [1, -2.5, "一", True, None]}
    assert read_strict(b"3") == 3
    check_value({"a": [1, -2.5, "一", True, None]})
    check_value(nested(MAX_DEPTH))
    assert read_strict("[" * MAX_DEPTH + "1" + "]" * MAX_DEPTH) == nested(MAX_DEPTH)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (nested(MAX_DEPTH + 1), "too_deep"),
        ({"a": float("nan")}, "not_finite"),
        ([float("-inf")], "not_finite"),
        ({1: 2}, "invalid_json"),
        (["\udfff"], "invalid_json"),
        ({"\udfff": 1}, "invalid_json"),
        ((1, 2), "invalid_json"),
        (b"x", "invalid_json"),
    ],
)
def test_values_that_do_not(value: Any, code: str) -> None:
    with pytest.raises(StrictJsonError) as caught:
        check_value(value)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "invalid_json"),
        ("{'a': 1}", "invalid_json"),
        ("[1] 2", "invalid_json"),
        ("1" * 5000, "invalid_json"),
        ('{"a": 1, "a": 1}', "duplicate_key"),
        ("[Infinity]", "not_finite"),
        ("[" * 17 + "]" * 17, "too_deep"),
    ],
)
def test_texts_that_do_not(text: str, code: str) -> None:
    for form in (text, text.encode()):
        with pytest.raises(StrictJsonError) as caught:
            read_strict(form)
        assert caught.value.code == code
