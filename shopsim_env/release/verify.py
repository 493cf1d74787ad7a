"""Verification: every byte against the manifest, the logical content against the id, and the receipt.

A receipt in the user's cache remembers that a folder was hashed whole; while no file changed its size, times
or inode, later opens skip the hashing. It is the only file that the runtime writes.
"""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from shopsim_env.canonical import compact_json, sha256_file, sha256_text
from shopsim_env.errors import ReleaseError
from shopsim_env.release.layout import LOGICAL_PARTS, MANIFEST, logical_content
from shopsim_env.release.manifest import Manifest

REPAIR = "Get the release again or rebuild it with `shopsim build`."


def verify_files(root: Path, manifest: Manifest) -> None:
    """Hashes every file of the release.

    Raises:
        ReleaseError: an extra, missing, linked, resized or altered file, by name.
    """
    check_layout(root, manifest)
    for name, entry in manifest.files.items():
        found = sha256_file(root / name)
        if found != entry.sha256:
            raise ReleaseError(
                f"{root / name}: expected SHA-256 {entry.sha256}, found {found}. {REPAIR}",
                code="file_altered",
            )


def verify_content(root: Path, manifest: Manifest) -> None:
    """Recomputes the logical content from the tables and compares it with what the id was made of.

    Raises:
        ReleaseError: a part whose rows differ from the manifest, with the file that holds it.
    """
    found = logical_content(root, include_private=not manifest.public_copy)
    for part, digest in found.items():
        if manifest.content.get(part) != digest:
            raise ReleaseError(
                f"{root / LOGICAL_PARTS[part][0]}: logical part {part!r}: expected "
                f"{manifest.content.get(part)}, found {digest}. {REPAIR}",
                code="content_mismatch",
            )


def check_layout(root: Path, manifest: Manifest) -> None:
    """Names, kinds and sizes, without reading contents."""
    present = _walk(root)
    expected = set(manifest.files) | {MANIFEST}
    for name in sorted(present ^ expected):
        state = "missing" if name in expected else "not in the manifest"
        raise ReleaseError(f"{root / name}: {state}. {REPAIR}", code="file_set_mismatch")
    for name, entry in manifest.files.items():
        size = (root / name).stat().st_size
        if size != entry.bytes:
            raise ReleaseError(
                f"{root / name}: expected {entry.bytes} bytes, found {size}. {REPAIR}", code="file_altered"
            )


def _walk(root: Path) -> set[str]:
    names: set[str] = set()
    for folder, subfolders, files in os.walk(root):
        for name in [*subfolders, *files]:
            path = Path(folder) / name
            if path.is_symlink():
                raise ReleaseError(
                    f"{path}: links are not allowed inside a release.", code="file_set_mismatch"
                )
        names.update((Path(folder) / name).relative_to(root).as_posix() for name in files)
    return names


def receipt_path(root: Path) -> Path:
    """Where the receipt of the folder `root` lives: below XDG_CACHE_HOME or `~/.cache`."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache) / "shopsim" / "receipts" / f"{sha256_text(str(root.resolve()))[:32]}.json"


def has_receipt(root: Path, manifest: Manifest) -> bool:
    """Whether this folder, unchanged since, was hashed whole on this machine."""
    try:
        stored = json.loads(receipt_path(root).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(stored == fingerprint(root, manifest))


def write_receipt(root: Path, verified: Mapping[str, object]) -> bool:
    """Remembers a full verification; False where the cache cannot be written (then each open hashes).

    Args:
        root: The release folder.
        verified: Its fingerprint from before the hashing, so that a change in between is not covered.
    """
    path = receipt_path(root)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(compact_json(verified), encoding="utf-8")
        temporary.replace(path)
    except OSError:
        return False
    return True


def fingerprint(root: Path, manifest: Manifest) -> dict[str, object]:
    """What a receipt compares: the manifest, and size, times and inode of every file."""
    # The change time is there because a tool can set the modification time back, but not that one.
    stats = {name: (root / name).stat() for name in sorted(manifest.files)}
    return {
        "root": str(root.resolve()),
        "manifest": manifest.sha256,
        "files": {
            name: [stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino]
            for name, stat in stats.items()
        },
    }
