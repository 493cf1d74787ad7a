"""Split files: lists of unique non-negative integers, nothing else."""

from typing import Any

import pytest

from shopsim_env.errors import TaskError
from shopsim_env.tasks.splits import read_splits


def test_plain_lists_and_manifest_objects() -> None:
    assert read_splits({"train": [3, 1], "test": []}) == {"train": (3, 1), "test": ()}
    assert read_splits({"version": "v1", "splits": {"eval": {"task_ids": [0, 7], "persona": True}}}) == {
        "eval": (0, 7)
    }


@pytest.mark.parametrize("ids", [[1, 1], [-1], [True], [1.0], ["1"], None, "12", {"persona": True}, 5])
def test_anything_else_is_refused_and_named(ids: Any) -> None:
    with pytest.raises(TaskError, match="split 'train'") as caught:
        read_splits({"train": ids})
    assert caught.value.code == "invalid_split"


def test_the_splits_must_be_an_object() -> None:
    with pytest.raises(TaskError, match="object of named splits"):
        read_splits({"splits": [1]})
