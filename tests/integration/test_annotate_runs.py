"""Paid annotation runs over a real socket: every answer once, limits, retries, phases, stopping."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from annotating import KEY, KEY_NAME, fast_settings, job_of
from llm_stub import LlmStub, busiest_window, right_answer
from places import ROOT

from pipelines.errors import ConfigError
from pipelines.resources.annotation_run import AnnotationJob
from pipelines.resources.annotator import RunReport
from pipelines.resources.llm import ProviderError
from pipelines.stages.annotation.cache_file import CacheError, read_lines
from pipelines.stages.annotation.persona_tasks import PersonaTask
from pipelines.stages.annotation.resolution import resolve_all

SIMPLE, FULL = "instruction_simple", "instruction"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv(KEY_NAME, KEY)


def tasks_of(count: int) -> list[PersonaTask]:
    """Even tasks have a ceiling in the simple text, tasks 1, 5, 9 ... in the full one, 3, 7, 11 ... none."""
    return [_task(task_id) for task_id in range(count)]


def _task(task_id: int) -> PersonaTask:
    simple = f"灯，预算{task_id + 1}元以内" if task_id % 2 == 0 else f"灯{task_id}"
    full = f"灯，{task_id + 1}元左右" if task_id % 4 == 1 else f"{simple}，要防水"
    return PersonaTask(
        task_id, f"shopsim-{task_id:024d}", task_id, str(7_000_000_000 + task_id), simple, full
    )


def run(job: AnnotationJob) -> RunReport:
    with job.annotator() as annotator:
        return job.run(annotator)


def failing_run(job: AnnotationJob, error: type[BaseException]) -> tuple[RunReport, Any]:
    """The report of a run that ends with `error`, and the error."""
    with job.annotator() as annotator:
        with pytest.raises(error) as caught:
            job.run(annotator)
        return annotator.report, caught.value


def stored(job: AnnotationJob) -> Counter[tuple[int, str]]:
    return Counter((line["task_id"], line["source_field"]) for line in read_lines(job.cache) if line)


def check_answers(job: AnnotationJob) -> None:
    """Every answer is the right one, and stored exactly once."""
    assert set(stored(job).values()) == {1}
    by_id = {task.task_id: task for task in job.tasks}
    for line in read_lines(job.cache):
        assert line is not None
        text = by_id[line["task_id"]].request(line["source_field"]).text
        assert line["annotation"] == {
            name: value for name, value in right_answer(line["task_id"], text).items() if name != "task_id"
        }


# --- a whole run ---


def test_hundreds_of_tasks_with_every_fault(tmp_path: Path) -> None:
    """240 tasks: 240 simple texts, 120 full ones; each fault below costs one more request."""
    faults = {
        1: ["429", "500"],
        3: ["503@0.05", "cut"],
        4: ["half"],
        5: ["not_json", "truncated"],
        6: ["no_choices"],
        8: ["no_message", "garbage"],
        9: ["wrong_id", "invented"],
        10: ["slow:0.2"],
        12: ["429@0.4"],
        14: ["500", "502", "503", "504", "cut"],
    }
    tasks = tasks_of(240)
    with LlmStub(faults, delay_s=0.005) as stub:
        job = job_of(tmp_path, fast_settings(stub.base_url, requests_per_minute=200), tasks)
        report = run(job)
        log = stub.log
    assert report.ended == "done"
    check_answers(job)
    assert (report.stored, report.instructions, len(stored(job))) == (360, 360, 360)
    # Right answers went out once for each text, so nothing was bought twice.
    assert set(log.answered.values()) == {1}
    spent = sum(len(names) for names in faults.values()) - 1  # the slow one is an answer
    assert report.requests == len(log.arrivals) == 360 + spent
    assert report.retried == {
        "minute_limit": 2,
        "connection": 3,
        "status_500": 2,
        "status_502": 1,
        "status_503": 2,
        "status_504": 1,
        "not_json": 2,
        "empty_answer": 1,
        "malformed_body": 2,
        "wrong_task": 1,
        "bad_evidence": 1,
    }
    # 200 in 0.5 s; the client counts 0.6 s, so late arrivals do no harm.
    assert busiest_window([arrival.at for arrival in log.arrivals], 0.5) <= 200
    assert 1 < log.most_in_flight <= 8
    # All simple texts were answered before the first full one was asked.
    first_full = next(
        n for n, item in enumerate(log.arrivals) if item.text != _task(item.task_id).instruction_simple
    )
    assert {item.task_id for item in log.arrivals[:first_full]} == set(range(240))
    audit = resolve_all(tasks, job.read().valid)
    assert [record.as_record()["price_upper"] for record in audit[:4]] == [1.0, 2.2, 3.0, None]
    assert [record.annotation.source_field for record in audit[:4]] == [SIMPLE, FULL, SIMPLE, FULL]
    assert KEY not in job.cache.read_text(encoding="utf-8")


def test_a_second_run_asks_nothing(tmp_path: Path) -> None:
    with LlmStub() as stub:
        job = job_of(tmp_path, fast_settings(stub.base_url), tasks_of(8))
        run(job)
        asked = len(stub.log.arrivals)
        again = run(job)
        assert (again.requests, again.ended, len(stub.log.arrivals)) == (0, "done", asked)


def test_the_first_request_goes_alone(tmp_path: Path) -> None:
    with LlmStub({0: ["slow:0.4"]}) as stub:
        run(job_of(tmp_path, fast_settings(stub.base_url), tasks_of(12)))
        first, second = stub.log.arrivals[:2]
    assert second.at - first.at >= 0.4


def test_a_cap_counts_instructions_over_both_phases(tmp_path: Path) -> None:
    with LlmStub({2: ["500"]}) as stub:
        settings = fast_settings(stub.base_url)
        report = run(job_of(tmp_path, settings, tasks_of(4), max_requests=5))
        assert (report.ended, report.instructions, report.stored, report.requests) == ("capped", 5, 5, 6)
        rest = run(job_of(tmp_path, settings, tasks_of(4), max_requests=5))
        assert (rest.ended, rest.stored) == ("done", 1)


def test_skipped_tasks_are_not_asked(tmp_path: Path) -> None:
    with LlmStub() as stub:
        run(job_of(tmp_path, fast_settings(stub.base_url), tasks_of(6), skip=frozenset({0, 3})))
        assert {arrival.task_id for arrival in stub.log.arrivals} == {1, 2, 4, 5}


# --- limits ---


def test_one_wave_cools_everybody_once_and_a_later_wave_halves_the_rate(tmp_path: Path) -> None:
    """Arrivals 20 to 24 and 50 to 55 are refused while in flight together."""
    with LlmStub(bursts={20: ("429:RPM", 5), 50: ("429:TPM", 6)}) as stub:
        report = run(job_of(tmp_path, fast_settings(stub.base_url), tasks_of(60)))
        times = [arrival.at for arrival in stub.log.arrivals]
    assert (report.ended, report.waves, report.requests_per_minute) == ("done", 2, 50)
    assert report.retried == {"minute_limit": 11}
    # Behind each burst a pause of 0.3 s. A request that was started before it may come late, which shortens
    # what the server sees of it; without the pause, requests would be 5 ms apart.
    for last in (24, 55):
        assert max(late - early for early, late in pairwise(times[last - 1 : last + 20])) >= 0.15
    assert busiest_window(times, 0.5) <= 100


def test_rate_limits_and_other_failures_have_separate_counters(tmp_path: Path) -> None:
    fault = ["429", "500", "429", "cut", "429"]
    settings = {"cooldown_s": 0.02, "rate_limit_retries": 3, "retries": 2, "requests_per_minute": 1000}
    with LlmStub({1: fault}) as stub:
        report = run(job_of(tmp_path, fast_settings(stub.base_url, **settings), tasks_of(2)))
    assert (report.ended, report.waves) == ("done", 3)


def test_rate_limits_without_end_stop_the_run(tmp_path: Path) -> None:
    settings = {"cooldown_s": 0.02, "rate_limit_retries": 2, "requests_per_minute": 1000}
    with LlmStub({1: ["429"] * 9}) as stub:
        report, error = failing_run(
            job_of(tmp_path, fast_settings(stub.base_url, **settings), tasks_of(2)), ProviderError
        )
    assert (error.code, report.retried["minute_limit"], report.ended) == ("rate_limit_persists", 3, "stopped")


@pytest.mark.parametrize(
    ("fault", "code"),
    [("429:RPD", "quota_exhausted"), ("401", "provider_status_401"), ("422", "provider_status_422")],
)
def test_a_fatal_answer_ends_the_run_and_keeps_what_was_in_flight(
    tmp_path: Path, fault: str, code: str
) -> None:
    with LlmStub({3: [fault]}, delay_s=0.2) as stub:
        job = job_of(tmp_path, fast_settings(stub.base_url, workers=4), tasks_of(40))
        report, error = failing_run(job, ProviderError)
        arrivals = len(stub.log.arrivals)
        answered = set(stub.log.answered)
    assert (error.code, report.ended) == (code, "stopped")
    assert arrivals < 12, "nothing new was asked"
    assert {key[0] for key in stored(job)} == {task_id for task_id, _ in answered} >= {0}


# --- instructions that are given up ---


def test_an_instruction_that_always_fails_is_reported_and_the_phase_ends(tmp_path: Path) -> None:
    with LlmStub({3: ["invented"] * 9}) as stub:
        job = job_of(tmp_path, fast_settings(stub.base_url, retries=2), tasks_of(6))
        report = run(job)
    assert report.given_up == [(3, SIMPLE, "bad_evidence")]
    assert (report.ended, report.retried["bad_evidence"]) == ("failed", 3)
    assert set(stored(job)) == {(task_id, SIMPLE) for task_id in (0, 1, 2, 4, 5)}, "no full text before"
    assert report.as_dict()["examples"] == ["3:instruction_simple bad_evidence"]
    with LlmStub() as stub:
        settings = fast_settings(stub.base_url)
        resumed = AnnotationJob(settings, job.cache, job.source_archive_sha256, job.tasks)
        assert run(resumed).ended == "done"
    assert resumed.read().counts["foreign"] == 5, "another endpoint is another identity"


def test_a_failing_health_check_asks_nothing_else(tmp_path: Path) -> None:
    with LlmStub({0: ["garbage"] * 9}) as stub:
        job = job_of(tmp_path, fast_settings(stub.base_url, retries=1), tasks_of(6))
        report, error = failing_run(job, ProviderError)
        assert len(stub.log.arrivals) == 2
    assert (error.code, report.stored) == ("health_check_failed", 0)


def test_an_unanswerable_first_text_blocks_no_other(tmp_path: Path) -> None:
    """Its completions show that key, model and account work: it is given up, the next one goes alone."""
    with LlmStub({0: ["invented"] * 6, 2: ["slow:0.2"]}) as stub:
        job = job_of(tmp_path, fast_settings(stub.base_url), tasks_of(6), skip=frozenset({1}))
        report = run(job)
        times = [(item.task_id, item.at) for item in stub.log.arrivals]
    assert [task_id for task_id, _ in times[:7]] == [0, 0, 0, 0, 0, 0, 2], "one try and five retries"
    assert times[7][1] - times[6][1] >= 0.2, "alone until an answer is stored"
    assert (report.ended, report.given_up) == ("failed", [(0, SIMPLE, "bad_evidence")])
    assert set(stored(job)) == {(task_id, SIMPLE) for task_id in (2, 3, 4, 5)}


def test_texts_unanswered_one_after_another_end_the_run(tmp_path: Path) -> None:
    with LlmStub({task_id: ["not_json"] * 9 for task_id in range(9)}) as stub:
        settings = fast_settings(stub.base_url, retries=1, failures_in_a_row=3)
        report, error = failing_run(job_of(tmp_path, settings, tasks_of(9)), ProviderError)
        assert [item.task_id for item in stub.log.arrivals] == [0, 0, 1, 1, 2, 2]
        assert stub.log.most_in_flight == 1
    assert (error.code, len(report.given_up), report.stored) == ("health_check_failed", 3, 0)


@pytest.mark.parametrize("cap", [0, -1])
def test_a_cap_below_one_is_refused(tmp_path: Path, cap: int) -> None:
    """Neither "no cap" nor, counted from the end, all but the last."""
    with pytest.raises(ConfigError, match=f"at least 1.*{cap}"):
        job_of(tmp_path, fast_settings("http://127.0.0.1:9/v1"), tasks_of(4), max_requests=cap)


def test_an_endpoint_that_fails_on_and_on_ends_the_run(tmp_path: Path) -> None:
    faults = {task_id: ["500"] * 9 for task_id in range(1, 40)}
    with LlmStub(faults) as stub:
        settings = fast_settings(stub.base_url, retries=0, failures_in_a_row=5, workers=1)
        report, error = failing_run(job_of(tmp_path, settings, tasks_of(40)), ProviderError)
    assert (error.code, len(report.given_up), report.stored) == ("endpoint_failing", 5, 1)


# --- stopping ---


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C as at a terminal; a test run that was started in the background has it switched off."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_finishes_and_stores_what_is_in_flight(tmp_path: Path) -> None:
    with LlmStub(delay_s=0.2) as stub:
        job = job_of(tmp_path, fast_settings(stub.base_url, workers=6), tasks_of(60))

        def interrupt() -> None:
            while len(stub.log.arrivals) < 10:
                threading.Event().wait(0.01)
            signal.raise_signal(signal.SIGINT)

        watcher = threading.Thread(target=interrupt)
        watcher.start()
        report, _ = failing_run(job, KeyboardInterrupt)
        watcher.join()
        assert report.ended == "stopped"
        assert report.stored == len(stub.log.arrivals) == sum(stub.log.answered.values()) < 60
        check_answers(job)
        rest = run(job)
        assert rest.ended == "done"
        assert set(stub.log.answered.values()) == {1}
    check_answers(job)


def test_a_cache_that_cannot_be_written_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LlmStub() as stub:
        job = job_of(tmp_path, fast_settings(stub.base_url), tasks_of(30))
        with job.annotator() as annotator:

            def full(*_: object) -> int:
                raise OSError(28, "No space left on device")

            monkeypatch.setattr("os.fsync", full)
            with pytest.raises(CacheError, match="No space left"):
                job.run(annotator)
            monkeypatch.undo()
        assert len(stub.log.arrivals) == 1, "the health check: no answer is bought that cannot be kept"
    assert list(read_lines(job.cache)) == []


def test_without_a_key_nothing_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_NAME)
    with LlmStub() as stub:
        with pytest.raises(ConfigError) as caught:
            run(job_of(tmp_path, fast_settings(stub.base_url), tasks_of(1)))
        assert (caught.value.code, stub.log.arrivals) == ("key_missing", [])


def test_two_runs_never_share_a_cache(tmp_path: Path) -> None:
    with LlmStub() as stub:
        job = job_of(tmp_path, fast_settings(stub.base_url), tasks_of(1))
        with job.annotator(), pytest.raises(ConfigError) as caught:
            run(job)
        assert caught.value.code == "cache_locked"


def test_expired_answers_are_asked_again_and_win(tmp_path: Path) -> None:
    with LlmStub() as stub:
        job = job_of(tmp_path, fast_settings(stub.base_url), tasks_of(2))
        run(job)
        lines = [dict(line or {}, answered_at="2020-01-01T00:00:00+00:00") for line in read_lines(job.cache)]
        job.cache.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
        old = job_of(tmp_path, fast_settings(stub.base_url, expires_days=30), job.tasks)
        assert (old.plan(old.read()).expired, run(old).stored) == (3, 3)
        assert old.read().counts["superseded"] == 3
        assert old.plan(old.read()).requests == 0


DRIVER = """
import sys
from pathlib import Path
from annotating import fast_settings, job_of
from test_annotate_runs import tasks_of
job = job_of(Path(sys.argv[1]), fast_settings(sys.argv[2]), tasks_of(60))
with job.annotator() as annotator:
    job.run(annotator)
"""


def start(folder: Path, stub: LlmStub) -> subprocess.Popen[bytes]:
    """A run over 60 tasks, 90 texts, in a process of its own."""
    places = os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "tests" / "integration")))
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(folder), stub.base_url],
        env={**os.environ, "PYTHONPATH": places},
        stderr=subprocess.PIPE,
    )


def test_kill_9_loses_no_stored_answer_and_buys_none_twice(tmp_path: Path) -> None:
    """Killed three times at seeded moments; an answer that is on disk is never asked again."""
    moments = random.Random(417)  # noqa: S311 - repeatable moments
    with LlmStub(delay_s=0.02) as stub:
        job = job_of(tmp_path, fast_settings(stub.base_url), tasks_of(60))
        texts = {
            (item.task_id, name): item.request(name).text for item in job.tasks for name in (SIMPLE, FULL)
        }
        before: Counter[tuple[int, str]] = Counter()
        for _ in range(3):
            asked = len(stub.log.arrivals)
            process = start(tmp_path, stub)
            wanted = asked + moments.randint(5, 20)
            while len(stub.log.arrivals) < wanted and process.poll() is None:
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
            _, errors = process.communicate()
            assert process.returncode == -signal.SIGKILL, errors.decode()
            now = stored(job)
            assert now.keys() >= before.keys(), "nothing is lost"
            again = {(item.task_id, item.text) for item in stub.log.arrivals[asked:]}
            assert not again & {(key[0], texts[key]) for key in before}
            before = now
        process = start(tmp_path, stub)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors.decode()
        # Bought twice: at most what was in flight at a kill, eight workers each time.
        assert sum(count - 1 for count in stub.log.answered.values()) <= 3 * 8
    check_answers(job)
    assert len(stored(job)) == 90
