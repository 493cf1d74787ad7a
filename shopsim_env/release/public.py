"""A copy of a release without its private files, to hand to whoever must not see the goals.

Belongs here: which files go and what the copy's manifest says. The copy has the id of the release, so results
on both compare; `Release.private()` refuses it. No private file is read beyond its verification.
"""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from shopsim_env.errors import ReleaseError, UsageError
from shopsim_env.release.layout import MANIFEST, visibility
from shopsim_env.release.manifest import Manifest, manifest_bytes, read_manifest
from shopsim_env.release.placing import check_replaceable, put_in_place
from shopsim_env.release.verify import verify_content, verify_files


@dataclass(frozen=True, slots=True)
class PublicCopy:
    """A finished copy: its folder, the id it shares with the release, files copied and files left out."""

    path: Path
    id: str
    files: tuple[str, ...]
    absent: tuple[str, ...]


def make_public_copy(source: Path, out: Path, *, force: bool = False) -> PublicCopy:
    """Copies the public files of a release to a new folder, with a manifest that names the absent ones.

    Args:
        source: A whole release; every byte and every row of it is verified first.
        out: Folder to make. It appears complete or not at all.
        force: Allow `out` to replace another release.

    Raises:
        ReleaseError: The source does not verify, or is a public copy already (code `public_copy`).
        UsageError: `out` exists and may not be replaced, or is part of the source (code `would_overwrite`).
    """
    source, final = source.resolve(), Path.cwd() / out
    _check_apart(source, final)
    check_replaceable(final, force=force)
    manifest = read_manifest(source)
    if manifest.public_copy:
        raise ReleaseError(
            f"{source}: is a public copy already; copy the folder as it is.", code="public_copy"
        )
    verify_files(source, manifest)
    verify_content(source, manifest)
    final.parent.mkdir(parents=True, exist_ok=True)
    staging = final.parent / f".building-{os.getpid()}"
    shutil.rmtree(staging, ignore_errors=True)
    try:
        kept, absent = _copy(source, manifest, staging)
        put_in_place(staging, final, force=force)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return PublicCopy(final, manifest.id, kept, absent)


def _check_apart(source: Path, final: Path) -> None:
    """The copy must not replace the release that it is made from, nor lie in it or around it."""
    target = final.resolve()
    if target == source or source in target.parents or target in source.parents:
        raise UsageError(
            f"{final}: expected a folder apart from the release {source}; nothing was changed. "
            "Give another --out.",
            code="would_overwrite",
        )


def _copy(source: Path, manifest: Manifest, staging: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    names = sorted(manifest.files)
    kept = tuple(name for name in names if visibility(name) == "public")
    absent = tuple(name for name in names if name not in kept)
    for name in kept:
        (staging / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, staging / name)
    payload = manifest.payload
    payload["files"] = {name: payload["files"][name] for name in kept}
    payload |= {"public_copy": True, "absent_files": list(absent)}
    (staging / MANIFEST).write_bytes(manifest_bytes(payload))
    copied = read_manifest(staging)
    verify_files(staging, copied)
    verify_content(staging, copied)
    return kept, absent
