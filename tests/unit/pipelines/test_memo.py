"""Memories: what is recalled, and that a damaged one is none."""

import json
from pathlib import Path

import pytest

from pipelines.resources.artifact_store import ArtifactStore
from pipelines.resources.memo import Memos
from pipelines.resources.reads import Reads

RESULT = {"sha256": "ab", "metadata": "{}"}


@pytest.fixture
def memos(tmp_path: Path) -> Memos:
    return Memos(ArtifactStore(tmp_path), {"seed": "1"}, lambda _name: "outer")


def test_a_result_is_recalled_while_all_is_as_it_was(memos: Memos) -> None:
    memos.keep("split/val", "code", Reads({"seed": "1"}, {}, {"archive": "outer"}), RESULT)
    assert memos.recall("split/val", "code") == RESULT
    assert memos.recall("split/val", "other code") is None
    assert memos.recall("split/test", "code") is None
    memos.forget("split/val")
    assert memos.recall("split/val", "code") is None


def test_a_result_of_what_has_changed_meanwhile_is_not_kept(memos: Memos) -> None:
    memos.keep("a", "code", Reads({"seed": "2"}), RESULT)
    assert memos.recall("a", "code") is None


@pytest.mark.parametrize("data", [b"", b"{", b"null", b"[]", b"{}", b'"text"', b"\xff\xfe", b'{"sha256": 1}'])
def test_a_damaged_memory_is_none(memos: Memos, tmp_path: Path, data: bytes) -> None:
    memos.keep("a", "code", Reads(), RESULT)
    path = tmp_path / "meta" / "memo" / "a.json"
    path.write_bytes(data)
    assert memos.recall("a", "code") is None
    memos.keep("a", "code", Reads(), RESULT)
    assert memos.recall("a", "code") == RESULT


def test_a_memory_cut_short_or_edited_is_none(memos: Memos, tmp_path: Path) -> None:
    memos.keep("a", "code", Reads(), RESULT)
    path = tmp_path / "meta" / "memo" / "a.json"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert memos.recall("a", "code") is None
    path.write_text(json.dumps({**json.loads(whole), "result": {}}), encoding="utf-8")
    assert memos.recall("a", "code") is None
