"""Runs below one folder: what is listed, and that nothing outside is ever opened."""

import os
from pathlib import Path

import pytest
from run_folders import many, write_run

from shopsim_env.errors import RunError, UsageError
from shopsim_env.runs import folder
from shopsim_env.runs.folder import RunRoot


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_run(tmp_path / "root" / "week" / "one", many(2))
    (tmp_path / "root" / "loose.jsonl").write_bytes(b"{}\n")
    (tmp_path / "root" / "notes.txt").write_bytes(b"x")
    (tmp_path / "secret.jsonl").write_bytes(b"secret\n")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "traces.jsonl").write_bytes(b"secret\n")
    return tmp_path / "root"


def test_lists_run_folders_and_trace_files_the_latest_first(root: Path) -> None:
    os.utime(root / "loose.jsonl", (1, 1))
    found = RunRoot(root).listing()
    assert [(entry.kind, entry.name) for entry in found] == [("run", "week/one"), ("traces", "loose.jsonl")]
    assert set(found[0].sizes) == {"manifest.json", "traces.jsonl"}
    assert found[1].sizes == {"loose.jsonl": 3}
    assert found[1].modified == 1


def test_the_root_itself_may_be_a_run(tmp_path: Path) -> None:
    write_run(tmp_path / "one", many(1))
    (entry,) = RunRoot(tmp_path / "one").listing()
    assert (entry.name, entry.kind) == ("", "run")
    with RunRoot(tmp_path / "one").open(entry) as stream:
        assert stream.read(1) == b"{"


def test_hidden_names_bytes_that_are_no_text_and_depths_are_left_out(root: Path) -> None:
    (root / ".hidden.jsonl").write_bytes(b"{}\n")
    Path(os.fsdecode(os.fsencode(root) + b"/\xff.jsonl")).write_bytes(b"{}\n")
    write_run(root / "1" / "2" / "3" / "4" / "5", many(1))
    write_run(root / "1" / "2" / "3" / "four", many(1))
    assert {entry.name for entry in RunRoot(root).listing()} == {"week/one", "loose.jsonl", "1/2/3/four"}


def test_a_folder_that_cannot_be_read_shows_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(folder.os, "scandir", refuse)
    assert RunRoot(root).listing() == []


def test_a_listing_has_an_end(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder, "_MOST_SEEN", 1)
    assert len(RunRoot(root).listing()) <= 1


@pytest.mark.parametrize("link", ["file", "folder", "inside"])
def test_symbolic_links_are_not_listed(root: Path, link: str) -> None:
    targets = {"file": "../secret.jsonl", "folder": "../elsewhere", "inside": "loose.jsonl"}
    (root / ("link" if link == "folder" else "link.jsonl")).symlink_to(targets[link])
    assert {entry.name for entry in RunRoot(root).listing()} == {"week/one", "loose.jsonl"}


@pytest.mark.parametrize("plain", [False, True])
def test_a_link_that_is_put_in_place_later_is_not_followed(
    root: Path, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder, "_STEPWISE", not plain)
    runs = RunRoot(root)
    run, loose = runs.listing()[0], runs.listing()[1]
    if run.kind != "run":
        run, loose = loose, run
    with runs.open(loose) as stream:
        assert stream.read() == b"{}\n"
    (root / "loose.jsonl").unlink()
    (root / "loose.jsonl").symlink_to("../secret.jsonl")
    (root / "week").rename(root.parent / "week")
    (root / "week").symlink_to("../elsewhere-week")
    (root.parent / "elsewhere-week" / "one").mkdir(parents=True)
    (root.parent / "elsewhere-week" / "one" / "traces.jsonl").write_bytes(b"secret\n")
    for entry in (run, loose):
        with pytest.raises(RunError) as caught:
            runs.open(entry)
        assert caught.value.code == "unreadable_run"
        assert str(root) not in str(caught.value)


def test_pipes_and_folders_are_no_files(root: Path) -> None:
    runs = RunRoot(root)
    loose = next(entry for entry in runs.listing() if entry.kind == "traces")
    for make in (os.mkfifo, os.mkdir):
        (root / "loose.jsonl").unlink(missing_ok=True)
        make(root / "loose.jsonl")
        with pytest.raises(RunError):
            runs.open(loose)
        if make is os.mkfifo:
            (root / "loose.jsonl").unlink()


@pytest.mark.parametrize("name", ["", "../secret.jsonl", "week/one", "/etc/passwd", "0" * 16])
def test_only_ids_of_the_listing_are_known(root: Path, name: str) -> None:
    with pytest.raises(RunError) as caught:
        RunRoot(root).entry(name)
    assert caught.value.code == "unknown_run"


def test_a_new_run_is_found_without_a_listing(root: Path) -> None:
    runs = RunRoot(root)
    runs.listing()
    write_run(root / "two", many(1))
    fresh = next(entry for entry in RunRoot(root).listing() if entry.name == "two")
    assert runs.entry(fresh.id).name == "two"


def test_the_root_must_be_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        RunRoot(tmp_path / "nothing")
    assert caught.value.code == "runs_unusable"
