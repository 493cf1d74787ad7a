"""Typed models of `configs/datasets/*.toml` and `configs/annotation.toml`; unknown keys are refused.

No Dagster, no reading at import. Values of keys that are secrets never stand here, only the names of their
environment variables.
"""

import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pipelines.errors import ConfigError

Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
FROM_CACHE = "cache"
# What an ad hoc product file is in and how its titles are read, unless somebody says otherwise.
PRODUCTS_CURRENCY, PRODUCTS_TAGGER = "USD", "literal"
DATASET_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


_Settings = TypeVar("_Settings", bound=_Model)


class SourceBound(_Model):
    """Half-open range of raw product indices of one source split; `persona` None takes both kinds."""

    start: int = Field(ge=0)
    stop: int = Field(ge=0)
    persona: bool | None = None


class ProjectSplits(_Model):
    """Persona split policy: sizes in tasks, or None for the published proportions (400 of 4,526 each)."""

    seed: int = 20260829
    validation_size: int | None = Field(default=None, ge=0)
    test_size: int | None = Field(default=None, ge=0)
    held_out_max_group_size: int = Field(default=20, ge=1)
    test_excluded_task_ids: tuple[int, ...] = ()


class Expected(_Model):
    """Counts that a pinned data set must reach; None is not checked."""

    products: int | None = None
    tasks: int | None = None
    persona_tasks: int | None = None
    excluded_products: int | None = None
    active_products: int | None = None
    active_persona_tasks: int | None = None
    active_standard_tasks: int | None = None
    set_aside_rows: int | None = None
    exclusions_sha256_crlf: Digest | None = None
    source_splits_sha256_crlf: Digest | None = None


class FileHashes(_Model):
    """SHA-256 of one published file, with LF and with CRLF line ends; None is not compared."""

    lf: Digest | None = None
    crlf: Digest | None = None


class Published(_Model):
    """Figures of an earlier public release, compared with a build one by one; a difference stops nothing.

    `manifest` and `grouping` hold keys of the published cleaned and split manifests, `files` the hashes of
    published files by name, `source_splits` the number of tasks, `project_splits` keys of each split.
    """

    manifest: dict[str, int | str | tuple[int, ...] | dict[str, int]] = {}
    files: dict[str, FileHashes] = {}
    source_splits: dict[str, int] = {}
    project_splits: dict[str, dict[str, int | Digest]] = {}
    grouping: dict[str, int] = {}


class Baseline(_Model):
    """Splits whose search baseline is measured, and floors of Recall@150 below which a build fails."""

    splits: tuple[str, ...] = ("source/standard_eval", "project/test")
    floor_simple: float = Field(default=0.0, ge=0, le=1)
    floor_full: float = Field(default=0.0, ge=0, le=1)


Digits = Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+$")]


class PublishedFigures(_Model):
    """Figures as they were published, digit by digit: recall in per cent, MRR@150."""

    recall_1: Digits
    recall_20: Digits
    recall_150: Digits
    mrr: Digits


class PublishedBaseline(_Model):
    """A published search baseline: reported beside the measured one, digit by digit; stops no build."""

    split: str
    tasks: int = Field(ge=0)
    instruction_simple: PublishedFigures
    instruction: PublishedFigures


class AnnotatorSettings(_Model):
    """Who made a recorded audit file; the file itself does not say."""

    model: str = "not recorded"
    api_url: str = "not recorded"
    prompt_sha256: str = "not recorded"


class ReannotationSettings(_Model):
    """The weekly schedule: which data set, how many instructions a run may ask, whether it may pay at all."""

    cron: str = "0 3 * * 1"
    dataset: str = "paper"
    max_requests: int = Field(default=200, ge=1)
    confirm_paid_api: bool = False


class AnnotationSettings(_Model):
    """The paid endpoint and its limits; defaults are the seed's.

    Times are seconds. `window_s` is the minute that `requests_per_minute` speaks of and `window_margin_s`
    what is added to it, so that the limit holds at the server too. `expires_days` None: answers never expire.
    Prices are per million tokens; None: no cost is estimated.
    """

    base_url: str = Field(default="https://api.siliconflow.cn/v1", pattern=r"^https?://[^\s@?#]+$")
    model: str = Field(default="Qwen/Qwen3.5-27B", min_length=1)
    api_key_env: str = Field(default="SILICONFLOW_API_KEY", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")
    extra_body: dict[str, Any] = {"enable_thinking": False}
    max_output_tokens: int = Field(default=128, ge=1)
    timeout_s: float = Field(default=120, gt=0)
    workers: int = Field(default=32, ge=1)
    requests_per_minute: int = Field(default=32, ge=1)
    window_s: float = Field(default=60, ge=0.1)
    window_margin_s: float = Field(default=2, ge=0)
    cooldown_s: float = Field(default=65, ge=0)
    longest_wait_s: float = Field(default=600, gt=0)
    rate_limit_retries: int = Field(default=20, ge=0)
    retries: int = Field(default=5, ge=0)
    backoff_s: float = Field(default=1, ge=0)
    backoff_max_s: float = Field(default=30, ge=0)
    failures_in_a_row: int = Field(default=20, ge=1)
    max_requests: int | None = Field(default=None, ge=1)
    expires_days: float | None = Field(default=None, gt=0)
    input_price: float | None = Field(default=None, ge=0)
    output_price: float | None = Field(default=None, ge=0)
    currency: str = "CNY"
    reannotation: ReannotationSettings = ReannotationSettings()

    @property
    def api_url(self) -> str:
        """The URL that requests go to, as answers and manifests record it."""
        return f"{self.base_url.rstrip('/')}/chat/completions"

    def cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """What that many tokens cost in `currency`, None without configured prices."""
        if self.input_price is None or self.output_price is None:
            return None
        return (input_tokens * self.input_price + output_tokens * self.output_price) / 1e6


class DatasetSettings(_Model):
    """One data set: where its archive is, what it must contain, how it is split.

    Paths are relative to the repository root. With `source = "products"` the archive is a product file
    (parquet, JSON lines, JSON). `currency` is the ISO code of all prices. `archive_sha256` None means ad hoc:
    the hash is recorded, not pinned. With `cleaned_manifest` the archive is a cleaned one, and
    `archive_sha256` is the hash of the raw archive that the manifest names. `source_splits` empty means: by
    `tag` and persona. `annotations` is a recorded file; None or "cache" takes the answers that
    `shopsim annotate` bought.
    """

    name: str
    archive: str
    source: Literal["archive", "products"] = "archive"
    currency: Currency = "CNY"
    archive_sha256: Digest | None = None
    cleaned_manifest: str | None = None
    annotations: str | None = None
    annotator: AnnotatorSettings = AnnotatorSettings()
    licence: str = "not stated"
    tagger: str = "rjieba"
    lenient: bool = False
    runtime_regex_task_ids: tuple[int, ...] | Literal["all"] = ()
    source_splits: dict[str, SourceBound] = {}
    project_splits: ProjectSplits = ProjectSplits()
    expected: Expected = Expected()
    published: Published = Published()
    baseline: Baseline = Baseline()
    published_baseline: PublishedBaseline | None = None

    @model_validator(mode="after")
    def _one_source(self) -> "DatasetSettings":
        if self.source == "products" and self.cleaned_manifest is not None:
            raise ValueError("cleaned_manifest: expected none beside source = 'products'")
        return self

    @property
    def recorded_annotations(self) -> str | None:
        """Path of the recorded annotation file, None when answers come from the cache."""
        return None if self.annotations == FROM_CACHE else self.annotations


def configured_datasets(configs: Path) -> list[str]:
    """Names of the data sets that have a configuration."""
    return sorted(path.stem for path in (configs / "datasets").glob("*.toml"))


def load_dataset(configs: Path, name: str) -> DatasetSettings:
    """Reads `configs/datasets/NAME.toml`.

    Raises:
        ConfigError: no such data set, or a key that does not fit, by name.
    """
    path = configs / "datasets" / f"{name}.toml"
    if name not in configured_datasets(configs):
        raise ConfigError(
            f"data set {name!r}: expected one of {configured_datasets(configs)}, "
            "or `--raw FILE` for an ad hoc one",
            code="unknown_dataset",
        )
    return _read(path, DatasetSettings)


def load_annotation(path: Path) -> AnnotationSettings:
    """Reads `configs/annotation.toml` or another file of its form; a missing file means the defaults.

    Raises:
        ConfigError: a key that does not fit, by name.
    """
    return _read(path, AnnotationSettings) if path.is_file() else AnnotationSettings()


def _read(path: Path, model: type[_Settings]) -> _Settings:
    try:
        return model.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (ValidationError, ValueError) as error:
        raise ConfigError(f"{path}: {error}") from error


def adhoc_dataset(name: str, archive: Path, *, products: bool = False) -> DatasetSettings:
    """Settings for an archive without a configuration: nothing pinned, published proportions.

    Args:
        name: Name of the data set.
        archive: Its file.
        products: The file is a product file, its prices are in dollars, its titles are tagged by letters.

    Raises:
        ConfigError: a name that is no plain folder name.
    """
    if not DATASET_NAME.fullmatch(name):
        raise ConfigError(f"data set name: expected {DATASET_NAME.pattern}, found {name!r}")
    if products:
        return DatasetSettings(
            name=name,
            archive=str(archive),
            source="products",
            currency=PRODUCTS_CURRENCY,
            tagger=PRODUCTS_TAGGER,
        )
    return DatasetSettings(name=name, archive=str(archive))
