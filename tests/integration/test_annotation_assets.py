"""Annotations in Dagster: paid run by run config, fallbacks on record, drift, the weekly schedule."""

import json
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from annotating import KEY, KEY_NAME, settings_file
from builds import CANARY_FULL, config, record, task, write_records
from llm_stub import LlmStub
from places import ROOT

from pipelines.definitions import defs
from pipelines.jobs import REANNOTATE
from pipelines.resources.workspace import WorkspaceResource
from pipelines.schedules import reannotation_config, reannotation_schedule
from pipelines.settings import ReannotationSettings, load_annotation
from shopsim_env.release import layout

CANARY = "暗号四一七"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv(KEY_NAME, KEY)


def records() -> list[dict[str, Any]]:
    """Persona tasks 0 to 3: a ceiling in the simple text, in the full text, in none, approximately."""
    texts = [
        (f"{CANARY}灯，预算50元以内", f"{CANARY}灯，预算50元以内，{CANARY_FULL}"),
        (f"{CANARY}灯甲", f"{CANARY}灯，{CANARY_FULL}，预算70元以内"),
        (f"{CANARY}灯乙", f"{CANARY}灯乙，{CANARY_FULL}"),
        (f"{CANARY}灯，60元左右", f"{CANARY}灯，60元左右，{CANARY_FULL}"),
    ]
    return [
        record(
            f"71{number:010d}",
            f"灯 {number}号",
            user_persona={"用户ID": f"U{number}", "用户标签": [f"标签{number}"]},
            instructions=[task(full, simple)],
        )
        for number, (simple, full) in enumerate(texts)
    ]


class Run:
    """One run of the job `reannotate`."""

    def __init__(self, folder: Path, paid: dict[str, Any], **fields: Any) -> None:
        workspace = config(folder, raw=folder / "raw.json.gz", runtime_regex_all=False, **fields)
        run_config = {
            "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
            "ops": {"price_annotations": {"config": paid}},
            "resources": {"workspace": {"config": workspace}},
        }
        with dg.DagsterInstance.ephemeral() as instance:
            self.result = defs.resolve_job_def(REANNOTATE).execute_in_process(
                instance=instance, run_config=run_config, raise_on_error=False
            )
            self.log = "\n".join(
                f"{entry.user_message} {entry.dagster_event}"
                for entry in instance.all_logs(self.result.run_id)
            )
        self.artifacts = folder / "artifacts" / "small"

    def metadata(self, asset: str) -> dict[str, Any]:
        (event,) = self.result.asset_materializations_for_node(asset)
        return {name: item.value for name, item in event.metadata.items()}

    def artifact(self, name: str) -> Any:
        return json.loads((self.artifacts / name).read_text(encoding="utf-8"))


def reannotate(folder: Path, stub: LlmStub, paid: dict[str, Any] | None = None, **fields: Any) -> Run:
    write_records(folder / "raw.json.gz", records())
    path = settings_file(folder / "annotation.toml", stub.base_url)
    return Run(folder, paid or {}, annotation_config=path, **fields)


def check_private(run: Run) -> None:
    for secret in (KEY, CANARY, CANARY_FULL):
        assert secret not in run.log


def test_confirmed_by_run_config_missing_answers_are_bought(tmp_path: Path) -> None:
    with LlmStub({1: ["500"]}) as stub:
        run = reannotate(tmp_path, stub, {"confirm_paid_api": True})
        assert run.result.success
        assert len(stub.log.arrivals) == 7, "four simple texts, two full ones, one retry"
    shown = run.metadata("price_annotations")
    assert (shown["plan"]["pending_simple"], shown["plan"]["tasks"]) == (4, 4)
    assert (shown["paid_run"]["stored"], shown["paid_run"]["requests"]) == (6, 7)
    found = run.artifact("persona_price_annotations.v2.json")
    assert [item["price_upper"] for item in found] == [50.0, 70.0, None, 66.0]
    assert [item["source_field"] for item in found[:2]] == ["instruction_simple", "instruction"]
    drift = run.metadata("annotation_drift")
    assert (drift["compared_with_a_release"], drift["ceilings_moved"]) == (False, 0)
    agreement = run.artifact("annotation_drift.json")["parser_agreement"]
    assert agreement["hard_upper"]["same_ceiling"] == agreement["hard_upper"]["tasks"] == 2
    check_private(run)


def test_without_confirmation_nothing_is_asked_and_missing_answers_fail_the_run(tmp_path: Path) -> None:
    with LlmStub() as stub:
        run = reannotate(tmp_path, stub)
        assert stub.log.arrivals == []
    assert not run.result.success
    assert "annotations_missing" in run.log
    assert "0:instruction_simple, 1:instruction_simple" in run.log
    check_private(run)


def test_a_capped_run_keeps_its_answers_and_names_what_is_missing(tmp_path: Path) -> None:
    with LlmStub() as stub:
        paid = {"confirm_paid_api": True, "max_requests": 5}
        run = reannotate(tmp_path, stub, paid)
        assert not run.result.success
        assert "missing for 1" in run.log
        assert reannotate(tmp_path, stub, paid).result.success
        assert len(stub.log.arrivals) == 6, "each text once"


def test_a_refusing_endpoint_fails_the_run_without_telling_the_key(tmp_path: Path) -> None:
    with LlmStub({0: [f"echo:{KEY} {CANARY}"]}) as stub:
        run = reannotate(tmp_path, stub, {"confirm_paid_api": True})
    assert not run.result.success
    assert "provider_status_401" in run.log
    check_private(run)


def test_listed_fallbacks_are_recorded_and_not_asked(tmp_path: Path) -> None:
    with LlmStub() as stub:
        run = reannotate(tmp_path, stub, {"confirm_paid_api": True}, runtime_regex_task_ids=[1])
        assert run.result.success
        assert {arrival.task_id for arrival in stub.log.arrivals} == {0, 2, 3}
    left = run.artifact("persona_price_annotations.v2.json")[1]
    assert (left["kind"], left["missing_source_field"]) == ("runtime_regex_fallback", "instruction_simple")
    check_moved(tmp_path)


def test_answers_of_two_models_never_meet_in_a_release(tmp_path: Path) -> None:
    write_records(tmp_path / "raw.json.gz", records())
    digests = set()
    for model in ("m", "n"):
        path = settings_file(tmp_path / "annotation.toml", "http://127.0.0.1:9/v1", model=model)
        fields = config(tmp_path, raw=tmp_path / "raw.json.gz", annotation_config=path)
        work = WorkspaceResource(**fields).open()
        asked = work.settings.annotator
        assert (asked.model, len(asked.prompt_sha256)) == (model, 64)
        digests.add(work.reads.settings["annotator"])
    assert len(digests) == 2, "what was made under the one setting is stale under the other"


def check_moved(folder: Path) -> None:
    """Another ceiling than in the last release is reported as moved, by id, kind and amount."""
    last = folder / "releases" / "small" / "current" / layout.ANNOTATIONS_EXPORT
    last.parent.mkdir(parents=True)
    artifacts = folder / "artifacts" / "small"
    last.write_bytes((artifacts / "persona_price_annotations.v2.json").read_bytes())
    cache = folder / "cache" / "price_annotations.jsonl"
    lines = [json.loads(line) for line in cache.read_text(encoding="utf-8").splitlines()]
    changed = next(line for line in lines if line["task_id"] == 0)
    changed["annotation"] |= {"kind": "approximate_upper"}
    with cache.open("a", encoding="utf-8") as stream:
        stream.write(json.dumps(changed, ensure_ascii=False) + "\n")
    run = Run(folder, {}, runtime_regex_task_ids=[1], annotation_config=folder / "annotation.toml")
    assert run.result.success, "a warning stops nothing"
    drift = run.artifact("annotation_drift.json")["changes"]
    assert drift["kinds"] == {"hard_upper > approximate_upper": 1}
    (moved,) = drift["ceilings_moved"]
    assert (moved["price_upper_before"], moved["price_upper"]) == (50.0, 55.0)
    (check,) = [
        item for item in run.result.get_asset_check_evaluations() if item.check_name == "few_ceilings_moved"
    ]
    assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN)
    check_private(run)


def test_the_weekly_schedule_is_off_and_pays_nothing_by_default() -> None:
    schedule = defs.resolve_schedule_def("weekly_reannotation")
    assert schedule.default_status == dg.DefaultScheduleStatus.STOPPED
    assert schedule.cron_schedule == "0 3 * * 1"
    settings = load_annotation(ROOT / "configs" / "annotation.toml").reannotation
    paid = reannotation_config(settings)["ops"]["price_annotations"]["config"]
    assert paid == {"confirm_paid_api": False, "max_requests": 200}


def test_the_schedule_asks_for_one_valid_run_under_its_cap() -> None:
    settings = ReannotationSettings(dataset="sample", max_requests=7, confirm_paid_api=True)
    schedule = reannotation_schedule(settings)
    with dg.DagsterInstance.ephemeral() as instance:
        context = dg.build_schedule_context(instance=instance)
        (request,) = schedule.evaluate_tick(context).run_requests or ()
    job = defs.resolve_job_def(REANNOTATE)
    assert dg.validate_run_config(job, request.run_config)
    assert request.run_config == reannotation_config(settings)
    assert request.run_config["resources"]["workspace"]["config"] == {
        "dataset": "sample",
        "annotations": "cache",
    }
