"""Which figures of an earlier public release a build reproduces, one by one.

Belongs here: the comparison. The figures are in the data set's configuration, the files are those that a
release exports. Source: prior art sections 2.3 and 5; line ends as in docs/decisions/0003-crlf-hashes.md.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.settings import Published
from pipelines.stages.clean_manifest import published_form
from pipelines.stages.published_json import PublishedJson, read_json

CLEAN_MANIFEST = "clean_dataset_manifest.v2.json"
SOURCE_SPLITS = "task_splits.cleaned.v2.json"
PERSONA_SPLITS = "persona_splits.v1.json"
OK = "ok"
DIFFERS = "differs"
# The JSON inside is the published one; only the packed bytes differ, which depend on the machine's zlib.
PACKING = "packing"
NOT_BUILT = "not built"


@dataclass(frozen=True, slots=True)
class Figure:
    """One published figure: where it stands, what was published, what this build has, and the verdict."""

    name: str
    expected: Any
    found: Any
    status: str

    @property
    def failed(self) -> bool:
        """Whether the figure is not reproduced."""
        return self.status in (DIFFERS, NOT_BUILT)


def compare_figures(published: Published, files: Mapping[str, Path]) -> list[Figure]:
    """Compares every configured figure with the exported files.

    Args:
        published: What was published.
        files: Published file name to the file of this build; one that is not there was not built.

    Returns:
        The figures in the order of the configuration.
    """
    if published == Published():
        return []
    documents = {name: read_json(path) for name, path in files.items() if path.suffix == ".json"}
    found = _Found(documents, published)
    return [*found.manifest(), *found.files(), *found.splits()]


class _Found:
    """The documents of a build in their published form, as they are and as if packed by the earlier zlib."""

    def __init__(self, documents: Mapping[str, Any], published: Published) -> None:
        self._published = published
        self._forms = _forms(documents, {})
        recorded = published.manifest.get("output_archive_sha256")
        same_data = published.manifest.get("output_data_sha256") == self._key("output_data_sha256")
        repacked = {"output_archive_sha256": recorded} if recorded and same_data else {}
        self._repacked = _forms(documents, repacked)

    def _key(self, name: str) -> Any:
        return self._forms.get(CLEAN_MANIFEST, {}).get(name)

    def manifest(self) -> Iterator[Figure]:
        """Keys of the cleaned manifest; counts by kind one by one."""
        for name, value in self._published.manifest.items():
            parts = value if isinstance(value, dict) else {"": value}
            for part, expected in parts.items():
                place = (CLEAN_MANIFEST, name, part) if part else (CLEAN_MANIFEST, name)
                yield self._figure(place, list(expected) if isinstance(expected, tuple) else expected)

    def files(self) -> Iterator[Figure]:
        """Hashes of whole files."""
        for name, hashes in self._published.files.items():
            for ends, expected in (("LF", hashes.lf), ("CRLF", hashes.crlf)):
                if expected is not None:
                    found = (_hash(forms, name, ends) for forms in (self._forms, self._repacked))
                    yield _judged(f"{name}: sha256 with {ends} ends", expected, *found)

    def splits(self) -> Iterator[Figure]:
        """Sizes, hashes and groups of the splits."""
        for name, expected in self._published.source_splits.items():
            split = _at(self._forms, (SOURCE_SPLITS, "splits", name, "task_ids"))
            found = None if split is None else len(split)
            yield _judged(f"{SOURCE_SPLITS}: {name}: tasks", expected, found, found)
        for name, values in self._published.project_splits.items():
            for key, value in values.items():
                yield self._figure((PERSONA_SPLITS, "splits", name, key), value)
        for key, number in self._published.grouping.items():
            yield self._figure((PERSONA_SPLITS, "grouping", key), number)

    def _figure(self, place: tuple[str, ...], expected: Any) -> Figure:
        found = (_at(forms, place) for forms in (self._forms, self._repacked))
        return _judged(f"{place[0]}: {'.'.join(place[1:])}", expected, *found)


def _forms(documents: Mapping[str, Any], repacked: Mapping[str, Any]) -> dict[str, Any]:
    """The documents as the earlier release wrote them; our files hold a few keys more."""
    forms = dict(documents)
    if CLEAN_MANIFEST in forms:
        forms[CLEAN_MANIFEST] = published_form(forms[CLEAN_MANIFEST]) | dict(repacked)
        if PERSONA_SPLITS in forms:
            forms[PERSONA_SPLITS] = published_splits(forms[PERSONA_SPLITS], forms[CLEAN_MANIFEST])
    return forms


def published_splits(splits: Mapping[str, Any], manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The split manifest as the earlier release wrote it.

    Args:
        splits: Our `persona_splits.v1.json`.
        manifest: The cleaned manifest in its published form, whose hash stands in the splits.
    """
    source = dict(splits["source"])
    crlf = source.pop("source_split_manifest_crlf_sha256")
    source.pop("clean_dataset_manifest_crlf_sha256")
    source |= {
        "source_split_manifest_sha256": crlf,
        "clean_dataset_manifest_sha256": PublishedJson.of(manifest).crlf_sha256,
        "cleaned_archive_sha256": manifest["output_archive_sha256"],
    }
    return {**splits, "source": source}


def _hash(forms: Mapping[str, Any], name: str, ends: str) -> str | None:
    if name not in forms:
        return None
    document = PublishedJson.of(forms[name])
    return document.sha256 if ends == "LF" else document.crlf_sha256


def _at(forms: Mapping[str, Any], place: tuple[str, ...]) -> Any:
    value: Any = forms
    for name in place:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _judged(name: str, expected: Any, found: Any, repacked: Any) -> Figure:
    if found is None:
        return Figure(name, expected, found, NOT_BUILT)
    if found == expected:
        return Figure(name, expected, found, OK)
    return Figure(name, expected, found, PACKING if repacked == expected else DIFFERS)
