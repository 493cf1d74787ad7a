"""What a customer has to say: needs, a change of mind, the brief of an episode, remarks on the agent.

Belongs here: values that generators of environments make and the customer speaks from. How they are worded
and when they are told is in the modules beside.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from shopsim_env.dialogue.ledger import Fact
from shopsim_env.errors import UsageError

# What the customer did in an utterance. Turns that end in the exempt ones cost the agent nothing.
ACTS: Final = (
    "open",
    "clarify",
    "confirm",
    "correct",
    "switch",
    "introduce",
    "repeat",
    "continue",
    "quit",
    "thank",
)
EXEMPT_ACTS: Final = frozenset({"clarify", "confirm", "switch", "introduce"})


@dataclass(frozen=True, slots=True)
class Need(Fact):
    """One fact of the task in the customer's words, and as a value that a program reads.

    `value` is the phrase that is said verbatim (`价格不超过300元`), `topics` the families of questions that
    ask for it, `keep` texts in it that typing errors never touch besides numbers and ids (brands, values).
    `data` says the same to a program: a told need hands it out, an untold one never.
    """

    data: Mapping[str, Any] = field(default_factory=dict, hash=False)
    keep: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Revision:
    """A change of mind, said with the first answer: `need` takes the place of the one with the same id."""

    need: Need


@dataclass(frozen=True, slots=True)
class Brief:
    """What the customer comes with.

    Args:
        env_id: Environment.
        request: What it wants, as a whole sentence or clause that is always said first; never a title or id
            of the catalogue's products.
        needs: Facts in the order of telling.
        pending: Ids of the needs that the opening leaves out. It says how many there are.
        revision: A change of mind, or None.
        data: The request as a program reads it, such as the category.
        keep: Texts in `request` that typing errors never touch.
    """

    env_id: str
    request: str
    needs: tuple[Need, ...] = ()
    pending: frozenset[str] = frozenset()
    revision: Revision | None = None
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)
    keep: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        ids = {need.id for need in self.needs}
        changed = {self.revision.need.id} if self.revision else set()
        if not self.pending <= ids or not changed <= ids or changed & self.pending:
            raise UsageError(
                f"brief: expected pending and revised needs among {sorted(ids)}, a revised one not pending, "
                f"found {sorted(self.pending)} and {sorted(changed)}",
                code="invalid_brief",
            )


@dataclass(frozen=True, slots=True)
class Remark:
    """What the customer says of actions: act `correct` or `confirm`, the words, how content it is.

    `satisfaction` is in [0, 1]; two in a row below 0.3 and the customer leaves. A correction never names a
    value that was not told.
    """

    act: str
    text: str
    satisfaction: float
    keep: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Utterance:
    """One message of the customer: text, act (of `ACTS`), and the needs that it tells, revised ones too."""

    text: str
    act: str
    told: tuple[Need, ...] = ()
