"""Cutting a text into the known words, numbers and breaks of budget clauses.

Belongs here: folding, the clauses worth reading, and tokens. Words and roles are in `budget_words`.
"""

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import NamedTuple

from shopsim_env.tasks import budget_words as words
from shopsim_env.text.numerals import HAN_NUMERALS, NUMERAL_STARTS, Numeral, read_numeral

# Characters that count goods.
PIECES = "个支枝根盒套只件瓶包双条张袋卷颗粒把台株棵块份片本罐桶箱枚串节扇副盆朵听板提团对"
_SINGLES = "".join(piece for piece in PIECES if piece not in "板听提对")  # 单板 is a snowboard
_BREAKS = "，。；！？\n"
_CONTINUOUS = (
    "(?:平方米|平方|平米|m2|㎡|平|延米|公里|厘米|公分|cm|米|m|公斤|千克|kg|斤|克|吨|升"
    "|节课|课时|小时|天|晚|个月|月|年|人|位|次)"
)
_QUANTITY = f"(?:{_CONTINUOUS}|[{PIECES}])"
# Where a quantity behind an amount ends what is said about it.
_ENDS = f"(?=$|[{_BREAKS};!?、,）)的左上以之内])"
_PER_PARTS = (
    ("before", rf"每一?{_QUANTITY}人?"),  # 每平方米, 每个人
    ("before", rf"单[{_SINGLES}]"),
    ("before", rf"(?:只要)?[一1]{_QUANTITY}的(?=价|预算|售价|单价)"),  # 一个的价格
    ("before", rf"(?:半|0\.[0-9]+){_CONTINUOUS}(?=[0-9一二三四五六七八九十两])"),  # 0.1米50块
    # Not so 1米5: the number must be money.
    ("before", rf"[一1]{_CONTINUOUS}(?=[0-9.{HAN_NUMERALS}]{{1,12}} ?[元块])"),
    ("after", rf"/ ?[一1]?{_QUANTITY}"),  # 20元/个
    # 一平米, 一瓶, 一个人; a set or pair is bought whole, 块 may be money.
    ("after", rf"[一1](?:{_CONTINUOUS}|个[人团]|(?![套双对箱块])[{PIECES}]|(?<=[元钱][一1])块){_ENDS}"),
)
_PER = re.compile(
    "|".join(
        f"(?P<{side}>{'|'.join(rule for at, rule in _PER_PARTS if at == side)})"
        for side in ("before", "after")
    )
)
_PER_STARTS = frozenset("每单一1只0半/")

_ROLES = words.word_roles()
_MAY_FOLLOW_AMOUNT = words.AFTER_BARE | words.CURRENCY | words.PIECE | words.TENTH | words.JOIN
_CLAUSE = re.compile(f"[^{_BREAKS}]+[{_BREAKS}]?")
_UP_TO_CLAUSE = re.compile(f"(?s:.)*[{_BREAKS}]")
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
# 预算1，299: elsewhere the wide comma ends a clause (买1，200元以内).
_WIDE_THOUSANDS = re.compile("([1-9])(?<=[算价格钱为在过约¥].)，(?=[0-9]{3}(?![0-9]))")
# 预算 1 000元, and 2 500元 at the start of a clause; 尺码 40 200元 holds two numbers.
_SPACED_THOUSANDS = re.compile(
    "((?:^|[算价格钱为在过约到至¥~，。-]) ?[1-9][0-9]{0,2}) (?=[0-9]{3}(?![0-9]))", re.MULTILINE
)

_Tree = dict[str, "_Tree"]


class Token(NamedTuple):
    """One known word or number: its place, its roles and, for NUMBER, the number."""

    start: int
    end: int
    roles: int
    number: Numeral | None = None


def _alternatives(known: Iterable[str], single_starts: Iterable[str] = ()) -> str:
    """A pattern for the longest of the known words, or for one of the single characters.

    Words share their beginnings, so that a character is looked at once. Branches are tried in turn:
    characters that are words by themselves are the most frequent ones.
    """
    singles = sorted(single_starts)
    tree: _Tree = {}
    for word in [*singles, *known]:
        node = tree
        for letter in word:
            node = node.setdefault(letter, {})
        node[""] = {}
    order = sorted(tree, key=lambda first: (first not in singles and "" in tree[first], first))
    return "|".join(re.escape(first) + _pattern(tree[first]) for first in order)


def _pattern(node: _Tree) -> str:
    """What may follow a beginning; optional where the beginning is a word itself."""
    tails = [re.escape(letter) + _pattern(node[letter]) for letter in sorted(node) if letter]
    if not tails:
        return ""
    return f"(?:{'|'.join(tails)})" + ("?" if "" in node else "")


_WORD = re.compile(_alternatives(_ROLES, NUMERAL_STARTS | _PER_STARTS))
# A number and a word that may follow a price, or a currency sign: what every amount of money shows.
_FOLLOWERS = _alternatives(word for word, roles in _ROLES.items() if roles & _MAY_FOLLOW_AMOUNT)
_AMOUNT_HINT = re.compile(
    rf"[0-9{HAN_NUMERALS}][0-9{HAN_NUMERALS}.,kw多来余把点]{{0,24}}(?=\s*(?:$|[/一]|{_FOLLOWERS}))"
    "|个位数|¥|rmb|cny|人民币"
)


def fold_budget_text(text: str) -> str:
    """`text` with one spelling per character: width, case, dashes, numerals. The length never changes."""
    folded = text.translate(_FOLD) if _FOLDABLE.search(text) else text
    if " " in folded:
        folded = _SPACED_THOUSANDS.sub(r"\1,", folded)
    return _WIDE_THOUSANDS.sub(r"\1,", folded) if _WIDE_THOUSANDS.search(folded) else folded


def cut(text: str) -> list[Token]:
    """Known words, numbers and breaks of a folded text in order; unknown characters leave gaps.

    Only clauses that may hold an amount are read, each with a clause before it that may name the price: four
    fifths of a text say nothing about money.
    """
    tokens: list[Token] = []
    end = 0
    while hint := _AMOUNT_HINT.search(text, end):
        start = _clause_start(text, hint.start(), end)
        if start > end and _PRICE_HINT.search(text, previous := _clause_start(text, start - 1, end), start):
            start = previous
        clause = _CLAUSE.match(text, hint.start())
        end = clause.end() if clause else hint.end()
        place: int | None = start
        while place is not None and place < end:
            place = _cut_up_to_long_match(text, place, end, tokens)
    return tokens


def _clause_start(text: str, place: int, lowest: int) -> int:
    """Start of the clause with `text[place]`, at least `lowest`."""
    match = _UP_TO_CLAUSE.match(text, lowest, place)
    return match.end() if match else lowest


def _cut_up_to_long_match(text: str, start: int, end: int, tokens: list[Token]) -> int | None:
    """Appends tokens; returns where to go on when a number or unit is longer than the pattern's match."""
    for match in _WORD.finditer(text, start, end):
        word = match.group()
        roles = _ROLES.get(word)
        if roles is None or word[0] in _PER_STARTS:
            token = _long_token(text, match.start(), word, tokens)
            if token:
                tokens.append(token)
                return token.end
        if roles is not None and roles != words.NOISE:
            number = _UP_TO_NINE._replace(end=match.end()) if roles & words.NUMBER else None
            tokens.append(Token(match.start(), match.end(), roles, number))
    return None


def _long_token(text: str, start: int, word: str, tokens: Sequence[Token]) -> Token | None:
    if word[0] in _PER_STARTS and (unit := _PER.match(text, start)):
        return Token(start, unit.end(), words.PER_BEFORE if unit.lastgroup == "before" else words.PER_AFTER)
    if word in NUMERAL_STARTS and word not in _ROLES and (number := read_numeral(text, start)):
        comma = text.find(",", start, number.end)
        if comma > 0 and tokens and tokens[-1].roles & words.MEASURE:
            # 尺码40,200元以内: two numbers
            number = read_numeral(text[:comma], start) or number
        return Token(start, number.end, words.NUMBER, number)
    return None
