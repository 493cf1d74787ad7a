"""Scores of recommended lists: product discovery and substitution.

Belongs here: nDCG over the feasible set and the two published mixes. Not here: utility, satisfaction and
similarity, which the world computes from public attributes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from shopsim_env.errors import UsageError
from shopsim_env.rlve.scores.common import Number, TaskScore, clip, count, exact, finite, unreachable

# Utility that a place of the list may be off its ideal: weights are told in whole per cents.
PLACE_TOLERANCE = 0.01


class _Wanted:
    """What constraints are asked of; the classes below hold the values."""

    __slots__ = ()
    met: int
    stated: int
    in_stock: bool

    @property
    def feasible(self) -> bool:
        """All stated constraints are met and it is in stock."""
        return self.in_stock and self.met == self.stated


@dataclass(frozen=True, slots=True)
class Candidate(_Wanted):
    """A product of the catalogue as product discovery sees it.

    Args:
        utility: 0..1, weighted by what the customer disclosed.
        met: Stated constraints that the product meets.
        stated: All stated constraints, at least 1.
        in_stock: Whether it can be bought now.
    """

    utility: float
    met: int
    stated: int
    in_stock: bool


@dataclass(frozen=True, slots=True)
class Substitute(_Wanted):
    """A product as a substitute: `tier` is its similarity to the original by public attributes, 0 lowest."""

    tier: int
    met: int
    stated: int
    in_stock: bool


def ndcg(gains: Sequence[float], ideal: Sequence[float], length: int) -> float:
    """Published nDCG@length in [0, 1]: linear gain, discount log2(rank + 1), ideal sorted from `ideal`.

    Change: gains are bounded by those of the ideal, and an ideal of 0 is refused, where the published code
    divides by 1e-9 and yields a billion.

    Raises:
        UsageError: `score_not_finite`, `score_not_a_number`, `score_bad_count`; `score_empty_goal` when
            nothing can be gained.
    """
    count(length, "length", 1)
    for gain in (*gains, *ideal):
        if finite(gain, "gain") < 0:
            raise UsageError(
                f"A gain must be at least 0, found {gain}; mend its source", code="score_bad_gain"
            )
    best = _dcg(sorted(ideal, reverse=True)[:length])
    if best <= 0:
        raise unreachable("The ideal list has no gain")
    return min(1.0, _dcg(gains[:length]) / best)


def discovery_mix(rank: Number, constraints: Number, stock: Number) -> float:
    """Published mix of product discovery, unchanged: clip(0.55·rank + 0.35·constraints + 0.10·stock)."""
    mixed = Fraction(55, 100) * exact(rank, "rank") + Fraction(35, 100) * exact(constraints, "constraints")
    return float(clip(mixed + Fraction(10, 100) * exact(stock, "stock")))


def substitution_mix(rank: Number, stock: Number) -> float:
    """Published mix of substitution, unchanged: clip(0.80·rank + 0.20·stock)."""
    return float(clip(Fraction(80, 100) * exact(rank, "rank") + Fraction(20, 100) * exact(stock, "stock")))


def satisfaction_score(met: int, stated: int, alpha: Number) -> float:
    """Published constraint term 2·(met / stated)^alpha - 1, unchanged; `alpha` comes from the difficulty.

    Raises:
        UsageError: `score_bad_count` for counts that do not fit, or an `alpha` that is not a finite number.
    """
    share = count(met, "met") / count(stated, "stated", max(1, met))
    return float(2 * share ** float(exact(alpha, "alpha")) - 1)


def score_discovery(
    listed: Sequence[str], candidates: Mapping[str, Candidate], *, k: int, alpha: Number
) -> TaskScore:
    """Score a recommended list.

    Published: 2·nDCG@k - 1 by utility alone, best satisfaction in the list, share out of stock, mixed
    .55/.35/.10, success from 0.95 on. Changes: the gain is utility where the product is feasible and 0
    elsewhere; the ideal is taken over all feasible products and min(k, feasible) places; a repeated id
    counts once; success is its own flag, because the published score ends at 0.90 and lists in another order
    reach 0.95 of the ideal: as many feasible ids as there are places, in an ideal order (`is_ideal`).

    Args:
        listed: Recommended ids, best first. Ids that `candidates` lacks gain nothing and count as
            unavailable.
        candidates: At least every feasible product of the episode.
        k: Most products that may be recommended.
        alpha: Exponent of the constraint term.

    Raises:
        UsageError: `score_empty_goal` without a feasible product of positive utility; bad numbers.
    """
    distinct = list(dict.fromkeys(listed))
    feasible = [one.utility for one in candidates.values() if one.feasible]
    if not feasible:
        raise unreachable("No product meets all stated constraints and is in stock")
    known = [candidates.get(name) for name in distinct]
    gains = [one.utility if one and one.feasible else 0.0 for one in known]
    found = ndcg(gains, feasible, min(count(k, "k", 1), len(feasible)))
    terms = [satisfaction_score(one.met, one.stated, alpha) for one in known if one]
    parts = {
        "rank": 2 * found - 1,
        "constraints": max(terms, default=-1.0),
        "stock": _unavailable([bool(one and one.in_stock) for one in known]),
    }
    fits = all(one is not None and one.feasible for one in known)
    score = discovery_mix(parts["rank"], parts["constraints"], parts["stock"])
    ideal = sorted(feasible, reverse=True)[:k]
    return TaskScore(score, fits and is_ideal(gains, ideal), {**parts, "ndcg": found})


def is_ideal(utilities: Sequence[float], ideal: Sequence[float]) -> bool:
    """Whether a list has at each place what the ideal one has there, up to `PLACE_TOLERANCE`."""
    return len(utilities) == len(ideal) and all(
        abs(one - best) <= PLACE_TOLERANCE for one, best in zip(utilities, ideal, strict=True)
    )


def score_substitution(
    listed: Sequence[str],
    candidates: Mapping[str, Substitute],
    *,
    original: str,
    k: int,
    similarity_weight: Number,
) -> TaskScore:
    """Score a list of substitutes for `original`.

    Published: relevance = w·similarity + (1 - w)·satisfaction, 2·nDCG@k - 1, mixed .80/.20 with the share
    out of stock, success from 0.95 on. Changes: the original is no substitute; similarity is tier / best
    tier among the feasible; products that violate a constraint or are out of stock gain nothing; the ideal
    is as long as the list (one good substitute answers the request); repeats count once; success is its own
    flag, because the published score ends at 0.80: at most k ids, each feasible and of the best feasible
    tier.

    Args:
        listed: Recommended ids, best first.
        candidates: At least every feasible substitute; an entry for `original` is ignored.
        original: The product that is to be replaced.
        k: Most products that may be recommended.
        similarity_weight: w in [0, 1].

    Raises:
        UsageError: `score_empty_goal` without a feasible substitute; bad numbers.
    """
    weight = exact(similarity_weight, "similarity_weight")
    others = {name: one for name, one in candidates.items() if name != original}
    top = max((count(one.tier, "tier") for one in others.values() if one.feasible), default=None)
    if top is None:
        raise unreachable("No substitute meets all constraints and is in stock")
    relevance = {name: _relevance(one, top, weight) for name, one in others.items()}
    distinct = list(dict.fromkeys(listed))
    length = max(1, min(count(k, "k", 1), len(distinct)))
    found = ndcg([relevance.get(name, 0.0) for name in distinct], list(relevance.values()), length)
    known = [others.get(name) for name in distinct]
    fits = all(one is not None and one.feasible and one.tier == top for one in known)
    parts = {"rank": 2 * found - 1, "stock": _unavailable([bool(one and one.in_stock) for one in known])}
    score = substitution_mix(parts["rank"], parts["stock"])
    return TaskScore(score, fits and 0 < len(distinct) <= k, {**parts, "ndcg": found})


def _relevance(one: Substitute, top: int, weight: Fraction) -> float:
    """w·tier / top + (1 - w) for a feasible substitute, whose satisfaction is 1; else 0."""
    if not one.feasible:
        return 0.0
    similarity = Fraction(one.tier, top) if top else Fraction(1)
    return float(weight * similarity + 1 - weight)


def _unavailable(in_stock: Sequence[bool]) -> float:
    """Published stock term: minus the share of the list that is out of stock or unknown; 0 for none."""
    return -in_stock.count(False) / len(in_stock) if in_stock else 0.0


def _dcg(gains: Sequence[float]) -> float:
    """Discounted gain of a list in order: linear gain, discount log2(rank + 1)."""
    return sum(gain / math.log2(rank + 2) for rank, gain in enumerate(gains))
