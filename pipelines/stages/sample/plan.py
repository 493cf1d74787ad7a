"""What each record of a sample will be, decided before any text exists: exact shares, one fault at most.

A plan fixes domain, persona, axes, budget family, planted fault, duplicate titles and who shares a user id.
It holds no words; the same (products, seed) gives the same plans in every process.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from pipelines.stages.sample import faults
from pipelines.stages.sample.budgets import FAMILY_WEIGHTS
from pipelines.stages.sample.chance import seeded
from pipelines.stages.sample.ranges import EXCLUDED_PRODUCTS, PUBLISHED_PRODUCTS, Ranges, index_ranges
from pipelines.stages.sample.vocabulary import load_vocabulary

_T = TypeVar("_T")

_AXES = {1: 77, 2: 22, 3: 1}
_BUDGET_PLACES = {"both": 85, "simple": 5, "full": 10}
_PLAIN_FAMILIES = ("around", "within", "not_over")
_DUPLICATE_TITLES = 90 / 7256 / 2
# A user id that is only junk links a big group of unrelated buyers (303 of 4,526 in the archive), smaller
# groups share an invented id.
_PLACEHOLDER_USERS = 303 / 4526
_SHARED_USERS = 403 / 4526


@dataclass(frozen=True, slots=True)
class RecordPlan:
    """One record to be made. `seed` feeds the record's own texts, `facts_seed` its title and goods."""

    index: int
    seed: str
    facts_seed: str
    asin: str
    tag: str
    has_persona: bool
    domain: int
    axes: int
    varying: int
    family: str
    budget_place: str
    axis_names: tuple[str, ...] = ()
    fault: str = ""
    fault_number: int = 0
    title_quirk: str = ""
    user: str = "gold"
    persona_of: int | None = None


def make_plans(
    products: int, seed: int, excluded: Mapping[int, tuple[str, tuple[str, ...]]] | None = None
) -> list[RecordPlan]:
    """Plans for all records in archive order.

    Args:
        products: Number of products, at least 1.
        seed: Any integer.
        excluded: Index -> (asin, price-varying axis names) of products that must be excluded; None draws
            3 % at random.
    """
    rng = seeded(f"{seed}:{products}:plan")
    ranges = index_ranges(products)
    fixed = dict(excluded or {})
    axes = _shuffled(rng, _AXES, products)
    if excluded is None:
        wide = [index for index in range(products) if axes[index] > 1]
        chosen = rng.sample(wide, min(len(wide), round(products * EXCLUDED_PRODUCTS / PUBLISHED_PRODUCTS)))
        fixed = dict.fromkeys(chosen, ("", ()))
    for index, (_, names) in fixed.items():
        axes[index] = len(names) or axes[index]
    plans = _base_plans(rng, seed, products, ranges, axes, fixed)
    plans = _with_families(rng, plans)
    plans = _with_faults(rng, plans)
    plans = _with_duplicates(rng, plans)
    return _with_users(rng, plans)


def _shuffled(rng: random.Random, weights: Mapping[_T, float], count: int) -> list[_T]:
    """`count` labels in exact proportion to `weights`, in random order."""
    total = sum(weights.values())
    labels = [label for label, weight in weights.items() for _ in range(round(count * weight / total))]
    most = max(weights, key=lambda label: weights[label])
    labels += [most] * (count - len(labels))
    rng.shuffle(labels)
    return labels[:count]


def _base_plans(
    rng: random.Random,
    seed: int,
    products: int,
    ranges: Ranges,
    axes: Sequence[int],
    fixed: Mapping[int, tuple[str, tuple[str, ...]]],
) -> list[RecordPlan]:
    domains = _shuffled(
        rng, {place: domain.weight for place, domain in enumerate(load_vocabulary().domains)}, products
    )
    varying = _shuffled(rng, {1: 66, 0: 34}, products)
    places = _shuffled(rng, _BUDGET_PLACES, products)
    asins = _asins(rng, products, {asin for asin, _ in fixed.values()})
    plans = []
    for index in range(products):
        asin, names = fixed.get(index, ("", ()))
        own = f"{seed}:{products}:{index}"
        plans.append(
            RecordPlan(
                index=index,
                seed=own,
                facts_seed=f"{own}:facts",
                asin=asin or asins[index],
                tag="eval" if index < ranges.persona_train.start else "train",
                has_persona=ranges.has_persona(index),
                domain=domains[index],
                axes=axes[index],
                varying=(len(names) or 2) if index in fixed else varying[index],
                family="around",
                budget_place=places[index],
                axis_names=names,
                fault=faults.MULTI_PRICE_AXES if index in fixed else "",
            )
        )
    return plans


def _asins(rng: random.Random, products: int, taken: set[str]) -> list[str]:
    """Different digit strings: 98.9 % of 12 digits, the rest 11 and a few 10."""
    lengths = _shuffled(rng, {12: 989, 11: 10, 10: 1}, products)
    used = set(taken)
    asins = []
    for length in lengths:
        while (asin := str(rng.randrange(5 * 10 ** (length - 1), 10**length))) in used:
            pass
        used.add(asin)
        asins.append(asin)
    return asins


def _with_families(rng: random.Random, plans: list[RecordPlan]) -> list[RecordPlan]:
    """Budget families in the real proportions; the rare ones at least three times in a large sample."""
    count = len(plans)
    labels = _shuffled(rng, FAMILY_WEIGHTS, count)
    free = [plan.index for plan in plans if not plan.fault]
    families = {plan.index: rng.choice(_PLAIN_FAMILIES) for plan in plans}
    labels = [label for label in labels if label not in _PLAIN_FAMILIES][: len(free)] + [
        label for label in labels if label in _PLAIN_FAMILIES
    ]
    rng.shuffle(free)
    families.update(zip(free, labels, strict=False))
    for rare in ("unit_price", "deposit", "lower_only", "ambiguous"):
        missing = (3 if count >= 400 else 0) - sum(family == rare for family in families.values())
        common = [index for index in free if families[index] == "around"]
        for index in rng.sample(common, min(len(common), max(0, missing))):
            families[index] = rare
    return [_with_family(plan, families[plan.index]) for plan in plans]


def _with_family(plan: RecordPlan, family: str) -> RecordPlan:
    fault = plan.fault or faults.BY_FAMILY.get(family, "")
    # A text without a ceiling in one place and nothing in the other would change the reading.
    place = "both" if family not in _PLAIN_FAMILIES else plan.budget_place
    return replace(plan, family=family, fault=fault, budget_place=place)


def _with_faults(rng: random.Random, plans: list[RecordPlan]) -> list[RecordPlan]:
    out = list(plans)
    for fault, per_800 in faults.PLANTED.items():
        fits = [plan.index for plan in out if not plan.fault and _can_carry(plan, fault)]
        wanted = min(len(fits), faults.planted_count(per_800, len(plans)))
        for number, index in enumerate(rng.sample(fits, wanted)):
            out[index] = replace(out[index], fault=fault, fault_number=number)
    return [_with_conflict_place(plan) for plan in out]


def _can_carry(plan: RecordPlan, fault: str) -> bool:
    if fault == faults.BUDGET_CONFLICT:
        return plan.has_persona and plan.family in _PLAIN_FAMILIES
    if fault in faults.NEEDS_BUDGET:
        return plan.family in _PLAIN_FAMILIES
    return True


def _with_conflict_place(plan: RecordPlan) -> RecordPlan:
    return replace(plan, budget_place="both") if plan.fault == faults.BUDGET_CONFLICT else plan


def _with_duplicates(rng: random.Random, plans: list[RecordPlan]) -> list[RecordPlan]:
    """Pairs of products with one title, and titles with a double blank or a lost emoji."""
    out = list(plans)
    free = [plan.index for plan in out if not plan.fault and not plan.has_persona]
    rng.shuffle(free)
    pairs = min(len(free) // 2, round(len(plans) * _DUPLICATE_TITLES))
    for number in range(pairs):
        first, second = free[2 * number], free[2 * number + 1]
        out[second] = replace(out[second], facts_seed=out[first].facts_seed, domain=out[first].domain)
    rest = free[2 * pairs :]
    for quirk, share in (("double_blank", 37 / 7256), ("lost_emoji", 30 / 7256)):
        chosen = [rest.pop() for _ in range(min(len(rest), round(len(plans) * share)))]
        for index in chosen:
            out[index] = replace(out[index], title_quirk=quirk)
    return out


def _with_users(rng: random.Random, plans: list[RecordPlan]) -> list[RecordPlan]:
    """Who owns which user id: 60 % the gold asin, else invented, shared by a group or only junk."""
    out = list(plans)
    people = [plan.index for plan in out if plan.has_persona]
    rng.shuffle(people)
    users = ["placeholder"] * round(len(people) * _PLACEHOLDER_USERS)
    shared = round(len(people) * _SHARED_USERS)
    group = 0
    while shared > 1:
        size = min(shared, rng.choice((2, 2, 3, 4, 5, 7, 9)))
        users += [f"shared:{group}"] * size
        shared -= size
        group += 1
    users += ["gold"] * round(len(people) * 0.6)
    for index, user in zip(people, users + ["own"] * len(people), strict=False):
        out[index] = replace(out[index], user=user)
    own = [index for index in people if out[index].user == "own"]
    for number in range(min(len(own) // 2, round(len(people) / 80))):
        out[own[2 * number + 1]] = replace(out[own[2 * number + 1]], persona_of=own[2 * number])
    return out
