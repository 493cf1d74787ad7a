"""`TaskIterator`: task ids for training, in an order that can be repeated, shared out and resumed.

Belongs here: which task comes next. Does not belong here: episodes, and what the splits are.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shopsim_env.canonical import compact_json, sha256_text
from shopsim_env.errors import TaskError, UsageError


class TaskIterator(Iterator[int]):
    """Task ids of one or more splits, shuffled anew in every epoch, one share of them per rank.

    The order is by SHA-256 of seed, epoch and task id, so it is the same on every machine and Python version.
    In an epoch each task goes to exactly one rank; shares differ by one task at most.

    Args:
        splits: Names and task ids, such as `release.splits`.
        names: A split or several of one family: `source/…` and `project/…` overlap and are never mixed.
        seed: Seed of the order.
        rank: Share of this process, from 0.
        world_size: Number of shares.
        epochs: Number of passes; None goes on for ever.
        even: Leaves out the last tasks of an epoch that not every rank would get.

    Raises:
        TaskError: unknown or empty split, mixed families, a task in two of the splits.
        UsageError: rank, world size or epochs out of range.
    """

    def __init__(
        self,
        splits: Mapping[str, Sequence[int]],
        names: str | Sequence[str],
        *,
        seed: int,
        rank: int = 0,
        world_size: int = 1,
        epochs: int | None = None,
        even: bool = False,
    ) -> None:
        self._names = (names,) if isinstance(names, str) else tuple(names)
        self._ids = _ids(splits, self._names)
        _check_shares(rank, world_size, epochs)
        self._seed, self._rank, self._world_size = seed, rank, world_size
        self._epochs, self._even = epochs, even
        self._epoch, self._index = 0, 0
        self._share = self._shuffled()
        if not self._share:
            raise UsageError(f"{len(self._ids)} tasks: too few for {world_size} ranks")

    def __len__(self) -> int:
        """Tasks of one epoch on this rank."""
        return len(self._share)

    def __next__(self) -> int:
        if self._index == len(self._share):
            self._go_to(self._epoch + 1, 0)
        if self._epochs is not None and self._epoch >= self._epochs:
            raise StopIteration
        self._index += 1
        return self._share[self._index - 1]

    @property
    def position(self) -> dict[str, Any]:
        """Where the iterator stands, as JSON: give it to `seek` of an equal iterator to go on from there.

        All ranks that took equally many tasks have equal positions.
        """
        return {"fingerprint": self._fingerprint(), "epoch": self._epoch, "index": self._index}

    def seek(self, position: Mapping[str, Any]) -> None:
        """Goes to a position.

        Raises:
            UsageError: the position is of other splits, another seed or another world size, or out of range.
        """
        if position.get("fingerprint") != self._fingerprint():
            raise UsageError(
                "position: expected one of the same splits, seed, world size and evenness; build the "
                "iterator with those or start anew",
                code="other_position",
            )
        epoch: Any = position.get("epoch")
        index: Any = position.get("index")
        if not (_is_count(epoch) and _is_count(index) and index <= len(self._share)):
            raise UsageError(
                f"position: expected an epoch and an index up to {len(self)}, found {position!r}"
            )
        self._go_to(epoch, index)

    def _go_to(self, epoch: int, index: int) -> None:
        if epoch != self._epoch:
            self._epoch = epoch
            self._share = self._shuffled()
        self._index = index

    def _shuffled(self) -> list[int]:
        head = f"{self._seed}|{self._epoch}|"
        order = sorted(self._ids, key=lambda task_id: sha256_text(f"{head}{task_id}"))
        if self._even:
            order = order[: len(order) // self._world_size * self._world_size]
        return order[self._rank :: self._world_size]

    def _fingerprint(self) -> str:
        parts = [list(self._names), list(self._ids), self._seed, self._world_size, self._even]
        return sha256_text(compact_json(parts))


def _ids(splits: Mapping[str, Sequence[int]], names: tuple[str, ...]) -> tuple[int, ...]:
    unknown = [name for name in names if name not in splits]
    if unknown or not names:
        raise TaskError(
            f"split: expected some of {sorted(splits)}, found {list(names)}", code="unknown_split"
        )
    families = sorted({name.partition("/")[0] for name in names})
    if len(families) > 1:
        raise TaskError(
            f"splits: expected one family, found {families}: their tasks overlap, so training on one and "
            "testing on the other would test on tasks that were trained",
            code="mixed_families",
        )
    ids = [task_id for name in names for task_id in splits[name]]
    if not ids:
        raise TaskError(f"splits {list(names)} have no tasks in this release", code="empty_split")
    if len(set(ids)) != len(ids):
        twice = sorted(task_id for task_id, count in Counter(ids).items() if count > 1)[:10]
        raise TaskError(f"splits {list(names)} share tasks: {twice}", code="duplicate_task")
    return tuple(ids)


def _check_shares(rank: int, world_size: int, epochs: int | None) -> None:
    if not (_is_count(rank) and _is_count(world_size) and rank < world_size):
        raise UsageError(f"rank: expected 0 to world size - 1, found rank {rank!r} of {world_size!r}")
    if epochs is not None and not _is_count(epochs):
        raise UsageError(f"epochs: expected None or an integer of at least 0, found {epochs!r}")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
