"""Putting a finished release folder in its place: only a release is ever replaced, and only if allowed.

Used by the pipeline, which writes releases, and by `public`, which copies them.
"""

import os
import shutil
from pathlib import Path

from shopsim_env.errors import UsageError
from shopsim_env.release.manifest import is_release_folder


def check_replaceable(final: Path, *, force: bool) -> None:
    """Refuses to put a release where something stands that may not be replaced.

    Args:
        final: Folder of the release to be.
        force: Allow another release to be replaced; anything else never is.

    Raises:
        UsageError: code `would_overwrite`.
    """
    if not final.exists() and not final.is_symlink():
        return
    if not force:
        raise UsageError(
            f"{final}: exists; nothing was changed. Give another --out, or --force to replace a release.",
            code="would_overwrite",
        )
    if final.is_symlink() or not is_release_folder(final):
        raise UsageError(
            f"{final}: expected a release to replace, found something else; nothing was changed. "
            "Give another --out, or remove it.",
            code="would_overwrite",
        )


def put_in_place(staging: Path, final: Path, *, force: bool) -> None:
    """Renames the finished folder `staging` to `final`, which a reader sees whole or not at all.

    Raises:
        UsageError: see `check_replaceable`.
    """
    restore_retired(final)
    check_replaceable(final, force=force)
    sync_tree(staging)
    if not final.exists():
        staging.rename(final)
        return
    retired = final.with_name(f".retired-{os.getpid()}-{final.name}")
    final.rename(retired)
    staging.rename(final)
    shutil.rmtree(retired)


def restore_retired(final: Path) -> None:
    """Puts a retired release back in its place, if a process was killed before it had put the new one there.

    Args:
        final: Folder of the release. When it is in place, retired ones are left by a kill and are removed.
    """
    for retired in sorted(final.parent.glob(f".retired-*-{final.name}")):
        if final.exists():
            shutil.rmtree(retired)
        else:
            retired.rename(final)


def sync_tree(root: Path) -> None:
    """Forces every file below `root` to disk, so that a crash after the rename leaves no empty ones."""
    for path in sorted(root.rglob("*")):
        if path.is_file():
            with path.open("rb") as stream:
                os.fsync(stream.fileno())
