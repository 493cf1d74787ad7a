"""Counts by split and mode, and what counts as a fall."""

from pipelines.stages.witness_report import fallen_shares, summarise_witnesses
from shopsim_env.private import Witness

ROWS = [
    Witness(1, "persona", ("W1", "W2"), "searches", "", ("a",)),
    Witness(1, "standard", ("W1", "W2", "W3"), "text", "", ("a",)),
    Witness(2, "standard", ("W2", "W3"), "", "over_budget", ()),
    Witness(3, "standard", ("W1",), "title", "", ("a",)),
]
SPLITS = {"source/a": [1, 2], "project/b": [1, 7], "project/none": []}


def test_counts() -> None:
    shares = summarise_witnesses(iter(ROWS), SPLITS)
    assert list(shares) == ["all", "project/b", "project/none", "source/a"]
    assert shares["project/none"] == {}
    assert shares["all"]["persona"] == {
        "tasks": 1,
        "W1": 1,
        "W2": 1,
        "W3": 0,
        "all_grades": 0,
        "found_by": {"searches": 1},
        "reasons": {},
    }
    assert shares["all"]["standard"] == {
        "tasks": 3,
        "W1": 2,
        "W2": 2,
        "W3": 2,
        "all_grades": 1,
        "found_by": {"text": 1, "title": 1},
        "reasons": {"over_budget": 1},
    }
    assert shares["source/a"]["standard"]["tasks"] == 2
    assert shares["project/b"]["standard"]["all_grades"] == 1


def test_a_fall_is_a_share_and_not_a_number() -> None:
    def shares(tasks: int, won: int) -> dict:
        return {"all": {"standard": {"tasks": tasks, "W1": won, "W2": tasks, "W3": 0}}}

    assert list(fallen_shares(shares(50, 49), shares(100, 99), 0.01)) == []
    assert list(fallen_shares(shares(100, 97), shares(100, 99), 0.01)) == [
        "all, standard: W1 97.00% of the tasks, 99.00% in the release before"
    ]
    assert list(fallen_shares(shares(100, 100), shares(100, 99), 0.01)) == []
    assert list(fallen_shares(shares(100, 0), {}, 0.01)) == [], "there is nothing to compare with"
