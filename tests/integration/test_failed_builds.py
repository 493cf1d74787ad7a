"""A build that fails: what people and programs are told, and what nobody may learn from it."""

import gzip
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import builds
import dagster as dg
import pytest
from builds import build, config, small_records, write_records

from assets import release as release_asset
from pipelines.build import run_build
from pipelines.errors import ConfigError
from pipelines.resources.artifact_store import ArtifactStore

QUIET = {"telemetry": {"enabled": False}}
CANARIES = (builds.CANARY_FULL, builds.CANARY_OPTION, builds.CANARY_ATTRIBUTE, builds.CANARY_USER)


def damaged(how: str) -> bytes:
    """The small archive with a fault right behind a private text."""
    text = json.dumps(small_records(), ensure_ascii=False)
    private = builds.CANARY_FULL
    faults = {
        "control": text.replace(private, private + "\x01"),
        "escape": text.replace(private, private + "\\q"),
        "stray": text.replace(private, private + '"x', 1),
        "cut": text[: text.index(private) + len(private)],
        "nan": text.replace('"price": 39', '"price": NaN', 1),
        "huge": text.replace('"price": 39', '"price": 1e400', 1),
        "trailing": text + private,
        "type": text.replace('"attributes": [', '"attributes": [{}, ', 1),
    }
    return gzip.compress(faults[how].encode(), mtime=0)


@pytest.mark.parametrize("how", ["control", "escape", "stray", "cut", "nan", "huge", "trailing", "type"])
def test_no_private_text_in_messages_or_in_the_run_history(tmp_path: Path, how: str) -> None:
    raw, home = tmp_path / "raw.json.gz", tmp_path / "home"
    raw.write_bytes(damaged(how))
    with dg.DagsterInstance.local_temp(str(tmp_path), overrides=QUIET) as instance:
        report = run_build(config(tmp_path, raw=raw), instance=instance)
    assert not report.ok
    (problem,) = report.problems
    step, code, message = problem.split(": ", 2)
    assert step == "raw_products"
    assert code.replace("_", "").isalpha(), problem
    assert message
    for path in [path for path in tmp_path.rglob("*") if path.is_file() and path != raw]:
        data = path.read_bytes()
        for canary in CANARIES:
            assert canary.encode() not in data, path
            assert json.dumps(canary)[1:-1].encode() not in data, path
    assert not home.exists()


def texts_of(event: dg.EventLogEntry) -> Iterator[str]:
    """Everything that an event tells in words, also its metadata."""
    yield event.user_message
    happened = event.dagster_event
    if happened is None:
        return
    yield happened.message or ""
    metadata: dict[str, Any] = {}
    if happened.is_step_materialization:
        metadata = dict(happened.step_materialization_data.materialization.metadata)
    elif happened.event_type_value == "ASSET_CHECK_EVALUATION":
        metadata = dict(happened.asset_check_evaluation_data.metadata)
    for value in metadata.values():
        yield value.value if isinstance(value.value, str) else dg.serialize_value(value)


def test_no_event_names_a_task_with_its_gold_product(tmp_path: Path) -> None:
    """Task ids count tasks in source order, so products must not stand in that order either."""
    # 70 tasks of an excluded product come first, so that no count is a task id by chance.
    many = small_records()[1] | {"asin": "700000000099"}
    many["instructions"] = [builds.task(f"买第{number}盏多价的营地灯") for number in range(70)]
    raw = write_records(tmp_path / "raw.json.gz", [many, *reversed(small_records())])
    goals = {70: "700000000004", 71: "700000000003", 73: "700000000001"}
    (tmp_path / "home").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "home"), overrides=QUIET) as instance:
        report = run_build(config(tmp_path, raw=raw), instance=instance)
        events = instance.all_logs(report.run_id)
    assert report.ok, report.problems
    texts = [text for event in events for text in texts_of(event)]
    tables = [text for text in texts if re.match(r"\|\s+asin\b", text)]
    assert tables
    for table in tables:
        asins = re.findall(r"7000000\d{5}", table)
        assert asins == sorted(asins), table
    assert [told for text in texts for told in builds.told_goals(text, goals)] == []
    for path in [path for path in (tmp_path / "home").rglob("*") if path.is_file()]:
        assert re.search(rb"shopsim-[0-9a-f]{24}", path.read_bytes()) is None, path


def test_missing_files_are_refused_before_a_run_starts(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--raw") as caught:
        build(tmp_path, raw=tmp_path / "nothing.json.gz")
    assert caught.value.code == "input_missing"
    with pytest.raises(ConfigError, match="--annotations"):
        build(tmp_path, raw=write_records(tmp_path / "raw.json.gz"), annotations=tmp_path / "no.json")


def test_missing_annotations_name_both_ways_out(tmp_path: Path) -> None:
    report = build(tmp_path, raw=write_records(tmp_path / "raw.json.gz"), runtime_regex_all=False)
    (problem,) = report.problems
    assert problem.startswith("price_annotations: annotations_missing: ")
    assert "--annotations" in problem
    assert "--runtime-regex-task-id" in problem


def test_a_second_build_of_the_data_set_is_refused(tmp_path: Path) -> None:
    raw = write_records(tmp_path / "raw.json.gz")
    started, finish = threading.Event(), threading.Event()
    outcomes: list[Any] = []

    def first() -> None:
        outcomes.append(build(tmp_path, raw=raw))

    original = ArtifactStore.write

    def slow(self: ArtifactStore, *arguments: Any, **named: Any) -> Any:
        started.set()
        assert finish.wait(60)
        return original(self, *arguments, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ArtifactStore, "write", slow)
        worker = threading.Thread(target=first)
        worker.start()
        try:
            assert started.wait(60)
            with pytest.raises(ConfigError, match="another build") as caught:
                build(tmp_path, raw=raw)
            assert caught.value.code == "build_running"
        finally:
            finish.set()
            worker.join()
    assert outcomes[0].ok


def test_an_artifact_replaced_while_the_release_is_composed_stops_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody materializes in the UI meanwhile: the release would mix two builds."""
    original = release_asset._parts

    def replaced(work: Any) -> Any:
        parts = original(work)
        good = work.store.open("clean_manifest")
        work.store.write(
            "clean_manifest",
            good.path.name,
            lambda path: path.write_bytes(good.path.read_bytes() + b" "),
            code_version=good.code_version,
            parents=good.parents,
        )
        return parts

    monkeypatch.setattr(release_asset, "_parts", replaced)
    report = build(tmp_path, raw=write_records(tmp_path / "raw.json.gz"))
    assert not report.ok
    assert report.problems[0].startswith("release: ")
    assert not list((tmp_path / "releases").rglob("manifest.json"))
