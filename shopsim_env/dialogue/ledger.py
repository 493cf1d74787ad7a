"""The disclosure ledger: which facts a customer holds and which of them have been told.

Belongs here: facts as data and the one-way change from undisclosed to disclosed. Which question asks for a
fact is in `questions`, when it is told in `shopper`. Ledgers are values: telling returns a new one.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache

from shopsim_env.errors import UsageError

_ALNUM = "[0-9a-z]"
_CACHED_LENGTH = 100
_LOOSE_BLANK = re.compile("(?<![0-9a-z]) | (?![0-9a-z])|(?<=[0-9]) (?=[a-z])")


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that a customer can tell.

    `value` is told verbatim; `kind` groups facts (`category`, `option`, `attribute`, `budget` in the Shop);
    `topics` are the families of questions that ask for it; `label` is what the value is called in the shop
    (an axis name) or ""; `names` are further texts that stand for the value in a yes/no question.
    """

    id: str
    kind: str
    value: str
    topics: frozenset[str]
    label: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ledger:
    """Facts in the order in which they are told, and the ids of those that were told."""

    facts: tuple[Fact, ...]
    disclosed: frozenset[str] = field(default=frozenset())

    def __post_init__(self) -> None:
        ids = [fact.id for fact in self.facts]
        if len(set(ids)) != len(ids):
            raise UsageError(f"ledger: expected unique fact ids, found {ids}", code="invalid_ledger")
        unknown = sorted(self.disclosed.difference(ids))
        if unknown:
            raise UsageError(f"ledger: expected ids of its facts, found {unknown}", code="invalid_ledger")

    @property
    def hidden(self) -> tuple[Fact, ...]:
        """The facts that were not told."""
        return tuple(fact for fact in self.facts if fact.id not in self.disclosed)

    @property
    def complete(self) -> bool:
        """Whether every fact was told."""
        return len(self.disclosed) == len(self.facts)

    def tell(self, facts: Iterable[Fact]) -> "Ledger":
        """The ledger after `facts` were told; a told fact is never taken back.

        Raises:
            UsageError: a fact is not one of this ledger (code `invalid_ledger`).
        """
        return replace(self, disclosed=self.disclosed.union(fact.id for fact in facts))


def plain(text: str) -> str:
    """`text` for comparison: NFKC, case folded, without blanks that separate nothing.

    A blank stays between Latin words and between numbers (`30ml b`, `2 30`), so that no word is glued to the
    next; `40 cm` and `40cm` are the same.
    """
    return _plain_cached(text) if len(text) <= _CACHED_LENGTH else _plain(text)


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return _LOOSE_BLANK.sub("", " ".join(folded.split()))


# Facts and wordings are compared in every answer, messages once.
_plain_cached = lru_cache(maxsize=8_192)(_plain)


def mentions(text: str, value: str) -> bool:
    """Whether `text` contains `value`, both as given by `plain`; digits and letters are whole runs.

    `15kg` does not mention `5kg`; nothing mentions the empty text.
    """
    return bool(value) and value in text and bool(re.search(bounded(value), text))


def bounded(value: str) -> str:
    """Regular expression for `value` (as given by `plain`) that does not cut a run of letters or digits."""
    before = f"(?<!{_ALNUM})" if re.match(_ALNUM, value) else ""
    after = f"(?!{_ALNUM})" if re.search(f"{_ALNUM}$", value) else ""
    return f"{before}{re.escape(value)}{after}"
