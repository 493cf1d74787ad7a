"""Paid annotation against a stub endpoint: a whole run with faults, 50 times kill -9, resuming a large cache.

    .venv/bin/python -m benchmarks.annotation run [--tasks 5000]
    .venv/bin/python -m benchmarks.annotation kill [--kills 50]
    .venv/bin/python -m benchmarks.annotation plan [--records 100000]

Belongs here: the measurements and the machine's facts. The endpoint is `tests/llm_stub.py` in a process of
its own; rates are measured by its arrival times. Minutes are scaled down and printed.
"""

import argparse
import json
import os
import platform
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from annotating import ARCHIVE, KEY, KEY_NAME, fast_settings, job_of  # noqa: E402
from llm_stub import busiest_window  # noqa: E402

from pipelines.resources.annotation_run import AnnotationJob  # noqa: E402
from pipelines.stages.annotation.cache import answer_record  # noqa: E402
from pipelines.stages.annotation.cache_file import CacheFile, read_lines  # noqa: E402
from pipelines.stages.annotation.persona_tasks import PersonaTask  # noqa: E402
from pipelines.stages.annotation.protocol import validate_answer  # noqa: E402

SEED = 20261130
FAULTS = (
    *("500", "503@0.1", "slow:0.5", "cut", "half", "not_json", "truncated"),
    *("no_choices", "no_message", "garbage", "wrong_id", "invented"),
)
MINUTE_S, LIMIT, MARGIN_S, WORKERS = 6.0, 360, 2.0, 32


def tasks_of(count: int) -> list[PersonaTask]:
    """Even tasks have a ceiling in the simple text; of the others every second one in the full text."""
    tasks = []
    for number in range(count):
        simple = f"灯，预算{number + 1}元以内" if number % 2 == 0 else f"灯{number}"
        full = f"灯，{number + 1}元左右" if number % 4 == 1 else f"{simple}，要防水"
        tasks.append(PersonaTask(number, f"shopsim-{number:024d}", number, str(number), simple, full))
    return tasks


@contextmanager
def stub(folder: Path, script: dict[str, Any]) -> Iterator[tuple[str, Path]]:
    """The server in a process of its own; yields its base URL and its log of arrivals."""
    (folder / "script.json").write_text(json.dumps(script), encoding="utf-8")
    log = folder / "arrivals.jsonl"
    log.touch()
    command = [sys.executable, str(ROOT / "tests" / "llm_stub.py")]
    options = ["--script", str(folder / "script.json"), "--log", str(log)]
    process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), log
    finally:
        process.terminate()
        process.wait()


def arrivals(log: Path) -> list[dict[str, Any]]:
    return [line for line in read_lines(log) if line is not None]


def stored(cache: Path) -> Counter[tuple[int, str]]:
    return Counter((line["task_id"], line["source_field"]) for line in read_lines(cache) if line)


def whole_run(count: int) -> None:
    """Every fifth task meets one to three faults; two bursts of 429 make waves."""
    chance = random.Random(SEED)  # noqa: S311 - repeatable faults
    faults = {number: chance.choices(FAULTS, k=chance.randint(1, 3)) for number in range(5, count, 5)}
    bursts = {count // 4: ("429:RPM", 8), count: ("429:TPM", 16)}
    with (
        TemporaryDirectory() as name,
        stub(Path(name), {"faults": faults, "bursts": bursts}) as (url, log),
    ):
        settings = fast_settings(
            url,
            workers=WORKERS,
            requests_per_minute=LIMIT,
            window_s=MINUTE_S,
            window_margin_s=MARGIN_S,
            cooldown_s=MINUTE_S + 0.2,
            timeout_s=120,
        )
        job = job_of(Path(name), settings, tasks_of(count))
        with job.annotator() as annotator:
            report = job.run(annotator)
        seen, found = arrivals(log), stored(job.cache)
    expected = count + count // 2
    times = [line["at"] for line in seen]
    spent = sum(name != "" and not name.startswith("slow") for name in (line["fault"] for line in seen))
    print(
        f"tasks {count}, answers stored {len(found)} of {expected}, lines a key {sorted(set(found.values()))}"
    )
    print(f"requests {report.requests}, at the server {len(seen)}, lost to faults {spent}")
    print(f"waves {report.waves} of {len(bursts)} bursts, rate at the end {report.requests_per_minute}")
    busiest = busiest_window(times, MINUTE_S)
    print(f"busiest sliding minute at the server: {busiest} of {LIMIT} (a minute of {MINUTE_S} s)")
    print(f"run {report.seconds:.1f} s, failures {dict(report.retried)}")
    assert len(found) == expected
    assert set(found.values()) == {1}
    assert len(seen) - spent == expected, "no answer was bought twice"
    assert report.waves == len(bursts)
    assert busiest <= LIMIT


DRIVER = """
import sys
from pathlib import Path
from benchmarks.annotation import tasks_of, kill_job
job = kill_job(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
with job.annotator() as annotator:
    job.run(annotator)
"""


def kill_job(folder: Path, url: str, count: int) -> AnnotationJob:
    """The job that is killed: 16 workers, 50 requests a second."""
    limits = {"workers": 16, "requests_per_minute": 60, "window_s": 1, "window_margin_s": 0.2}
    settings = fast_settings(url, timeout_s=60, **limits)
    return job_of(folder, settings, tasks_of(count))


def kills(count: int) -> None:
    """Ends annotate with SIGKILL at random moments until all answers are there."""
    chance = random.Random(SEED)  # noqa: S311 - repeatable moments
    with TemporaryDirectory() as name, stub(Path(name), {"delay_s": 0.1}) as (url, log):
        folder, size = Path(name), count * 12
        job = kill_job(folder, url, size)
        done, torn, again = 0, 0, 0
        before: Counter[tuple[int, str]] = Counter()
        while True:
            asked = len(arrivals(log))
            killed = _one_life(
                folder, url, size, log, asked + chance.randint(1, 25) if done < count else None
            )
            done += killed
            torn += job.cache.exists() and not job.cache.read_bytes().endswith(b"\n")
            now = stored(job.cache)
            assert now.keys() >= before.keys(), "a stored answer was lost"
            texts = {
                (task.task_id, task.request(field).text)
                for task in job.tasks
                for field in _fields(task, before)
            }
            again += sum((line["task_id"], line["text"]) in texts for line in arrivals(log)[asked:])
            before = now
            if not killed:
                break
        requests = len(arrivals(log))
    needed = size + size // 2
    print(
        f"kills {done}, answers stored {len(before)} of {needed}, lines a key {sorted(set(before.values()))}"
    )
    print(f"requests {requests}: {requests - needed} repeated, in flight at a kill (at most {16 * done})")
    print(f"stored answers asked again: {again}; torn lines mended: {torn}")
    assert (len(before), again, set(before.values())) == (needed, 0, {1})
    assert requests - needed <= 16 * done


def _fields(task: PersonaTask, found: Counter[tuple[int, str]]) -> list[str]:
    return [field for field in ("instruction_simple", "instruction") if (task.task_id, field) in found]


def _one_life(folder: Path, url: str, size: int, log: Path, until: int | None) -> bool:
    """Runs annotate; kills it when `until` requests have arrived. Says whether it was killed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), KEY_NAME: KEY, "NO_PROXY": "*"}
    command = [sys.executable, "-c", DRIVER, str(folder), url, str(size)]
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    while until is not None and process.poll() is None:
        if log.read_bytes().count(b"\n") >= until:
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.01)
    return process.wait() == -signal.SIGKILL


def plan(records: int) -> None:
    """Plans and resumes over a cache that holds every answer: reading, validating, choosing."""
    tasks = tasks_of(records * 2 // 3)
    with TemporaryDirectory() as name:
        job = AnnotationJob(
            fast_settings("http://127.0.0.1:9/v1"), Path(name) / "answers.jsonl", ARCHIVE, tasks
        )
        _fill(job)
        rounds = []
        for _ in range(3):
            started = time.perf_counter(), time.process_time()
            planned = job.plan(job.read())
            rounds.append((time.perf_counter() - started[0], time.process_time() - started[1]))
        size = job.cache.stat().st_size
    wall, cpu = min(rounds)
    print(f"records {planned.cache['lines']}, {size / 1e6:.0f} MB, pending {planned.requests}")
    print(f"plan and resume: {wall:.2f} s wall, {cpu:.2f} s CPU, best of {len(rounds)}")


def _fill(job: AnnotationJob) -> None:
    from llm_stub import right_answer

    with CacheFile(job.cache) as cache:
        lines = []
        for task in job.tasks:
            for field in ("instruction_simple", "instruction")[: 1 + task.task_id % 2]:
                request = task.request(field)
                annotation = validate_answer(right_answer(task.task_id, request.text), request)
                usage = {"input_tokens": 700, "output_tokens": 40}
                lines.append(
                    answer_record(
                        job.identity,
                        task,
                        annotation,
                        answered_at="2026-11-30T00:00:00+00:00",
                        usage=usage,
                        response_id=f"answer-{task.task_id}",
                    )
                )
        cache.append(*lines)


def main() -> None:
    """Runs one of the measurements."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("run", "kill", "plan"))
    parser.add_argument("--tasks", type=int, default=5000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--records", type=int, default=100_000)
    arguments = parser.parse_args()
    os.environ |= {KEY_NAME: KEY, "NO_PROXY": "*"}
    load = os.getloadavg()[0]
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, load {load:.1f}, Python {platform.python_version()}"
    )
    if arguments.what == "run":
        whole_run(arguments.tasks)
    elif arguments.what == "kill":
        kills(arguments.kills)
    else:
        plan(arguments.records)


if __name__ == "__main__":
    main()
