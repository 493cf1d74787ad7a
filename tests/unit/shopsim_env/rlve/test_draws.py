"""Draws: functions of their path, uniform, independent of each other."""

import subprocess
import sys
from collections import Counter
from hashlib import blake2b

import pytest

from shopsim_env.errors import UsageError
from shopsim_env.rlve.draws import Draws


def test_first_draws_are_those_of_the_hash() -> None:
    """Length-prefixed path, keyed blocks of BLAKE2b, the last of eight numbers first: worked out here."""
    key = blake2b(b"2:PD1:4").digest()
    block = blake2b((0).to_bytes(8, "big"), key=key).digest()
    numbers = [int.from_bytes(block[at : at + 8], "big") for at in range(56, -8, -8)]
    draws = Draws("PD", 4)
    assert [draws.below(1000) for _ in range(8)] == [number * 1000 >> 64 for number in numbers]


def test_paths_are_not_glued_together() -> None:
    assert Draws("ab", "c").code("x") != Draws("a", "bc").code("x")


def test_a_fork_does_not_depend_on_what_was_drawn() -> None:
    draws = Draws("a")
    before = draws.fork("b").below(10**9)
    draws.below(10)
    assert draws.fork("b").below(10**9) == before
    assert draws.fork("c").below(10**9) != before


def test_code_draws_nothing() -> None:
    one, other = Draws("a"), Draws("a")
    one.code("x", 1)
    assert [one.below(100) for _ in range(20)] == [other.below(100) for _ in range(20)]


def test_draws_are_uniform() -> None:
    draws = Draws("uniform")
    counts = Counter(draws.below(6) for _ in range(60_000))
    # 10,000 each; the standard deviation is 91.
    assert sorted(counts) == list(range(6))
    assert all(abs(count - 10_000) < 500 for count in counts.values())


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0), (1.0, 2000)])
def test_certain_chances(share: float, expected: int) -> None:
    draws = Draws("chance")
    assert sum(draws.chance(share) for _ in range(2000)) == expected


def test_a_sample_holds_different_items_and_leaves_the_list_alone() -> None:
    items = list(range(10))
    found = Draws("sample").sample(items, 7)
    assert len(set(found)) == 7
    assert items == list(range(10))
    assert sorted(Draws("sample").shuffled(items)) == items


def test_between_has_both_ends() -> None:
    draws = Draws("between")
    assert {draws.between(3, 5) for _ in range(200)} == {3, 4, 5}


def test_shares_sum_to_the_whole_and_follow_the_parameters() -> None:
    draws = Draws("shares")
    found = [draws.shares([5, 2, 1, 1, 1]) for _ in range(3000)]
    assert all(sum(parts) == 100 and min(parts) >= 0 for parts in found)
    # Mean of a Dirichlet share: its parameter over the sum, 5/10 here; half a point is lost to rounding down.
    assert abs(sum(parts[0] for parts in found) / 3000 - 50) < 3


@pytest.mark.parametrize("wrong", [lambda d: d.below(0), lambda d: d.pick([]), lambda d: d.sample([1], 2)])
def test_nothing_to_choose_from_is_said(wrong: object) -> None:
    with pytest.raises(UsageError) as caught:
        wrong(Draws("x"))  # type: ignore[operator]
    assert caught.value.code == "empty_draw"


def test_same_draws_whatever_the_hash_seed() -> None:
    program = (
        "from shopsim_env.rlve.draws import Draws; d = Draws('a', 1); print([d.below(99) for _ in range(9)])"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(found) == 1
