"""Derived facts: pinned by an independent reading of the hash, and their distributions by arithmetic."""

import os
import struct
import subprocess
import sys
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from hashlib import shake_256

import pytest
from places import ROOT

from pipelines.stages import rlve_derived
from shopsim_env.versions import RLVE_SUITE_VERSION

ASINS = [str(700_000_000_000 + 37 * number) for number in range(4_000)]


def drawn(fact: str, asin: str, size: int) -> bytes:
    return shake_256(f"{RLVE_SUITE_VERSION}\n{fact}\n{asin}".encode()).digest(size)


@pytest.mark.parametrize("asin", ["700000000001", "B07", "茶"])
def test_each_fact_is_the_stated_function_of_the_hash(asin: str) -> None:
    fifth = sorted(struct.unpack(">6I", drawn("rating", asin, 24)))[4]
    stars = 1 + 4 * Decimal(fifth) / 2**32
    assert rlve_derived.rating(asin) == stars.quantize(Decimal("0.1"), ROUND_HALF_UP) * 100
    heads = sum(f"{byte:b}".count("1") for byte in drawn("rating_count", asin, 38))
    assert rlve_derived.rating_count(asin) == heads
    share = Fraction(int.from_bytes(drawn("ship_days", asin, 8), "big"), 2**64)
    day = next(day for day in range(1, 15) if day == 14 or share < 1 - Fraction(3, 5) ** day)
    assert rlve_derived.ship_days(asin) == day
    first, second = drawn("stock", asin, 20)[:10], drawn("stock", asin, 20)[10:]
    both = sum(bin(left & right).count("1") for left, right in zip(first, second, strict=True))
    sold_out = int.from_bytes(drawn("sold_out", asin, 8), "big") * 10 < 2**64
    assert rlve_derived.stock(asin) == (0 if sold_out else max(1, both))


def mean(values: list[int]) -> float:
    return sum(values) / len(values)


def test_distributions_over_four_thousand_products() -> None:
    """Five standard errors of the exact mean each."""
    ratings = [rlve_derived.rating(asin) for asin in ASINS]
    # 1 + 4 * Beta(5, 2): mean 1 + 4 * 5/7, variance 16 * 10 / (49 * 8)
    assert abs(mean(ratings) - 100 * (1 + 20 / 7)) < 5 * 100 * (160 / 392 / 4000) ** 0.5
    assert set(ratings) <= set(range(100, 501, 10))
    counts = [rlve_derived.rating_count(asin) for asin in ASINS]
    assert abs(mean(counts) - 152) < 5 * (76 / 4000) ** 0.5
    days = [rlve_derived.ship_days(asin) for asin in ASINS]
    expected = sum(0.6**day for day in range(14))  # P(days > k) = 0.6^k below 14
    assert abs(mean(days) - expected) < 5 * (3.75 / 4000) ** 0.5
    assert set(days) >= set(range(1, 10))
    assert max(days) <= 14
    stocks = [rlve_derived.stock(asin) for asin in ASINS]
    assert abs(stocks.count(0) - 400) < 5 * (4000 * 0.09) ** 0.5
    present = [stock for stock in stocks if stock]
    assert abs(mean(present) - 20) < 5 * (15 / len(present)) ** 0.5


def test_days_weigh_as_the_geometric_distribution() -> None:
    bounds = rlve_derived._SHIP_BOUNDS
    assert bounds[-1] == 5**13
    assert [Fraction(bound, 5**13) for bound in bounds] == [
        *(1 - Fraction(3, 5) ** day for day in range(1, 14)),
        1,
    ]


SCRIPT = """
from pipelines.stages import rlve_derived as d
print([(d.rating(a), d.rating_count(a), d.ship_days(a), d.stock(a)) for a in map(str, range(50))])
"""


def test_another_process_and_hash_seed_derive_the_same() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    printed = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**environment, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1


def test_facts_of_one_product_are_drawn_apart() -> None:
    assert len({rlve_derived.bits(fact, "1", 64) for fact in ("rating", "stock", "ship_days")}) == 3
