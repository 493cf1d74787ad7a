"""Shop facts that no source has: rating, its count, shipping days and stock as functions of the asin.

Belongs here: the named hash and what it draws. Integer arithmetic alone, so that every machine draws the
same; no random state. Does not belong here: which facts a source has (`rlve_world`).
"""

from bisect import bisect_right
from hashlib import shake_256
from itertools import accumulate

from shopsim_env.versions import RLVE_SUITE_VERSION

MAX_SHIP_DAYS = 14
# Geometric with p = 2/5, the rest on the last day: day k weighs 2 * 3^(k-1) * 5^(13-k) of 5^13.
_SHIP_WEIGHTS = [2 * 3 ** (day - 1) * 5 ** (MAX_SHIP_DAYS - 1 - day) for day in range(1, MAX_SHIP_DAYS)]
_SHIP_BOUNDS = list(accumulate([*_SHIP_WEIGHTS, 3 ** (MAX_SHIP_DAYS - 1)]))
_OUT_OF_STOCK = 10


def bits(fact: str, asin: str, count: int) -> int:
    """`count` random bits, a multiple of 8, that depend on suite version, fact and asin alone."""
    text = f"{RLVE_SUITE_VERSION}\n{fact}\n{asin}"
    return int.from_bytes(shake_256(text.encode("utf-8")).digest(count // 8), "big")


def rating(asin: str) -> int:
    """Hundredths of a star, in steps of ten, from 100 to 500.

    1 + 4 * Beta(5, 2): the fifth of six uniform numbers in order has that distribution. Mean 3.86 stars.
    """
    drawn = bits("rating", asin, 6 * 32)
    fifth = sorted(drawn >> 32 * place & 0xFFFFFFFF for place in range(6))[4]
    return 100 + 10 * ((80 * fifth + 2**32) >> 33)


def rating_count(asin: str) -> int:
    """Ratings, 0 to 304: heads of 304 coins. Mean 152."""
    return bits("rating_count", asin, 304).bit_count()


def ship_days(asin: str) -> int:
    """Days from 1 to 14, geometric with p = 0.4; what lies beyond falls on the last. Mean about 2.5."""
    return bisect_right(_SHIP_BOUNDS, bits("ship_days", asin, 64) * _SHIP_BOUNDS[-1] >> 64) + 1


def stock(asin: str) -> int:
    """Units: none for one product in ten, else 1 to 80 around 20 (heads of 80 coins with p = 1/4)."""
    if bits("sold_out", asin, 64) * _OUT_OF_STOCK >> 64 == 0:
        return 0
    drawn = bits("stock", asin, 160)
    return max(1, (drawn & drawn >> 80 & (1 << 80) - 1).bit_count())
