"""Who finds the words for facts that are told: the template, or a language model that is checked.

Belongs here: asking the model and the record of what it wrote; the check of its text is in `check`. A model
sees the template sentence and nothing else of the task, so it has no secret to tell. Only sentences that tell
facts are reworded; refusals, verdicts and deflections stay as written.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from shopsim_env.canonical import compact_json, sha256_text
from shopsim_env.dialogue.check import Draft, wording_problem
from shopsim_env.dialogue.harmless import SHOP, Vocabulary
from shopsim_env.errors import UsageError
from shopsim_env.shop.display import one_line

WORDING_VERSION = "shop-wording-v2"
_SYSTEM = (
    "你是网购的顾客，用口语改写下面的句子。必须逐字保留“原文”列出的每个词，不得增加、删除或否定任何要求，"
    "不得出现新的数字、颜色、规格或商品名。只输出改写后的一句话。"
)


@dataclass(frozen=True, slots=True)
class Manner:
    """What a model is told to do, and what its text may hold.

    Attributes:
        version: Changes with any of the others; part of every record.
        system: The instruction.
        sentence: What the draft's text is called in the request.
        verbatim: What the list of told values is called there.
        stop: What ends a sentence that has no end.
        vocabulary: Words that the check allows.
    """

    version: str
    system: str
    sentence: str
    verbatim: str
    stop: str
    vocabulary: Vocabulary


SHOP_MANNER = Manner(WORDING_VERSION, _SYSTEM, "句子", "原文", "。", SHOP)
"""How the Shop's customer is reworded."""


class ChatModel(Protocol):
    """A language model that answers chat messages."""

    @property
    def name(self) -> str:
        """Name of the model, for the record."""

    def complete(self, messages: list[dict[str, str]]) -> str:
        """The answer; SimulatorError when the endpoint fails."""


@dataclass(frozen=True, slots=True)
class Worded:
    """The words for a draft.

    `source` is "template" or "model"; `problem` is "" or why the model's text was not taken (one of
    `check.PROBLEMS`); `raw` is what the model wrote and `request` the key of its record, both "" without a
    model.
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
        manner: Instruction and allowed words: the Shop's unless given.

    Environments may share one, also between threads.
    """

    model: ChatModel | None = None
    records: Iterable[Mapping[str, Any]] = ()
    manner: Manner = SHOP_MANNER
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
        messages = _messages(draft, self.manner)
        request = sha256_text(compact_json([self.manner.version, messages]))
        raw = self._raw(request, messages)
        text = one_line(raw)
        problem = wording_problem(text, draft, self.manner.vocabulary)
        if problem:
            return Worded(draft.text, "template", problem, raw, request)
        ended = text[-1] in ("。", "！", "!", self.manner.stop)
        return Worded(text if ended else text + self.manner.stop, "model", "", raw, request)

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
            row = {"request": request, "version": self.manner.version, "model": self.model.name, "raw": raw}
            # Two environments may ask at once: the first answer stays, so that one request has one text.
            row = self._known.setdefault(request, row)
        return row["raw"]


def _messages(draft: Draft, manner: Manner) -> list[dict[str, str]]:
    content = compact_json(
        {manner.sentence: draft.text, manner.verbatim: [fact.value for fact in draft.told]}
    )
    return [{"role": "system", "content": manner.system}, {"role": "user", "content": content}]
