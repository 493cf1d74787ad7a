"""Typing errors and slang, with a chance per letter, that leave the sense of a sentence alone.

Belongs here: what may change and how. Never touched are kept pieces (values of needs, brands), digits, tokens
with a digit, codes such as `USB-C`, numerals, negations, and the words that tell a return from an exchange.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from shopsim_env.rlve.draws import Draws

Piece = tuple[str, bool]
"""A text and whether it is kept as it is."""

SLANG_FACTOR: Final = 3
_CHANCE_BITS, _GAP_BITS, _LONGEST_GAP = 15, 60, 2_048
# Published: of errors 30 % drop a letter, 30 % double it, 20 % swap it with the next, 20 % take another one.
_DROP, _DOUBLE, _SWAP, _OTHER = range(4)
_ERRORS: Final = (_DROP, _DROP, _DROP, _DOUBLE, _DOUBLE, _DOUBLE, _SWAP, _SWAP, _OTHER, _OTHER)

SLANG: Final[Mapping[str, Mapping[str, str]]] = {
    "zh": {
        "什么": "啥", "怎么": "咋", "喜欢": "稀饭", "东西": "东东", "商品": "宝贝", "可以": "阔以",
        "谢谢": "谢谢啦", "朋友": "盆友", "一下": "一哈", "非常": "灰常", "这样": "酱紫", "真的": "真滴",
        "你好": "哈喽", "麻烦": "劳驾", "知道": "晓得", "觉得": "感觉", "客服": "小二", "推荐": "种草",
        "马上": "立马",
    },
    "en": {
        "you": "u", "your": "ur", "please": "pls", "thanks": "thx", "thank": "thx", "because": "cuz",
        "going": "goin", "really": "rly", "about": "abt", "something": "smth", "message": "msg", "okay": "kk",
        "hello": "heya", "people": "ppl", "though": "tho", "before": "b4", "great": "gr8",
        "looking": "lookin",
    },
}  # fmt: skip
_SIMILAR_PAIRS: Final = """
的得 得的 在再 再在 是事 和合 做作 想象 要耀 找照 帮邦 请清 看坎 吧把 吗嘛 里理 最嘴 以已 了啦 就旧
还孩 个各 件见 款宽 需须 求球 可课 问文 品拼 商伤 价架 格隔 质制 量亮 货或 单担 订定 现先 到道 知之
道到 些写 样养 烦凡 推忒 荐见 合和 适试 排牌 前钱 们门 给各 你尼 好号 我窝 类累 东冬 西希 选宣 诉素
"""
_SIMILAR: Final = {pair[0]: pair[1] for pair in _SIMILAR_PAIRS.split()}
_KEYBOARD: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEXT_KEY: Final = {
    key: "".join(row[at : at + 1] for at in (place - 1, place + 1) if at >= 0)
    for row in _KEYBOARD
    for place, key in enumerate(row)
}
# Words whose loss or change would change what is wanted.
_FIXED_HAN: Final = "零〇一二两三四五六七八九十百千万半几不没无别非未勿莫退换取消改补买卖"
_FIXED_ENGLISH: Final = """
one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand half dozen once twice
first second third no not never none nothing without nor except neither cannot return exchange refund cancel
replace replacement change buy sell more less most least fewer over under above below
"""
_FIXED_WORDS: Final = frozenset(_FIXED_ENGLISH.split())
_LATIN: Final = re.compile(r"[^\W_]+(?:[-_.'’#/:][^\W_]+)*")
_HAN: Final = re.compile(f"{'|'.join(SLANG['zh'])}|(?:(?![{_FIXED_HAN}])[\u3400-\u9fff])")
_PLAIN_WORD: Final = re.compile("[A-Za-z]?[a-z]*")


class Typist:
    """Types sentences with errors.

    Args:
        chance: Of an error, per letter that may be touched; slang words are used with three times that.
        language: `zh` or `en`; letters of the other script are never touched.
    """

    __slots__ = ("_language", "_letter", "_word")

    def __init__(self, chance: float, language: str) -> None:
        self._language = language
        self._letter = round(chance * (1 << _CHANCE_BITS))
        self._word = min(1.0, SLANG_FACTOR * chance)

    def type(self, pieces: Iterable[Piece], draws: Draws) -> str:
        """The text of all pieces; those that are not kept get errors."""
        if not self._letter:
            return "".join(text for text, _ in pieces)
        hand = _Hand(draws, _gaps(self._letter))
        return "".join(text if kept else self._mistype(text, hand, draws) for text, kept in pieces)

    def _mistype(self, text: str, hand: "_Hand", draws: Draws) -> str:
        done: list[str] = []
        end = 0
        for start, stop, slang in _spans(text, self._language):
            if slang and draws.chance(self._word):
                done += (text[end:start], slang)
            elif hand.skips(stop - start):
                continue
            else:
                done += (text[end:start], hand.mistype(text[start:stop]))
            end = stop
        done.append(text[end:])
        return "".join(done)


@lru_cache(maxsize=4_096)
def _spans(text: str, language: str) -> tuple[tuple[int, int, str], ...]:
    """Where a text may be touched: start and stop of runs of letters, and slang for the run or ""."""
    slang = SLANG[language]
    if language == "zh":
        found = [(*item.span(), slang.get(item[0], "")) for item in _HAN.finditer(text)]
    else:
        found = [
            (*item.span(), slang.get(item[0].lower(), ""))
            for item in _LATIN.finditer(text)
            if _PLAIN_WORD.fullmatch(item[0]) and item[0].lower() not in _FIXED_WORDS
        ]
    return tuple(found)


@lru_cache(maxsize=64)
def _gaps(chance: int) -> tuple[int, ...]:
    """Shares, of 2^60, of gaps below 1, 2, ... letters between errors. Integers: equal on every machine."""
    stay, none, found = (1 << _CHANCE_BITS) - chance, 1 << _GAP_BITS, []
    for _ in range(_LONGEST_GAP):
        none = none * stay >> _CHANCE_BITS
        found.append((1 << _GAP_BITS) - none)
    return tuple(found)


class _Hand:
    """Errors in runs of letters that may be touched; one draw tells how many letters are typed right."""

    __slots__ = ("_draws", "_gaps", "_right")

    def __init__(self, draws: Draws, gaps: tuple[int, ...]) -> None:
        self._draws = draws
        self._gaps = gaps
        self._right = self._gap()

    def skips(self, letters: int) -> bool:
        """Whether the next letters are all typed right; they are typed then."""
        if self._right < letters:
            return False
        self._right -= letters
        return True

    def mistype(self, run: str) -> str:
        """The next letters, with errors."""
        done: list[str] = []
        start = 0
        while not self.skips(len(run) - start):
            place = start + self._right
            done.append(run[start:place])
            start = place + 1
            error = self._draws.pick(_ERRORS)
            if error == _SWAP and start < len(run) and run[start] != run[place]:
                done.append(run[start] + run[place])
                start += 1
            elif error != _DROP:
                done.append(self._other(run[place]) if error == _OTHER else run[place] * 2)
            self._right = self._gap()
        done.append(run[start:])
        return "".join(done)

    def _other(self, letter: str) -> str:
        """A neighbouring key or a character of similar sound; twice the letter where there is none."""
        keys = _NEXT_KEY.get(letter.lower())
        if keys is None:
            return _SIMILAR.get(letter, letter * 2)
        other = self._draws.pick(keys)
        return other.upper() if letter.isupper() else other

    def _gap(self) -> int:
        total = 0
        while True:
            gap = bisect_right(self._gaps, self._draws.below(1 << _GAP_BITS))
            if gap < _LONGEST_GAP:
                return total + gap
            total += _LONGEST_GAP


def cut(text: str, kept: Sequence[str]) -> list[Piece]:
    """`text` in pieces, every occurrence of a kept text one of its own; longer texts first."""
    pieces: list[Piece] = [(text, False)]
    for keep in sorted(filter(None, set(kept)), key=lambda item: (-len(item), item)):
        if keep in text:
            pieces = [part for piece in pieces for part in _cut_piece(piece, keep)]
    return pieces


def _cut_piece(piece: Piece, keep: str) -> Iterable[Piece]:
    if piece[1]:
        return [piece]
    found: list[Piece] = []
    for part in piece[0].split(keep):
        found += [(keep, True), (part, False)]
    return found[1:]
