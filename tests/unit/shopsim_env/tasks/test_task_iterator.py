"""The order, the shares, the epochs and the resuming of task ids."""

import hashlib

import pytest

from shopsim_env.errors import TaskError, UsageError
from shopsim_env.tasks.iterator import TaskIterator

SPLITS = {
    "source/train": tuple(range(100)),
    "project/train": tuple(range(50, 73)),
    "project/train_clean": tuple(range(50, 70)),
    "project/val": (90, 91),
    "project/none": (),
}


def test_every_epoch_is_another_order_of_the_same_tasks() -> None:
    tasks = TaskIterator(SPLITS, "project/train", seed=3, epochs=2)
    order = list(tasks)
    assert sorted(order[:23]) == sorted(order[23:]) == list(range(50, 73))
    assert order[:23] != order[23:] != sorted(order[23:])
    assert list(TaskIterator(SPLITS, "project/train", seed=3, epochs=2)) == order
    assert list(TaskIterator(SPLITS, "project/train", seed=4, epochs=2)) != order


def test_the_order_is_that_of_the_hashes() -> None:
    def digest(task_id: int) -> str:
        return hashlib.sha256(f"7|0|{task_id}".encode()).hexdigest()

    assert list(TaskIterator(SPLITS, "project/val", seed=7, epochs=1)) == sorted((90, 91), key=digest)


def test_ranks_share_an_epoch_without_overlap() -> None:
    """23 tasks, four ranks: 6, 6, 6 and 5."""
    shares = [
        list(TaskIterator(SPLITS, "project/train", seed=1, rank=rank, world_size=4, epochs=1))
        for rank in range(4)
    ]
    assert [len(share) for share in shares] == [6, 6, 6, 5]
    assert sorted(task for share in shares for task in share) == list(range(50, 73))
    even = [
        list(TaskIterator(SPLITS, "project/train", seed=1, rank=rank, world_size=4, epochs=1, even=True))
        for rank in range(4)
    ]
    assert [len(share) for share in even] == [5, 5, 5, 5]


def test_it_goes_on_for_ever_without_epochs() -> None:
    tasks = TaskIterator(SPLITS, "project/val", seed=1)
    assert len(tasks) == 2
    assert sorted(next(tasks) for _ in range(10)) == [90] * 5 + [91] * 5


@pytest.mark.parametrize("taken", [0, 1, 22, 23, 24, 40])
def test_resuming_goes_on_where_it_stood(taken: int) -> None:
    whole = list(TaskIterator(SPLITS, "project/train", seed=9, epochs=2))
    tasks = TaskIterator(SPLITS, "project/train", seed=9, epochs=2)
    head = [next(tasks) for _ in range(taken)]
    again = TaskIterator(SPLITS, "project/train", seed=9, epochs=2)
    again.seek(tasks.position)
    assert head + list(again) == whole
    assert list(tasks) == whole[taken:]
    assert list(tasks) == []


def test_a_position_of_another_iterator_is_refused() -> None:
    position = TaskIterator(SPLITS, "project/train", seed=9).position
    for other in (
        TaskIterator(SPLITS, "project/train", seed=8),
        TaskIterator(SPLITS, "project/val", seed=9),
        TaskIterator(SPLITS, "project/train", seed=9, world_size=2),
    ):
        with pytest.raises(UsageError) as caught:
            other.seek(position)
        assert caught.value.code == "other_position"
    same = TaskIterator(SPLITS, "project/train", seed=9)
    for wrong in ({"epoch": -1}, {"index": 24}, {"index": None}, {"epoch": True}):
        with pytest.raises(UsageError):
            same.seek({**position, **wrong})


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["source/train", "project/val"], "mixed_families"),
        (["project/train", "project/train_clean"], "duplicate_task"),
        ("project/test", "unknown_split"),
        ([], "unknown_split"),
        ("project/none", "empty_split"),
    ],
)
def test_splits_that_must_not_be_mixed_or_do_not_exist(names: object, code: str) -> None:
    with pytest.raises(TaskError) as caught:
        TaskIterator(SPLITS, names, seed=1)  # type: ignore[arg-type]
    assert caught.value.code == code


def test_two_splits_of_one_family() -> None:
    tasks = TaskIterator(SPLITS, ["project/train", "project/val"], seed=1, epochs=1)
    assert sorted(tasks) == [*range(50, 73), 90, 91]


@pytest.mark.parametrize(
    "wrong",
    [
        {"rank": 1},
        {"rank": -1},
        {"world_size": 0},
        {"epochs": -1},
        {"epochs": True},
        {"rank": 2, "world_size": 3},
    ],
)
def test_shares_out_of_range(wrong: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        TaskIterator(SPLITS, "project/val", seed=1, **wrong)  # type: ignore[arg-type]
