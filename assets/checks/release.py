"""What must hold of the published release."""

from collections.abc import Iterator
from pathlib import Path

from assets.checks.blocking import blocking_check
from pipelines.resources.workspace import Workspace
from shopsim_env.canonical import sha256_file
from shopsim_env.errors import ShopSimError
from shopsim_env.release import layout, load_release
from shopsim_env.release.manifest import read_manifest
from shopsim_env.release.verify import verify_files


def _folder(work: Workspace) -> Path:
    return (work.out or work.releases / "current").resolve()


def _verified_bytes(work: Workspace) -> str:
    """SHA-256 of the manifest whose files were just hashed; "" when they do not fit."""
    root = _folder(work)
    try:
        verify_files(root, read_manifest(root))
    except ShopSimError:
        return ""
    return sha256_file(root / layout.MANIFEST)


@blocking_check("release", seen=_verified_bytes)
def release_verifies(work: Workspace) -> Iterator[str]:
    """The published folder re-hashes, its rows give its id, and the runtime opens it."""
    try:
        load_release(_folder(work), verify="full").close()
    except ShopSimError as error:
        yield str(error)
