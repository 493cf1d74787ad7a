"""What is asked for and what is answered, as values: no input or output.

Belongs here: the request for an episode, what a server says about itself, and reading JSON into the types of
the runtime. Answers that lack something are a `ServiceError` with the code `bad_answer`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Final, TypeVar

from shopsim_env.errors import ServiceError, UsageError
from shopsim_env.rlve.step import RlveStep
from shopsim_env.shop.env import Reset, Step
from shopsim_env.shop.options import EnvOptions
from shopsim_env.trace import encode_action

_OPTIONS: Final = tuple(item.name for item in fields(EnvOptions))
DEFAULT_WAIT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Ask:
    """A request for an episode, or for a group of `n`. `options` are keywords of `ShopEnv`.

    Raises:
        UsageError: an option that `ShopEnv` does not have (code `unknown_field`).
    """

    task_id: int | None
    split: str | None
    seed: int | None
    tools: str
    wait_s: float
    private: bool
    options: Mapping[str, Any]
    n: int | None = None

    def __post_init__(self) -> None:
        strange = sorted(set(self.options) - set(_OPTIONS))
        if strange:
            message = f"options: expected only {sorted(_OPTIONS)}, found {strange}"
            raise UsageError(message, code="unknown_field")

    @property
    def path(self) -> str:
        """Where it goes."""
        return "/v1/episodes" if self.n is None else "/v1/groups"

    def body(self, wait_s: float, request_id: str | None) -> dict[str, Any]:
        """The body of the request."""
        asked = {"task_id": self.task_id, "split": self.split, "seed": self.seed}
        rest = {"tools": self.tools, "wait_s": wait_s, "request_id": request_id, "private": self.private}
        group = {} if self.n is None else {"n": self.n}
        return {**asked, **self.options, **rest, **group}


@dataclass(frozen=True, slots=True)
class ReleaseFacts:
    """What is served: release, component versions, counts, sizes of splits, what can be asked for."""

    id: str
    versions: dict[str, str]
    counts: dict[str, Any]
    splits: dict[str, int]
    task_modes: tuple[str, ...]
    interaction_modes: dict[str, int]
    option_match: tuple[str, ...]
    environment_options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A task without its texts."""

    task_id: int
    has_persona: bool
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaskPage:
    """Some tasks of a list of `total`."""

    total: int
    tasks: tuple[TaskRow, ...]


@dataclass(frozen=True, slots=True)
class Health:
    """Readiness and load."""

    ready: bool
    environment_slots: int
    free_slots: int
    running_episodes: int
    waiting: int
    lease_ttl_s: float
    tasks: int
    release: str
    environment_version: str
    observation_version: str
    primary_reward: str


@dataclass(frozen=True, slots=True)
class RlveAsk:
    """A request for an RLVE episode."""

    env_id: str
    difficulty: int
    seed: int
    language: str
    overrides: Mapping[str, Any]
    strict: bool
    tools: str
    wait_s: float

    path: ClassVar[str] = "/v1/rlve/episodes"
    private: ClassVar[bool] = False

    def body(self, wait_s: float, request_id: str | None) -> dict[str, Any]:
        """The body of the request."""
        key = {"env_id": self.env_id, "difficulty": self.difficulty, "seed": self.seed}
        rest = {"language": self.language, "overrides": dict(self.overrides), "strict": self.strict}
        return {**key, **rest, "tools": self.tools, "wait_s": wait_s, "request_id": request_id}


@dataclass(frozen=True, slots=True)
class RlveOpening:
    """The start of an RLVE episode: `key` brings it again, `observation` is what the agent sees first."""

    release: str
    suite: str
    key: dict[str, Any]
    strict: bool
    observation: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RlveFacts:
    """What can be played of RLVE: environments with the JSON schema of their answer, collections, tools."""

    suite: str
    release: str
    currency: str
    languages: tuple[str, ...]
    max_difficulty: int
    environments: list[dict[str, Any]]
    collections: dict[str, list[str]]
    reasons: tuple[str, ...]
    tools: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Held:
    """A lease as its holder knows it; `lease_id` is a secret."""

    lease_id: str = field(repr=False)
    fence: int
    slot: int
    expires_in_s: float


def json_object(content: bytes) -> dict[str, Any]:
    """The JSON object in an answer."""
    try:
        value = json.loads(content)
    except ValueError as error:
        raise bad_answer("no JSON") from error
    if not isinstance(value, dict):
        raise bad_answer("no JSON object")
    return value


T = TypeVar("T", Reset, Step, ReleaseFacts, Health, Held, RlveOpening, RlveStep, RlveFacts)


def read(kind: type[T], answer: Mapping[str, Any]) -> T:
    """The dataclass with the members of an answer; members that it does not know are left out."""
    values = {name: _frozen(kind, name, member(answer, name)) for name in _names(kind)}
    return kind(**values)


def read_tasks(answer: Mapping[str, Any]) -> TaskPage:
    """A page of the task list."""
    rows = tuple(
        TaskRow(member(row, "task_id"), member(row, "has_persona"), tuple(member(row, "labels")))
        for row in member(answer, "tasks")
    )
    return TaskPage(member(answer, "total"), rows)


def member(answer: Mapping[str, Any], name: str) -> Any:
    """A member that an answer must have."""
    if name not in answer:
        raise bad_answer(f"an answer without {name!r}")
    return answer[name]


def bad_answer(found: str) -> ServiceError:
    """Something answered that does not speak the protocol."""
    return ServiceError(
        f"expected the answer of a shopping server, found {found}; check the address",
        code="bad_answer",
        failure_kind="adapter",
    )


def wire_action(action: object) -> Any:
    """An action as JSON: text and tool calls as they are, typed actions as the tool calls that they are.

    Raises:
        UsageError: no action in any spelling (`wrong_type`).
        TraceError: JSON cannot hold it exactly (`unrecordable_action`).
    """
    value = encode_action(action)
    if not isinstance(value, (str, dict, list)):
        raise UsageError(
            f"action: expected text, a tool call or a typed action, found {type(action).__name__}",
            code="wrong_type",
        )
    if isinstance(value, dict) and "typed_action" in value:
        return {"name": value.pop("typed_action"), "arguments": value}
    return value


def encode_body(body: Mapping[str, Any]) -> bytes:
    """The body of a request; UTF-8, or escaped where a model sent half of a surrogate pair.

    Raises:
        UsageError: a value that JSON cannot hold.
    """
    try:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":"), allow_nan=False).encode("ascii")
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"request: expected values that JSON holds, found {error}", code="wrong_type"
        ) from error


def _names(kind: type) -> tuple[str, ...]:
    return tuple(item.name for item in fields(kind))


_TUPLES: Final[dict[type, tuple[str, ...]]] = {
    ReleaseFacts: ("task_modes", "interaction_modes", "option_match", "environment_options"),
    RlveFacts: ("languages", "reasons"),
}


def _frozen(kind: type, name: str, value: Any) -> Any:
    tuples = _TUPLES.get(kind, ())
    return tuple(value) if name in tuples and isinstance(value, list) else value
