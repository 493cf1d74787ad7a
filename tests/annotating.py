"""A paid annotation run against the stub, with every waiting time scaled down; kept apart from the tests."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipelines.resources.annotation_run import AnnotationJob
from pipelines.settings import AnnotationSettings

KEY_NAME = "SHOPSIM_TEST_KEY"
KEY = "secret-of-the-tests-417"
ARCHIVE = "a" * 64
# A minute of 0.5 s; everything else in proportion.
FAST: Mapping[str, Any] = {
    "model": "m",
    "api_key_env": KEY_NAME,
    "timeout_s": 30,
    "workers": 8,
    "requests_per_minute": 100,
    "window_s": 0.5,
    "window_margin_s": 0.1,
    "cooldown_s": 0.3,
    "backoff_s": 0.01,
    "backoff_max_s": 0.05,
}


def fast_settings(base_url: str, **changes: Any) -> AnnotationSettings:
    """Settings for the stub at `base_url`."""
    return AnnotationSettings.model_validate({**FAST, "base_url": base_url, **changes})


def settings_file(path: Path, base_url: str, **changes: Any) -> Path:
    """The same settings as a file for `--config`."""
    values = {**FAST, "base_url": base_url, **changes}
    path.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items()))
    return path


def job_of(folder: Path, settings: AnnotationSettings, tasks: Any, **changes: Any) -> AnnotationJob:
    """The job of `tasks` with its cache below `folder`."""
    return AnnotationJob(settings, folder / "cache" / "answers.jsonl", ARCHIVE, tasks, **changes)
