"""Every file of a release, damaged in every way of the table in docs/release-format.md, is refused by name.

Three ways to open: a full verification, the first open on a machine, and a later open that has a receipt.
"""

import hashlib
import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from places import ROOT, SAMPLE_RELEASE

from shopsim_env.errors import ReleaseError, SearchIndexError, ShopSimError
from shopsim_env.release import load_release
from shopsim_env.release.manifest import manifest_bytes
from shopsim_env.release.verify import receipt_path
from shopsim_env.rlve.facts import World

MANIFEST = "manifest.json"
FLIPS = 8


def truncated(path: Path, *_: Path) -> Iterator[Path]:
    data = path.read_bytes()
    for size in (len(data) - 1, len(data) // 2):
        path.write_bytes(data[:size])
        yield path


def flipped(path: Path, *_: Path) -> Iterator[Path]:
    data = path.read_bytes()
    for step in range(FLIPS):
        position = (len(data) - 1) * step // (FLIPS - 1)
        path.write_bytes(data[:position] + bytes([data[position] ^ 1 << step]) + data[position + 1 :])
        yield path


def emptied(path: Path, *_: Path) -> Iterator[Path]:
    path.write_bytes(b"")
    yield path


def swapped(path: Path, other: Path, _: Path) -> Iterator[Path]:
    path.write_bytes(other.read_bytes())
    yield path


def lengthened(path: Path, *_: Path) -> Iterator[Path]:
    path.write_bytes(path.read_bytes() + b"\n")
    yield path


def removed(path: Path, *_: Path) -> Iterator[Path]:
    path.unlink()
    yield path


def accompanied(path: Path, *_: Path) -> Iterator[Path]:
    extra = path.with_name(path.name + ".bak")
    extra.write_bytes(path.read_bytes())
    yield extra
    extra.unlink()


def linked(path: Path, _: Path, kept: Path) -> Iterator[Path]:
    path.rename(kept)
    path.symlink_to(kept)
    yield path
    path.unlink()
    kept.rename(path)


def folder(path: Path, *_: Path) -> Iterator[Path]:
    data = path.read_bytes()
    path.unlink()
    path.mkdir()
    yield path
    (path / "file").write_bytes(data)
    yield path
    shutil.rmtree(path)


# Fault -> (how, codes for the manifest, codes for every other file); the words are those of the document.
Fault = tuple[Callable[[Path, Path, Path], Iterator[Path]], set[str], set[str]]
FAULTS: dict[str, Fault] = {
    "cut short, by one byte and by half": (truncated, {"manifest_altered"}, {"file_altered"}),
    "one bit flipped, at eight places": (
        flipped,
        {"manifest_altered", "version_mismatch"},
        {"file_altered"},
    ),
    "emptied": (emptied, {"manifest_altered"}, {"file_altered"}),
    "one byte longer": (lengthened, {"manifest_altered"}, {"file_altered"}),
    "the file of that name of another release": (swapped, {"file_altered"}, {"file_altered"}),
    "removed": (removed, {"release_missing"}, {"file_set_mismatch"}),
    "another file beside it": (accompanied, {"file_set_mismatch"}, {"file_set_mismatch"}),
    "replaced by a link to itself": (linked, {"file_set_mismatch"}, {"file_set_mismatch"}),
    "replaced by a folder, empty or not": (folder, {"release_missing"}, {"file_set_mismatch"}),
}


@pytest.fixture(scope="module")
def copy(small_release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("faults") / "copy"
    shutil.copytree(small_release, root)
    return root


def files(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def refusal(root: Path, how: str) -> ShopSimError | None:
    if how == "first":
        receipt_path(root).unlink(missing_ok=True)
    try:
        load_release(root, verify="full" if how == "full" else "receipt").close()
    except ReleaseError as error:
        return error
    return None


@pytest.mark.parametrize("how", ["full", "first", "later"])
@pytest.mark.parametrize("fault", FAULTS)
def test_every_file_with_this_fault_is_refused_by_name(copy: Path, fault: str, how: str) -> None:
    damage, manifest_codes, file_codes = FAULTS[fault]
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for name in files(copy):
        path, good = copy / name, (copy / name).read_bytes()
        if how == "later":
            load_release(copy).close()
        for damaged in damage(path, SAMPLE_RELEASE / name, copy.with_name("kept")):
            error = refusal(copy, how)
            assert error is not None, (name, fault)
            found[name == MANIFEST].add(error.code)
            # A foreign manifest is sound in itself: what does not fit to it is the first file it lists.
            named = "catalog.sqlite" if (name, fault) == (MANIFEST, _SWAP) else damaged.name
            assert named in str(error), (name, fault)
        path.write_bytes(good)
    # Which key of the manifest a flipped bit meets depends on the machine.
    assert set() != found[True] <= manifest_codes
    assert found[False] == file_codes, found
    load_release(copy, verify="full").close()


_SWAP = "the file of that name of another release"


def mend(root: Path, name: str) -> None:
    """Writes the hash of an altered file into the manifest, as a forger or a careless tool would."""
    payload = json.loads((root / MANIFEST).read_text())
    data = (root / name).read_bytes()
    payload["files"][name] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (root / MANIFEST).write_bytes(manifest_bytes(payload))


def raise_index_version(root: Path) -> str:
    with closing(sqlite3.connect(root / "catalog.sqlite")) as connection, connection:
        connection.execute("UPDATE manifest SET payload = replace(payload, 'bm25-v3', 'bm25-v4')")
    mend(root, "catalog.sqlite")
    return "catalog.sqlite"


def raise_array_version(root: Path) -> str:
    path = root / "search" / "arrays.bin"
    data = path.read_bytes()
    assert data.startswith(b"SHOPARR1")
    path.write_bytes(data.replace(b"SHOPARR1", b"SHOPARR2", 1))
    mend(root, "search/arrays.bin")
    return "arrays.bin"


def raise_world_version(root: Path) -> str:
    with closing(sqlite3.connect(root / "rlve.sqlite")) as connection, connection:
        connection.execute("UPDATE world SET payload = replace(payload, 'shopsim-rlve-v', 'other-rlve-v')")
    mend(root, "rlve.sqlite")
    return "rlve.sqlite"


def raise_component(root: Path, name: str) -> str:
    payload = json.loads((root / MANIFEST).read_text())
    payload["components"][name] += "1"
    (root / MANIFEST).write_bytes(manifest_bytes(payload))
    return f"component {name}"


def raise_schema(root: Path) -> str:
    payload = json.loads((root / MANIFEST).read_text()) | {"schema_version": "shopsim-release-v99"}
    (root / MANIFEST).write_bytes(manifest_bytes(payload))
    return MANIFEST


COMPONENTS = sorted(json.loads((SAMPLE_RELEASE / MANIFEST).read_text())["components"])


@pytest.mark.parametrize("verify", ["full", "receipt"])
@pytest.mark.parametrize("name", COMPONENTS)
def test_another_version_of_any_component_is_refused(
    copy: Path, tmp_path: Path, name: str, verify: str
) -> None:
    shutil.copyfile(copy / MANIFEST, tmp_path / MANIFEST)
    raise_component(tmp_path, name)
    with pytest.raises(ReleaseError, match=rf"manifest\.json: component {name}: ") as caught:
        load_release(tmp_path, verify=verify)
    assert caught.value.code == "version_mismatch"


@pytest.mark.parametrize("verify", ["full", "receipt"])
@pytest.mark.parametrize(
    ("change", "codes"),
    [
        (raise_schema, {"version_mismatch"}),
        (raise_index_version, {"search_index_error", "content_mismatch"}),
        (raise_array_version, {"search_index_error", "content_mismatch"}),
    ],
)
def test_a_raised_version_with_mended_hashes_is_refused(
    copy: Path, tmp_path: Path, change: Callable[[Path], str], codes: set[str], verify: str
) -> None:
    shutil.copytree(copy, tmp_path / "copy")
    named = change(tmp_path / "copy")
    with pytest.raises((ReleaseError, SearchIndexError), match=re.escape(named)) as caught:
        load_release(tmp_path / "copy", verify=verify)
    assert caught.value.code in codes


def test_a_raised_version_of_the_world_facts_is_refused(copy: Path, tmp_path: Path) -> None:
    """By a full verification, and by whoever reads them: an episode of the Shop needs none."""
    shutil.copytree(copy, tmp_path / "copy")
    named = raise_world_version(tmp_path / "copy")
    with pytest.raises(ReleaseError, match=re.escape(named)) as caught:
        load_release(tmp_path / "copy", verify="full")
    assert caught.value.code == "content_mismatch"
    with (
        load_release(tmp_path / "copy") as release,
        pytest.raises(ReleaseError, match="other-rlve-v") as caught,
    ):
        World.of(release)
    assert caught.value.code == "world_mismatch"


def test_a_release_of_the_version_before_is_refused_by_its_version(copy: Path, tmp_path: Path) -> None:
    """It had no world facts; the refusal speaks of the version, not of the file."""
    shutil.copytree(copy, tmp_path / "copy")
    (tmp_path / "copy" / "rlve.sqlite").unlink()
    payload = json.loads((copy / MANIFEST).read_text()) | {"schema_version": "shopsim-release-v2"}
    del payload["files"]["rlve.sqlite"]
    (tmp_path / "copy" / MANIFEST).write_bytes(manifest_bytes(payload))
    with pytest.raises(ReleaseError, match="shopsim-release-v2") as caught:
        load_release(tmp_path / "copy")
    assert caught.value.code == "version_mismatch"


def test_the_document_has_this_table() -> None:
    text = (ROOT / "docs" / "release-format.md").read_text(encoding="utf-8")
    section = text.split("### Tried faults\n", 1)[1].split("\n##", 1)[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    table = {row[0].strip(): tuple(set(re.findall(r"`(\w+)`", cell)) for cell in row[1:]) for row in rows[2:]}
    assert table == {name: (manifest, others) for name, (_, manifest, others) in FAULTS.items()}
