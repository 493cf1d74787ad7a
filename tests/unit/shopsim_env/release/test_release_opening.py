"""Opening a release: what it offers, what it hides, what it refuses."""

import hashlib
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import builds
import pytest

from shopsim_env.errors import ReleaseError, TaskError, UnknownTaskError, UsageError
from shopsim_env.release import load_release
from shopsim_env.release.layout import LOGICAL_PARTS, visibility
from shopsim_env.release.manifest import manifest_bytes, read_manifest, release_id
from shopsim_env.release.opening import open_staged
from shopsim_env.release.verify import has_receipt, receipt_path, verify_files

CANARIES = (
    builds.CANARY_FULL,
    builds.CANARY_OPTION,
    builds.CANARY_ATTRIBUTE,
    builds.CANARY_UNKNOWN,
    builds.CANARY_USER,
)


@pytest.fixture
def copy(small_release: Path, tmp_path: Path) -> Path:
    """A release that a test may damage."""
    shutil.copytree(small_release, tmp_path / "copy")
    return tmp_path / "copy"


def files(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def test_tasks_products_splits_and_goals(small_release: Path) -> None:
    with load_release(small_release) as release:
        assert list(release.tasks) == [0, 2, 3]
        assert len(release.tasks) == 3
        persona = release.tasks[0]
        assert persona.instruction is None, "the full text of a persona task is private"
        assert persona.instruction_simple == "找一盏营地灯，50元以内"
        assert persona.user_persona == {"人口属性": {"年龄段": "25-34, "}, "用户标签": ["露营"]}
        assert release.tasks[2].instruction == "想要防水的露营帐篷，预算40元以内"
        assert release.splits["source/standard_train"] == (2,)
        assert release.splits["source/standard_eval"] == (3,)
        assert release.splits["source/persona_train"] == (0,)
        assert release.product("700000000003").title == "云杉 露营 帐篷"
        goal = release.private().goal(0)
        assert goal.product.asin == "700000000001"
        assert goal.options == (builds.CANARY_OPTION,)
        assert goal.budget_upper == 50
        assert release.private().goal(3).attributes == (), "blank targets are dropped"
        assert [goal.task_id for goal in release.private().goals()] == [0, 2, 3]
        assert release.manifest["counts"]["blank_targets_dropped"] == 1
        assert release.manifest["counts"]["inactive_tasks"] == 1
        assert release.manifest["counts"]["runtime_budget_persona_tasks"] == 1
        assert release.search("营地灯").hits[0].asin == "700000000001"
        assert set(release.metrics["search_baseline"]) == {"source/standard_eval", "project/test"}


def test_witnesses(small_release: Path) -> None:
    with load_release(small_release) as release:
        private = release.private()
        lost, won = private.witness(0, "persona"), private.witness(2, "standard")
        assert (lost.reason, lost.actions, lost.grades[:1]) == ("option_missing", (), ("W2",))
        assert (won.reason, won.found_by) == ("", "text")
        assert won.actions == (
            "search[想要防水的露营帐篷，预算40元以内]",
            "click[700000000003]",
            "click[颜色分类=雾蓝]",
            "click[buy now]",
        )
        assert private.witness(2, "persona") == won, "both modes show a standard task alike"
        assert [witness.task_id for witness in private.witnesses()] == [0, 0, 2, 3]
        assert release.metrics["witnesses"]["all"]["persona"]["reasons"] == {"option_missing": 1}
        for task_id, mode in ((1, "standard"), (2, "paper"), (99, "persona")):
            with pytest.raises(UnknownTaskError, match="no witness"):
                private.witness(task_id, mode)


def test_staged_parts_open_without_a_manifest(copy: Path) -> None:
    for name in ("manifest.json", "metrics.json", "private/witnesses.jsonl"):
        (copy / name).unlink()
    release = open_staged(copy)
    assert list(release.tasks) == [0, 2, 3]
    assert release.search("营地灯").hits[0].asin == release.private().goal(0).product.asin
    with pytest.raises(ReleaseError, match=r"witnesses\.jsonl"):
        release.private().witness(0, "persona")
    release.close()


def test_unknown_and_excluded_tasks_are_typed_errors(small_release: Path) -> None:
    with load_release(small_release) as release:
        with pytest.raises(UnknownTaskError, match="multiple_price_affecting_axes"):
            release.tasks[1]
        with pytest.raises(TaskError, match="not in this release"):
            release.tasks[99]
        with pytest.raises(UnknownTaskError, match="an integer"):
            release.tasks["0"]
        assert str(UnknownTaskError("as it is")) == "as it is", "not quoted as a KeyError would be"
        assert 99 not in release.tasks
        with pytest.raises(UsageError) as caught:
            release.product("1")
        assert caught.value.code == "unknown_product"
        with pytest.raises(UsageError, match="engine"):
            release.search("灯", engine="lucene")
        for wrong in (0, -1, True, 2.0, "5"):
            with pytest.raises(UsageError, match="top_k: expected a whole number of at least 1"):
                release.search("灯", wrong)
        with pytest.raises(UnknownTaskError):
            release.private().goal(1)


def test_every_engine_answers_and_filters(small_release: Path) -> None:
    with load_release(small_release) as release:
        expected = release.search("旅行 水壶 2号", engine="fts5")
        assert [hit.asin for hit in expected.hits] == [f"70000000010{n}" for n in (2, 0, 1, 3)]
        for engine in (None, "fast", "numpy"):
            assert release.search("旅行 水壶 2号", engine=engine) == expected
            some = release.search("旅行 水壶 2号", where=["700000000103", "700000000001"], engine=engine)
            assert [hit.asin for hit in some.hits] == ["700000000103"]
        chosen = release.product_set({"700000000103", 1})
        assert len(chosen) == 2
        assert release.search("星野", where=chosen).asins == ("700000000001",)
        with pytest.raises(UsageError, match="'none'") as caught:
            release.search("灯", where=["none"])
        assert caught.value.code == "unknown_product"
        assert release.search("旅行 水壶 2号") is release.search("旅行 水壶 2号")
        assert release.search_cache().hits > 0
        assert [choice.name for choice in release.search_engines()] == ["", "fast", "numpy", "fts5"]


def test_no_private_string_in_a_public_file(small_release: Path) -> None:
    for name in files(small_release):
        if visibility(name) == "public":
            data = (small_release / name).read_bytes()
            for canary in CANARIES:
                assert canary.encode() not in data, name
    public = (small_release / "catalog.sqlite").read_bytes() + (small_release / "tasks.sqlite").read_bytes()
    assert b"shopsim-" not in public, "a task uid hashes the gold asin: a guesser could try them all"
    assert b"source_product_index" not in public, "it equals the task id"


def test_ids_beyond_any_table_are_unknown(small_release: Path) -> None:
    with load_release(small_release) as release:
        for number in (2**70, -1, True, None):
            assert number not in release.tasks


def test_a_closed_release_says_so(small_release: Path) -> None:
    release = load_release(small_release)
    goals = release.private()
    release.close()
    release.close()
    with pytest.raises(ReleaseError, match="closed") as caught:
        release.tasks[0]
    assert caught.value.code == "closed"
    with pytest.raises(ReleaseError, match="closed"):
        goals.goal(0)


def test_private_types_do_not_print_their_content(small_release: Path) -> None:
    with load_release(small_release) as release:
        shown = repr(release.private()) + repr(release.private().goal(0))
        assert not any(canary in shown for canary in CANARIES)
        assert "700000000001" not in shown


def test_one_flipped_byte_anywhere_is_refused_by_name(copy: Path) -> None:
    for name in files(copy):
        path = copy / name
        good = path.read_bytes()
        for position in {0, len(good) // 2, len(good) - 1}:
            bad = bytearray(good)
            bad[position] ^= 1
            path.write_bytes(bytes(bad))
            with pytest.raises(ReleaseError, match=path.name.replace(".", r"\.")):
                load_release(copy)
        path.write_bytes(good)
    load_release(copy).close()


@pytest.mark.parametrize("damage", ["truncate", "empty", "remove", "add", "link", "swap"])
def test_other_damage_is_refused_by_name(copy: Path, damage: str) -> None:
    path = copy / "splits.json"
    if damage == "truncate":
        path.write_bytes(path.read_bytes()[:-1])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "remove":
        path.unlink()
    elif damage == "add":
        path = copy / "extra.txt"
        path.write_text("x")
    elif damage == "link":
        path.rename(copy.parent / "elsewhere.json")
        path.symlink_to(copy.parent / "elsewhere.json")
    else:
        (copy / "metrics.json").write_bytes(path.read_bytes())
        path = copy / "metrics.json"
    with pytest.raises(ReleaseError, match=path.name.replace(".", r"\.")):
        load_release(copy)


def test_no_folder_says_how_to_build(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="shopsim build") as caught:
        load_release(tmp_path / "nothing")
    assert caught.value.code == "release_missing"
    with pytest.raises(UsageError, match="verify"):
        load_release(tmp_path, verify="none")


def rewrite(root: Path, **changes: object) -> None:
    payload = json.loads((root / "manifest.json").read_text())
    for dotted, value in changes.items():
        target, *keys = payload, *dotted.split("__")
        for key in keys[:-1]:
            target = target[key]
        target[keys[-1]] = value
    (root / "manifest.json").write_bytes(manifest_bytes(payload))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"schema_version": "shopsim-release-v0"}, "version_mismatch"),
        ({"components__search": "shopsimulator-multifield-bm25-v2"}, "version_mismatch"),
        ({"id": "0" * 64}, "id_mismatch"),
        ({"surprise": 1}, "manifest_altered"),
        ({"content__products": "0" * 64}, "id_mismatch"),
        ({"components": None}, "manifest_altered"),
        ({"files": []}, "manifest_altered"),
        ({"public_copy": "yes"}, "manifest_altered"),
        ({"public_copy": True}, "manifest_altered"),
        ({"files": {}}, "manifest_altered"),
    ],
)
def test_a_rewritten_manifest_is_refused(copy: Path, change: dict[str, object], code: str) -> None:
    rewrite(copy, **change)
    with pytest.raises(ReleaseError, match=r"manifest\.json") as caught:
        load_release(copy)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "[" * 200_000, '{"id": NaN}', '{"schema_version": "shopsim-release-v1"}']
)
def test_a_manifest_that_is_none_is_refused(copy: Path, text: str) -> None:
    (copy / "manifest.json").write_text(text)
    with pytest.raises(ReleaseError, match=r"manifest\.json"):
        load_release(copy)


def test_manifest_cannot_point_outside(copy: Path) -> None:
    payload = json.loads((copy / "manifest.json").read_text())
    payload["files"]["../outside"] = payload["files"]["splits.json"]
    (copy / "manifest.json").write_bytes(manifest_bytes(payload))
    with pytest.raises(ReleaseError, match=r"\.\./outside"):
        read_manifest(copy)


def forge(root: Path, name: str, statement: str) -> None:
    """Changes rows and mends the manifest's hashes, as a forger would."""
    with closing(sqlite3.connect(root / name)) as connection, connection:
        connection.execute(statement)
    payload = json.loads((root / "manifest.json").read_text())
    data = (root / name).read_bytes()
    payload["files"][name] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (root / "manifest.json").write_bytes(manifest_bytes(payload))


@pytest.mark.parametrize(
    ("name", "statement", "part"),
    [
        ("tasks.sqlite", "UPDATE task SET instruction_simple = '便宜' WHERE task_id = 0", "tasks"),
        ("private/goals.sqlite", "UPDATE goal SET options = '[]'", "goals"),
        ("catalog.sqlite", "UPDATE title_noun SET nouns = '[]'", "title_nouns"),
        ("rlve.sqlite", "UPDATE fact SET stock = stock + 1 WHERE id = 1", "world_facts"),
        ("rlve.sqlite", "DELETE FROM attribute WHERE id = 1", "world_attributes"),
        ("rlve.sqlite", "UPDATE category SET families = '[]'", "world_categories"),
        ("rlve.sqlite", "UPDATE family SET kind = 'odd'", "world_families"),
        ("rlve.sqlite", "DELETE FROM family_value WHERE value = 1", "world_family_values"),
        ("rlve.sqlite", "UPDATE world SET payload = '{}'", "world_manifest"),
    ],
)
def test_rows_changed_together_with_hashes_still_break_the_id(
    copy: Path, name: str, statement: str, part: str
) -> None:
    forge(copy, name, statement)
    verify_files(copy, read_manifest(copy))
    with pytest.raises(ReleaseError, match=f"{name}.*'{part}'") as caught:
        load_release(copy, verify="full")
    assert caught.value.code == "content_mismatch"


def test_an_index_that_differs_from_its_documents_is_refused(copy: Path) -> None:
    """The id is made of tables; searches go through the inverted index, which a forger could swap."""
    with closing(sqlite3.connect(copy / "catalog.sqlite")) as connection, connection:
        rows = connection.execute("SELECT rowid, * FROM products ORDER BY rowid").fetchall()
        connection.execute(
            "CREATE VIRTUAL TABLE other USING fts5(asin UNINDEXED, title, brand, category, "
            "model, attributes, options, bullets, tokenize='unicode61 remove_diacritics 2')"
        )
        for _, *values in rows[1:] + rows[:1]:
            connection.execute(f"INSERT INTO other VALUES ({','.join('?' * 8)})", values)
        for name in ("data", "idx", "docsize"):
            connection.execute(f"DELETE FROM products_{name}")
            connection.execute(f"INSERT INTO products_{name} SELECT * FROM other_{name}")
        connection.execute("DROP TABLE other")
    forge(copy, "catalog.sqlite", "SELECT 1")
    with pytest.raises(ReleaseError, match=r"catalog\.sqlite: expected sound indexes") as caught:
        load_release(copy, verify="full")
    assert caught.value.code == "content_mismatch"


def test_a_table_that_does_not_belong_is_refused(copy: Path) -> None:
    forge(copy, "tasks.sqlite", "CREATE TABLE note(text TEXT)")
    with pytest.raises(ReleaseError, match=r"tasks\.sqlite.*note"):
        load_release(copy, verify="full")


@pytest.mark.parametrize("kind", ["fifo", "empty folder"])
def test_what_is_no_plain_file_is_refused(copy: Path, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(copy / "pipe")
    else:
        (copy / "folder").mkdir()
    with pytest.raises(ReleaseError) as caught:
        load_release(copy)
    assert caught.value.code == "file_set_mismatch"


def test_no_home_folder_only_costs_time(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    load_release(copy).close()


def test_receipt_skips_hashing_until_something_changes(copy: Path) -> None:
    manifest = read_manifest(copy)
    assert not has_receipt(copy, manifest)
    load_release(copy).close()
    assert has_receipt(copy, manifest)
    path = copy / "splits.json"
    times = path.stat()
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    with pytest.raises(ReleaseError, match=r"splits\.json"):
        load_release(copy)


def test_full_verification_ignores_the_receipt(copy: Path) -> None:
    load_release(copy, verify="full").close()
    receipt_path(copy).write_text("not json")
    assert not has_receipt(copy, read_manifest(copy))
    load_release(copy, verify="full").close()


def test_an_unwritable_cache_only_costs_time(
    copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocker))
    load_release(copy).close()
    assert not has_receipt(copy, read_manifest(copy))


def test_id_depends_on_rows_versions_and_tagger_only(small_release: Path) -> None:
    payload = json.loads((small_release / "manifest.json").read_text())
    parts = payload["components"], payload["tagger"], payload["content"]
    assert release_id(*parts) == payload["id"]
    assert set(payload["content"]) == set(LOGICAL_PARTS)
    assert release_id(parts[0], {**parts[1], "fingerprint": "other"}, parts[2]) != payload["id"]
    assert release_id({**parts[0], "reward": "other"}, *parts[1:]) != payload["id"]
