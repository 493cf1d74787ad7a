"""Rows of data sets."""

import pytest

from shopsim_env.adapters.rows import TaskRow, read_row
from shopsim_env.errors import UsageError


class Number:
    """As a number of NumPy."""

    def __index__(self):
        return 7


def test_a_row_says_what_is_played_and_the_configuration_what_is_played_instead():
    columns = {
        "task_id": Number(),
        "seed": 3,
        "prompt": "en-v1",
        "environment": {"max_actions": 9, "task_mode": "persona"},
        "index": 0,
    }
    asked = {"prompt": "en-v1", "max_actions": 9, "task_mode": "persona"}
    assert read_row(columns, "extra_info") == TaskRow(7, 3, asked)
    assert read_row(columns, "extra_info", {"max_actions": 5}).options["max_actions"] == 5
    assert read_row({"task_id": 7, "prompt": [{"role": "user"}]}, "row") == TaskRow(7)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (None, "expected a mapping with task_id, found NoneType"),
        ({}, "expected task_id, a whole number, found none"),
        ({"task_id": True}, "task_id: expected a whole number, found bool"),
        ({"task_id": 1.0}, "task_id: expected a whole number, found float"),
        ({"task_id": 1, "seed": "x"}, "seed: expected a whole number, found str"),
    ],
)
def test_other_rows_are_refused(columns, said):
    with pytest.raises(UsageError, match=said):
        read_row(columns, "extra_info")
