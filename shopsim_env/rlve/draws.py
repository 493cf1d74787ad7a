"""`Draws`: chance that is a function of names alone, the same on every machine and in every process.

Belongs here: uniform draws from a hash, and the few shapes built on them. No clock, no global state,
nothing of Python's `random`, whose sequences may change between versions. What is drawn for is the caller's
business.
"""

from collections.abc import Sequence
from hashlib import blake2b
from math import log
from struct import Struct
from typing import TypeVar

from shopsim_env.errors import UsageError

_Item = TypeVar("_Item")
_BITS = 64
_WHOLE = 1 << _BITS
_BLOCK = Struct(">8Q")


class Draws:
    """A sequence of draws that its path fixes: `Draws("v1", release_id, "PD", 4, 17)`.

    Draws are made in order; `fork` gives an independent sequence by name, so that one more draw in one place
    changes nothing elsewhere. Not for two threads at once.

    Args:
        path: Texts and integers that name the sequence.
    """

    __slots__ = ("_block", "_count", "_key")

    def __init__(self, *path: str | int) -> None:
        self._key = _digest(b"", path)
        self._count = 0
        self._block: list[int] = []

    def fork(self, *path: str | int) -> "Draws":
        """The sequence named by this path below the present one, whatever was drawn so far."""
        child = Draws.__new__(Draws)
        child._key = _digest(self._key, path)
        child._count = 0
        child._block = []
        return child

    @property
    def key(self) -> bytes:
        """The 64 bytes that stand for this path: a key for hashes of the caller's own."""
        return self._key

    def code(self, *path: str | int) -> int:
        """A number of 64 bits for this path; draws nothing."""
        return int.from_bytes(_digest(self._key, path)[:8], "big")

    def below(self, count: int) -> int:
        """An integer from 0 to `count` - 1.

        Raises:
            UsageError: `count` below 1 (code `empty_draw`).
        """
        if count < 1:
            raise UsageError(
                f"draw: expected at least one thing to choose from, found {count}", code="empty_draw"
            )
        block = self._block
        return (block.pop() if block else self._next()) * count >> _BITS

    def between(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def chance(self, share: float) -> bool:
        """True with this chance, 0 to 1."""
        block = self._block
        return (block.pop() if block else self._next()) < share * _WHOLE

    def pick(self, items: Sequence[_Item]) -> _Item:
        """One of the items."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[_Item]) -> list[_Item]:
        """All items in a drawn order."""
        return self.sample(items, len(items))

    def sample(self, items: Sequence[_Item], count: int) -> list[_Item]:
        """`count` different items in a drawn order.

        Raises:
            UsageError: fewer items than `count` (code `empty_draw`).
        """
        rest = list(items)
        if count > len(rest):
            raise UsageError(f"draw: expected at least {count} items, found {len(rest)}", code="empty_draw")
        left = len(rest)
        for place in range(count):
            # `below`, in place: lists are shuffled in every reset.
            other = place + (self._next() * (left - place) >> _BITS)
            rest[place], rest[other] = rest[other], rest[place]
        return rest[:count]

    def shares(self, weights: Sequence[int], whole: int = 100) -> list[int]:
        """Integers that sum to `whole`, drawn from the Dirichlet distribution of these whole parameters.

        Integers, so that the last bit of a machine's logarithm decides nothing.
        """
        parts = [-sum(log((self._next() + 1) / _WHOLE) for _ in range(weight)) for weight in weights]
        total = sum(parts)
        found = [int(whole * part / total) for part in parts]
        # What rounding down left over goes to the largest share.
        found[max(range(len(found)), key=found.__getitem__)] += whole - sum(found)
        return found

    def _next(self) -> int:
        block = self._block
        if not block:
            digest = blake2b(self._count.to_bytes(8, "big"), key=self._key).digest()
            self._count += 1
            block = self._block = list(_BLOCK.unpack(digest))
        return block.pop()


def _digest(key: bytes, path: Sequence[str | int]) -> bytes:
    # Length first: ("ab", "c") and ("a", "bc") are different paths; 1 and "1" are the same.
    text = "".join([f"{len(part)}:{part}" for part in map(str, path)])
    return blake2b(text.encode("utf-8", "surrogatepass"), key=key).digest()
