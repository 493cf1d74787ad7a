"""Who finds the words for facts that are told: the template, or a language model that is checked.

Belongs here: drafts, the check that a text holds exactly the intended facts, and the record of what a model
wrote. A model sees the template sentence and nothing else of the task, so it has no secret to tell. Only
sentences that tell facts are reworded; refusals, verdicts and deflections stay as written.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from shopsim_env.canonical import compact_json, sha256_text
from shopsim_env.dialogue.ledger import Fact, bounded, mentions, plain
from shopsim_env.dialogue.topics import BY_NAME, topics_asked
from shopsim_env.errors import UsageError
from shopsim_env.shop.display import one_line

WORDING_VERSION = "shop-wording-v1"
PROBLEMS = (
    "empty",
    "too_long",
    "missing_fact",
    "negated_fact",
    "undisclosed_fact",
    "added_digits",
    "added_topic",
)
_SPARE_LENGTH = 80
_AMOUNT = re.compile("[0-9]|[零一二两三四五六七八九十百千万几]+(?:元|块|毛)")
_NEGATION = re.compile("(?:不要|别|不是|不想要|不用|不需要|除了|没有|并非|不能是)[^，。；,;]{0,4}$")
_SYSTEM = (
    "你是网购的顾客，用口语改写下面的句子。必须逐字保留“原文”列出的每个词，不得增加、删除或否定任何要求，"
    "不得出现新的数字、颜色、规格或商品名。只输出改写后的一句话。"
)


class ChatModel(Protocol):
    """A language model that answers chat messages."""

    @property
    def name(self) -> str:
        """Name of the model, for the record."""

    def complete(self, messages: list[dict[str, str]]) -> str:
        """The answer; SimulatorError when the endpoint fails."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A sentence to word: the template's text, the facts it tells, those still hidden, the topics asked."""

    text: str
    told: tuple[Fact, ...]
    hidden: tuple[Fact, ...] = ()
    topics: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Worded:
    """The words for a draft.

    `source` is "template" or "model"; `problem` is "" or why the model's text was not taken (one of
    `PROBLEMS`); `raw` is what the model wrote and `request` the key of its record, both "" without a model.
    """

    text: str
    source: str = "template"
    problem: str = ""
    raw: str = ""
    request: str = ""


class Wording(Protocol):
    """Finds the words for a draft."""

    def word(self, draft: Draft) -> Worded:
        """The words; SimulatorError when an endpoint fails."""


class TemplateWording:
    """The default: the template's text as it is."""

    def word(self, draft: Draft) -> Worded:
        """The draft's own text."""
        return Worded(draft.text)


@dataclass(slots=True)
class ModelWording:
    """Words from a language model, checked, recorded, and replayed from the record.

    Args:
        model: The model; None replays `records` alone.
        records: Earlier answers as `records` gave them; a recorded request is never sent again.

    Environments may share one, also between threads.
    """

    model: ChatModel | None = None
    records: Iterable[Mapping[str, Any]] = ()
    _known: dict[str, dict[str, str]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        for row in self.records:
            self._known[str(row["request"])] = {key: str(value) for key, value in row.items()}
        self.records = ()

    def recorded(self) -> list[dict[str, str]]:
        """Every answer so far, by request: `request`, `version`, `model`, `raw`. JSON-ready."""
        return [dict(self._known[key]) for key in sorted(self._known)]

    def word(self, draft: Draft) -> Worded:
        """The model's text where it tells exactly the draft's facts, else the template's.

        Raises:
            SimulatorError: the endpoint failed.
            UsageError: no model, and the request is not recorded (code `wording_not_recorded`).
        """
        messages = _messages(draft)
        request = sha256_text(compact_json([WORDING_VERSION, messages]))
        raw = self._raw(request, messages)
        text = one_line(raw)
        problem = wording_problem(text, draft)
        if problem:
            return Worded(draft.text, "template", problem, raw, request)
        return Worded(text if text[-1] in "。！？!?" else text + "。", "model", "", raw, request)

    def _raw(self, request: str, messages: list[dict[str, str]]) -> str:
        row = self._known.get(request)
        if row is None:
            if self.model is None:
                raise UsageError(
                    f"the wording for request {request[:12]} is not recorded; expected the records of the "
                    "run that is replayed, or a model to ask.",
                    code="wording_not_recorded",
                )
            raw = self.model.complete(messages)
            row = {"request": request, "version": WORDING_VERSION, "model": self.model.name, "raw": raw}
            # Two environments may ask at once: the first answer stays, so that one request has one text.
            row = self._known.setdefault(request, row)
        return row["raw"]


def wording_problem(text: str, draft: Draft) -> str:
    """Why `text` does not tell exactly the draft's facts: one of `PROBLEMS`, or "".

    Every told value must occur verbatim and not negated, no hidden value or part of one may; no digit or
    amount and no topic beyond those of the draft. Invented requirements in words that belong to no topic
    cannot be seen.
    """
    found = plain(text)
    if not found:
        return "empty"
    if len(text) > len(draft.text) + _SPARE_LENGTH:
        return "too_long"
    values = sorted((plain(fact.value) for fact in draft.told), key=len, reverse=True)
    if not all(fact.value in text and mentions(found, plain(fact.value)) for fact in draft.told):
        return "missing_fact"
    if any(_NEGATION.search(found[: found.index(value)]) for value in values):
        return "negated_fact"
    return _added(_without(found, [*values, *(plain(fact.label) for fact in draft.told)]), draft)


def _without(text: str, values: Iterable[str]) -> str:
    for value in values:
        text = re.sub(bounded(value), "，", text) if value else text
    return text


def _added(rest: str, draft: Draft) -> str:
    hidden = (name for fact in draft.hidden for name in (fact.value, *fact.names))
    if any(mentions(rest, plain(name)) for name in hidden):
        return "undisclosed_fact"
    if _AMOUNT.search(rest):
        return "added_digits"
    allowed = set(draft.topics).union(*(fact.topics for fact in draft.told))
    return "added_topic" if set(topics_asked(rest)) - allowed - _HARMLESS else ""


# Words of these topics (商品种类, 规格, 特点) name no requirement by themselves.
_HARMLESS = {name for name in BY_NAME if name in ("category", "options", "features")}


def _messages(draft: Draft) -> list[dict[str, str]]:
    content = compact_json({"句子": draft.text, "原文": [fact.value for fact in draft.told]})
    return [{"role": "system", "content": _SYSTEM}, {"role": "user", "content": content}]
