"""Typing errors: how many, and what they never touch."""

import re

import pytest

from shopsim_env.rlve.customer.noise import _FIXED_WORDS, SLANG, Typist
from shopsim_env.rlve.difficulty import axes
from shopsim_env.rlve.draws import Draws

ENGLISH = "quickly forward nicely garden window purple monkey travel simple basket "
CHINESE = "春天花园里阳光明媚鸟语花香风景如画令人心旷神怡流连忘返"

RUNS = 30


def distance(left: str, right: str) -> int:
    """Edits from one text to the other; a swap of neighbours counts as one."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for at, letter in enumerate(left, 1):
        older, before, row = before, row, [at]
        for to, other in enumerate(right, 1):
            best = min(before[to] + 1, row[to - 1] + 1, before[to - 1] + (letter != other))
            if at > 1 and to > 1 and letter == right[to - 2] and left[at - 2] == other:
                best = min(best, older[to - 2] + 1)
            row.append(best)
    return row[-1]


def typed(text: str, chance: float, language: str, seed: int = 0) -> str:
    return Typist(chance, language).type([(text, False)], Draws("noise", seed))


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
@pytest.mark.parametrize("language", ["zh", "en"])
def test_no_errors_without_noise(text: str, language: str) -> None:
    """Case user-noise-d0."""
    assert typed(text, axes(0).p_noise, language) == text


def test_the_chance_is_capped_at_one_eighth() -> None:
    """Case user-noise-cap."""
    assert [axes(d).p_noise for d in (12, 13, 30)] == [0.12, 0.125, 0.125]


@pytest.mark.parametrize(("text", "language"), [(ENGLISH, "en"), (CHINESE, "zh")])
@pytest.mark.parametrize("chance", [0.02, 0.08, 0.125])
def test_about_that_share_of_letters_has_an_error(text: str, language: str, chance: float) -> None:
    letters = len(text.replace(" ", ""))
    edits = sum(distance(text, typed(text, chance, language, seed)) for seed in range(RUNS))
    expected = chance * letters * RUNS
    # The standard deviation is below sqrt(expected); swaps take two letters, so a little less than expected.
    assert 0.75 * expected - 2 * expected**0.5 < edits < expected + 4 * expected**0.5


def test_a_long_text_with_rare_errors() -> None:
    """Gaps beyond the table: 60,000 letters at one error in 2,000 give 30; six deviations are 33.

    Words of six letters tell how many hold an error.
    """
    words = ("garden " * 10_000).split(" ")
    changed = typed(" ".join(words), 1 / 2_000, "en").split(" ")
    assert 0 < sum(left != right for left, right in zip(words, changed, strict=True)) < 63


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("ORD-7K2F9 A12B，3.5mm，USB-C，12", "zh"),
        ("一二两三十百千万几不没无别退换取消", "zh"),
        ("ORD-7K2F9 x2b 3.5mm USB-C XL 1,299.50 o'clock4", "en"),
        (" ".join(sorted(_FIXED_WORDS)), "en"),
        ("屿岚麓的耳机", "en"),
        ("Brufenmek", "zh"),
        ("can't don't", "en"),
        ("，。！？；：“”", "zh"),
    ],
)
def test_what_is_never_touched(text: str, language: str) -> None:
    """Case user-noise-protects-ids."""
    assert all(typed(text, 0.125, language, seed) == text for seed in range(60))


def test_kept_pieces_stay() -> None:
    pieces = [("春天花园", False), ("阳光明媚", True), ("鸟语花香", False)]
    texts = {Typist(0.125, "zh").type(pieces, Draws("kept", seed)) for seed in range(100)}
    assert len(texts) > 20
    assert all("阳光明媚" in text for text in texts)


def test_errors_are_those_of_fingers() -> None:
    """An error at every letter: dropped, doubled, swapped with the next, or a neighbour on the keyboard."""
    words = {typed("go", 1.0, "en", seed) for seed in range(2_000)}
    first, second = ["", "gg", "f", "h"], ["", "oo", "i", "p"]
    assert words == {left + right for left in first for right in second} | {"og"}


def test_slang_comes_with_three_times_the_chance() -> None:
    found = sum("pls" in typed("please", 0.1, "en", seed) for seed in range(1_000))
    assert 300 - 60 < found < 300 + 60
    assert any("啥" in typed("什么", 0.1, "zh", seed) for seed in range(50))


def test_slang_holds_no_word_that_changes_what_is_wanted() -> None:
    for language, words in SLANG.items():
        assert all(word not in _FIXED_WORDS for word in words), language
        assert not any(re.search("[不没无退换]", word + slang) for word, slang in words.items())


def test_errors_are_drawn() -> None:
    assert typed(ENGLISH, 0.1, "en", 1) == typed(ENGLISH, 0.1, "en", 1) != typed(ENGLISH, 0.1, "en", 2)
