"""The Shop's customer: a state machine over the disclosure ledger.

Belongs here: what is told in answer to what, in which order, and the two verdicts on buying. It opens with
the category alone, tells at most two facts a question and only what was asked, speaks against a purchase
while facts are unasked and agrees afterwards. It never looks at the page, so it can neither judge a product
nor block an action (contract 7.16). Talks are values: an answer is a new talk.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from shopsim_env.dialogue.check import Draft
from shopsim_env.dialogue.ledger import Fact, Ledger
from shopsim_env.dialogue.questions import Question, understand
from shopsim_env.dialogue.templates import fact_clause, pick
from shopsim_env.dialogue.topics import BY_NAME
from shopsim_env.dialogue.wording import TemplateWording, Worded, Wording
from shopsim_env.shop.display import echo

FACTS_PER_QUESTION = 2
INTENTS = ("told", "repeated", "nothing", "objection", "confirmation", "unrecognised")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One question, shortened as everything that is shown again, and its answer.

    `intent` is one of `INTENTS`; a verdict on buying goes before facts told in the same answer. `told` are
    the facts that became known, `repeated` those said again; `worded` says who found the words.
    """

    question: str
    answer: str
    intent: str
    told: tuple[Fact, ...]
    repeated: tuple[Fact, ...]
    worded: Worded


@dataclass(frozen=True, slots=True)
class Talk:
    """A dialogue so far. `key` (seed and task) decides the wordings."""

    key: str
    opening: str
    ledger: Ledger
    exchanges: tuple[Exchange, ...] = ()

    @property
    def confirmed(self) -> bool:
        """Whether the customer agreed to buy, with everything told."""
        return any(exchange.intent == "confirmation" for exchange in self.exchanges)

    @property
    def objected(self) -> bool:
        """Whether the last verdict on buying was against it."""
        verdicts = [exchange.intent for exchange in self.exchanges if exchange.intent in _VERDICTS]
        return bool(verdicts) and verdicts[-1] == "objection"


_VERDICTS = ("objection", "confirmation")


def open_talk(facts: Sequence[Fact], key: str) -> Talk:
    """The opening: the category and nothing else is told."""
    ledger = Ledger(tuple(facts))
    what = next((fact for fact in facts if fact.kind == "category"), None)
    if what is None:
        return Talk(key, pick(key, "opening_unknown", ledger.hidden), ledger)
    ledger = ledger.tell([what])
    return Talk(key, pick(key, "opening", ledger.hidden, what=what.value), ledger)


def answer(talk: Talk, message: str, wording: Wording | None = None) -> Talk:
    """The talk after one question; the template wording when none is given.

    Raises:
        SimulatorError: the endpoint behind `wording` failed; `talk` is still what it was.
    """
    question = understand(message, talk.ledger.facts)
    told = _chosen(talk.ledger, question)
    ledger = talk.ledger.tell(told)
    plan = _Plan(f"{talk.key}|{len(talk.exchanges)}", question, told, ledger)
    worded = Worded("")
    if told:
        draft = Draft(plan.telling(), told, ledger.hidden, question.topics)
        worded = (wording or TemplateWording()).word(draft)
    intent, rest = plan.rest()
    repeated = plan.known() if intent == "repeated" else ()
    exchange = Exchange(echo(message), worded.text + rest, intent, told, repeated, worded)
    return replace(talk, ledger=ledger, exchanges=(*talk.exchanges, exchange))


def _chosen(ledger: Ledger, question: Question) -> tuple[Fact, ...]:
    """Facts to tell: named ones, then one of each topic in turn; an open question gets a single one."""
    hidden = ledger.hidden
    queue = [fact for fact in hidden if fact.id in question.named]
    by_topic = [[fact for fact in hidden if topic in fact.topics] for topic in question.topics]
    # A fact of a special topic is what the question means; the rest of the kind comes after it.
    for turn in range(max(map(len, by_topic), default=0)):
        queue += [facts[turn] for facts in by_topic if turn < len(facts)]
    if not (question.named or question.topics or question.buying) and question.open:
        queue = list(hidden[:1])
    return tuple(dict.fromkeys(queue))[:FACTS_PER_QUESTION]


@dataclass(frozen=True, slots=True)
class _Plan:
    """One answer in the making; `ledger` is the one after it."""

    key: str
    question: Question
    told: tuple[Fact, ...]
    ledger: Ledger

    def _pick(self, slot: str, **values: str) -> str:
        return pick(self.key, slot, self.ledger.hidden, **values)

    def _clauses(self, facts: Sequence[Fact]) -> str:
        return "，".join(fact_clause(self.key, fact, self.ledger.hidden) for fact in facts) + "。"

    def telling(self) -> str:
        return self._clauses(self.told)

    def rest(self) -> tuple[str, str]:
        """Intent, and what follows the telling: a verdict, how complete the answer is, or a deflection."""
        if self.question.buying:
            verdict = "confirmation" if self.ledger.complete else "objection"
            return verdict, self._pick(verdict)
        if self.told:
            return "told", self._completeness()
        if not self.question.recognised:
            return "unrecognised", self._pick("unrecognised")
        return self._nothing_new()

    def _completeness(self) -> str:
        topics = set(self.question.topics)
        if not topics:
            return ""
        left = any(topics & fact.topics for fact in self.ledger.hidden)
        return self._pick("more" if left else "no_more")

    def _nothing_new(self) -> tuple[str, str]:
        known = self.known()
        if known:
            return "repeated", self._pick("repeated") + self._clauses(known)
        if self.question.topics:
            label = BY_NAME[self.question.topics[0]].label
            return "nothing", self._pick("nothing", topic=label)
        return "nothing", self._pick("nothing_left")

    def known(self) -> tuple[Fact, ...]:
        """Told facts that the question asks for once more, as many as one answer may hold."""
        named = [fact for fact in self.ledger.facts if fact.id in self.question.named]
        asked = [fact for fact in self.ledger.facts if fact.topics.intersection(self.question.topics)]
        return tuple(dict.fromkeys(named + asked))[:FACTS_PER_QUESTION]
