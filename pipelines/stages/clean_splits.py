"""Clean splits: every published split without the tasks that the audit quarantines.

Belongs here: the list of quarantined tasks and the `_clean` variants. Published splits stay as they are; why
a task is quarantined is decided by the audit.
"""

from collections.abc import Mapping, Sequence
from typing import Any

CLEAN = "_clean"


def build_clean_splits(
    splits: Mapping[str, Sequence[int]], quarantined: Mapping[int, Sequence[str]]
) -> dict[str, Any]:
    """`quarantined_task_ids` and, for each published split, its clean variant.

    Args:
        splits: Published split name to ascending task ids.
        quarantined: Task id to the codes that quarantine it.
    """
    return {
        "quarantined_task_ids": sorted(quarantined),
        "splits": {
            f"{name}{CLEAN}": [task_id for task_id in ids if task_id not in quarantined]
            for name, ids in splits.items()
        },
    }
