"""Product ids of one episode, and which of them the agent has been shown by whom.

Belongs here: opaque ids, which resolve only once they were shown, and the provenance that the hallucination
term reads. Who shows what is the tools' business.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

from shopsim_env.errors import UsageError
from shopsim_env.rlve.draws import Draws

# What an agent names first is no source: looking up or carting a guessed id does not make it seen.
SOURCES: Final = ("search", "history", "orders", "customer")


class OpaqueIds:
    """Ids that say nothing about the product and are different in every episode.

    Args:
        draws: The episode's draws; nothing is drawn, the ids are codes.
    """

    def __init__(self, draws: Draws) -> None:
        self._key = draws.fork("product ids").key
        self._ids: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self._shown: dict[str, int] = {}

    def product_id(self, number: int) -> str:
        """The id of a product; asking shows it to nobody."""
        found = self._ids.get(number)
        return found if found is not None else self._new(number)

    def show(self, number: int) -> str:
        """The id of a product that is shown to the agent now: from here on it resolves."""
        name = self.product_id(number)
        self._shown[name] = number
        return name

    def number(self, product_id: str) -> int | None:
        """The product of an id that was shown, else None."""
        return self._shown.get(product_id)

    def _new(self, number: int) -> str:
        # A list of two hundred products makes as many ids: one hash each, of fixed-size numbers.
        name = self._code(number, 0)
        attempt = 0
        while name in self._numbers:
            attempt += 1
            name = self._code(number, attempt)
        self._ids[number] = name
        self._numbers[name] = number
        return name

    def _code(self, number: int, attempt: int) -> str:
        text = number.to_bytes(8, "big") + attempt.to_bytes(4, "big")
        return "p_" + blake2b(text, digest_size=6, key=self._key).hexdigest()


class Seen:
    """Product ids that a legitimate source brought up, each with the first one; a collection of ids."""

    def __init__(self) -> None:
        self._sources: dict[str, str] = {}

    def add(self, product_id: str, source: str) -> None:
        """Notes that a source brought an id up.

        Raises:
            UsageError: `source` is none of `SOURCES` (code `unknown_source`).
        """
        if source not in SOURCES:
            raise UsageError(
                f"seen: expected a source of {', '.join(SOURCES)}, found {source!r}", code="unknown_source"
            )
        self._sources.setdefault(product_id, source)

    def source(self, product_id: str) -> str | None:
        """Who brought an id up first, None if nobody did."""
        return self._sources.get(product_id)

    def __contains__(self, product_id: object) -> bool:
        return product_id in self._sources

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)
