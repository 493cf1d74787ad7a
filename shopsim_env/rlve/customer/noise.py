"""Typing errors and slang, with a chance per letter, that leave the sense of a sentence alone.

Belongs here: what may change and how. Never touched are kept pieces (values of needs, brands), digits, tokens with
a digit, codes such as `USB-C`, numerals, negations, and the words that tell a return from an exchange.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from shopsim_env.rlve.draws import Draws

Piece = tuple[str, bool]
"""A text and whether it is kept as it is."""

SLANG_FACTOR: Final = 3
_CHANCES_PER_DRAW, _CHANCE_BITS = 4, 15
# Published: of typing errors 30 % drop a letter, 30 % double it, 20 % swap it with the next, 20 % take another one.
_DROP, _DOUBLE, _SWAP, _OTHER = range(4)
_ERRORS: Final = (_DROP, _DROP, _DROP, _DOUBLE, _DOUBLE, _DOUBLE, _SWAP, _SWAP, _OTHER, _OTHER)

SLANG: Final[Mapping[str, Mapping[str, str]]] = {
    "zh": {
        "什么": "啥", "怎么": "咋", "喜欢": "稀饭", "东西": "东东", "商品": "宝贝", "可以": "阔以", "谢谢": "谢谢啦",
        "朋友": "盆友", "一下": "一哈", "非常": "灰常", "这样": "酱紫", "真的": "真滴", "你好": "哈喽", "请问": "问下",
        "麻烦": "劳驾", "知道": "晓得", "现在": "现在啊", "觉得": "感觉", "客服": "小二", "推荐": "种草", "马上": "立马",
    },
    "en": {
        "you": "u", "your": "ur", "please": "pls", "thanks": "thx", "thank": "thx", "because": "cuz", "going": "goin",
        "really": "rly", "about": "abt", "something": "smth", "message": "msg", "probably": "prolly", "okay": "k",
        "hello": "heya", "people": "ppl", "though": "tho", "before": "b4", "great": "gr8", "looking": "lookin",
    },
}  # fmt: skip
_SIMILAR: Final = dict(
    pair.split()
    for pair in [
        "的 得",
        "得 的",
        "在 再",
        "再 在",
        "是 事",
        "和 合",
        "做 作",
        "想 象",
        "要 耀",
        "找 照",
        "帮 邦",
        "请 清",
        "看 坎",
        "吧 把",
        "吗 嘛",
        "里 理",
        "最 嘴",
        "以 已",
        "了 啦",
        "就 旧",
        "还 孩",
        "个 各",
        "件 见",
        "款 宽",
        "需 须",
        "求 球",
        "可 课",
        "问 文",
        "品 拼",
        "商 伤",
        "价 架",
        "格 隔",
        "质 制",
        "量 亮",
        "货 或",
        "单 担",
        "订 定",
        "现 先",
        "到 道",
        "知 之",
        "道 到",
        "些 写",
        "样 养",
        "烦 凡",
        "推 忒",
        "荐 见",
        "合 和",
        "适 试",
        "排 牌",
        "前 钱",
        "们 门",
        "给 各",
        "你 尼",
        "好 号",
        "我 窝",
        "类 累",
        "东 冬",
        "西 希",
        "选 宣",
        "诉 素",
    ]
)
_KEYBOARD: Final = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEXT_KEY: Final = {
    key: "".join(row[at : at + 1] for at in (place - 1, place + 1) if at >= 0)
    for row in _KEYBOARD
    for place, key in enumerate(row)
}
# Words whose loss or change would change what is wanted.
_FIXED_HAN: Final = "零〇一二两三四五六七八九十百千万半几不没无别非未勿莫退换取消改补买卖"
_FIXED_WORDS: Final = frozenset(
    [
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
        "twenty",
        "thirty",
        "forty",
        "fifty",
        "sixty",
        "seventy",
        "eighty",
        "ninety",
        "hundred",
        "thousand",
        "half",
        "dozen",
        "once",
        "twice",
        "first",
        "second",
        "third",
        "no",
        "not",
        "never",
        "none",
        "nothing",
        "without",
        "nor",
        "except",
        "neither",
        "cannot",
        "return",
        "exchange",
        "refund",
        "cancel",
        "replace",
        "replacement",
        "change",
        "buy",
        "sell",
        "more",
        "less",
        "most",
        "least",
        "fewer",
        "over",
        "under",
        "above",
        "below",
    ]
)
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
        hand = _Hand(draws, self._letter)
        change = self._chinese if self._language == "zh" else self._english
        return "".join(text if kept else change(text, hand, draws) for text, kept in pieces)

    def _english(self, text: str, hand: "_Hand", draws: Draws) -> str:
        done: list[str] = []
        end = 0
        for found in _LATIN.finditer(text):
            done.append(text[end : found.start()])
            end = found.end()
            word = found[0]
            if not _PLAIN_WORD.fullmatch(word) or word.lower() in _FIXED_WORDS:
                done.append(word)
            elif word.lower() in SLANG["en"] and draws.chance(self._word):
                done.append(SLANG["en"][word.lower()])
            else:
                done.append(hand.mistype(word))
        done.append(text[end:])
        return "".join(done)

    def _chinese(self, text: str, hand: "_Hand", draws: Draws) -> str:
        done: list[str] = []
        run: list[str] = []
        end = 0
        for found in _HAN.finditer(text):
            if found.start() > end:
                done.append(hand.mistype("".join(run)) + text[end : found.start()])
                run = []
            end = found.end()
            if len(found[0]) > 1 and draws.chance(self._word):
                done.append(hand.mistype("".join(run)) + SLANG["zh"][found[0]])
                run = []
            else:
                run.append(found[0])
        done.append(hand.mistype("".join(run)) + text[end:])
        return "".join(done)


class _Hand:
    """Errors in runs of letters; one draw serves several letters."""

    __slots__ = ("_chance", "_draws", "_left", "_pack")

    def __init__(self, draws: Draws, chance: int) -> None:
        self._draws = draws
        self._chance = chance
        self._pack = 0
        self._left = 0

    def mistype(self, run: str) -> str:
        """A run of letters that all may be touched."""
        done: list[str] = []
        place = 0
        while place < len(run):
            letter = run[place]
            place += 1
            if not self._slips():
                done.append(letter)
                continue
            error = self._draws.pick(_ERRORS)
            if error == _SWAP and place < len(run) and run[place] != letter:
                done.append(run[place] + letter)
                place += 1
            elif error != _DROP:
                done.append(self._other(letter) if error == _OTHER else letter * 2)
        return "".join(done)

    def _other(self, letter: str) -> str:
        """A neighbouring key or a character of similar sound; twice the letter where there is none."""
        keys = _NEXT_KEY.get(letter.lower())
        if keys is None:
            return _SIMILAR.get(letter, letter * 2)
        other = self._draws.pick(keys)
        return other.upper() if letter.isupper() else other

    def _slips(self) -> bool:
        if not self._left:
            self._pack = self._draws.below(1 << (_CHANCES_PER_DRAW * _CHANCE_BITS))
            self._left = _CHANCES_PER_DRAW
        found = self._pack & ((1 << _CHANCE_BITS) - 1)
        self._pack >>= _CHANCE_BITS
        self._left -= 1
        return found < self._chance


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
