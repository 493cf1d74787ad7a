"""Which group of persona tasks goes to which project split: exact or proportional sizes, groups never broken.

Belongs here: policy, ranking and the subset sum. Source: prior art section 5.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pipelines.errors import ConfigError
from pipelines.stages.persona_groups import Group

ALLOCATION_ORDER = ("test", "val", "train")
# The published share of one held-out split: 400 of 4,526.
_SHARE = (400, 4526)


@dataclass(frozen=True, slots=True)
class SplitPolicy:
    """How groups are dealt out.

    Sizes count tasks and must be met exactly. Both None means proportional: each held-out split gets the
    largest total of whole groups that does not exceed 400/4526 of all tasks, rounded to the nearest.
    """

    seed: int = 20260829
    validation_size: int | None = 400
    test_size: int | None = 400
    held_out_max_group_size: int = 20
    test_excluded_task_ids: tuple[int, ...] = ()

    @property
    def proportional(self) -> bool:
        """Whether sizes follow from the number of tasks."""
        return self.validation_size is None and self.test_size is None


def rank_groups(groups: Sequence[Group], seed: int, split: str) -> list[Group]:
    """Groups in the order in which `split` considers them: by SHA-256 of `seed:split:group_id`."""
    return sorted(
        groups,
        key=lambda group: hashlib.sha256(f"{seed}:{split}:{group.group_id}".encode()).hexdigest(),
    )


def select_groups(sizes: Sequence[int], target: int) -> tuple[int, list[int]]:
    """0/1 subset sum in rank order: the groups that first reach `target`.

    Every group in turn is added to the totals known so far, highest first; a total remembers the group that
    reached it first; the search stops after the group that makes `target` reachable.

    Returns:
        The total, which is the largest one below `target` when that cannot be reached, and the ascending
        positions of its groups.
    """
    step: dict[int, tuple[int, int]] = {}
    totals = [0]
    for position, size in enumerate(sizes):
        if totals[0] == target:
            break
        for total in tuple(totals):
            reached = total + size
            if reached <= target and reached not in step:
                step[reached] = (total, position)
        totals = sorted({0, *step}, reverse=True)
    chosen = []
    total = totals[0]
    while total:
        total, position = step[total]
        chosen.append(position)
    return totals[0], chosen[::-1]


def allocate(
    groups: Sequence[Group], policy: SplitPolicy, sizes: Mapping[str, int]
) -> dict[str, list[Group]]:
    """Groups of test, val and train; each held-out split takes from what the one before it left.

    Raises:
        ConfigError: No set of whole groups has the exact size.
    """
    rest = list(groups)
    parts: dict[str, list[Group]] = {}
    for split in ALLOCATION_ORDER[:-1]:
        banned = frozenset(policy.test_excluded_task_ids) if split == "test" else frozenset()
        parts[split] = _held_out(rest, split, policy, sizes[split], banned)
        taken = {group.group_id for group in parts[split]}
        rest = [group for group in rest if group.group_id not in taken]
    parts["train"] = rest
    return parts


def _held_out(
    groups: Sequence[Group], split: str, policy: SplitPolicy, target: int, banned: frozenset[int]
) -> list[Group]:
    ranked = [
        group
        for group in rank_groups(groups, policy.seed, split)
        if len(group) <= policy.held_out_max_group_size and banned.isdisjoint(group.task_ids)
    ]
    total, positions = select_groups([len(group) for group in ranked], target)
    if total != target and not policy.proportional:
        raise ConfigError(
            f"split {split}: expected groups that hold exactly {target} tasks together, found {total} at "
            f"most among {len(ranked)} groups of up to {policy.held_out_max_group_size} tasks; change the "
            "size",
            code="size_unreachable",
        )
    return [ranked[position] for position in positions]


def target_sizes(policy: SplitPolicy, task_count: int) -> dict[str, int]:
    """Tasks that test and val should hold."""
    if policy.proportional:
        part, whole = _SHARE
        size = (2 * task_count * part + whole) // (2 * whole)  # nearest, halves up
        return {"test": size, "val": size}
    if policy.validation_size is None or policy.test_size is None:
        raise ConfigError("expected both held-out sizes or neither, found one", code="bad_sizes")
    return {"test": policy.test_size, "val": policy.validation_size}


def check_policy(policy: SplitPolicy, sizes: Mapping[str, int], task_ids: Collection[int]) -> None:
    """Refuses sizes that leave nothing to train on, and test exclusions that are no persona tasks."""
    held_out = sum(sizes.values())
    if min(sizes.values()) < 0 or (held_out and held_out >= len(task_ids)):
        raise ConfigError(
            f"expected val and test to be smaller than the {len(task_ids)} persona tasks together, "
            f"found {sizes['val']} + {sizes['test']}",
            code="bad_sizes",
        )
    unknown = sorted(set(policy.test_excluded_task_ids) - set(task_ids))
    if unknown:
        raise ConfigError(
            f"expected test exclusions to be active persona tasks, found {unknown[:10]}",
            code="unknown_exclusion",
        )
