"""What an asset or a check looked at while it ran: settings, artifacts, and inputs outside the store.

Nobody declares it, so nothing can be forgotten: settings and outer inputs reach a stage only through its
workspace, which notes each one with a digest. A later run compares the notes with the present
(`pipelines.resources.memo`). No decision is made here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pipelines.settings import DatasetSettings
from shopsim_env.canonical import compact_json, sha256_text

# Where files lie decides nothing; what they hold is an outer input.
_PLACES = ("archive", "cleaned_manifest", "annotations")


@dataclass
class Reads:
    """Name -> digest of what was read: values of settings, files of artifacts, contents of outer inputs."""

    settings: dict[str, str] = field(default_factory=dict)
    artifacts: dict[str, str] = field(default_factory=dict)
    outside: dict[str, str] = field(default_factory=dict)


def setting_digests(settings: DatasetSettings) -> dict[str, str]:
    """Field -> SHA-256 of its value, for every setting that decides something."""
    values: Mapping[str, Any] = settings.model_dump(mode="json")
    return {name: sha256_text(compact_json(value)) for name, value in values.items() if name not in _PLACES}


class _Noted:
    """Stands for the settings of a run and notes each field that is asked for."""

    def __init__(self, settings: DatasetSettings, reads: Reads) -> None:
        self._settings, self._reads = settings, reads
        self._digests = setting_digests(settings)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._settings, name)
        if name in self._digests:
            self._reads.settings[name] = self._digests[name]
        elif name in DatasetSettings.model_fields:
            raise AttributeError(f"settings.{name}: ask the workspace for the file, so that it is noted")
        return value


def noted(settings: DatasetSettings, reads: Reads) -> DatasetSettings:
    """`settings`, noting in `reads` each field that is read."""
    return cast(DatasetSettings, _Noted(settings, reads))
