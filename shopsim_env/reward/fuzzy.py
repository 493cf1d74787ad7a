"""The published token-set score, kept in its difflib form because other libraries give other numbers.

Belongs here: the score alone. Thresholds belong to the components that use it.
"""

import re
from difflib import SequenceMatcher
from functools import lru_cache

MATCH_ABOVE = 85
_NON_WORD = re.compile(r"\W+")


def token_set_ratio(left: str, right: str) -> int:
    """Similarity 0..100 of two texts as sets of words.

    Both are case folded, runs of non-word characters become blanks and words become sets. With a common
    part I the score is the best of (I, left), (I, right) and (left, right) as sorted words, otherwise of
    (left, right). Hence containment scores 100 and symbols do not count.

    Source: the published reward (seed "论文奖励 pipeline").
    """
    return _ratio(left, right)


# Rollouts of one task compare the same few texts again and again.
@lru_cache(maxsize=16_384)
def _ratio(left: str, right: str) -> int:
    left_words, right_words = _words(left), _words(right)
    common = _joined(left_words & right_words)
    left_text, right_text = _joined(left_words), _joined(right_words)
    if left_text == right_text or (common and common in (left_text, right_text)):
        return 100  # equal sequences have ratio 1
    pairs = [(left_text, right_text)]
    if common:
        pairs += [(common, left_text), (common, right_text)]
    return max(round(100 * SequenceMatcher(None, first, second).ratio()) for first, second in pairs)


def forget_ratios() -> None:
    """Empties the memory of earlier comparisons, for measurements."""
    _ratio.cache_clear()


def _words(text: str) -> set[str]:
    return set(_NON_WORD.sub(" ", text.casefold()).split())


def _joined(tokens: set[str]) -> str:
    return " ".join(sorted(tokens))
