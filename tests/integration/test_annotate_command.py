"""`shopsim annotate` as a user runs it: plan, confirmation, imports, JSON."""

import io
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from annotating import KEY, KEY_NAME, fast_settings, settings_file
from builds import CANARY_FULL, config, record, task, write_records
from llm_stub import LlmStub
from places import ROOT

from pipelines.annotate import AnnotateReport, annotation_job, run_paid
from pipelines.resources.workspace import WorkspaceResource
from shopsim_env.cli import main


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv(KEY_NAME, KEY)


def persona_records(count: int) -> list[dict[str, Any]]:
    """Even products have a ceiling in the simple text, the others in the full one."""
    return [_persona_record(number) for number in range(count)]


def _persona_record(number: int) -> dict[str, Any]:
    simple = f"灯，预算{number + 1}元以内" if number % 2 == 0 else f"灯{number}"
    full = f"灯，{CANARY_FULL}，{number + 1}元左右"
    return record(
        f"71{number:010d}",
        f"灯 {number}号",
        user_persona={"用户ID": f"U{number}", "用户标签": [f"标签{number}"]},
        instructions=[task(full, simple)],
    )


def arguments(folder: Path, stub: LlmStub, count: int = 6, **settings: Any) -> list[str]:
    raw = folder / "raw.json.gz"
    if not raw.exists():
        write_records(raw, persona_records(count))
    config = settings_file(folder / "annotation.toml", stub.base_url, **settings)
    named = ["--dataset", "lamps", "--raw", str(raw), "--data", str(folder / "data"), "--config", str(config)]
    return ["annotate", *named]


def cache_of(folder: Path) -> Path:
    return folder / "data" / "cache" / "price_annotations.jsonl"


def document(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return dict(json.loads(capsys.readouterr().out))


def test_the_default_prints_the_plan_and_asks_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_NAME)
    with LlmStub() as stub:
        assert main(arguments(tmp_path, stub)) == 0
        assert main([*arguments(tmp_path, stub), "--plan", "--max-batches", "2"]) == 0
        assert stub.log.arrivals == []
    out = capsys.readouterr().out
    assert "pending         simple 6, full 0; up to 6 full texts may follow" in out
    assert "to ask now      2 instructions, capped at 2" in out
    assert "at most         12 instructions with the full texts that may follow" in out
    assert "nothing was asked" in out
    assert CANARY_FULL not in out
    assert not cache_of(tmp_path).exists()


def test_a_run_needs_the_confirmation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with LlmStub() as stub:
        assert main([*arguments(tmp_path, stub), "--run"]) == 2
        assert main([*arguments(tmp_path, stub), "--run", "--json"]) == 2
        assert stub.log.arrivals == []
    captured = capsys.readouterr()
    assert "paid_api_unconfirmed: up to 12 instructions would be asked at http://127.0.0.1" in captured.err


def test_a_confirmed_run_answers_everything_and_says_what_it_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paid = ["--run", "--confirm-paid-api"]
    with LlmStub({1: ["500"]}) as stub:
        named = arguments(tmp_path, stub, input_price=1000.0, output_price=10000.0)
        assert main([*named, *paid, "--max-requests", "1"]) == 0
        assert "capped: 1 answers stored" in capsys.readouterr().out
        assert main([*named, *paid, "--workers", "2", "--json"]) == 0
        run = document(capsys)["run"]
        # Simple texts of 0 to 5, then full ones of 1, 3, 5: nine answers, one of them bought above.
        assert (run["ended"], run["stored"], run["requests"], run["retried"]) == (
            "done",
            8,
            9,
            {"status_500": 1},
        )
        # Eight answers of 100 and 20 tokens.
        assert run["cost"] == pytest.approx((800 * 1000 + 160 * 10000) / 1e6)
        assert stub.log.most_in_flight <= 2
        assert main([*named, *paid]) == 0
        captured = capsys.readouterr()
    assert "0 requests" in captured.out
    for text in (captured.out, captured.err, cache_of(tmp_path).read_text(encoding="utf-8")):
        assert KEY not in text
        assert CANARY_FULL not in text


def test_a_run_that_leaves_something_unanswered_ends_with_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paid = ["--run", "--confirm-paid-api"]
    with LlmStub({2: ["invented"] * 9, 3: ["403"]}) as stub:
        assert main([*arguments(tmp_path, stub, count=3, retries=1), *paid]) == 1
        assert "given up: 1 instructions (2:instruction_simple bad_evidence)" in capsys.readouterr().out
        (tmp_path / "raw.json.gz").unlink()
        assert main([*arguments(tmp_path, stub, count=5), *paid, "--json"]) == 1
        found = document(capsys)
        assert (found["ok"], found["error"]["code"]) == (False, "provider_status_403")
        assert found["run"]["ended"] == "stopped"
        left = ["--runtime-regex-task-id", "2", "--runtime-regex-task-id", "3"]
        assert main([*arguments(tmp_path, stub), *left, *paid]) == 0


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (["--max-requests", "0"], "config_error"),
        (["--max-requests", "-1"], "config_error"),
        (["--workers", "0"], "config_error"),
        (["--import", "nothing.jsonl"], "import_missing"),
        (["--raw", "nothing.json"], "input_missing"),
        (["--config", "nothing.toml"], "input_missing"),
    ],
)
def test_wrong_use_ends_with_two(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: list[str], code: str
) -> None:
    with LlmStub() as stub:
        assert main([*arguments(tmp_path, stub), *more]) == 2
    assert f"shopsim: {code}" in capsys.readouterr().err


def test_an_unknown_task_cannot_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with LlmStub() as stub:
        assert main([*arguments(tmp_path, stub), "--runtime-regex-task-id", "99"]) == 1
    assert "unknown_fallback" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("left", "named", "asked"),
    [
        ({"runtime_regex_task_ids": [1, 2]}, frozenset(), {0, 3}),
        ({"runtime_regex_task_ids": [1, 2]}, frozenset({0}), {3}),
        ({"runtime_regex_all": True}, frozenset(), set()),
    ],
)
def test_what_the_data_set_leaves_to_the_parser_is_not_paid_for(
    tmp_path: Path, left: dict[str, Any], named: frozenset[int], asked: set[int]
) -> None:
    raw = tmp_path / "raw.json.gz"
    write_records(raw, persona_records(4))
    work = WorkspaceResource(**config(tmp_path, raw=raw, **({"runtime_regex_all": False} | left))).open()
    with LlmStub() as stub:
        job = annotation_job(work, fast_settings(stub.base_url), named, None)
        assert job.plan(job.read()).pending_simple == len(asked)
        run_paid(job, AnnotateReport(job.plan(job.read())), lambda _report, _total: None)
        assert {arrival.task_id for arrival in stub.log.arrivals} == asked


def test_the_plan_says_when_builds_read_a_recorded_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The committed sample names one; the lamps of a raw archive have none."""
    recorded = ROOT / "data" / "samples" / "sample.annotations.json"
    sample = ["annotate", "--dataset", "sample", "--data", str(tmp_path / "data")]
    assert main(sample) == 0
    out = capsys.readouterr().out
    assert str(recorded) in out
    assert "`shopsim build --dataset sample --annotations cache` takes the answers" in out
    assert main([*sample, "--json"]) == 0
    assert document(capsys)["builds_read"] == str(recorded)
    with LlmStub() as stub:
        assert main([*arguments(tmp_path, stub), "--json"]) == 0
        assert document(capsys)["builds_read"] is None


def test_answers_survive_a_changed_archive_by_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another product in front moves every task id; what was bought is taken over, the new one is asked."""
    with LlmStub() as stub:
        named = arguments(tmp_path, stub, count=4)
        assert main([*named, "--run", "--confirm-paid-api"]) == 0
        asked = len(stub.log.arrivals)
        write_records(tmp_path / "raw.json.gz", [_persona_record(10), *persona_records(4)])
        old = tmp_path / "old.jsonl"
        old.write_bytes(cache_of(tmp_path).read_bytes())
        capsys.readouterr()
        assert main([*named, "--import", str(old), "--run", "--confirm-paid-api", "--json"]) == 0
        found = document(capsys)
        assert found["import"] == {str(old): {"found": 6, "imported": 6}}
        assert found["plan"]["cache"]["foreign"] == 6
        assert found["run"]["stored"] == len(stub.log.arrivals) - asked == 1


def test_a_request_to_end_stores_what_is_in_flight_and_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with LlmStub(delay_s=0.2) as stub:

        def terminate() -> None:
            while len(stub.log.arrivals) < 5:
                threading.Event().wait(0.01)
            os.kill(os.getpid(), signal.SIGTERM)

        watcher = threading.Thread(target=terminate)
        watcher.start()
        named = arguments(tmp_path, stub, count=40, workers=4)
        assert main([*named, "--run", "--confirm-paid-api"]) == 130
        watcher.join()
        answered = sum(stub.log.answered.values())
        assert 5 <= answered == len(stub.log.arrivals) < 40
    assert f"stopped: {answered} answers stored" in capsys.readouterr().out
    assert signal.getsignal(signal.SIGTERM) == before


class Terminal(io.StringIO):
    """A terminal that keeps what was written."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_a_bar_with_tokens_and_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with LlmStub(delay_s=0.05) as stub:
        named = arguments(tmp_path, stub, input_price=1000.0, output_price=10000.0)
        assert main([*named, "--run", "--confirm-paid-api"]) == 0
    shown = terminal.getvalue()
    # Nine answers of 120 tokens; 100 tokens in cost 0.1 and 20 out cost 0.2.
    assert "9/9" in shown
    assert "1,080 tokens, 2.70 CNY" in shown
    assert "/min" in shown
