"""`BoundedCache`: a mapping that forgets. Used for values that can be made again at any time.

Belongs here: the bound. What is kept, and how to make it again, is known where the cache is used.
"""

from typing import Generic, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class BoundedCache(Generic[_Key, _Value]):
    """Keeps at most `capacity` values, roughly those used last. None is no value.

    Two generations instead of an order of use: a hit costs one look-up and writes nothing. Threads may share
    one; at worst a value is made twice. A capacity of 0 keeps nothing.
    """

    __slots__ = ("_half", "_new", "_old")

    def __init__(self, capacity: int) -> None:
        self._half = capacity // 2
        self._new: dict[_Key, _Value] = {}
        self._old: dict[_Key, _Value] = {}

    def get(self, key: _Key) -> _Value | None:
        """The value of `key`, or None."""
        value = self._new.get(key)
        if value is None:
            value = self._old.get(key)
            if value is not None:
                self.put(key, value)
        return value

    def put(self, key: _Key, value: _Value) -> None:
        """Keeps `value`; the older generation goes when the newer one is full."""
        if not self._half:
            return
        if len(self._new) >= self._half and key not in self._new:
            self._old, self._new = self._new, {}
        self._new[key] = value

    def clear(self) -> None:
        """Forgets everything."""
        self._new, self._old = {}, {}

    def __len__(self) -> int:
        return len(self._new.keys() | self._old.keys())
