"""Exclusions by hand through a whole build; a build from its cleaned archive; the index alone."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from builds import build, config, record, small_records, task, write_records
from test_blocking_checks import edit_cleaned, evaluate, set_at

from pipelines.build import BuildReport, run_build
from pipelines.errors import ArtifactError, ConfigError, DatasetError
from pipelines.resources.artifact_store import ArtifactStore
from pipelines.resources.workspace import WorkspaceResource
from pipelines.stages.cleaned_source import AUDIT_NAME, open_origin, read_cleaned_source
from pipelines.stages.ingest import read_archive
from pipelines.stages.published_json import PublishedJson
from shopsim_env.cli import main
from shopsim_env.errors import UnknownTaskError
from shopsim_env.release import load_release
from shopsim_env.release.layout import CLEAN_MANIFEST_EXPORT, CLEANED_EXPORT, EXPORTS_FOLDER

# The small records have tasks 0 (persona), 1 (excluded by its prices), 2 and 3; these add 4, 5 and 6.
TWO_TASKS = record(
    "700000000005",
    "双任务 保温杯",
    instructions=[task("买一个保温杯，30元以内"), task("买一个防水保温杯")],
)
NO_TARGET = record(
    "700000000006", "无目标 台灯", instructions=[task("买一盏台灯", attributes=[""], instruction_options=[])]
)
LIST = """
dataset = "small"
version = "2026-11-30"
[[exclude]]
asin = "700000000004"
reason = "photo shows other goods"
author = "li"
[[exclude]]
task = 4
reason = "the budget is meant per piece"
author = "wu"
"""


@pytest.fixture(scope="module")
def raw_build(tmp_path_factory: pytest.TempPathFactory) -> BuildReport:
    folder = tmp_path_factory.mktemp("raw")
    (folder / "configs" / "exclusions").mkdir(parents=True)
    (folder / "configs" / "exclusions" / "small.toml").write_text(LIST)
    raw = write_records(folder / "raw.json.gz", [*small_records(), TWO_TASKS, NO_TARGET])
    report = build(folder, raw=raw, configs_root=folder / "configs")
    assert report.ok, report.problems
    return report


def whole(report: BuildReport) -> Path:
    return Path(report.release or "")


def manifest_of(report: BuildReport) -> dict[str, Any]:
    return json.loads((whole(report) / "manifest.json").read_text(encoding="utf-8"))


def test_excluded_products_and_tasks_are_gone_with_their_reason(raw_build: BuildReport) -> None:
    with load_release(whole(raw_build)) as release:
        assert list(release.tasks) == [0, 2, 5]
        for task_id in (3, 4):
            with pytest.raises(UnknownTaskError, match="human_exclusion"):
                release.tasks[task_id]
        assert release.product("700000000005").title == "双任务 保温杯", "only its task was set aside"
        assert not [hit for hit in release.search("竹制 杯垫").hits if hit.asin == "700000000004"]
        assert {name for name, ids in release.splits.items() if 4 in ids or 3 in ids} == set()


def test_a_task_without_target_is_exported_and_not_offered(raw_build: BuildReport) -> None:
    """Published files hold such tasks; a purchase of anything alike would win one."""
    root = whole(raw_build)
    cleaned = json.loads(gzip.decompress((root / CLEANED_EXPORT).read_bytes()))
    assert [item["task_id"] for product in cleaned for item in product["instructions"]] == [0, 2, 5, 6]
    manifest = json.loads((root / CLEAN_MANIFEST_EXPORT).read_text(encoding="utf-8"))
    assert (manifest["active_task_count"], manifest["quarantined_task_count"]) == (4, 1)
    splits = json.loads((root / EXPORTS_FOLDER / "task_splits.cleaned.v2.json").read_text(encoding="utf-8"))
    assert splits["splits"]["standard_train"]["task_ids"] == [2, 5, 6]
    with load_release(root) as release:
        assert release.splits["source/standard_train"] == (2, 5)
        with pytest.raises(UnknownTaskError, match="no_target"):
            release.tasks[6]


def test_the_published_list_shows_the_product_in_its_own_format(raw_build: BuildReport) -> None:
    path = whole(raw_build) / EXPORTS_FOLDER / "catalog_exclusions.v2.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    assert [(row["asin"], row["reason"], row["task_ids"]) for row in rows] == [
        ("700000000002", "multiple_price_affecting_axes", [1]),
        ("700000000004", "human_exclusion", [3]),
    ]
    assert set(rows[1]) == set(rows[0])


def test_the_manifest_has_version_and_hash_and_no_reason(raw_build: BuildReport) -> None:
    said = manifest_of(raw_build)["human_exclusions"]
    assert (said["versions"], said["entries"]) == ({"small.toml": "2026-11-30"}, 2)
    assert len(said["sha256"]) == 64
    public = "".join(path.read_text(errors="replace") for path in whole(raw_build).glob("*.json"))
    assert "photo shows" not in public


def test_an_entry_that_names_nothing_stops_the_build(tmp_path: Path) -> None:
    (tmp_path / "exclusions").mkdir()
    (tmp_path / "exclusions" / "small.toml").write_text(LIST.replace("task = 4", "task = 40"))
    report = build(tmp_path, raw=write_records(tmp_path / "raw.json.gz"), configs_root=tmp_path)
    assert [stage.asset for stage in report.stages] == ["raw_products", "catalogue_quality"]
    assert report.problems[0].startswith("human_exclusions: unknown_exclusion: small.toml: ")
    assert "task 40" in report.problems[0]


@pytest.fixture(scope="module")
def cleaned_build(raw_build: BuildReport, tmp_path_factory: pytest.TempPathFactory) -> BuildReport:
    """From the exports of the raw build, without the list: the exports know what it did."""
    folder = tmp_path_factory.mktemp("cleaned")
    report = build(folder, **source_of(raw_build), runtime_regex_all=False, configs_root=folder / "none")
    assert report.ok, report.problems
    return report


def source_of(report: BuildReport) -> dict[str, Path]:
    return {
        "from_cleaned": whole(report) / CLEANED_EXPORT,
        "manifest": whole(report) / CLEAN_MANIFEST_EXPORT,
    }


# What a cleaned archive no longer knows of excluded products: their axes, findings and splits.
UNKNOWN_PARTS = {"findings", "exclusion_lineage"}


def test_everything_that_is_played_comes_from_the_cleaned_archive_too(
    raw_build: BuildReport, cleaned_build: BuildReport
) -> None:
    first, second = manifest_of(raw_build), manifest_of(cleaned_build)
    differing = {part for part in first["content"] if second["content"][part] != first["content"][part]}
    assert differing == UNKNOWN_PARTS
    assert second["id"] != first["id"]
    assert second["counts"] == first["counts"]
    exports = {path.name: path.read_bytes() for path in (whole(raw_build) / EXPORTS_FOLDER).iterdir()}
    assert exports == {
        path.name: path.read_bytes() for path in (whole(cleaned_build) / EXPORTS_FOLDER).iterdir()
    }
    parents = second["assets"]["task_ids"]["parents"]
    assert set(parents) == {"raw_products", "human_exclusions"}, "lineage starts at the same asset"
    assert parents["raw_products"] != first["assets"]["task_ids"]["parents"]["raw_products"]


def test_excluded_products_say_what_the_cleaned_archive_did_not_tell(
    cleaned_build: BuildReport, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(whole(cleaned_build)), "--task", "1", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["asin"], shown["state"], shown["axes"]) == ("700000000002", "excluded", [])
    assert shown["unknown"] == ["axes", "project_splits", "source_splits"]
    assert [(item["task_id"], item["would_have_gone"]) for item in shown["tasks"]] == [(1, [])]
    assert main(["audit", str(whole(cleaned_build)), "--task", "1"]) == 0
    assert "unknown: axes, project_splits, source_splits" in capsys.readouterr().out


def test_a_task_set_aside_before_keeps_its_product(
    cleaned_build: BuildReport, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(whole(cleaned_build)), "--task", "4", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["asin"], shown["state"]) == ("700000000005", "in_catalogue")
    assert [(item["task_id"], item["state"]) for item in shown["tasks"]] == [(4, "human_exclusion")]


def test_the_list_may_come_with_the_cleaned_archive_again(raw_build: BuildReport, tmp_path: Path) -> None:
    """What it names left before; it is found once more, and one more product leaves."""
    more = LIST + '[[exclude]]\nasin = "700000000003"\nreason = "r"\nauthor = "li"\n'
    (tmp_path / "exclusions").mkdir()
    (tmp_path / "exclusions" / "small.toml").write_text(more)
    report = build(tmp_path, **source_of(raw_build), runtime_regex_all=False, configs_root=tmp_path)
    assert report.problems == []
    with load_release(whole(report)) as release:
        assert list(release.tasks) == [0, 5]


def plant(report: BuildReport, folder: Path, asset: str, edit: Callable[[Path, Path], None]) -> set[str]:
    """Checks that fail when one artifact of the cleaned build is edited."""
    artifacts = whole(report).parents[2] / "artifacts"
    shutil.copytree(artifacts, folder / "artifacts")
    store = ArtifactStore(folder / "artifacts" / "small")
    good = store.open(asset)
    store.write(
        asset, good.path.name, lambda new: edit(good.path, new), code_version="", parents=good.parents
    )
    result = evaluate(
        asset, config(folder, configs_root=folder / "none", runtime_regex_all=False, raw=Path("x"))
    )
    return {item.check_name for item in result.get_asset_check_evaluations() if not item.passed}


def test_data_that_are_not_those_of_the_source_fail_their_check(
    cleaned_build: BuildReport, tmp_path: Path
) -> None:
    failed = plant(cleaned_build, tmp_path, "cleaned_v2", edit_cleaned(set_at("0.title", "另一个标题")))
    assert failed == {"cleaned_archive_reproduced"}


def test_the_index_alone(raw_build: BuildReport) -> None:
    folder = whole(raw_build).parents[2]
    fields = config(folder, raw=folder / "raw.json.gz", configs_root=folder / "configs")
    before = sorted((folder / "releases").rglob("manifest.json"))
    with dg.DagsterInstance.ephemeral() as instance:
        report = run_build(fields, instance=instance, index_only=True)
    assert report.ok, report.problems
    assert [stage.asset for stage in report.stages] == ["search_index", "search_arrays", "search_baseline"]
    assert (report.checks_passed, report.checks_failed, report.release) == (7, 0, None)
    assert "source/standard_eval" in report.metrics["search_baseline"]
    assert sorted((folder / "releases").rglob("manifest.json")) == before


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"project_splits": {"seed": 99}}, "persona_splits: was built from setting project_splits"),
        ({"raw": "other"}, "raw_products: was built from archive"),
        ({"raw": "nothing"}, "--raw"),
        ({"lenient": True}, "raw_products: was built from setting lenient"),
        ({"configs_root": "none"}, "human_exclusions: was built from setting human_exclusions"),
        ({"runtime_regex_all": False}, "price_annotations: was built from setting"),
    ],
    ids=str,
)
def test_the_index_alone_refuses_options_of_another_build(
    raw_build: BuildReport, tmp_path: Path, changed: dict[str, Any], named: str
) -> None:
    folder = whole(raw_build).parents[2]
    shutil.copytree(folder / "artifacts", tmp_path / "artifacts")
    write_records(tmp_path / "other")
    places = {key: tmp_path / value for key, value in changed.items() if isinstance(value, str)}
    fields = {"raw": folder / "raw.json.gz", "configs_root": folder / "configs", **changed, **places}
    with (
        dg.DagsterInstance.ephemeral() as instance,
        pytest.raises((ArtifactError, ConfigError), match=named) as caught,
    ):
        run_build(config(tmp_path, **fields), instance=instance, index_only=True)
    assert caught.value.code == ("input_missing" if named == "--raw" else "artifact_stale")


def test_the_index_alone_refuses_artifacts_of_unknown_files(raw_build: BuildReport, tmp_path: Path) -> None:
    folder = whole(raw_build).parents[2]
    shutil.copytree(folder / "artifacts", tmp_path / "artifacts")
    (tmp_path / "artifacts" / "small" / "meta" / "memo" / "raw_products.json").unlink()
    fields = config(tmp_path, raw=folder / "raw.json.gz", configs_root=folder / "configs")
    with dg.DagsterInstance.ephemeral() as instance, pytest.raises(ArtifactError, match="unknown"):
        run_build(fields, instance=instance, index_only=True)


def test_the_index_alone_needs_an_earlier_build(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["build", "--dataset", "none-yet", "--raw", str(tmp_path / "raw.json"), "--index-only"]
    assert main([*words, "--data", str(tmp_path)]) == 1
    assert "artifact_missing: cleaned_v2" in capsys.readouterr().err


@pytest.mark.parametrize(
    "fields",
    [
        {"from_cleaned": "a.json.gz"},
        {"manifest": "m.json"},
        {"raw": "r.json", "from_cleaned": "a.json.gz", "manifest": "m.json"},
    ],
)
def test_an_unclear_source_is_wrong_use(fields: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as caught:
        WorkspaceResource(dataset="small", **fields).open()
    assert caught.value.code == "source_unclear"


def test_options_of_the_project_splits_replace_the_configuration(tmp_path: Path) -> None:
    chosen = {"seed": 7, "validation_size": 1, "test_size": 2, "held_out_max_group_size": 3}
    policy = WorkspaceResource(dataset="sample", project_splits=chosen).open().settings.project_splits
    assert policy.model_dump(include=set(chosen)) == chosen
    with pytest.raises(ConfigError, match="held_out_max_group_size"):
        WorkspaceResource(dataset="sample", project_splits={"held_out_max_group_size": 0}).open()


@pytest.fixture
def exports(raw_build: BuildReport, tmp_path: Path) -> Path:
    shutil.copytree(whole(raw_build) / EXPORTS_FOLDER, tmp_path / "exports")
    return tmp_path / "exports"


ARCHIVE, MANIFEST = Path(CLEANED_EXPORT).name, Path(CLEAN_MANIFEST_EXPORT).name
EXCLUSIONS = "catalog_exclusions.v2.json"


def repacked(path: Path) -> None:
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()), 1, mtime=0))


def edited(**changes: Any) -> Callable[[Path], None]:
    def edit(path: Path) -> None:
        PublishedJson.of(json.loads(path.read_bytes()) | changes).write(path)

    return edit


@pytest.mark.parametrize(
    ("name", "damage", "code", "named"),
    [
        (ARCHIVE, repacked, "manifest_mismatch", "output_archive_sha256"),
        (MANIFEST, edited(output_data_sha256="0" * 64), "manifest_mismatch", "output_data_sha256"),
        (MANIFEST, edited(schema_version="v9"), "manifest_mismatch", "schema_version"),
        (MANIFEST, edited(source_task_count="6"), "manifest_mismatch", "source_task_count"),
        (MANIFEST, edited(exclusions_sha256="0" * 64), "companion_mismatch", EXCLUSIONS),
        (EXCLUSIONS, lambda path: path.write_bytes(b"[]"), "companion_mismatch", EXCLUSIONS),
        (EXCLUSIONS, Path.unlink, "artifact_error", EXCLUSIONS),
        (MANIFEST, lambda path: path.write_bytes(b"[]"), "manifest_mismatch", MANIFEST),
    ],
)
def test_files_that_do_not_belong_together_are_named(
    exports: Path, name: str, damage: Callable[[Path], None], code: str, named: str
) -> None:
    damage(exports / name)
    with pytest.raises(ArtifactError, match=named) as caught:
        open_origin(exports / ARCHIVE, exports / MANIFEST)
    assert caught.value.code == code


def test_annotations_beside_the_manifest_must_be_its_own(exports: Path, tmp_path: Path) -> None:
    """Other ones are taken only when they are named, and then the data may differ."""
    beside = exports / AUDIT_NAME
    records = json.loads(beside.read_bytes())
    records[0]["reason"] = "another recording"
    beside.write_text(json.dumps(records), encoding="utf-8")
    source = {"from_cleaned": exports / ARCHIVE, "manifest": exports / MANIFEST}
    fields = {**source, "runtime_regex_all": False, "configs_root": tmp_path / "none"}
    report = build(tmp_path, **fields)
    assert not report.ok
    assert report.problems[0].startswith("price_annotations: companion_mismatch: ")
    assert AUDIT_NAME in report.problems[0]


def test_files_with_crlf_ends_and_published_hashes_fit(exports: Path) -> None:
    path = exports / MANIFEST
    manifest = json.loads(path.read_bytes())
    edited(exclusions_sha256=manifest["exclusions_crlf_sha256"])(path)
    for file in (path, exports / EXCLUSIONS):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert len(open_origin(exports / ARCHIVE, path).exclusions) == 2


@pytest.mark.parametrize(
    ("place", "value", "field"),
    [
        ("0.source_product_index", None, "source_product_index"),
        ("1.source_product_index", 0, "source_product_index"),
        ("0.instructions.0.task_id", "0", "instructions[0]"),
        ("0.instructions.0.task_uid", None, "instructions[0]"),
    ],
)
def test_records_without_ids_are_no_cleaned_ones(
    exports: Path, tmp_path: Path, place: str, value: Any, field: str
) -> None:
    origin = open_origin(exports / ARCHIVE, exports / MANIFEST)
    edit_cleaned(set_at(place, value))(exports / ARCHIVE, tmp_path / "bad.json.gz")
    with pytest.raises(DatasetError) as caught:
        read_cleaned_source(tmp_path / "bad.json.gz", origin, tmp_path / "out.parquet")
    assert (caught.value.code, caught.value.field) == ("not_cleaned", field)


def test_a_cleaned_archive_is_not_read_as_raw(exports: Path, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="--from-cleaned") as caught:
        read_archive(exports / ARCHIVE, tmp_path / "out.parquet")
    assert caught.value.code == "cleaned_archive"
