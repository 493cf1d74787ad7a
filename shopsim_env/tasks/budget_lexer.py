"""Cutting a text into the known words, numbers and breaks of budget clauses.

Belongs here: folding, the clauses worth reading, and tokens. Words and roles are in `budget_words`.
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from typing import NamedTuple

from shopsim_env.tasks.budget_words import NOISE, NUMBER, PER_AFTER, PER_BEFORE, word_roles
from shopsim_env.text.numerals import NUMERAL_STARTS, Numeral, read_numeral

# Characters that count goods.
PIECES = "个支枝根盒套只件瓶包双条张袋卷颗粒把台株棵块份片本罐桶箱枚串节扇副盆朵听板提"
_SINGLES = "个支枝根盒套只件瓶包双条张袋卷颗粒把台株棵块份"
_BREAKS = "，。；！？\n"
_CONTINUOUS = (
    "(?:平方米|平方|平米|m2|㎡|平|延米|公里|厘米|公分|cm|米|m|公斤|千克|kg|斤|克|吨|升"
    "|小时|天|晚|个月|月|年|人|位|次)"
)
_QUANTITY = f"(?:{_CONTINUOUS}|[{PIECES}])"
_PER_PARTS = (
    ("before", rf"每一?{_QUANTITY}人?"),  # 每平方米, 每个人
    ("before", rf"单[{_SINGLES}]"),
    ("before", rf"(?:只要)?[一1]{_QUANTITY}的(?=价|预算|售价|单价)"),  # 一个的价格
    ("before", rf"(?:[一1半]|0\.[0-9]+){_CONTINUOUS}(?=[0-9一二三四五六七八九十两])"),  # 0.1米50块
    ("after", rf"/ ?[一1]?{_QUANTITY}"),  # 20元/个
    # 一平米, 一瓶 at the end of what is said about the amount; a set or pair is bought whole.
    ("after", rf"[一1](?:{_CONTINUOUS}|(?![套双箱块])[{PIECES}])(?=$|[{_BREAKS};!?、,）)的左上以之内])"),
)
_PER = re.compile(
    "|".join(
        f"(?P<{side}>{'|'.join(rule for at, rule in _PER_PARTS if at == side)})"
        for side in ("before", "after")
    )
)
_PER_STARTS = frozenset("每单一1只0半/")

_CLAUSE = re.compile(f"[^{_BREAKS}]+[{_BREAKS}]?")
_AMOUNT_HINT = re.compile(
    r"[0-9二两三四五六七八九十百千万几]|个位数|一(?![款个台件条只把种双些点样般定下直起体副张套支整家位次])"
)
_PRICE_HINT = re.compile("[价预费钱贵便惠元块]")

_UP_TO_NINE = Numeral(0, Decimal(9), spread=True)
_FULL_WIDTH = 0xFEE0
_ODD_SPELLINGS = str.maketrans(
    "〇零壹贰叁肆伍陆柒捌玖拾佰仟萬兩幾塊錢價預內￥＋／．〜～∼﹣－–—−\u3000\xa0",
    "零零一二三四五六七八九十百千万两几块钱价预内¥+/.~~~-----  ",
)
_FOLD = {
    **{code: code - _FULL_WIDTH for code in (*range(0xFF10, 0xFF1A), *range(0xFF41, 0xFF5B))},
    **{code: code - _FULL_WIDTH + 32 for code in range(0xFF21, 0xFF3B)},
    **{code: code + 32 for code in range(ord("A"), ord("Z") + 1)},
    **_ODD_SPELLINGS,
}
_FOLDABLE = re.compile(f"[{re.escape(''.join(map(chr, _FOLD)))}]")


class Token(NamedTuple):
    """One known word or number: its place, its roles and, for NUMBER, the number."""

    start: int
    end: int
    roles: int
    number: Numeral | None = None


def _word_pattern(words: Iterable[str], single_starts: Iterable[str]) -> re.Pattern[str]:
    """Finds the next known word, longest first, or the first character of a number or unit price."""
    tails: dict[str, list[str]] = {start: [] for start in single_starts}
    for word in sorted(words, key=len, reverse=True):
        tails.setdefault(word[0], []).append(re.escape(word[1:]))
    singles = set(single_starts)
    branches = [
        re.escape(first) + f"(?:{'|'.join(rest)})" + ("?" if first in singles else "")
        for first, rest in tails.items()
    ]
    return re.compile("|".join(branches))


_ROLES = word_roles()


@cache
def _word() -> re.Pattern[str]:
    """Compiled for the first budget: opening a release needs none, and this would double its time."""
    return _word_pattern(_ROLES, sorted(NUMERAL_STARTS | _PER_STARTS))


def fold_budget_text(text: str) -> str:
    """`text` with one spelling per character: width, case, dashes, numerals. The length never changes."""
    return text.translate(_FOLD) if _FOLDABLE.search(text) else text


def cut(text: str) -> list[Token]:
    """Known words, numbers and breaks of a folded text in order; unknown characters leave gaps.

    Only clauses that may hold an amount are read, each with a clause before it that may name the price: two
    thirds of a text say nothing about money.
    """
    tokens: list[Token] = []
    previous = end = 0
    for clause in _CLAUSE.finditer(text):
        start = clause.start()
        if _AMOUNT_HINT.search(text, start, clause.end()):
            if previous >= end and _PRICE_HINT.search(text, previous, start):
                start = previous
            end = clause.end()
            next_start: int | None = start
            while next_start is not None and next_start < end:
                next_start = _cut_up_to_long_match(text, next_start, end, tokens)
        previous = clause.start()
    return tokens


def _cut_up_to_long_match(text: str, start: int, end: int, tokens: list[Token]) -> int | None:
    """Appends tokens; returns where to go on when a number or unit is longer than the pattern's match."""
    for match in _word().finditer(text, start, end):
        word = match.group()
        token = _long_token(text, match.start(), word)
        if token:
            tokens.append(token)
            return token.end
        roles = _ROLES.get(word, NOISE)
        if roles != NOISE:
            number = _UP_TO_NINE._replace(end=match.end()) if roles & NUMBER else None
            tokens.append(Token(match.start(), match.end(), roles, number))
    return None


def _long_token(text: str, start: int, word: str) -> Token | None:
    if word[0] in _PER_STARTS and (unit := _PER.match(text, start)):
        return Token(start, unit.end(), PER_BEFORE if unit.lastgroup == "before" else PER_AFTER)
    if word in NUMERAL_STARTS and word not in _ROLES and (number := read_numeral(text, start)):
        return Token(start, number.end, NUMBER, number)
    return None
