"""Intervals of measured shares. Belongs here: formulas that several reports use; no printing, no data."""

import math

_Z = 1.959963984540054  # two-sided 95 %


def wilson(successes: float, count: int) -> tuple[float, float]:
    """The 95 % Wilson score interval of a share; `count` > 0.

    Source: Wilson 1927. Unlike the normal interval it stays useful at 0 and 1 and for small counts.
    """
    share, squared = successes / count, _Z * _Z / count
    centre = (share + squared / 2) / (1 + squared)
    half = _Z * math.sqrt(share * (1 - share) / count + squared / (4 * count)) / (1 + squared)
    return max(0.0, centre - half), min(1.0, centre + half)
