"""The customer of an RLVE episode: a state machine over the disclosure ledger.

Belongs here: what is told in answer to what, in which order, and the act that an utterance counts as. It
knows the brief and the messages alone, so the same draws and messages give the same words. Goals, tools and
grades are not here; wordings are in `words`, the reading of messages in `questions`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from shopsim_env.dialogue.ledger import Fact, Ledger
from shopsim_env.dialogue.wording import Worded, Wording
from shopsim_env.errors import UsageError
from shopsim_env.rlve.customer.needs import Brief, Need, Remark, Utterance
from shopsim_env.rlve.customer.noise import Piece
from shopsim_env.rlve.customer.questions import Question, asked, understand
from shopsim_env.rlve.customer.speech import REQUEST, Speech
from shopsim_env.rlve.customer.topics import BY_NAME
from shopsim_env.rlve.customer.words import count_words, listed
from shopsim_env.rlve.difficulty import Axes
from shopsim_env.rlve.draws import Draws

TOLD_PER_ANSWER: Final = 2
LEAST_SATISFACTION: Final = 0.3
"""Two satisfactions in a row below it, and the customer leaves."""


@dataclass(slots=True)
class _Matter:
    """One thing that the customer came with; a revision is said with its first answer."""

    brief: Brief
    needs: tuple[Need, ...]
    open_revision: bool


class Customer:
    """Speaks for a brief. Not for two threads at once.

    Args:
        brief: What it comes with.
        draws: Its own sequence; decides wordings and typing errors.
        axes: `p_noise` is used. Patience is the turn budget, which the episode keeps.
        language: `zh` or `en`; messages are understood in both.
        wording: Finds other words for what is told, such as a checked language model's; None for none.

    Attributes:
        ledger: All needs of all briefs so far, and which were told.
        revised: Whether a change of mind was said.
        turns: Answers so far.
        left: Whether it left.
    """

    def __init__(
        self, brief: Brief, draws: Draws, axes: Axes, language: str, wording: Wording | None = None
    ) -> None:
        self.ledger = Ledger(())
        self.revised = False
        self.turns = 0
        self.left = False
        self._language = language
        self._draws = draws
        self._speech = Speech(language, axes.p_noise, wording)
        self._spoken = 0
        self._matters: list[_Matter] = []
        self._current = 0
        self._satisfied: list[float] = []
        self._confirmed: set[str] = set()
        self._add(brief)

    @property
    def worded(self) -> tuple[Worded, ...]:
        """What the wording gave, in order."""
        return tuple(self._speech.worded)

    def open(self) -> Utterance:
        """The first words: the request, the needs that are not left out, and how many are."""
        return self._bring_up("open", "open")

    def introduce(self, brief: Brief) -> Utterance:
        """Brings up another matter; its needs have ids of their own.

        Raises:
            UsageError: a need has the id of an earlier one (code `invalid_ledger`).
        """
        self._add(brief)
        return self._bring_up("introduce", "introduce")

    def remind(self, brief: Brief) -> Utterance:
        """Comes back to a matter that was brought up before: its request, and how many needs are untold.

        Raises:
            UsageError: it was not brought up (code `unknown_brief`).
        """
        self._current = self._place(brief)
        draws = self._next_draws()
        request = self._speech.sentence(brief.request, brief.keep)
        said = [self._speech.fill("remind", draws, request=request), self._count_left(draws)]
        return self._say(said, "introduce", (), draws)

    def answer(self, message: str, remark: Remark | None = None) -> Utterance:
        """The reply to an agent's turn that does not end the episode.

        Args:
            message: What the agent said.
            remark: What the customer has to say of the agent's actions, if anything.

        Raises:
            UsageError: it left already (code `customer_left`).
            SimulatorError: the endpoint behind the wording failed; the episode cannot go on.
        """
        if self.left:
            raise UsageError(
                "answer: the customer has left; end the episode when `left` is true", code="customer_left"
            )
        self.turns += 1
        draws = self._next_draws()
        if remark is not None:
            self._satisfied = [*self._satisfied[-1:], remark.satisfaction]
        if len(self._satisfied) > 1 and max(self._satisfied) < LEAST_SATISFACTION:
            self.left = True
            return self._say([self._speech.fill("quit", draws)], "quit", (), draws)
        return self._reply(understand(message), remark, draws)

    def _reply(self, question: Question, remark: Remark | None, draws: Draws) -> Utterance:
        """Correction, change of mind, what was asked, confirmation: in this order, whichever there are."""
        said: list[list[Piece]] = []
        correcting = remark is not None and remark.act == "correct"
        if remark is not None and correcting:
            said.append(self._speech.sentence(remark.text, remark.keep))
        revision, words = self._change_mind(draws)
        said += words
        told, repeated, words = self._respond(question, revision, draws)
        said += words
        acts = [
            ("switch", bool(revision)),
            ("correct", correcting),
            ("clarify", bool(told)),
            ("repeat", repeated),
        ]
        # What is right about the old wish is not said of the new one.
        if remark is not None and remark.act == "confirm" and not revision:
            said.append(self._speech.sentence(remark.text, remark.keep))
            acts.append(("repeat" if remark.text in self._confirmed else "confirm", True))
            self._confirmed.add(remark.text)
        if not any(said):
            said.append(self._speech.fill("unclear" if question.asking else "continue", draws))
        act = next((name for name, holds in acts if holds), "continue")
        return self._say(said, act, (*revision, *told), draws)

    def _respond(
        self, question: Question, just_said: Sequence[Need], draws: Draws
    ) -> tuple[tuple[Need, ...], bool, list[list[Piece]]]:
        """Needs told, whether told ones are said again, and the words for it."""
        pending = self._pending()
        told = asked(question, pending)
        if question.open:
            told = list({need.id: need for need in (*told, *pending)}.values())
        if told:
            chosen = tuple(told[:TOLD_PER_ANSWER])
            words = self._tell("tell", chosen, question, draws)
            return chosen, False, [words, self._count_left(draws)]
        again = asked(question, [need for need in self._needs() if need.id in self.ledger.disclosed])
        if again and again[0] in just_said:
            return (), False, []
        if again:
            return (), True, [self._tell("repeat", again[:TOLD_PER_ANSWER], question, draws)]
        if question.open:
            return (), False, [self._speech.fill("no_more", draws)]
        return (), False, self._nothing(question, draws)

    def _nothing(self, question: Question, draws: Draws) -> list[list[Piece]]:
        if not question.topics:
            return []
        label = BY_NAME[question.topics[0]].label(self._language)
        return [self._speech.fill("nothing", draws, topic=[(label, False)])]

    def _change_mind(self, draws: Draws) -> tuple[tuple[Need, ...], list[list[Piece]]]:
        """The revision of the current matter if it is still to be said, and its words."""
        matter = self._matters[self._current]
        if matter.brief.revision is None or not matter.open_revision:
            return (), []
        new = matter.brief.revision.need
        old = next(need for need in matter.needs if need.id == new.id)
        matter.needs = tuple(new if need is old else need for need in matter.needs)
        matter.open_revision = False
        self.revised = True
        facts = tuple(new if fact.id == new.id else fact for fact in self.ledger.facts)
        self.ledger = Ledger(facts, self.ledger.disclosed)
        gaps = {"old": [(old.value, True)], "new": [(new.value, True)]}
        return (new,), [self._speech.fill("switch", draws, **gaps)]

    def _bring_up(self, occasion: str, act: str) -> Utterance:
        draws, speech = self._next_draws(), self._speech
        brief = self._matters[self._current].brief
        told = tuple(need for need in brief.needs if need.id not in brief.pending)
        self.ledger = self.ledger.tell(told)
        said = [speech.fill(occasion, draws, request=speech.sentence(brief.request, brief.keep))]
        if told:
            said.append(speech.fill("needs", draws, needs=self._listed(told)))
        wish = Fact(REQUEST, REQUEST, brief.request, frozenset())
        words = speech.reword(said, (wish, *told), self._pending(), brief.keep)
        return self._say([words, self._count_left(draws)], act, told, draws)

    def _tell(self, occasion: str, needs: Sequence[Need], question: Question, draws: Draws) -> list[Piece]:
        """Words that tell needs, or tell them again."""
        self.ledger = self.ledger.tell(needs)
        words = self._speech.fill(occasion, draws, needs=self._listed(needs))
        return self._speech.reword([words], needs, self._pending(), (), question.topics)

    def _listed(self, needs: Sequence[Need]) -> list[Piece]:
        return listed(self._language, [need.value for need in needs])

    def _count_left(self, draws: Draws) -> list[Piece]:
        """How many needs of the current matter are untold; nothing when none is."""
        matter = self._matters[self._current]
        count = sum(need.id not in self.ledger.disclosed for need in matter.needs)
        if not count:
            return []
        return self._speech.fill("left", draws, count=[(count_words(self._language, count), True)])

    def _say(self, said: Iterable[list[Piece]], act: str, told: tuple[Need, ...], draws: Draws) -> Utterance:
        return Utterance(self._speech.typed(said, draws), act, told)

    def _next_draws(self) -> Draws:
        """Draws of the next utterance, whatever the earlier ones took."""
        self._spoken += 1
        return self._draws.fork(self._spoken)

    def _add(self, brief: Brief) -> None:
        self.ledger = Ledger((*self.ledger.facts, *brief.needs), self.ledger.disclosed)
        self._matters.append(_Matter(brief, brief.needs, brief.revision is not None))
        self._current = len(self._matters) - 1

    def _place(self, brief: Brief) -> int:
        for place, matter in enumerate(self._matters):
            if matter.brief is brief:
                return place
        raise UsageError(
            f"remind: expected a brief that was brought up, found another one of {brief.env_id}",
            code="unknown_brief",
        )

    def _needs(self) -> list[Need]:
        """Needs of all matters, those of the current one first."""
        current = self._matters[self._current]
        others = (matter for matter in self._matters if matter is not current)
        return [need for matter in (current, *others) for need in matter.needs]

    def _pending(self) -> list[Need]:
        return [need for need in self._needs() if need.id not in self.ledger.disclosed]
