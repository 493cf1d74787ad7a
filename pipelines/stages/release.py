"""Composes a release from finished artifacts and puts it in place.

Everything is written to a staging folder, hashed, opened and verified there; the manifest comes last and the
folder is renamed as one. Belongs here: files of a release and their order. Table definitions, ids and
verification are the runtime's (`shopsim_env.release`). No rule about products or tasks.
"""

import os
import platform
import shutil
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.stages.evidence import Evidence, write_evidence
from pipelines.stages.playable import PlayableParts, write_playable
from pipelines.stages.published_json import read_json
from pipelines.stages.witness_report import summarise_witnesses
from pipelines.stages.witnesses import read_witnesses
from shopsim_env.canonical import pretty_json, sha256_file
from shopsim_env.errors import ReleaseError
from shopsim_env.release import layout
from shopsim_env.release.manifest import manifest_bytes, read_manifest, release_id
from shopsim_env.release.placing import put_in_place, restore_retired
from shopsim_env.release.verify import verify_content, verify_files
from shopsim_env.sqlite import open_readonly
from shopsim_env.versions import RELEASE_SCHEMA_VERSION, component_versions

CURRENT = "current"

# Exported file -> the stage that wrote it, byte for byte.
EXPORTS = {
    layout.CLEANED_EXPORT: "cleaned_v2",
    layout.CLEAN_MANIFEST_EXPORT: "clean_manifest",
    layout.EXCLUSIONS_EXPORT: "price_axis_exclusions",
    layout.SOURCE_SPLITS_EXPORT: "source_splits",
    layout.ANNOTATIONS_EXPORT: "price_annotations",
    layout.PERSONA_SPLITS_EXPORT: "persona_splits",
}
# The same by the name under which the earlier release published the file.
PUBLISHED_NAMES = {Path(name).name: asset for name, asset in EXPORTS.items()}
# Every file that one stage wrote; the others are composed by the release itself.
_WRITERS = {
    **EXPORTS,
    layout.CATALOG: "search_index",
    layout.SEARCH_ARRAYS: "search_arrays",
    layout.WITNESSES: "witnesses",
    layout.RLVE: "rlve_world",
}


@dataclass(frozen=True, slots=True)
class ReleaseParts:
    """Verified artifact files and facts that make up one release."""

    playable: PlayableParts
    tagger: Mapping[str, str]
    witnesses: Path
    world: Path
    metrics: Mapping[str, Any]
    marks: Mapping[int, Sequence[str]]
    evidence: Evidence
    exports: Mapping[str, Path]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a release comes from; none of it enters the release id."""

    dataset: str
    licence: str
    currency: str
    assets: Mapping[str, Any]
    tools: Mapping[str, str]
    human_exclusions: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReleaseReport:
    """A published release: folder, id, SHA-256 of its manifest, counts, size in bytes."""

    path: Path
    id: str
    manifest_sha256: str
    counts: Mapping[str, int]
    bytes: int
    files: int


def tool_versions(**extra: str) -> dict[str, str]:
    """Versions of what wrote the bytes; recorded beside the id, not in it."""
    tools = {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "machine": platform.machine(),
    }
    return dict(sorted({**tools, **extra}.items()))


def publish_release(
    parts: ReleaseParts,
    provenance: Provenance,
    *,
    root: Path,
    out: Path | None = None,
    force: bool = False,
    confirm: Callable[[], None] | None = None,
) -> ReleaseReport:
    """Writes, verifies and publishes a release.

    Args:
        parts: What goes in.
        provenance: Where it comes from.
        root: Folder of the data set's releases; the release goes to `root/ID-MANIFEST` and the link
            `root/current` is moved to it.
        out: Exact folder instead, without a link.
        force: Allow `out` to replace another release; a damaged copy of this very one is always replaced.
        confirm: Called when the release is staged and verified, before it is put in place; raises to stop.

    Raises:
        UsageError: `out` holds something else and may not be replaced.
        ReleaseError: the staged release does not verify; nothing is published.
    """
    parent = root if out is None else out.parent
    parent.mkdir(parents=True, exist_ok=True)
    if out is not None:
        restore_retired(out)
    staging = parent / f".building-{os.getpid()}"
    shutil.rmtree(staging, ignore_errors=True)
    try:
        report = _stage(parts, provenance, staging)
        final = out or root / f"{report.id[:16]}-{report.manifest_sha256[:8]}"
        if confirm is not None:
            confirm()
        # A folder under `root` is named by its manifest: another one there is a damaged copy.
        _put_in_place(staging, final, report.manifest_sha256, force or out is None)
        if out is None:
            _point_current(root, final.name)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return ReleaseReport(final, report.id, report.manifest_sha256, report.counts, report.bytes, report.files)


def _stage(parts: ReleaseParts, provenance: Provenance, staging: Path) -> ReleaseReport:
    counts = _write_files(parts, staging)
    content = layout.logical_content(staging)
    components = component_versions()
    names = sorted(path.relative_to(staging).as_posix() for path in staging.rglob("*") if path.is_file())
    payload = {
        "schema_version": RELEASE_SCHEMA_VERSION,
        "id": release_id(components, parts.tagger, content),
        "dataset": provenance.dataset,
        "licence": provenance.licence,
        "currency": provenance.currency,
        "public_copy": False,
        "absent_files": [],
        "components": components,
        "tagger": dict(parts.tagger),
        "content": content,
        "counts": counts,
        "human_exclusions": dict(provenance.human_exclusions),
        "assets": dict(provenance.assets),
        "tools": dict(provenance.tools),
        "files": {name: _entry(staging, name) for name in names},
    }
    (staging / layout.MANIFEST).write_bytes(manifest_bytes(payload))
    manifest = read_manifest(staging)
    verify_files(staging, manifest)
    verify_content(staging, manifest)
    size = sum(entry.bytes for entry in manifest.files.values())
    manifest_sha = sha256_file(staging / layout.MANIFEST)
    return ReleaseReport(staging, manifest.id, manifest_sha, counts, size, len(names) + 1)


def _write_files(parts: ReleaseParts, staging: Path) -> dict[str, int]:
    counts = write_playable(parts.playable, staging, parts.marks)
    write_evidence(staging / layout.EVIDENCE, parts.evidence)
    shares = summarise_witnesses(read_witnesses(parts.witnesses), parts.playable.splits)
    _write_text(staging / layout.METRICS, pretty_json({**parts.metrics, "witnesses": shares}))
    for name, source in {
        layout.WITNESSES: parts.witnesses,
        layout.RLVE: parts.world,
        **parts.exports,
    }.items():
        (staging / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, staging / name)
    cleaned = read_json(parts.exports[layout.CLEAN_MANIFEST_EXPORT])
    counts["runtime_budget_persona_tasks"] = cleaned["persona_runtime_regex_task_count"]
    with closing(open_readonly(staging / layout.CATALOG)) as connection:
        counts["products"] = int(connection.execute("SELECT count(*) FROM product").fetchone()[0])
    return dict(sorted(counts.items()))


def _entry(staging: Path, name: str) -> dict[str, Any]:
    path = staging / name
    return {
        "bytes": path.stat().st_size,
        "sha256": sha256_file(path),
        "visibility": layout.visibility(name),
        "stage": _WRITERS.get(name, "release"),
    }


def _write_text(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8"))


def is_intact(root: Path, folder: str, manifest_sha256: str) -> bool:
    """Whether `root/current` is this folder, with this manifest, and every file has the hash in it."""
    current = root / CURRENT
    if not current.is_symlink() or current.readlink() != Path(folder):
        return False
    manifest = root / folder / layout.MANIFEST
    whole = manifest.is_file() and sha256_file(manifest) == manifest_sha256
    return whole and _verifies(root / folder)


def _put_in_place(staging: Path, final: Path, manifest_sha256: str, force: bool) -> None:
    """Renames the staged folder to its place; the same release already there stays unless it is damaged."""
    present = final / layout.MANIFEST
    same = present.is_file() and sha256_file(present) == manifest_sha256
    if not (same and _verifies(final)):
        # What replaces a damaged copy has its manifest and whole files, so nothing of value is lost.
        put_in_place(staging, final, force=force or same)


def _verifies(folder: Path) -> bool:
    try:
        verify_files(folder, read_manifest(folder))
    except ReleaseError:
        return False
    return True


def _point_current(root: Path, name: str) -> None:
    """Moves the link `current` in one step, so that a reader sees the old release or the new one."""
    temporary = root / f".{CURRENT}-{os.getpid()}"
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(name)
    temporary.replace(root / CURRENT)
