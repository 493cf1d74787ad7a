"""From sentences in pieces to a message: a language model's words where one is used, typing errors.

Belongs here: the last steps of every utterance. What is said is decided in `customer`; wordings are in
`words`.
"""

from collections.abc import Iterable, Sequence

from shopsim_env.dialogue.check import Draft
from shopsim_env.dialogue.ledger import Fact
from shopsim_env.dialogue.wording import Worded, Wording
from shopsim_env.rlve.customer.noise import Piece, Typist, cut
from shopsim_env.rlve.customer.words import SPACE, fill, sentence
from shopsim_env.rlve.draws import Draws

REQUEST = "request"
"""Kind of the fact that stands for a request in a draft."""


class Speech:
    """How one customer speaks.

    Args:
        language: `zh` or `en`.
        noise: Chance of a typing error per letter.
        wording: Finds other words for what is told; None for none.
    """

    def __init__(self, language: str, noise: float, wording: Wording | None) -> None:
        self.language = language
        self.worded: list[Worded] = []
        self._typist = Typist(noise, language)
        self._wording = wording

    def fill(self, occasion: str, draws: Draws, **gaps: Sequence[Piece]) -> list[Piece]:
        """One of the wordings of an occasion, see `words`."""
        return fill(self.language, occasion, draws, **gaps)

    def sentence(self, text: str, kept: Sequence[str]) -> list[Piece]:
        """A text of the brief, or of a remark, as a sentence."""
        return sentence(self.language, text, kept)

    def reword(
        self,
        said: Sequence[list[Piece]],
        told: Sequence[Fact],
        hidden: Sequence[Fact],
        kept: Sequence[str] = (),
        topics: tuple[str, ...] = (),
    ) -> list[Piece]:
        """Sentences that tell facts in other words; as they are without any, or where a check refuses them.

        Args:
            said: The sentences.
            told: Facts in them; a request is one of kind `REQUEST`.
            hidden: Facts that must not be in them.
            kept: Texts in the request that typing errors never touch.
            topics: Topics that were asked.

        Raises:
            SimulatorError: the model's endpoint failed.
            UsageError: its answer is not recorded, and there is no model to ask.
        """
        pieces = self._joined(said)
        if self._wording is None:
            return pieces
        text = "".join(part for part, _ in pieces)
        worded = self._wording.word(Draft(text, tuple(told), tuple(hidden), topics))
        self.worded.append(worded)
        if worded.source == "template":
            return pieces
        return cut(worded.text, [*(fact.value for fact in told if fact.kind != REQUEST), *kept])

    def typed(self, said: Iterable[list[Piece]], draws: Draws) -> str:
        """The message: sentences one after the other, as the customer types them."""
        return self._typist.type(self._joined(said), draws.fork("typing"))

    def _joined(self, said: Iterable[list[Piece]]) -> list[Piece]:
        pieces: list[Piece] = []
        for words in said:
            if words and pieces:
                pieces.append((SPACE[self.language], True))
            pieces += words
        return pieces
