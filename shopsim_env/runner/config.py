"""The file that describes a run: TOML, typed, nothing unknown in it.

Belongs here: sections, names, bounds, and what a model and a prompt are asked with. Keywords of the
environment are those of the server. No key or token ever stands in the file: it names a variable.
"""

import importlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from shopsim_env.errors import UsageError
from shopsim_env.rlve.environments import collection
from shopsim_env.runner.core import TOOL_KINDS
from shopsim_env.runner.prompts import LANGUAGES, PROMPTS, Prompt, prompt_of
from shopsim_env.runner.rlve_turns import RLVE_PROMPTS
from shopsim_env.server.bodies import ENVIRONMENT, MAX_WAIT_S
from shopsim_env.server.fields import Field, Flag, Number, Text, out_of_range, read_fields, wrong_type
from shopsim_env.server.problems import ProblemError
from shopsim_env.shop.options import EnvOptions, action_limit
from shopsim_env.strict_json import StrictJsonError, check_value

REASONING_FIELDS: Final = ("none", "reasoning_content", "reasoning")
_INT63: Final = 2**63 - 1
_MOST_SECONDS: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ids(Field):
    """A list of different numbers: task ids or levels."""

    def check(self, name: str, value: Any) -> tuple[int, ...]:
        """Integers from 0, none twice."""
        if not isinstance(value, list) or not all(type(item) is int and item >= 0 for item in value):
            raise wrong_type(name, "a list of integers from 0", value)
        if not value or len(set(value)) != len(value):
            raise out_of_range(name, "at least one, and none twice", value)
        return tuple(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names(Field):
    """A list of different texts."""

    def check(self, name: str, value: Any) -> tuple[str, ...]:
        """Texts, none twice."""
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise wrong_type(name, "a list of texts", value)
        if not value or len(set(value)) != len(value):
            raise out_of_range(name, "at least one, and none twice", value)
        return tuple(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Free(Field):
    """A table of anything that JSON holds."""

    def check(self, name: str, value: Any) -> dict[str, Any]:
        """A table."""
        if not isinstance(value, dict):
            raise wrong_type(name, "a table", value)
        try:
            check_value(value)
        except StrictJsonError as error:
            raise ProblemError(f"{name}: {error}", code=error.code) from error
        return value


SECTIONS: Final[dict[str, dict[str, Field]]] = {
    "run": {
        "name": Text(
            about="folder of the run",
            required=True,
            shortest=1,
            longest=100,
            pattern="[A-Za-z0-9][A-Za-z0-9_.-]*",
        ),
        "dir": Text(about="where run folders are, from the file's own folder", default="runs", shortest=1),
        "seed": Number(about="of the sample of tasks and of every episode", least=0, most=_INT63, default=0),
        "concurrency": Number(about="episodes at once", least=1, most=4_096, default=8),
        "stop_after_failures": Number(
            about="failed episodes in a row that stop the run", least=1, most=1_000_000, default=20
        ),
        "grace_s": Number(
            about="seconds that running episodes get after Ctrl-C",
            least=0,
            most=_MOST_SECONDS,
            default=5.0,
            whole=False,
        ),
    },
    "tasks": {
        "split": Text(about="tasks of a split", longest=200, nullable=True),
        "ids": _Ids(about="these tasks", nullable=True),
        "sample": Number(about="so many of them, drawn by the seed", least=1, most=10**9, nullable=True),
        "repeats": Number(about="episodes of each task", least=1, most=1_000, default=1),
    },
    "rlve": {
        "collection": Text(about="environments by the name of their collection", nullable=True),
        "environments": _Names(about="these environments", nullable=True),
        "difficulties": _Ids(about="levels d", required=True),
        "seeds": Number(about="episode keys of each environment and level", least=1, most=10**6, default=1),
        "first_seed": Number(about="the seeds are this one and the next", least=0, most=2**62, default=0),
        "language": Text(about="of customer and tools", choices=LANGUAGES, default="zh"),
        "repeats": Number(about="episodes of each key", least=1, most=1_000, default=1),
    },
    "environment": {
        "server": Text(about="address of a server; without it, episodes run in this process", nullable=True),
        "release": Text(about="release folder for episodes in this process", nullable=True),
        "wait_s": Number(
            about="seconds to wait for a slot", least=0, most=MAX_WAIT_S, default=600.0, whole=False
        ),
        **ENVIRONMENT,
    },
    "prompt": {
        "id": Text(about="a prompt of the package, or the name of your own", nullable=True, longest=100),
        "file": Text(about="your own system prompt", nullable=True),
        "language": Text(about="of your own prompt", choices=LANGUAGES, default="zh"),
        "tools": Text(about="schemas of each page, or fixed ones", choices=TOOL_KINDS, default="dynamic"),
        "text_beside_call": Flag(about="whether text may stand beside a call", default=True),
    },
    "model": {
        "name": Text(about="name of the model at the endpoint", required=True, shortest=1, longest=300),
        "base_url": Text(
            about="root of the API; never with a key in it",
            required=True,
            longest=1_000,
            pattern=r"https?://[^@\s?#]+",
        ),
        "api_key_env": Text(
            about="variable with the key", nullable=True, pattern="[A-Za-z_][A-Za-z0-9_]{0,200}"
        ),
        "temperature": Number(about="sampling", least=0, most=10, nullable=True, whole=False),
        "top_p": Number(about="sampling", least=0, most=1, nullable=True, whole=False),
        "max_tokens": Number(about="longest answer", least=1, most=10**9, nullable=True),
        "tool_choice": Text(about="as the endpoint has it", choices=("auto", "required"), default="auto"),
        "send_seed": Flag(about="whether to send the seed of each step", default=False),
        "reasoning_back": Text(
            about="field in which earlier reasoning goes back to the model",
            choices=REASONING_FIELDS,
            default="none",
        ),
        "extra_body": _Free(about="further members of a request", nullable=True),
        "stream": Flag(about="whether answers are streamed", default=False),
        "timeout_s": Number(
            about="seconds that an answer, or a piece of a stream, may take",
            least=0.001,
            most=_MOST_SECONDS,
            default=600.0,
            whole=False,
        ),
        "give_up_s": Number(
            about="seconds of failures in a row after which an episode fails",
            least=0,
            most=_MOST_SECONDS,
            default=600.0,
            whole=False,
        ),
        "trust_env": Flag(about="whether proxies of the environment are used", default=False),
    },
}
# Of a model: what an answer depends on. The rest is how it is reached, and may differ between sessions.
_SAMPLING: Final = (
    "name",
    "temperature",
    "top_p",
    "max_tokens",
    "tool_choice",
    "send_seed",
    "reasoning_back",
    "extra_body",
)


@dataclass(frozen=True, slots=True)
class RunConfig:
    """A run as its file describes it. `sections` are checked values with their defaults."""

    folder: Path
    release: Path | None
    prompt: Prompt
    sections: Mapping[str, Mapping[str, Any]]

    @property
    def rlve(self) -> Mapping[str, Any] | None:
        """The section `rlve`, with the environments of its collection; None for a run of the Shop."""
        return self.sections.get("rlve")

    @property
    def environment(self) -> dict[str, Any]:
        """All keywords of `ShopEnv`, none left to a default of somebody else; of RLVE, its options."""
        if self.rlve is not None:
            return {"language": self.rlve["language"], "strict": True}
        asked = {name: self.sections["environment"][name] for name in ENVIRONMENT}
        asked["max_actions"] = action_limit(asked["interaction_mode"], asked["max_actions"])
        return EnvOptions(**asked).as_dict()

    @property
    def sampling(self) -> dict[str, Any]:
        """What the answers of the model depend on."""
        return {name: self.sections["model"][name] for name in _SAMPLING}

    @property
    def prompt_facts(self) -> dict[str, Any]:
        """What the plan and every trace say about the prompt."""
        section = self.sections["prompt"]
        facts = {"id": self.prompt.id, "language": self.prompt.language, "sha256": self.prompt.sha256}
        if self.rlve is not None:
            return facts
        return {**facts, "tools": section["tools"], "text_beside_call": section["text_beside_call"]}


def read_config(path: str | Path) -> RunConfig:
    """The run that a file describes. Relative paths in it begin at its own folder.

    Raises:
        UsageError: no such file, no TOML (`invalid_toml`), an unknown, missing or wrong value; names it.
    """
    path = Path(path)
    values = _toml(path)
    try:
        odd = sorted(set(values) - set(SECTIONS))
        if odd:
            raise ProblemError(
                f"expected only the tables {list(SECTIONS)}, found {odd}", code="unknown_field"
            )
        wanted = [name for name in SECTIONS if name != ("tasks" if "rlve" in values else "rlve")]
        sections = {name: read_fields(SECTIONS[name], values.get(name, {}), name) for name in wanted}
        if "rlve" in values:
            _check_rlve(values)
            sections["rlve"] = _with_environments(sections["rlve"])
        _check_choices(sections)
    except ProblemError as error:
        raise UsageError(f"{path}: {error}", code=error.code) from error
    base = path.resolve().parent
    run, environment = sections["run"], sections["environment"]
    release = environment["release"]
    return RunConfig(
        folder=base / run["dir"] / run["name"],
        release=None if release is None else base / release,
        prompt=_prompt(sections["prompt"], base, sections.get("rlve")),
        sections=sections,
    )


def _check_choices(sections: Mapping[str, Mapping[str, Any]]) -> None:
    tasks, environment = sections.get("tasks"), sections["environment"]
    if tasks is not None and (tasks["split"] is None) == (tasks["ids"] is None):
        raise ProblemError("tasks: expected either split or ids", code="missing_field")
    if environment["server"] is not None and environment["release"] is not None:
        raise ProblemError("environment: expected either server or release, found both", code="out_of_range")


def _check_rlve(values: Mapping[str, Any]) -> None:
    """Refuses what belongs to the Shop in a run of RLVE, rather than ignore it."""
    odd = ["tasks"] if "tasks" in values else []
    odd += [f"environment.{name}" for name in values.get("environment", {}) if name in ENVIRONMENT]
    odd += [f"prompt.{name}" for name in values.get("prompt", {}) if name in ("tools", "text_beside_call")]
    if odd:
        raise ProblemError(
            f"rlve: expected a run of RLVE alone, found {odd} of the Shop", code="unknown_field"
        )


def _with_environments(section: Mapping[str, Any]) -> dict[str, Any]:
    given = [section[name] for name in ("collection", "environments") if section[name] is not None]
    if len(given) != 1:
        raise ProblemError("rlve: expected either collection or environments", code="missing_field")
    return {**section, "environments": collection(given[0])}


def _toml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise UsageError(f"expected the file of a run at {path}, found none", code="no_config")
    reader = _toml_reader()
    try:
        found: dict[str, Any] = reader.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        # The text of a line may be a key that somebody pasted; its place is enough.
        place = re.search(r"\(at [^)]*\)", str(error))
        where = place[0] if place else "(no UTF-8)"
        raise UsageError(
            f"{path}: expected TOML, found something else {where}", code="invalid_toml"
        ) from None
    return found


def _toml_reader() -> Any:
    for name in ("tomllib", "tomli"):
        try:
            return importlib.import_module(name)
        except ImportError:  # noqa: PERF203
            continue
    raise UsageError("Python 3.10 needs tomli; install 'shopsim[run]'", code="missing_extra")


def _prompt(section: Mapping[str, Any], base: Path, rlve: Mapping[str, Any] | None) -> Prompt:
    known = PROMPTS if rlve is None else RLVE_PROMPTS
    name = section["id"] or ("zh-v1" if rlve is None else f"rlve-{rlve['language']}-v1")
    if section["file"] is None:
        return prompt_of(name, known)
    if name in (*PROMPTS, *RLVE_PROMPTS):
        raise UsageError(
            f"prompt.id: expected a name of your own beside prompt.file, found {name!r}",
            code="unknown_prompt",
        )
    path = base / section["file"]
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"prompt.file: expected UTF-8 text at {path}, found none") from error
    return Prompt(name, section["language"], text)
