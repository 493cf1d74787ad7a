"""How much of a value a text says: which characters of the value stand in the text.

Belongs here: the comparison of one value with one text, character by character. Numbers and Latin words count
whole (5kg is not in 15kg), Han text in runs of two or more, a segment of one character as it is. What follows
from the coverage is decided in `labels`.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from shopsim_env.dialogue.ledger import mentions, plain
from shopsim_env.reward.option_slots import unify

_TOKEN = re.compile(r"[a-z0-9]+(?:\.[a-z0-9]+)*|(?:(?![a-z0-9_])\w)+")
# 两件 and 2件 say the same. Not 一: 买一件 counts nothing.
_COUNTED = re.compile("[两二三四五六七八九](?=[件只个瓶包盒条支片袋套双张斤块桶罐箱人])")
_DIGITS = dict(zip("两二三四五六七八九", "223456789", strict=True))
# What is refused is not asked for. Only a short phrase that ends its clause: 不要太贵的黑色 asks for black.
_REFUSED = re.compile(r"(?:不要|别要|不想要|不含)[^，。；,;！!？?\s]{1,6}?(?=[，。；,;！!？?\s]|的|$)")
_PAIR = 2


@lru_cache(maxsize=8192)
def comparable(text: str) -> str:
    """`text` in the spelling in which values and texts are compared."""
    return _COUNTED.sub(lambda match: _DIGITS[match.group()], plain(unify(text)))


def said(texts: Iterable[str]) -> str:
    """The comparable form of `texts`, without what they refuse."""
    return "\n".join(_REFUSED.sub(" ", comparable(text)) for text in texts)


def leaves(value: Any) -> list[str]:
    """Texts of a JSON value in order: strings, numbers and the keys that a persona uses as words."""
    if isinstance(value, Mapping):
        return [text for key, item in value.items() for text in (str(key), *leaves(item))]
    if isinstance(value, (list, tuple)):
        return [text for item in value for text in leaves(item)]
    return [] if value is None or isinstance(value, bool) else [str(value)]


def size(value: str) -> int:
    """Number of characters of `value` that can be covered."""
    return sum(len(token) for token, _ in _tokens(value)) or len(comparable(value))


def verbatim(value: str, text: str) -> bool:
    """Whether `text` (as `said` gives it) holds `value` in one piece."""
    return mentions(text, comparable(value))


def covered(value: str, text: str) -> int:
    """How many characters of `comparable(value)` the text says, at most `size(value)`.

    Args:
        value: An option value or an attribute.
        text: As `said` gives it.
    """
    tokens = _tokens(value)
    if not tokens:
        # Symbols alone, such as a row of dashes: said as a whole or not at all.
        return size(value) if comparable(value) and comparable(value) in text else 0
    return sum(
        (len(token) if _whole(token, follower, text) else 0) if token.isascii() else _runs(token, text)
        for token, follower in tokens
    )


@lru_cache(maxsize=8192)
def _tokens(value: str) -> tuple[tuple[str, str], ...]:
    """Words and numbers of a value, each with the character behind it."""
    plain_value = comparable(value)
    return tuple(
        (match.group(), plain_value[match.end() : match.end() + 1]) for match in _TOKEN.finditer(plain_value)
    )


def _whole(token: str, follower: str, text: str) -> bool:
    """A number or Latin word; a bare number needs its unit too, so that 20片 is not said by 20元."""
    needs_unit = follower.isalpha() and token.replace(".", "").isdecimal()
    return mentions(text, token + follower if needs_unit else token)


def _runs(token: str, text: str) -> int:
    """Characters of a Han token that stand in the text in runs of two or more."""
    if len(token) < _PAIR:
        return 1 if token in text else 0
    pairs = [token[at : at + _PAIR] in text for at in range(len(token) - 1)]
    return sum(one or other for one, other in zip([False, *pairs], [*pairs, False], strict=True))
