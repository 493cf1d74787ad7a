"""Groups of persona tasks that must stay in one split: connected components over shared keys.

Belongs here: reading persona tasks from the cleaned archive, the five keys, the components. Which group goes
to which split is decided in `project_splits`. Source: prior art section 5.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.errors import DatasetError
from shopsim_env.canonical import compact_json, sha256_text
from shopsim_env.tasks.persona import USER_ID_NAMES
from shopsim_env.text.normalize import fold

GROUP_KEYS = ("asin", "instruction_simple", "instruction", "persona_fingerprint", "user_id")
NORMALIZATION = "unicode-nfkc-casefold-whitespace-v1"
_REASONING_KEY = "__reasoning__"


@dataclass(frozen=True, slots=True, repr=False)
class PersonaRecord:
    """One active persona task with its normalised grouping keys, in the order of `GROUP_KEYS`."""

    task_id: int
    keys: tuple[str, ...]

    def __repr__(self) -> str:
        return f"PersonaRecord(task_id={self.task_id}, ...)"


@dataclass(frozen=True, slots=True)
class Group:
    """Tasks that are linked, directly or through others; ids ascending."""

    group_id: str
    task_ids: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.task_ids)


def normalize_text(text: str) -> str:
    """NFKC, case folded, blank runs as one blank, trimmed."""
    return " ".join(fold(text).split())


def persona_fingerprint(persona: Mapping[str, Any]) -> str:
    """SHA-256 of the persona's canonical JSON without reasoning keys; texts and list order as they are."""
    return sha256_text(compact_json(_without_reasoning(persona)))


def user_id(persona: Mapping[str, Any]) -> str:
    """Normalised value of the first top-level user id key, "" when there is none.

    Trailing separators stay, so that the published groups come out; a full-width comma equals an ASCII one.
    """
    for name, value in persona.items():
        if normalize_text(str(name)).replace(" ", "") in USER_ID_NAMES:
            return "" if value is None else normalize_text(str(value))
    return ""


def read_persona_records(products: Iterable[Mapping[str, Any]]) -> list[PersonaRecord]:
    """Persona tasks of a cleaned archive, ids ascending.

    Raises:
        DatasetError: A persona that is no object, a task without simple text or integer id, an id used twice.
    """
    records: dict[int, PersonaRecord] = {}
    for product in products:
        persona = product.get("user_persona")
        if not persona:
            continue
        for instruction in product.get("instructions") or ():
            record = _persona_record(product, persona, instruction)
            if record.task_id in records:
                raise _refusal(product, "task_id", f"expected task {record.task_id} once, found it again")
            records[record.task_id] = record
    return [records[task_id] for task_id in sorted(records)]


def group_tasks(records: Sequence[PersonaRecord]) -> list[Group]:
    """Connected components of tasks that share any non-empty key, sorted by group id."""
    import networkx as nx  # slow to load, and most builds deal no splits

    graph: nx.Graph[Any] = nx.Graph()
    for record in records:
        graph.add_node(record.task_id)
        for name, value in zip(GROUP_KEYS, record.keys, strict=True):
            if value:
                graph.add_edge(record.task_id, (name, value))
    groups = []
    for component in nx.connected_components(graph):
        members = tuple(sorted(node for node in component if isinstance(node, int)))
        groups.append(Group(group_id(members), members))
    return sorted(groups, key=lambda group: group.group_id)


def group_id(members: Sequence[int]) -> str:
    """`group-` and 16 hex digits over the ascending ids joined by commas."""
    return "group-" + hashlib.sha256(",".join(map(str, members)).encode()).hexdigest()[:16]


def _persona_record(
    product: Mapping[str, Any], persona: Any, instruction: Mapping[str, Any]
) -> PersonaRecord:
    task_id = instruction.get("task_id")
    if not isinstance(task_id, int) or isinstance(task_id, bool):
        raise _refusal(product, "task_id", "expected an integer task id")
    if not isinstance(persona, Mapping):
        raise _refusal(product, "user_persona", "expected an object")
    simple = normalize_text(instruction.get("instruction_simple") or "")
    if not simple:
        raise _refusal(product, "instruction_simple", "expected a non-blank simple text beside the persona")
    keys = (
        normalize_text(product["asin"]),
        simple,
        normalize_text(instruction.get("instruction") or ""),
        persona_fingerprint(persona),
        user_id(persona),
    )
    return PersonaRecord(task_id, keys)


def _refusal(product: Mapping[str, Any], name: str, message: str) -> DatasetError:
    index = product.get("source_product_index")
    return DatasetError(f"product {index}: {message}", field=name, code="bad_persona_task")


def _without_reasoning(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_reasoning(item) for key, item in value.items() if key != _REASONING_KEY}
    if isinstance(value, list):
        return [_without_reasoning(item) for item in value]
    return value
