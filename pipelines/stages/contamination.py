"""What the splits share with each other: keys that must not be shared, and texts that are nearly the same.

Belongs here: the report over finished splits. That groups stay whole is the work of `project_splits`; this
module does not trust it. Near pairs were found by the audit. A user's own file: `shopsim_env.contamination`.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from pipelines.stages.audit.codes import NEAR_DUPLICATE_INSTRUCTION
from pipelines.stages.audit.duplicates import INSTRUCTION_LIKENESS
from pipelines.stages.audit.findings import Finding
from pipelines.stages.persona_groups import GROUP_KEYS, PersonaRecord

_EXAMPLES = 10
_EXCLUSIVE = "project"
Members = Mapping[str, Sequence[int]]


def contamination_report(
    records: Sequence[PersonaRecord], splits: Members, findings: Iterable[Finding]
) -> dict[str, Any]:
    """Shared keys and near-duplicate instructions between splits of one family.

    Args:
        records: All active persona tasks with their grouping keys.
        splits: Split name with its family (`project/test`) to task ids.
        findings: All findings of the audit.

    Returns:
        `shared`: per pair of splits and per key, how many `values` both hold and up to ten `task_ids` that
        hold them; the key `task` means the tasks themselves. All pairs of `project`, which must share
        nothing; in other families, where splits overlap by design, pairs of disjoint splits.
        `near_duplicates`: the `likeness` from which texts are near, and the `pairs` of tasks that stand in
        different splits of a `family`, both persona tasks or neither. Ids and numbers only.
    """
    keys = {record.task_id: record.keys for record in records}
    return {
        "shared": {
            f"{one}, {other}": _shared(keys, splits[one], splits[other])
            for one, other in _compared_pairs(splits, keys)
        },
        "near_duplicates": {
            "likeness": INSTRUCTION_LIKENESS,
            "pairs": sorted(
                _near_pairs(findings, splits, keys), key=lambda pair: (pair["family"], pair["task_ids"])
            ),
        },
    }


def shared_values(report: Mapping[str, Any], family: str) -> list[str]:
    """A line for each key that two splits of `family` share; empty when they are clean."""
    return [
        f"{pair}: {found['values']} values of {key} in both, such as those of tasks {found['task_ids']}"
        for pair, counts in report["shared"].items()
        if pair.startswith(f"{family}/")
        for key, found in counts.items()
        if found["values"]
    ]


def _compared_pairs(splits: Members, tasks: Mapping[int, Any]) -> Iterator[tuple[str, str]]:
    """Pairs of one family that both hold some of `tasks`; outside `project` only those that share no task."""
    held = {name: set(ids) & tasks.keys() for name, ids in splits.items()}
    for one, other in combinations(splits, 2):
        same_family = _family(one) == _family(other) and held[one] and held[other]
        if same_family and (_family(one) == _EXCLUSIVE or not held[one] & held[other]):
            yield one, other


def _family(name: str) -> str:
    return name.partition("/")[0]


def _shared(
    keys: Mapping[int, tuple[str, ...]], one: Sequence[int], other: Sequence[int]
) -> dict[str, dict[str, Any]]:
    both = sorted(set(one) & set(other))
    result: dict[str, dict[str, Any]] = {}
    if both:
        result["task"] = {"values": len(both), "task_ids": both[:_EXAMPLES]}
    for place, name in enumerate(GROUP_KEYS):
        first, second = _values(keys, one, place), _values(keys, other, place)
        shared = first.keys() & second.keys()
        holders = sorted({task_id for value in shared for task_id in (first[value], second[value])})
        result[name] = {"values": len(shared), "task_ids": holders[:_EXAMPLES]}
    return result


def _values(keys: Mapping[int, tuple[str, ...]], ids: Sequence[int], place: int) -> dict[str, int]:
    """Non-blank values of one key, each with the last task that has it."""
    return {keys[task_id][place]: task_id for task_id in ids if task_id in keys and keys[task_id][place]}


def _near_pairs(
    findings: Iterable[Finding], splits: Members, private: Container[int]
) -> Iterator[dict[str, Any]]:
    """Never a persona task with a standard one, whose public text would tell the other's private text."""
    names: dict[str, dict[int, set[str]]] = {}
    for name, ids in splits.items():
        for task_id in ids:
            names.setdefault(_family(name), {}).setdefault(task_id, set()).add(name)
    for item in findings:
        for other in item.evidence["tasks"] if item.code == NEAR_DUPLICATE_INSTRUCTION else ():
            # Each pair stands with both of its tasks.
            if item.task_id is None or item.task_id > other["task_id"]:
                continue
            if (item.task_id in private) == (other["task_id"] in private):
                yield from _across(names, item.task_id, other["task_id"], other["likeness"])


def _across(
    names: Mapping[str, Mapping[int, set[str]]], one: int, other: int, likeness: float
) -> Iterator[dict[str, Any]]:
    for family, members in names.items():
        first, second = members.get(one), members.get(other)
        if first and second and not first & second:
            parts = [sorted(first), sorted(second)]
            yield {"family": family, "task_ids": [one, other], "splits": parts, "likeness": likeness}
