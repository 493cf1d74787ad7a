"""What an agent's message asks of the customer: topics in order of mention, or anything that is left.

Belongs here: the deterministic reading of Chinese and English and the choice of the needs that it asks for. Only
sentences that ask count, so that a list of products with prices and brands is no question. Cues are in `topics`.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Final

from shopsim_env.rlve.customer.needs import Need
from shopsim_env.rlve.customer.topics import BY_NAME, TOPICS, place

# A point ends a sentence only before a blank: 4.5 is a number.
_SENTENCES: Final = re.compile(r"[^。！!？?；;.]*(?:\.(?!\s|$)[^。！!？?；;.]*)*[。！!？?；;.]*")
_PIECES: Final = re.compile(r"[a-z0-9']+|[^a-z0-9'’\s_/-]+")
_BRIEF: Final = 16

_ASKING: Final = tuple(
    [
        "?",
        "吗",
        "呢",
        "么",
        "哪",
        "啥",
        "几",
        "多少",
        "多大",
        "多久",
        "怎",
        "如何",
        "是否",
        "有没有",
        "还有",
        "能不能",
        "可不可以",
        "要不要",
        "是不是",
        "谁",
        "何",
        "请",
        "告诉",
        "告知",
        "说说",
        "说一",
        "说下",
        "讲讲",
        "提供",
        "补充",
        "确认",
        "想知道",
        "想了解",
        "需要知道",
        "需要了解",
        "问一下",
        "问下",
        "麻烦",
        "介绍",
        "描述",
        "透露",
        " what",
        " which",
        " how ",
        " who ",
        " whose ",
        " when ",
        " where ",
        " why ",
        " any ",
        " anything ",
        " do you ",
        " does ",
        " did you ",
        " is there ",
        " is it ",
        " is the ",
        " are there ",
        " are you ",
        " can you ",
        " could ",
        " would ",
        " will you ",
        " should ",
        " may i ",
        " please ",
        " tell ",
        " let me know ",
        " let us know ",
        " specify ",
        " share ",
        " provide ",
        " describe ",
        " clarify ",
        " need to know ",
        " i need your ",
        " i need the ",
        " i still need ",
        " wonder",
        " confirm ",
        " like to know ",
        " want to know ",
        " curious ",
        " ask ",
        " give me ",
        " remind me ",
        " i need a ",
        " need some ",
        " need more ",
    ]
)
_OPEN: Final = tuple(
    [
        "要求",
        "需求",
        "偏好",
        "讲究",
        "期望",
        "想法",
        "喜好",
        "条件",
        "还有什么",
        "还有别的",
        "还有其他",
        "还有其它",
        "还有哪",
        "还有没有",
        "还有吗",
        "还有呢",
        "别的吗",
        "其他的吗",
        "其它的吗",
        "有其他",
        "有其它",
        "有别的",
        "补充",
        "详细",
        "具体",
        "更多信息",
        "更多细节",
        "细节",
        "没说",
        "没讲",
        "没提",
        "未说",
        "未提",
        "剩下",
        "其余",
        "剩余",
        "另外几",
        "另外的",
        "另外两",
        "另外一",
        "还需要什么",
        "还想要什么",
        "全部信息",
        "所有信息",
        "完整信息",
        "说完",
        " anything else",
        " something else",
        " anything more",
        " what else",
        " else should",
        " else do",
        " else is",
        " requirement",
        " preference",
        " criteria",
        " criterion",
        " constraint",
        " other detail",
        " more detail",
        " details ",
        " the rest ",
        " remaining",
        " left open",
        " still open",
        " open point",
        " open question",
        " missing",
        " more information",
        " further information",
        " specifics ",
        " other thing",
        " other wish",
        " wishes ",
        " other need",
        " your needs",
        " other condition",
        " conditions ",
        " looking for ",
        " everything i should",
        " anything i should",
        " tell me more ",
        " additional",
        " haven't mentioned",
        " not mentioned",
        " haven't told",
        " left out ",
        " other point",
        " other fact",
    ]
)
_NAMEABLE: Final = re.compile("[a-z0-9]{2}|[\u3400-\u9fff]{2}")


@dataclass(frozen=True, slots=True)
class Question:
    """One message as understood.

    `text` is what it asks, as given by `view`, "" when it asks nothing; `open` asks for whatever is left.
    """

    text: str = ""
    open: bool = False

    @property
    def asking(self) -> bool:
        """Whether the message asks anything."""
        return bool(self.text)

    def about(self) -> tuple[str, ...]:
        """Names of the known topics that it asks about, in order of mention."""
        if not self.text:
            return ()
        found = ((at, number) for number, topic in enumerate(TOPICS) if (at := place(self.text, topic)) >= 0)
        return tuple(TOPICS[number].name for _, number in sorted(found))


def understand(message: str) -> Question:
    """Reads a message; any text is accepted, none raises.

    A message of a few letters asks by its words alone (`预算`, `brand`).
    """
    folded = unicodedata.normalize("NFKC", message).casefold()
    if len(folded) <= _BRIEF:
        text = view(folded)
    else:
        asking = (words for part in _SENTENCES.findall(folded) if _asks(words := view(part)))
        text = "".join(asking)
    return Question(text, any(cue in text for cue in _OPEN)) if text.strip() else Question()


def view(folded: str) -> str:
    """Case-folded text for looking up cues: blanks around Latin words alone, hyphens as blanks."""
    return f" {' '.join(_PIECES.findall(folded))} "


def _asks(text: str) -> bool:
    return any(cue in text for cue in _ASKING)


def asked(question: Question, needs: Sequence[Need]) -> list[Need]:
    """The needs that a question is about, the best first.

    First those that it names (by label, other names, or a topic that is no known one) and whose topic it asks
    for, then one of each topic in turn in order of mention, then those that it names only.
    """
    if not question.asking:
        return []
    named = [need for need in needs if _names(question.text, need)]
    topics = {topic for need in needs for topic in need.topics}
    places = ((place(question.text, BY_NAME[name]), name) for name in topics if name in BY_NAME)
    mentioned = [name for at, name in sorted(places) if at >= 0]
    by_topic = [[need for need in needs if name in need.topics] for name in mentioned]
    both = [need for need in named if not need.topics.isdisjoint(mentioned)]
    return list(dict.fromkeys([*both, *_in_turn(by_topic), *named]))


def _in_turn(lists: Iterable[Sequence[Need]]) -> Iterator[Need]:
    for row in zip_longest(*lists):
        yield from (need for need in row if need is not None)


def _names(text: str, need: Need) -> bool:
    names = (need.label, *need.names, *(name for name in need.topics if name not in BY_NAME))
    return any((cue := _name_cue(name)) and cue in text for name in names)


@lru_cache(maxsize=4_096)
def _name_cue(name: str) -> str:
    """What must occur for a name to be mentioned; "" for names too short to be one."""
    words = view(unicodedata.normalize("NFKC", name).casefold())
    if not _NAMEABLE.search(words):
        return ""
    # Chinese has no ends of words; a Latin name is a whole one.
    core = words.strip()
    before = " " if core[0].isascii() else ""
    after = " " if core[-1].isascii() else ""
    return f"{before}{core}{after}"
