"""How a language model may reword the customer's sentences: instructions and closed lists of words.

Belongs here: the Chinese and the English manner for `shopsim_env.dialogue.wording`. A value of an RLVE need
is a whole phrase, so besides values only connectives and politeness may stand.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from shopsim_env.dialogue.harmless import COMMON, Vocabulary
from shopsim_env.dialogue.wording import ChatModel, Manner, ModelWording
from shopsim_env.rlve.customer.topics import BY_NAME

_CHINESE: Final = """
我 的 要求 情况 具体 具体是 具体要求 条件 如下 是这样 这样 下面 这些 这几点 以下 请记下 记下
请注意 注意 先说说 说一下 说说 前面 说过 说过了 提过 再说 一遍 再说一遍 之前 刚才 讲过 讲过了
和之前说的一样 还是那句话 客服 在吗 打扰 打扰一下 这么说吧 我想想 这个啊 想请你 想请您 帮个忙
麻烦帮个忙
"""
_ENGLISH: Final = """
i im id ill me my we you your the a an and also plus with as so well okay ok sure yes right hi
hello hey there dear please thanks thank kindly here is are it its that this these those be
would like want need needs wish wishes to of for in on details detail requirements requirement
particulars what matters matter situation following follows below keep mind note know should
let see tell told say said mentioned mention already before again repeat once same first then
next finally lastly good day morning question help could can hope moment quick request precise
"""
_SYSTEM_ENGLISH: Final = (
    "You are a customer of an online shop. Reword the sentences in everyday speech. Every text of the list "
    "'verbatim' must occur exactly as it is. Do not add, drop, weaken or negate any requirement, and use no "
    "other number, color, size or product name. Give nothing but the reworded text."
)
_SYSTEM_CHINESE: Final = (
    "你是网店的顾客，用口语改写下面的话。“原文”列出的每一段必须一字不差地出现，"
    "不得增加、删去、放宽或否定任何要求，"
    "不得出现别的数字、颜色、规格或商品名。只输出改写后的话。"
)


def _named(language: str, topics: Iterable[str]) -> frozenset[str]:
    labels = (BY_NAME[name].label(language) for name in topics if name in BY_NAME)
    return frozenset(word for label in labels for word in label.split())


def _names_nothing(_: str) -> tuple[str, ...]:
    """Names of topics are no common words, so the closed list alone refuses those of other topics."""
    return ()


MANNERS: Final[Mapping[str, Manner]] = {
    "zh": Manner(
        "rlve-wording-zh-v1",
        _SYSTEM_CHINESE,
        "句子",
        "原文",
        "。",
        Vocabulary(COMMON | set(_CHINESE.split()), {}, lambda topics: _named("zh", topics), _names_nothing),
    ),
    "en": Manner(
        "rlve-wording-en-v1",
        _SYSTEM_ENGLISH,
        "sentences",
        "verbatim",
        ".",
        Vocabulary(frozenset(_ENGLISH.split()), {}, lambda topics: _named("en", topics), _names_nothing),
    ),
}
"""Manner by language."""


def model_wording(
    language: str, model: ChatModel | None, records: Iterable[Mapping[str, Any]] = ()
) -> ModelWording:
    """Words of a language model for the customer, checked, recorded, and replayed from `records`.

    Args:
        language: `zh` or `en`.
        model: The model; None replays `records` alone.
        records: What `ModelWording.recorded` gave.
    """
    return ModelWording(model, records, MANNERS[language])
