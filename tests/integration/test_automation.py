"""Sensors and the drift job: what starts a run, what is written about a failed one, what drift looks like."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import builds
import dagster as dg
import pytest
from builds import config, small_records, write_config, write_records

from pipelines.automation import OBSERVE_PUBLISHED
from pipelines.definitions import build_definitions, defs
from pipelines.jobs import BUILD_RELEASE
from pipelines.resources.debris import remove_debris
from pipelines.resources.workspace import WorkspaceResource
from pipelines.sensors import FAILED_RUNS, failed_run_log, raw_archive_changed
from pipelines.stages.release import restore_retired

TEXT = 'name = "small"\narchive = "{archive}"\ntagger = "literal"\nruntime_regex_task_ids = "all"\n'


@pytest.fixture
def workspace(tmp_path: Path) -> WorkspaceResource:
    """Two configured data sets; the archive of `absent` is not there."""
    raw = write_records(tmp_path / "raw.json.gz")
    configs = write_config(tmp_path / "configs", "small", TEXT.format(archive=raw))
    absent = TEXT.format(archive=tmp_path / "absent.json.gz").replace("small", "absent")
    write_config(configs, "absent", absent)
    roots = {"artifacts_root": str(tmp_path / "artifacts"), "releases_root": str(tmp_path / "releases")}
    return WorkspaceResource(dataset="small", configs_root=str(configs), **roots)


class Ticks:
    """Evaluates the archive sensor again and again, with the cursor that it left."""

    def __init__(self, workspace: WorkspaceResource) -> None:
        self.workspace, self.cursor = workspace, None

    def tick(self) -> tuple[list[dg.RunRequest], str]:
        with dg.build_sensor_context(cursor=self.cursor, resources={"workspace": self.workspace}) as context:
            result: Any = raw_archive_changed(context)
            self.cursor = context.cursor
        if isinstance(result, dg.SkipReason):
            return [], str(result.skip_message)
        return list(result.run_requests), ""


def test_a_changed_archive_asks_for_one_run(workspace: WorkspaceResource, tmp_path: Path) -> None:
    ticks, raw = Ticks(workspace), tmp_path / "raw.json.gz"
    assert ticks.tick() == ([], "small: first seen, looking again")
    (first,), _ = ticks.tick()
    assert first.run_config["resources"]["workspace"]["config"]["dataset"] == "small"
    assert [ticks.tick()[0] for _ in range(3)] == [[], [], []]
    assert ticks.tick()[1].startswith("small: unchanged, ")
    original = raw.read_bytes()
    write_records(raw, small_records()[:-1])
    assert ticks.tick() == ([], "small: changing, looking again"), "a copy may be in progress"
    (second,), _ = ticks.tick()
    raw.write_bytes(original)
    ticks.tick()
    (third,), _ = ticks.tick()
    assert len({first.run_key, second.run_key, third.run_key}) == 3, "a content may come back"
    assert first.tags["content"] == third.tags["content"] != second.tags["content"]


def test_a_touched_archive_asks_for_nothing(workspace: WorkspaceResource, tmp_path: Path) -> None:
    ticks = Ticks(workspace)
    ticks.tick(), ticks.tick()
    os.utime(tmp_path / "raw.json.gz", ns=(1, 1))
    assert [ticks.tick()[0] for _ in range(3)] == [[], [], []]


def test_no_archive_is_said(workspace: WorkspaceResource, tmp_path: Path) -> None:
    (tmp_path / "raw.json.gz").unlink()
    assert Ticks(workspace).tick() == ([], "no configured data set has its archive on disk")


def test_the_requested_run_builds(workspace: WorkspaceResource, tmp_path: Path) -> None:
    ticks = Ticks(workspace)
    ticks.tick()
    (request,), _ = ticks.tick()
    job = build_definitions(workspace).resolve_job_def(BUILD_RELEASE)
    with dg.DagsterInstance.ephemeral() as instance:
        assert job.execute_in_process(run_config=request.run_config, instance=instance).success
    assert (tmp_path / "releases" / "small" / "current" / "manifest.json").is_file()


def test_what_runs_by_itself() -> None:
    """Nothing that starts a run is on by default; the failure log is, and it starts none."""
    sensors = {sensor.name: sensor.default_status.value for sensor in defs.sensors or ()}
    assert sensors["raw_archive_changed"] == "STOPPED"
    assert sensors["failed_run_log"] == "RUNNING"
    schedules = {item.name: item.default_status.value for item in defs.schedules or ()}  # type: ignore[union-attr]
    assert schedules["observe_published_daily"] == "STOPPED"


def failed_lines(folder: Path, run_config: dict[str, Any]) -> list[dict[str, Any]]:
    """Runs the job, lets the failure sensor see it, and reads the file that it wrote."""
    with dg.DagsterInstance.ephemeral() as instance:
        job = defs.resolve_job_def(BUILD_RELEASE)
        result = job.execute_in_process(instance=instance, run_config=run_config, raise_on_error=False)
        assert not result.success
        event = next(item for item in result.all_events if item.event_type_value == "PIPELINE_FAILURE")
        context = dg.build_run_status_sensor_context(
            sensor_name="failed_run_log",
            dagster_instance=instance,
            dagster_run=result.dagster_run,
            dagster_event=event,
        ).for_run_failure()
        failed_run_log(context)
    lines = (folder / "artifacts" / FAILED_RUNS).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_a_failed_run_leaves_one_line_without_private_text(tmp_path: Path) -> None:
    records = small_records()
    records[1]["asin"] = records[0]["asin"]
    raw = write_records(tmp_path / "raw.json.gz", records)
    values = config(tmp_path, raw=raw)
    run_config = {"resources": {"workspace": {"config": values}}}
    failed_lines(tmp_path, run_config)
    lines = failed_lines(tmp_path, run_config)
    assert len(lines) == 2, "appended"
    line = lines[1]
    assert line.keys() == {"time", "run_id", "job", "data_set", "problems"}
    assert (line["job"], line["data_set"]) == (BUILD_RELEASE, "small")
    assert line["problems"][0].startswith("raw_products: duplicate_asin: record 1")
    text = (tmp_path / "artifacts" / FAILED_RUNS).read_text(encoding="utf-8")
    canaries = (builds.CANARY_FULL, builds.CANARY_OPTION, builds.CANARY_ATTRIBUTE, builds.CANARY_USER)
    assert not any(canary in text for canary in canaries)


@pytest.fixture
def published(small_release: Path, tmp_path: Path) -> Path:
    """A folder with the artifacts and the releases of a finished build."""
    shutil.copytree(small_release.parents[2], tmp_path / "data", symlinks=True)
    return tmp_path / "data"


def observe(folder: Path) -> tuple[bool, str, dict[str, Any], list[str]]:
    """Success, message, metadata and observed assets of the drift job."""
    roots = {"artifacts_root": str(folder / "artifacts"), "releases_root": str(folder / "releases")}
    job = build_definitions(WorkspaceResource(**roots)).resolve_job_def(OBSERVE_PUBLISHED)
    with dg.DagsterInstance.ephemeral() as instance:
        result = job.execute_in_process(instance=instance, raise_on_error=False)
    observed = [event.asset_key.to_user_string() for event in result.all_events if event.is_asset_observation]
    if result.success:
        return True, "", {}, observed
    failure = next(event for event in result.all_events if event.is_step_failure).step_failure_data
    return (
        False,
        str(failure.user_failure_data.description),
        dict(failure.user_failure_data.metadata),
        observed,
    )


def test_untouched_files_are_no_drift(published: Path) -> None:
    assert observe(published) == (True, "", {}, [])


def test_nothing_built_is_no_drift(tmp_path: Path) -> None:
    assert observe(tmp_path)[0]


@pytest.mark.parametrize(
    ("file", "asset", "how"),
    [
        ("artifacts/small/title_nouns.parquet", "title_nouns", "remove"),
        ("artifacts/small/split_val.json", "split/val", "flip"),
        ("artifacts/small/meta/title_nouns.json", "title_nouns", "flip"),
        ("releases/small/current/manifest.json", "release", "flip"),
        ("releases/small/current/private/goals.sqlite", "release", "remove"),
    ],
)
def test_drift_names_the_file_and_both_hashes(published: Path, file: str, asset: str, how: str) -> None:
    path = published / file
    data = path.read_bytes()
    path.unlink()
    if how == "flip":
        path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    success, message, metadata, observed = observe(published)
    assert not success
    assert message.startswith("published_files_drifted: small/")
    assert path.name in message
    rows = [record.data for record in metadata["drifted_files"].records]
    row = next(row for row in rows if row["file"].endswith(path.name))
    assert (row["found"] == "no file") == (how == "remove")
    assert row["expected"] != row["found"]
    assert asset in observed


def test_a_file_too_many_in_a_release_is_drift(published: Path) -> None:
    (published / "releases" / "small" / "current" / "extra.txt").write_text("")
    success, message, _, _ = observe(published)
    assert not success
    assert "extra.txt: expected no file" in message


def test_debris_of_dead_processes_goes_and_nothing_else(tmp_path: Path) -> None:
    dead, alive = "999999999", str(os.getppid())
    artifacts, releases = tmp_path / "artifacts", tmp_path / "releases"
    (artifacts / "meta" / "memo").mkdir(parents=True)
    (releases / f".building-{dead}").mkdir(parents=True)
    (releases / f".building-{dead}" / "half").write_text("")
    (releases / f".current-{dead}").symlink_to("nowhere")
    gone = [f".a.txt.{dead}.building", f".a.txt.{dead}.building-journal", f"meta/a.{dead}.tmp"]
    kept = [f".b.txt.{alive}.building", "a.txt", "meta/a.json", ".lock"]
    for name in (*gone, *kept):
        (artifacts / name).write_text("x")
    assert len(remove_debris(artifacts, releases)) == 5
    left = {str(path.relative_to(artifacts)) for path in artifacts.rglob("*") if path.is_file()}
    assert left == set(kept)
    assert list(releases.iterdir()) == []


def test_a_release_retired_by_a_killed_process_comes_back(tmp_path: Path) -> None:
    final, retired = tmp_path / "mine", tmp_path / ".retired-999999999-mine"
    retired.mkdir()
    (retired / "manifest.json").write_text("{}")
    restore_retired(final)
    assert (final / "manifest.json").is_file()
    assert not retired.exists()
    retired.mkdir()
    restore_retired(final)
    assert not retired.exists(), "the new one was in place"
