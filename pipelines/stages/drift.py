"""Files that are no longer what was written: artifacts of a data set and its current release, hashed anew.

Belongs here: what is compared with what. No repair: an altered file is built again, never accepted.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from shopsim_env.canonical import sha256_file
from shopsim_env.errors import ReleaseError
from shopsim_env.release import layout
from shopsim_env.release.manifest import read_manifest

NO_FILE = "no file"
_CURRENT = "current"


@dataclass(frozen=True, slots=True)
class FileState:
    """One file: hex SHA-256 that it should have and has (`no file`, or what a manifest lacks).

    `asset` is the artifact's asset, "release" for files of a release; `file` is relative to the folder of
    artifacts or of releases.
    """

    asset: str
    file: str
    expected: str
    found: str

    @property
    def drifted(self) -> bool:
        """Whether the file is not the one that was written."""
        return self.expected != self.found


def file_states(artifacts: Path, releases: Path) -> Iterator[FileState]:
    """State of every published file of one data set.

    Args:
        artifacts: Folder of its artifacts; need not exist.
        releases: Folder of its releases; need not exist, or have a current one.
    """
    meta = artifacts / "meta"
    for sidecar in sorted(meta.rglob("*.json")):
        if not sidecar.name.endswith(".checks.json") and sidecar.parent != meta / "memo":
            yield _artifact(artifacts, sidecar)
    if (releases / _CURRENT).is_symlink():
        yield from _release(releases, (releases / _CURRENT).readlink().name)


def _artifact(root: Path, sidecar: Path) -> FileState:
    """The description is read again after a difference: a build may have replaced both meanwhile."""
    state = _state(root, sidecar)
    return _state(root, sidecar) if state.drifted else state


def _state(root: Path, sidecar: Path) -> FileState:
    described = _described(sidecar)
    if described is None:
        asset = sidecar.relative_to(root / "meta").with_suffix("").as_posix()
        return FileState(asset, sidecar.relative_to(root).as_posix(), "a record", "a damaged file")
    found = _hash(root / described["path"])
    return FileState(described["asset"], described["path"], described["sha256"], found)


def _described(sidecar: Path) -> dict[str, str] | None:
    try:
        record = json.loads(sidecar.read_bytes())
        return {key: str(record[key]) for key in ("asset", "path", "sha256")}
    except (ValueError, LookupError, TypeError):
        return None


def _release(releases: Path, folder: str) -> Iterator[FileState]:
    """Files of the current release; the folder's name holds the first 8 digits of the manifest's hash."""
    root = releases / folder
    manifest = _hash(root / layout.MANIFEST)
    promised = folder.rpartition("-")[2]
    expected = manifest if manifest.startswith(promised) else f"{promised}..."
    yield FileState("release", f"{folder}/{layout.MANIFEST}", expected, manifest)
    if manifest == NO_FILE:
        return
    try:
        files = read_manifest(root).files
    except ReleaseError as error:
        yield FileState("release", f"{folder}/{layout.MANIFEST}", "a readable manifest", error.code)
        return
    for name, entry in sorted(files.items()):
        yield FileState("release", f"{folder}/{name}", entry.sha256, _hash(root / name))
    present = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    for name in sorted(present - files.keys() - {layout.MANIFEST}):
        yield FileState("release", f"{folder}/{name}", NO_FILE, _hash(root / name))


def _hash(path: Path) -> str:
    return sha256_file(path) if path.is_file() else NO_FILE
