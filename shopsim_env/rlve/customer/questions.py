"""What an agent's message asks of the customer: topics in order of mention, or anything that is left.

Belongs here: the deterministic reading of Chinese and English and the choice of the needs that it asks for.
Only sentences that ask count, so that a list of products with prices and brands is no question. The cues of
topics are in `topics`.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import Final

from shopsim_env.rlve.customer.needs import Need
from shopsim_env.rlve.customer.topics import BY_NAME, TOPICS

# A point ends a sentence only before a blank: 4.5 is a number.
_SENTENCES: Final = re.compile(r"[^。！!？?；;.]*(?:\.(?!\s|$)[^。！!？?；;.]*)*[。！!？?；;.]*")
_PIECES: Final = re.compile(r"[a-z0-9']+|[^a-z0-9'\s_/-]+")
# A message as short as this asks by its words alone.
_BRIEF: Final = 16

_ASKING, _OPEN = "*asking", "*open"
_ASKING_CUES: Final = """?|吗|呢|么|哪|啥|几|多少|多大|多久|怎|如何|是否|有没有|还有|能不能|可不可以|要不要
|是不是|谁|何|请|告诉|告知|说说|说一|说下|讲讲|提供|补充|确认|想知道|想了解|需要知道
|需要了解|问一下|问下|麻烦|介绍|描述|透露|what|which|how_|why_|do you_|did you_
|is there_|are there_|are you_|can you_|could_|would_|will you_|should_|may i_|please_
|tell_|let me know_|let us know_|specify_|share_|provide_|describe_|clarify_
|need to know_|i need your_|i need the_|i still need_|wonder|confirm_|like to know_
|want to know_|curious_|ask_|give me_|remind me_|i need a_|need some_|need more_
|anything else"""
_OPEN_CUES: Final = """要求|需求|偏好|讲究|期望|想法|喜好|条件|还有什么|还有别的|还有其他|还有其它|还有哪
|还有没有|还有吗|还有呢|别的吗|其他的吗|其它的吗|有其他|有其它|有别的|补充|详细|具体
|更多信息|更多细节|细节|没说|没讲|没提|未说|未提|剩下|其余|剩余|另外几|另外的|另外两
|另外一|还需要什么|还想要什么|全部信息|所有信息|完整信息|说完|anything else
|something else|anything more|what else|else should|else do|else is|requirement
|preference|criteria|criterion|constraint|other detail|more detail|details_|the rest_
|remaining|left open|still open|open point|open question|missing|more information
|further information|specifics_|other thing|other wish|wishes_|other need|your needs
|other condition|conditions_|looking for_|everything i should|anything i should
|tell me more_|additional|haven't mentioned|not mentioned|haven't told|left out_
|other point|other fact"""
_NAMEABLE: Final = re.compile("[a-z0-9]{2}|[\u3400-\u9fff]{2}")


def _index() -> dict[str, tuple[tuple[str, str], ...]]:
    """Cues with the topics that they ask for, by their first letters: three of a Latin one."""
    found: dict[str, list[tuple[str, str]]] = {}
    own = ((_ASKING, _ASKING_CUES), (_OPEN, _OPEN_CUES))
    for name, cues in (*own, *((topic.name, topic.cues) for topic in TOPICS)):
        for cue in cues.replace("\n", "").replace("_", " ").split("|"):
            found.setdefault(cue[:3] if cue[0].isascii() and cue[0].isalnum() else cue[0], []).append(
                (cue, name)
            )
    return {start: tuple(cues) for start, cues in found.items()}


_CUES: Final = _index()
_LETTERS: Final = re.escape("".join(sorted(start for start in _CUES if len(start) == 1)))
_STARTS: Final = re.compile(f"(?<= )(?=([a-z0-9][a-z0-9' ]{{2}}))|[{_LETTERS}]")


@dataclass(frozen=True, slots=True)
class Question:
    """One message as understood.

    Attributes:
        text: What it asks, as given by `view`, "" when it asks nothing.
        topics: Names of the known topics in it, in order of mention.
        open: Whether it asks for whatever is left.
    """

    text: str = ""
    topics: tuple[str, ...] = ()
    open: bool = False

    @property
    def asking(self) -> bool:
        """Whether the message asks anything."""
        return bool(self.text)


def understand(message: str) -> Question:
    """Reads a message; any text is accepted, none raises.

    A message of a few letters asks by its words alone (`预算`, `brand`).
    """
    folded = unicodedata.normalize("NFKC", message.replace("’", "'")).casefold()
    brief = len(folded) <= _BRIEF
    texts: list[str] = []
    topics: list[str] = []
    for part in [folded] if brief else _SENTENCES.findall(folded):
        text = view(part)
        found = _mentioned(text)
        if text.strip() and (brief or _ASKING in found):
            texts.append(text)
            topics += found
    named = dict.fromkeys(topics)
    return Question("".join(texts), tuple(name for name in named if name in BY_NAME), _OPEN in named)


def view(folded: str) -> str:
    """Case-folded text for looking up cues: blanks around Latin words alone, hyphens as blanks."""
    return f" {' '.join(_PIECES.findall(folded))} "


def _mentioned(text: str) -> list[str]:
    """Names of all that the cues in a text stand for, in order of mention."""
    found: list[str] = []
    for start in _STARTS.finditer(text):
        at = start.start()
        for cue, name in _CUES.get(start[1] or start[0], ()):
            if text.startswith(cue, at):
                found.append(name)
    return found


def asked(question: Question, needs: Sequence[Need]) -> list[Need]:
    """The needs that a question is about, the best first.

    First those that it names (by label, other names, or a topic that is no known one) and whose topic it asks
    for, then one of each topic in turn in order of mention, then those that it names only.
    """
    if not question.asking:
        return []
    named = [need for need in needs if _names(question.text, need)]
    by_topic = [[need for need in needs if topic in need.topics] for topic in question.topics]
    both = [need for need in named if not need.topics.isdisjoint(question.topics)]
    return list({need.id: need for need in (*both, *_in_turn(by_topic), *named)}.values())


def _in_turn(lists: Iterable[Sequence[Need]]) -> Iterator[Need]:
    for row in zip_longest(*lists):
        yield from (need for need in row if need is not None)


def _names(text: str, need: Need) -> bool:
    return any(cue in text for cue in _name_cues(need.label, need.names, need.topics))


@lru_cache(maxsize=4_096)
def _name_cues(label: str, names: tuple[str, ...], topics: frozenset[str]) -> tuple[str, ...]:
    """What must occur for a need to be named; names of a single letter are none."""
    words = (
        view(unicodedata.normalize("NFKC", name).casefold())
        for name in (label, *names, *(topics - set(BY_NAME)))
    )
    return tuple(sorted(_bounded(word.strip()) for word in words if _NAMEABLE.search(word)))


def _bounded(words: str) -> str:
    """Chinese has no ends of words; a Latin name is a whole one."""
    return f"{' ' if words[0].isascii() else ''}{words}{' ' if words[-1].isascii() else ''}"
