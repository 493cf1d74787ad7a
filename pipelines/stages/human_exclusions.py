"""Exclusions by hand: `configs/exclusions/*.toml`, read, checked and resolved against the source.

Belongs here: what a list may say and what it means for products and tasks. The rows that follow from it are
made in `price_axes` (products) and `task_ids` (tasks). Source: contract 7.20.
"""

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pipelines.errors import ConfigError, DatasetError
from shopsim_env.canonical import compact_json, sha256_text

# The reason of such products in the exclusion list and of such tasks in the release; also an audit code.
HUMAN_EXCLUSION = "human_exclusion"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class Exclusion(_Model):
    """One entry: a product (`asin`) or a single task (`task`), why, and who says so."""

    asin: str | None = Field(default=None, min_length=1)
    task: int | None = Field(default=None, ge=0, strict=True)
    reason: str = Field(min_length=1)
    author: str = Field(min_length=1)

    @model_validator(mode="after")
    def _one_target(self) -> "Exclusion":
        if (self.asin is None) == (self.task is None):
            raise ValueError("expected either asin or task, found both or neither")
        return self

    @property
    def target(self) -> str:
        """What is excluded, in words."""
        return f"asin {self.asin}" if self.asin is not None else f"task {self.task}"


class _File(_Model):
    dataset: str = Field(min_length=1)
    version: str = Field(min_length=1)
    exclude: tuple[Exclusion, ...]


@dataclass(frozen=True, slots=True)
class HumanExclusions:
    """Everything that the lists of one data set say; `versions` is list file to its version."""

    versions: Mapping[str, str]
    entries: tuple[Exclusion, ...]

    @property
    def asins(self) -> frozenset[str]:
        """Products that leave the catalogue."""
        return frozenset(entry.asin for entry in self.entries if entry.asin is not None)

    @property
    def tasks(self) -> frozenset[int]:
        """Tasks that are set aside alone."""
        return frozenset(entry.task for entry in self.entries if entry.task is not None)

    def as_document(self) -> dict[str, Any]:
        """The artifact: versions and entries, products first, in code point and number order."""
        ordered = sorted(self.entries, key=lambda entry: (entry.asin is None, entry.asin or "", entry.task))
        rows = [entry.model_dump(mode="json", exclude_none=True) for entry in ordered]
        return {"versions": dict(sorted(self.versions.items())), "exclude": rows}

    def sha256(self) -> str:
        """Hash of the entries; the same for the same entries in any order and file."""
        return sha256_text(compact_json(self.as_document()["exclude"]))

    def document_sha256(self) -> str:
        """Hash of everything, names and versions of the lists among it: whether a list was touched at all."""
        return sha256_text(compact_json(self.as_document()))

    def identity(self) -> dict[str, Any]:
        """What a release manifest says of the lists: versions, number of entries, hash; no entry."""
        return {"versions": dict(self.versions), "entries": len(self.entries), "sha256": self.sha256()}


def load_exclusions(configs: Path, dataset: str) -> HumanExclusions:
    """Reads every list below `configs/exclusions` and returns what is meant for `dataset`.

    Raises:
        ConfigError: A file or an entry that does not fit, by file and number (code `exclusions_invalid`).
    """
    versions: dict[str, str] = {}
    entries: dict[str, Exclusion] = {}
    for path in sorted((configs / "exclusions").glob("*.toml")):
        listed = _read(path)
        if listed.dataset != dataset:
            continue
        versions[path.name] = listed.version
        for number, entry in enumerate(listed.exclude, start=1):
            if entry.target in entries:
                raise _invalid(path, f"entry {number}: {entry.target} is listed already")
            entries[entry.target] = entry
    return HumanExclusions(versions, tuple(entries.values()))


def read_document(document: Mapping[str, Any]) -> HumanExclusions:
    """The lists as `as_document` wrote them."""
    entries = tuple(Exclusion.model_validate(row) for row in document["exclude"])
    return HumanExclusions(document["versions"], entries)


def check_targets(exclusions: HumanExclusions, asins: Collection[str], task_count: int) -> None:
    """Refuses an entry that names nothing: a slip of the pen would exclude nothing without a word.

    Args:
        exclusions: The lists of one data set.
        asins: Every product of the source, also those that other rules exclude.
        task_count: Tasks of the source; their ids are 0 to `task_count` - 1.

    Raises:
        DatasetError: The entries, up to ten (code `unknown_exclusion`).
    """
    unknown = [f"asin {asin}" for asin in sorted(exclusions.asins - set(asins))]
    unknown += [f"task {task}" for task in sorted(exclusions.tasks) if task >= task_count]
    if unknown:
        raise DatasetError(
            f"{', '.join(sorted(exclusions.versions))}: expected products and tasks of the archive, found "
            f"{len(unknown)} others: {', '.join(unknown[:10])}",
            code="unknown_exclusion",
        )


def _read(path: Path) -> _File:
    try:
        return _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except ValidationError as error:
        problems = "; ".join(_problem(dict(problem)) for problem in error.errors()[:3])
        raise _invalid(path, problems) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _invalid(path, f"expected TOML in UTF-8: {error}") from None


def _problem(problem: Mapping[str, Any]) -> str:
    place = list(problem["loc"])
    if len(place) > 1 and place[0] == "exclude":
        return f"entry {place[1] + 1}{''.join(f', {name}' for name in place[2:])}: {problem['msg']}"
    return f"{'.'.join(map(str, place))}: {problem['msg']}"


def _invalid(path: Path, problem: str) -> ConfigError:
    return ConfigError(
        f"{path}: {problem}; an entry has asin or task, reason and author", code="exclusions_invalid"
    )
