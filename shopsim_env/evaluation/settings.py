"""What a run was played under, and whether two such settings may be held against each other.

Belongs here: release, versions, environment keywords, model and prompt of episodes; their differences by
name. Release, versions and environment are rules: figures under different ones are not comparable. Model and
prompt are what is measured.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from shopsim_env.canonical import compact_json, sha256_text
from shopsim_env.errors import UsageError
from shopsim_env.runs.rows import table, text
from shopsim_env.versions import ACTION_LIMITS

UNKNOWN: Final = "unknown"
# Keywords of `ShopEnv` that make the four scenarios, with its defaults: reported apart, so no rules here.
SCENARIO: Final = {"task_mode": "persona", "interaction_mode": "single_turn"}
_SHOWN: Final = 5
_MOST_TEXT: Final = 300
_MOST_NESTED: Final = 8
_UNPRINTABLE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Settings:
    """Rules (`release`, `versions`, `environment` without the scenario), scenario, and what is measured.

    Texts are bounded and cleaned. None is what nothing says.
    """

    release: str | None
    versions: Mapping[str, Any]
    environment: Mapping[str, Any]
    scenario: tuple[str, ...]
    model: Any
    prompt: Any

    def rules(self) -> dict[str, Any]:
        """Dotted name to value of everything that must be equal."""
        return {
            "release": self.release,
            **_flat("versions", self.versions),
            **_flat("environment", self.environment),
        }

    def subject(self) -> dict[str, Any]:
        """Dotted name to value of what is measured."""
        return {**_flat("model", self.model), **_flat("prompt", self.prompt)}


def settings_of(about: Mapping[str, Any]) -> Settings:
    """Settings of a plan, or of the provenance and environment of an episode."""
    told = about.get("environment")
    environment = table(described(table(told)))
    known = isinstance(told, dict)
    scenario = tuple(
        str(environment.pop(name, default)) if known else UNKNOWN for name, default in SCENARIO.items()
    )
    if environment.get("max_actions") == ACTION_LIMITS.get(scenario[1]):
        environment.pop("max_actions", None)  # follows from the scenario
    return Settings(
        release=short(text(about.get("release"))) or None,
        versions=table(described(table(about.get("versions")))),
        environment=environment,
        scenario=scenario,
        model=described(about.get("model")),
        prompt=described(about.get("prompt")),
    )


def agreed(planned: Settings | None, played: Iterable[Settings]) -> Settings:
    """The settings of a run: those that all its episodes share, completed by the plan.

    Raises:
        UsageError: episodes differ from each other or from the plan (code `mixed_run`).
    """
    distinct: dict[str, Settings] = {}
    for settings in played:
        distinct.setdefault(compact_json([settings.rules(), settings.subject()]), settings)
    found = list(distinct.values())
    first = found[0] if found else planned
    if first is None:
        return settings_of({})
    odd = [line for other in found[1:] for line in _between(first, other, "one episode", "another")]
    if planned is not None:
        said = {name: value for name, value in planned.rules().items() if value is not None}
        odd += _unlike(said, {name: first.rules().get(name) for name in said}, "the plan", "the episodes")
    if odd:
        raise UsageError(
            "expected one run under the same rules, found " + shown(odd) + "; evaluate such episodes apart",
            code="mixed_run",
        )
    if planned is None:
        return first
    return Settings(
        release=first.release or planned.release,
        versions=first.versions or planned.versions,
        environment=first.environment or planned.environment,
        scenario=planned.scenario if UNKNOWN not in planned.scenario else first.scenario,
        model=planned.model if planned.model is not None else first.model,
        prompt=planned.prompt if planned.prompt is not None else first.prompt,
    )


def rule_differences(first: Settings, second: Settings) -> list[str]:
    """Rules that two runs do not share, as `name: value in A, value in B`."""
    return _unlike(first.rules(), second.rules(), "A", "B")


def subject_differences(first: Settings, second: Settings) -> list[str]:
    """Model and prompt settings that two runs do not share."""
    return _unlike(first.subject(), second.subject(), "A", "B")


def shown(lines: list[str], most: int = _SHOWN) -> str:
    """At most so many lines as one text."""
    more = len(lines) - most
    return "; ".join(lines[:most]) + (f"; and {more} more" if more > 0 else "")


def _between(first: Settings, second: Settings, one: str, other: str) -> list[str]:
    return _unlike({**first.rules(), **first.subject()}, {**second.rules(), **second.subject()}, one, other)


def _unlike(first: Mapping[str, Any], second: Mapping[str, Any], one: str, other: str) -> list[str]:
    names = sorted(first.keys() | second.keys())
    return [
        f"{name}: {_value(first, name)} in {one}, {_value(second, name)} in {other}"
        for name in names
        if first.get(name) != second.get(name)
    ]


def _value(values: Mapping[str, Any], name: str) -> str:
    found = values.get(name)
    return "nothing" if found is None else compact_json(found)


def _flat(name: str, value: Any) -> dict[str, Any]:
    """Leaves by dotted name; lists are leaves."""
    if not isinstance(value, Mapping):
        return {name: value}
    flat: dict[str, Any] = {}
    for key, item in value.items():
        flat.update(_flat(f"{name}.{key}", item))
    return flat


def described(value: Any, left: int = _MOST_NESTED) -> Any:
    """A JSON value as a card may show it: texts cleaned, long ones by their hash, nothing nested deeply."""
    if isinstance(value, str):
        return value if value.isprintable() and len(value) <= _MOST_TEXT else _long(value)
    if isinstance(value, (dict, list)) and not left:
        return "…"
    if isinstance(value, dict):
        return {short(str(key)): described(item, left - 1) for key, item in sorted(value.items())}
    if isinstance(value, list):
        return [described(item, left - 1) for item in value]
    return value


def short(value: str) -> str:
    """Cleaned text of at most 300 characters."""
    return cleaned(value)[:_MOST_TEXT]


def cleaned(value: str) -> str:
    """Text without what cannot be written as UTF-8 or turns the text around it: controls, half surrogates."""
    return _UNPRINTABLE.sub("\ufffd", value)


def _long(value: str) -> Any:
    text_ = cleaned(value)
    if len(text_) <= _MOST_TEXT:
        return text_
    return {"characters": len(text_), "sha256": sha256_text(text_)}
