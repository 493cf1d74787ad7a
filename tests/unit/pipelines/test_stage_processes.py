"""`in_processes`: results in order, items read as they are needed, faults passed on."""

import os
from collections.abc import Iterator
from itertools import islice

import pytest

from pipelines.stages.processes import ALONE, Workers, batched, in_processes


def where(number: int) -> tuple[int, int]:
    return number, os.getpid()


def test_one_worker_is_this_process() -> None:
    with in_processes(ALONE, alone=2, chunk=3) as each:
        assert list(each(where, range(5))) == [(number, os.getpid()) for number in range(5)]


def test_results_come_in_order_and_the_first_from_this_process() -> None:
    with in_processes(Workers(2), alone=4, chunk=3) as each:
        results = list(each(where, range(23)))
        again = list(each(abs, range(-6, 0)))
    assert [number for number, _ in results] == list(range(23))
    assert {process for _, process in results[:4]} == {os.getpid()}
    assert os.getpid() not in {process for _, process in results[4:]}
    assert again == [6, 5, 4, 3, 2, 1]


def test_only_some_items_are_read_ahead() -> None:
    read = []

    def items() -> Iterator[int]:
        for number in range(1_000):
            read.append(number)
            yield number

    with in_processes(Workers(2), chunk=3) as each:
        results = iter(each(abs, items()))
        assert list(islice(results, 3)) == [0, 1, 2]
        # Four chunks wait beside the one whose results are taken.
        assert len(read) == 15


def test_a_fault_of_the_function_reaches_the_caller() -> None:
    with in_processes(Workers(2)) as each, pytest.raises(ValueError, match="invalid literal"):
        list(each(int, ["1", "x", "3"]))


def test_batches() -> None:
    assert list(batched(iter("abcde"), 2)) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(batched([], 2)) == []


def test_small_work_and_who_always_has_others() -> None:
    few, always = Workers(3), Workers(1, always=True)
    assert (ALONE.apart, few.apart, always.apart) == (False, True, True)
    assert few.for_work(9, 10) == ALONE
    assert few.for_work(10, 10) == few
    assert always.for_work(0, 10) == always
    assert [few.at_most(count).count for count in (0, 1, 2, 5)] == [1, 1, 2, 3]


def prepare() -> None:
    os.environ["PREPARED_BY"] = str(os.getpid())


def prepared_by(_: int) -> tuple[str | None, int]:
    return os.environ.get("PREPARED_BY"), os.getpid()


def test_others_prepare_themselves_and_do_everything_where_they_always_do() -> None:
    with in_processes(Workers(1, always=True), alone=3, prepare=prepare) as each:
        found = set(each(prepared_by, range(4)))
    ((prepared, process),) = found
    assert prepared == str(process)
    assert process != os.getpid()
    assert "PREPARED_BY" not in os.environ
