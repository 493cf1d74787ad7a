"""The artifact store: verified reads, atomic writes, check receipts."""

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.errors import ArtifactError
from pipelines.resources.artifact_store import ArtifactStore
from pipelines.resources.debris import remove_debris
from pipelines.resources.reads import Reads

CODE = {"a": "1", "b": "1"}


def write(store: ArtifactStore, asset: str, text: str, parents: tuple[str, ...] = ()) -> None:
    store.write(asset, f"{asset}.txt", lambda path: path.write_text(text), code_version="1", parents=parents)


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path / "artifacts")


def test_hash_size_and_parents_are_recorded(store: ArtifactStore) -> None:
    write(store, "a", "one")
    write(store, "b", "three", parents=("a",))
    artifact = store.open("b")
    assert artifact.sha256 == hashlib.sha256(b"three").hexdigest()
    assert artifact.bytes == 5
    assert artifact.parents == {"a": hashlib.sha256(b"one").hexdigest()}
    assert artifact.path.read_text() == "three"


def test_missing_artifact_says_what_to_materialize(store: ArtifactStore) -> None:
    with pytest.raises(ArtifactError, match="Materialize a first") as caught:
        store.open("a")
    assert caught.value.code == "artifact_missing"


def test_parent_must_exist(store: ArtifactStore) -> None:
    with pytest.raises(ArtifactError, match="Materialize a first"):
        write(store, "b", "three", parents=("a",))
    assert not (store.root / "b.txt").exists()


@pytest.mark.parametrize("damage", ["flip", "truncate", "remove"])
def test_altered_file_is_refused_by_name(store: ArtifactStore, damage: str) -> None:
    write(store, "a", "one")
    path = store.root / "a.txt"
    if damage == "flip":
        path.write_text("onf")
    elif damage == "truncate":
        path.write_text("on")
    else:
        path.unlink()
    with pytest.raises(ArtifactError, match=r"a\.txt: expected SHA-256") as caught:
        store.path("a")
    assert caught.value.code == "artifact_altered"


def test_failing_writer_leaves_the_old_artifact(store: ArtifactStore) -> None:
    write(store, "a", "one")

    def fail(path: Path) -> None:
        path.write_text("half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        store.write("a", "a.txt", fail, code_version="1")
    assert store.path("a").read_text() == "one"
    assert [path.name for path in store.root.iterdir() if path.is_file()] == ["a.txt"]


def test_release_needs_a_receipt_for_the_very_bytes(store: ArtifactStore) -> None:
    write(store, "a", "one")
    with pytest.raises(ArtifactError, match="'holds' has not passed") as caught:
        store.require_checks({"a": ["holds"]}, CODE)
    assert caught.value.code == "check_missing"
    store.record_check("a", "holds", store.open("a").sha256)
    store.require_checks({"a": ["holds"]}, CODE)
    write(store, "a", "two")
    with pytest.raises(ArtifactError, match="'holds' has not passed"):
        store.require_checks({"a": ["holds"]}, CODE)


def test_a_failed_check_takes_its_receipt_away(store: ArtifactStore) -> None:
    write(store, "a", "one")
    store.record_check("a", "holds", store.open("a").sha256)
    store.record_check("a", "holds", None)
    with pytest.raises(ArtifactError, match="'holds' has not passed"):
        store.require_checks({"a": ["holds"]}, CODE)


def test_leftovers_of_a_killed_writer_do_not_matter(store: ArtifactStore) -> None:
    write(store, "a", "one")
    (store.root / f".a.txt.{os.getpid()}.building").write_text("half")
    write(store, "a", "two")
    assert store.path("a").read_text() == "two"


def test_release_refuses_an_artifact_built_from_an_older_input(store: ArtifactStore) -> None:
    write(store, "a", "one")
    write(store, "b", "three", parents=("a",))
    write(store, "a", "two")
    with pytest.raises(ArtifactError, match="was built from a") as caught:
        store.require_checks({"b": []}, CODE)
    assert caught.value.code == "artifact_stale"


def test_release_refuses_an_artifact_of_other_code_or_settings(store: ArtifactStore) -> None:
    write(store, "a", "one")
    with pytest.raises(ArtifactError, match="was built from code 1, which is now 2") as caught:
        store.require_checks({"a": []}, {"a": "2"})
    assert caught.value.code == "artifact_stale"
    reads = Reads(settings={"tagger": "one"})
    write(ArtifactStore(store.root, {"tagger": "one"}, reads), "a", "one")
    other = ArtifactStore(store.root, {"tagger": "two", "licence": "any"})
    with pytest.raises(ArtifactError, match="was built from setting tagger one, which is now two"):
        other.require_checks({"a": []}, CODE)
    ArtifactStore(store.root, {"tagger": "one", "licence": "new"}).require_checks({"a": []}, CODE)


def test_asset_names_may_have_parts(store: ArtifactStore) -> None:
    store.write("split/val", "split_val.json", lambda path: path.write_text("[]"), code_version="1")
    store.record_check("split/val", "holds", store.open("split/val").sha256)
    store.require_checks({"split/val": ["holds"]}, {"split/val": "1"})
    assert store.path("split/val").read_text() == "[]"


DAMAGES = [b"", b"{", b"null", b"[]", b"{}", b'"text"', b"\xff\xfe", b'{"sha256": 1, "path": []}']


@pytest.mark.parametrize("data", DAMAGES)
def test_a_damaged_record_is_refused_by_name_and_written_anew(store: ArtifactStore, data: bytes) -> None:
    write(store, "a", "one")
    (store.root / "meta" / "a.json").write_bytes(data)
    with pytest.raises(ArtifactError, match=r"meta/a\.json: .*Materialize a again") as caught:
        store.open("a")
    assert caught.value.code == "artifact_altered"
    assert store.unchanged("a", hashlib.sha256(b"one").hexdigest(), "1", ()) is None
    write(store, "a", "one")
    assert store.path("a").read_text() == "one"


@pytest.mark.parametrize("data", [*DAMAGES, b'{"holds": 1}'])
def test_damaged_receipts_vouch_for_nothing(store: ArtifactStore, data: bytes) -> None:
    write(store, "a", "one")
    sha256 = store.open("a").sha256
    store.record_check("a", "holds", sha256)
    (store.root / "meta" / "a.checks.json").write_bytes(data)
    assert not store.has_receipt("a", "holds", sha256)
    with pytest.raises(ArtifactError, match="'holds' has not passed"):
        store.require_checks({"a": ["holds"]}, CODE)
    store.record_check("a", "holds", sha256)
    store.require_checks({"a": ["holds"]}, CODE)


KILLED = """
import os, signal, sys
from pathlib import Path
from pipelines.resources.artifact_store import ArtifactStore
with ArtifactStore(Path(sys.argv[1])).scratch("again.sqlite") as path:
    path.write_bytes(b"half")
    Path(f"{path}-journal").write_bytes(b"half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_scratch_files_of_a_killed_process_are_debris(tmp_path: Path) -> None:
    died = subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False)
    assert died.returncode == -signal.SIGKILL
    assert len(remove_debris(tmp_path, tmp_path / "releases")) == 2
    with ArtifactStore(tmp_path).scratch("again.sqlite") as mine:
        mine.write_bytes(b"whole")
        assert list(tmp_path.iterdir()) == [mine]
    assert list(tmp_path.iterdir()) == []
