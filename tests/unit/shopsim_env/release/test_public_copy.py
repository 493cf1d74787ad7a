"""A public copy: opens, has the id, holds nothing private; and what making one refuses."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import builds
import pytest

from shopsim_env.cli import main
from shopsim_env.errors import ReleaseError, UsageError
from shopsim_env.release import load_release
from shopsim_env.release.layout import visibility
from shopsim_env.release.manifest import manifest_bytes, read_manifest
from shopsim_env.release.public import make_public_copy

CANARIES = (
    builds.CANARY_FULL,
    builds.CANARY_OPTION,
    builds.CANARY_ATTRIBUTE,
    builds.CANARY_UNKNOWN,
    builds.CANARY_USER,
)


def files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


def private_texts(root: Path) -> Iterator[str]:
    """What only the private files say of each task, read from them."""
    with closing(sqlite3.connect(root / "private" / "goals.sqlite")) as connection:
        for uid, full, persona in connection.execute("SELECT task_uid, instruction, has_persona FROM goal"):
            yield uid
            if persona:
                yield full


@pytest.fixture(scope="module")
def copy(small_release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_public_copy(small_release, tmp_path_factory.mktemp("public") / "copy").path


def test_it_opens_with_the_same_id_and_no_goals(small_release: Path, copy: Path) -> None:
    with load_release(copy, verify="full") as public, load_release(small_release) as whole:
        assert public.id == whole.id
        assert dict(public.tasks) == dict(whole.tasks)
        assert public.splits == whole.splits
        assert public.search("营地灯") == whole.search("营地灯")
        with pytest.raises(ReleaseError, match="public copy") as caught:
            public.private()
        assert caught.value.code == "public_copy"


def test_the_manifest_names_what_is_absent(small_release: Path, copy: Path) -> None:
    whole, public = (json.loads((root / "manifest.json").read_text()) for root in (small_release, copy))
    absent = sorted(name for name in whole["files"] if visibility(name) == "private")
    assert (whole["public_copy"], whole["absent_files"]) == (False, [])
    assert (public["public_copy"], public["absent_files"]) == (True, absent)
    assert set(public["files"]) == set(whole["files"]) - set(absent)
    same = set(whole) - {"public_copy", "absent_files", "files", "manifest_sha256"}
    assert {name: public[name] for name in same} == {name: whole[name] for name in same}


def test_no_private_text_in_any_byte_of_the_copy(small_release: Path, copy: Path) -> None:
    """All bytes, so free pages of the SQLite files too."""
    secrets = [*CANARIES, *private_texts(small_release)]
    assert len(secrets) == len(CANARIES) + 4
    for path in files(copy):
        data = path.read_bytes()
        for secret in secrets:
            assert secret.encode() not in data, path.name
        for secret in CANARIES:
            assert secret.encode("utf-16-le") not in data, path.name
    assert not [path for path in copy.rglob("*") if "private" in path.name]


def test_the_canaries_are_in_the_private_files(small_release: Path) -> None:
    """Otherwise the test above would prove nothing."""
    goals = (small_release / "private" / "goals.sqlite").read_bytes()
    found = [secret for secret in CANARIES if secret.encode() in goals]
    assert found == [builds.CANARY_FULL, builds.CANARY_OPTION, builds.CANARY_ATTRIBUTE]


def test_nothing_is_replaced_without_force_and_never_what_is_no_release(
    small_release: Path, tmp_path: Path
) -> None:
    for folder in ("there", "release"):
        (tmp_path / folder).mkdir()
    (tmp_path / "there" / "note.txt").write_text("mine")
    shutil.copytree(small_release, tmp_path / "release", dirs_exist_ok=True)
    (tmp_path / "link").symlink_to(tmp_path / "release")
    for name, force in (("there", False), ("there", True), ("release", False), ("link", True)):
        with pytest.raises(UsageError) as caught:
            make_public_copy(small_release, tmp_path / name, force=force)
        assert caught.value.code == "would_overwrite"
    assert (tmp_path / "there" / "note.txt").read_text() == "mine"
    assert (tmp_path / "release" / "private").is_dir()
    make_public_copy(small_release, tmp_path / "release", force=True)
    assert not (tmp_path / "release" / "private").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "release", "there"]


@pytest.mark.parametrize("place", ["", "inside", ".."])
def test_the_source_is_never_touched(small_release: Path, tmp_path: Path, place: str) -> None:
    shutil.copytree(small_release, tmp_path / "around" / "whole")
    source = tmp_path / "around" / "whole"
    with pytest.raises(UsageError) as caught:
        make_public_copy(source, source / place, force=True)
    assert caught.value.code == "would_overwrite"
    load_release(source, verify="full").close()


def test_a_copy_of_a_copy_and_a_damaged_source_are_refused(
    small_release: Path, copy: Path, tmp_path: Path
) -> None:
    with pytest.raises(ReleaseError) as caught:
        make_public_copy(copy, tmp_path / "again")
    assert caught.value.code == "public_copy"
    shutil.copytree(small_release, tmp_path / "bad")
    goals = tmp_path / "bad" / "private" / "goals.sqlite"
    goals.write_bytes(goals.read_bytes()[:-1])
    with pytest.raises(ReleaseError, match=r"goals\.sqlite"):
        make_public_copy(tmp_path / "bad", tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad"]


@pytest.mark.parametrize("absent", [[], ["private/goals.sqlite"], ["splits.json"], [1]])
def test_a_copy_that_names_other_absent_files_is_refused(
    copy: Path, tmp_path: Path, absent: list[object]
) -> None:
    shutil.copytree(copy, tmp_path / "copy")
    path = tmp_path / "copy" / "manifest.json"
    path.write_bytes(manifest_bytes(json.loads(path.read_text()) | {"absent_files": absent}))
    with pytest.raises(ReleaseError, match="absent_files") as caught:
        read_manifest(tmp_path / "copy")
    assert caught.value.code == "manifest_altered"


def test_the_command(small_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["release", str(small_release), "--public", "--out", str(tmp_path / "copy")]
    assert main([*words, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["absent_files"][0].startswith("private/")
    assert main(words) == 2
    assert "would_overwrite" in capsys.readouterr().err
    assert main([*words, "--force"]) == 0
    assert "absent  private/goals.sqlite" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["release", str(small_release), "--out", str(tmp_path / "other")])
