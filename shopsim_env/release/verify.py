"""Verification: every byte against the manifest, the logical content against the id, and the receipt.

A receipt in the user's cache remembers that a folder was hashed whole; while no file changed its size, times
or inode, later opens skip the hashing. It is the only file that the runtime writes.
"""

import hashlib
import json
import os
import sqlite3
import stat
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from shopsim_env.canonical import compact_json, sha256_file
from shopsim_env.errors import ReleaseError
from shopsim_env.release.layout import LOGICAL_PARTS, MANIFEST, SQLITE_TABLES, logical_content
from shopsim_env.release.manifest import Manifest
from shopsim_env.sqlite import open_readonly

_FILE_SET = "file_set_mismatch"
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
    for name, tables in SQLITE_TABLES.items():
        if name in manifest.files:
            verify_indexes(root / name, tables)


def verify_indexes(path: Path, tables: frozenset[str]) -> None:
    """Checks that the indexes of an SQLite file say what its tables say.

    The logical content is read from tables; searches and look-ups go through indexes, which could differ. The
    check of the search index has to write, so it runs on a copy that SQLite keeps in a temporary file.

    Raises:
        ReleaseError: an unexpected table, a damaged b-tree or a search index that differs from its documents.
    """
    with closing(open_readonly(path)) as source, closing(sqlite3.connect("", isolation_level=None)) as copy:
        names = frozenset(row[0] for row in source.execute("SELECT name FROM sqlite_master"))
        source.backup(copy)
        try:
            report = [row[0] for row in copy.execute("PRAGMA integrity_check(3)")]
            if "products" in tables:
                copy.execute("INSERT INTO products(products) VALUES('integrity-check')")
        except sqlite3.Error as error:
            report = [str(error)]
    if names != tables or report != ["ok"]:
        odd = sorted(names ^ tables)
        raise ReleaseError(
            f"{path}: expected sound indexes over the known tables, found {odd or report}. {REPAIR}",
            code="content_mismatch",
        )


def check_layout(root: Path, manifest: Manifest) -> None:
    """Names, kinds and sizes, without reading contents."""
    present = _walk(root)
    expected = set(manifest.files) | {MANIFEST}
    odd = [(name, "missing") for name in sorted(expected - present)]
    odd += [(name, "not in the manifest") for name in sorted(present - expected)]
    for name, state in odd:
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
        for name in subfolders:
            if (Path(folder) / name).is_symlink():
                raise ReleaseError(f"{Path(folder) / name}: expected a folder, found a link.", code=_FILE_SET)
        for name in files:
            if not stat.S_ISREG((Path(folder) / name).lstat().st_mode):
                raise ReleaseError(
                    f"{Path(folder) / name}: expected a plain file, found another kind.", code=_FILE_SET
                )
        if not files and not subfolders:
            # No file of the manifest, and so refused; a file that is missing from it is named first.
            names.add(Path(folder).relative_to(root).as_posix() + "/")
        names.update((Path(folder) / name).relative_to(root).as_posix() for name in files)
    return names


def receipt_path(root: Path) -> Path:
    """Where the receipt of the folder `root` lives: below XDG_CACHE_HOME or `~/.cache`."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:32]
    return Path(cache) / "shopsim" / "receipts" / f"{name}.json"


def has_receipt(root: Path, manifest: Manifest) -> bool:
    """Whether this folder, unchanged since, was hashed whole on this machine."""
    try:
        stored = json.loads(receipt_path(root).read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):
        # RuntimeError: no home folder at all, as in a container with an arbitrary user.
        return False
    return bool(stored == fingerprint(root, manifest))


def write_receipt(root: Path, verified: Mapping[str, object]) -> bool:
    """Remembers a full verification; False where the cache cannot be written (then each open hashes).

    Args:
        root: The release folder.
        verified: Its fingerprint from before the hashing, so that a change in between is not covered.
    """
    try:
        path = receipt_path(root)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(compact_json(verified), encoding="utf-8")
        temporary.replace(path)
    except (OSError, ValueError, RuntimeError):
        return False
    return True


def fingerprint(root: Path, manifest: Manifest) -> dict[str, object]:
    """What a receipt compares: the manifest, and size, times and inode of every file."""
    # The change time is there because a tool can set the modification time back, but not that one.
    return {
        "root": os.fsencode(root.resolve()).hex(),
        "manifest": manifest.sha256,
        "files": {name: _times(root / name) for name in sorted(manifest.files)},
    }


def _times(path: Path) -> list[int]:
    found = path.stat()
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino]
