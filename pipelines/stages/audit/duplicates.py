"""Near duplicates among titles and among instructions, and titles that stand in several categories.

Belongs here: codes that compare products or tasks with each other. How texts are compared is in
`shopsim_env.text.near`; what a near duplicate across splits means is in `pipelines.stages.contamination`.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TypeVar

from pipelines.stages.audit import codes
from pipelines.stages.audit.cases import Case
from pipelines.stages.audit.findings import Finding
from shopsim_env.reward.type_match import SHARED_LEVELS, category_levels
from shopsim_env.text.near import NearIndex, squeezed

K = TypeVar("K", bound=Hashable)
TITLE_LIKENESS = 0.8
INSTRUCTION_LIKENESS = 0.7


def product_findings(titles: Mapping[str, tuple[str, str]]) -> Iterator[Finding]:
    """Products with nearly the same title, and titles in several categories.

    Args:
        titles: Asin to title and category, in archive order.
    """
    near = NearIndex({asin: title for asin, (title, _) in titles.items()}, TITLE_LIKENESS)
    for asin, others in _by_key(near.pairs()).items():
        evidence = {"products": [{"asin": other, "likeness": share} for other, share in others]}
        yield Finding(codes.NEAR_DUPLICATE_PRODUCT, asin, None, evidence)
    same: dict[str, dict[frozenset[str], list[str]]] = {}
    for asin, (title, category) in titles.items():
        if category and squeezed(title):
            same.setdefault(squeezed(title), {}).setdefault(category_levels(category), []).append(asin)
    for filed in same.values():
        if _conflicts(list(filed)):
            categories = sorted("›".join(sorted(levels)) for levels in filed)
            for asins in filed.values():
                yield from (_conflict(asin, categories) for asin in asins)


def instruction_findings(cases: Sequence[Case]) -> Iterator[Finding]:
    """Tasks whose full text is nearly that of another task."""
    asins = {case.task_id: case.goal.product.asin for case in cases}
    near = NearIndex({case.task_id: case.goal.instruction for case in cases}, INSTRUCTION_LIKENESS)
    for task_id, others in _by_key(near.pairs()).items():
        evidence = {"tasks": [{"task_id": other, "likeness": share} for other, share in others]}
        yield Finding(codes.NEAR_DUPLICATE_INSTRUCTION, asins[task_id], task_id, evidence)


def _conflict(asin: str, categories: Sequence[str]) -> Finding:
    return Finding(codes.CATEGORY_CONFLICT, asin, None, {"categories": list(categories)})


def _conflicts(filed: Sequence[frozenset[str]]) -> bool:
    """Whether two of the categories would not match each other in the type reward."""
    return any(len(one & other) < SHARED_LEVELS for one, other in combinations(filed, 2))


def _by_key(pairs: Iterable[tuple[K, K, float]]) -> dict[K, list[tuple[K, float]]]:
    """Every key that has a near one, with its near ones and how alike they are, rounded."""
    found: dict[K, list[tuple[K, float]]] = {}
    for one, other, share in pairs:
        found.setdefault(one, []).append((other, round(share, 4)))
        found.setdefault(other, []).append((one, round(share, 4)))
    return found
