"""Words that a reworded sentence may hold beside its facts: they require nothing by themselves.

Belongs here: the closed lists of the Shop's customer, and the form in which other customers bring theirs.
Most words are those of our own templates, by kind of fact; the rest are connectives, particles and
politeness. No word weakens (也行, 随便), negates, compares or asks.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from shopsim_env.dialogue.templates import WORDINGS
from shopsim_env.dialogue.topics import BY_NAME, topics_asked

_CONNECTIVES = """
我 我们 我的 我想 我要 我想要 我希望 想 想要 想买 要 要买 希望 需要 最好 最好是 买 选 选择 是 就是 就要 就想要
就选 有 得是 喜欢 看重 在意 关注 和 跟 与 以及 还 还有 还要 也 也要 另外 然后 而且 并且 同时 那 那么 那个 这个
对 对了 其实 主要 主要是 首先 先 先不说 方面 这方面 这块 这一块 上 这点 这一点 一款 款 个 的 的话 那种 这种
的那种 了 就 就好 就行 就可以 即可 帮 帮我 给我 记得
"""
_POLITENESS = """
嗯 嗯嗯 啊 哦 噢 呢 吧 呀 哈 嘛 哎 啦 哈喽 亲 请 麻烦 麻烦你 麻烦您 拜托 谢谢 多谢 谢谢你 谢谢您 辛苦 辛苦了
你好 您好 好的 好呀 是的
"""
COMMON = frozenset((_CONNECTIVES + _POLITENESS).split())
"""Words that may stand in every clause."""

_SLOTS = {
    "category": ("category",),
    "option": ("option", "option_labelled"),
    "attribute": ("attribute",),
    "budget": ("budget",),
}
# The ceiling that they make is read again afterwards.
_MORE_WORDS = {
    "budget": "不超过 不要超过 不能超过 别超过 最高 最多 上限 上限是 控制在 以内 之内 以下 手头 只有"
}
_GAP = re.compile(r"\{[a-z]+\}")


def _kind_words(kind: str) -> frozenset[str]:
    pieces = (piece for slot in _SLOTS[kind] for wording in WORDINGS[slot] for piece in _GAP.split(wording))
    return frozenset(filter(None, pieces)) | frozenset(_MORE_WORDS.get(kind, "").split())


KIND_WORDS = {kind: _kind_words(kind) for kind in _SLOTS}
"""Words that may stand in a clause whose facts are all of one kind: what our templates say there."""

_MORE_NAMES = {"budget": ("价格", "价钱", "价位", "总价")}


def topic_words(topics: Iterable[str]) -> frozenset[str]:
    """Names of topics as an answer may use them."""
    names = {name for topic in topics if topic in BY_NAME for name in BY_NAME[topic].label.split("和")}
    return frozenset(names.union(*(_MORE_NAMES.get(topic, ()) for topic in topics)))


def made_of(text: str, words: frozenset[str]) -> bool:
    """Whether `text` is nothing but words of the list, one after the other; the empty text is.

    A word of Latin letters is a whole one: `theme` is not made of `the` and `me`.
    """
    longest = max(map(len, words), default=0)
    reached = {0}
    for start in range(len(text)):
        if start in reached:
            ends = range(start + 1, min(start + longest, len(text)) + 1)
            reached.update(end for end in ends if text[start:end] in words and not _cuts(text, end))
    return len(text) in reached


def _cuts(text: str, at: int) -> bool:
    """Whether a place is within a Latin word."""
    return bool(_WITHIN.match(text[at - 1 : at + 1]))


_WITHIN = re.compile("[a-z]{2}")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a customer's reworded sentences may hold besides told values.

    Attributes:
        common: Words that may stand in every clause.
        kinds: Words that may stand in a clause whose facts are all of one kind.
        named: Names of topics as an answer may use them.
        asked: Topics that a text names; only those of told facts may be.
        neutral: Topics whose words name no requirement.
    """

    common: frozenset[str]
    kinds: Mapping[str, frozenset[str]]
    named: Callable[[Iterable[str]], frozenset[str]]
    asked: Callable[[str], Iterable[str]]
    neutral: frozenset[str] = frozenset()


# Words of 商品种类, 规格 and 特点 name no requirement by themselves.
SHOP = Vocabulary(
    COMMON,
    KIND_WORDS,
    topic_words,
    topics_asked,
    frozenset({"category", "options", "features"}.intersection(BY_NAME)),
)
"""The vocabulary of the Shop's customer."""
