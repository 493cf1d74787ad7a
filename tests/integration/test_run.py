"""`shopsim run` against a chat endpoint on a socket: scripted models, faults, kills, resuming."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import builds
import chat_runs
import pytest
from chat_stub import ChatStub
from places import ROOT, SAMPLE_RELEASE
from servers import ADMIN, ServerProcess

from shopsim_env import load_release
from shopsim_env.cli import main
from shopsim_env.replay import verify_file
from shopsim_env.runner.plan import episode_seed
from shopsim_env.runs.index import RunIndex

KEY = "sk-SECRET-0123456789-KEY"
WON = ("good", "malformed", "two_calls", "unknown_tool", "talk", "flaky", "cut", "html")
KINDS = (*WON, "stream_error", "unfinished", "slow", "stubborn", "long", "context")
# What each kind of model comes to: reward, termination reason, and broken answers.
RESULTS = {
    **dict.fromkeys(KINDS, (1.0, "purchase", 0)),
    **dict.fromkeys(("malformed", "two_calls", "unknown_tool", "talk"), (1.0, "purchase", 2)),
    "stubborn": (0.0, "action_limit", 30),
    "long": (0.0, "generation_length", 0),
    "context": (0.0, "generation_length", 0),
}
TORN = b'{"conversation":[{"content":"\xe4'  # what a kill may leave
TRIES = {"flaky": 3, "cut": 2, "html": 2, "stream_error": 2, "unfinished": 2}


@pytest.fixture(scope="module")
def release():
    with load_release() as found:
        yield found


@pytest.fixture(scope="module")
def tasks(release):
    """Tasks that can be won in persona mode, and how."""
    return chat_runs.winnable(release, len(KINDS))


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("MODEL_KEY", KEY)
    return {"api_key_env": "MODEL_KEY"}


def some(tasks, count):
    return dict(list(tasks.items())[:count])


def ids(tasks, **more):
    return {"split": None, "ids": list(tasks), **more}


def document(capsys):
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("stream", [False, True])
def test_every_kind_of_model_is_accounted_for(tasks, tmp_path, key, capsys, stream):
    played = tmp_path / "runs" / "played"
    with ChatStub(chat_runs.script(tasks, KINDS), slow_s=0.05) as stub:
        path = chat_runs.config(
            tmp_path,
            stub.base_url,
            tasks=ids(tasks),
            model={**key, "stream": stream},
            run={"concurrency": 14},
        )
        assert main(["run", "run", str(path), "--json"]) == 0
        shown = capsys.readouterr()
        records = chat_runs.recorded(played)
        kinds = {record["episode_id"]: stub.script[record["job"]["seed"]][0] for record in records}
    assert Counter(kinds.values()) == Counter(KINDS)
    for record in records:
        _check_record(record, kinds[record["episode_id"]], tasks)
    counts = json.loads(shown.out)["counts"]
    assert counts == {"requested": 14, "completed": 14, "failed": 0, "scored": 14, "coverage": 1.0}
    assert main(["replay", "--verify", str(played / "traces.jsonl"), "--json"]) == 0
    verified = document(capsys)
    assert (verified["episodes"], verified["left_out"]) == (14, 0)
    # 12 kinds play to a purchase with the oracle's actions; the three others end after 30, 2 and 3 answers.
    summary = json.loads((played / "summary.json").read_text())
    assert summary["primary"]["reward_mean"] == summary["primary"]["success_rate"] == 11 / 14
    assert summary["behavior"]["protocol_errors"] == 30 + 4 * 2
    assert summary["behavior"]["termination_reasons"] == {
        "purchase": 11,
        "action_limit": 1,
        "generation_length": 2,
    }
    answers = sum(len(record["steps"]) for record in records) - 1  # of the endpoint that refused one
    assert summary["cost"]["total_tokens"] == 120 * answers
    assert summary["cost"]["reasoning_tokens"] == 5 * answers
    assert {headers["authorization"] for headers in stub.headers} == {f"Bearer {KEY}"}
    everything = shown.out + shown.err + "".join(file.read_text() for file in played.glob("*.json*"))
    assert KEY not in everything


def _check_record(record, kind, tasks):
    assert record["status"] == "completed"
    assert record["error"] is None
    reward, reason, broken = RESULTS[kind]
    final, steps, job = record["final"], record["steps"], record["job"]
    faults = [step["model"]["protocol_error"] for step in steps if step["model"]["protocol_error"]]
    assert (final["reward"], final["termination_reason"], len(faults)) == (reward, reason, broken), kind
    assert [step["step"] for step in steps] == list(range(1, len(steps) + 1))
    assert job["seed"] == episode_seed(7, job["task_id"], 0)
    if reward == 1.0:
        actions = [step["action"] for step in steps if step["action"] is not None]
        assert actions == tasks[job["task_id"]]
        assert final["purchase"] is not None
        assert {step["model"]["attempts"] for step in steps} <= {1, TRIES.get(kind, 1)}
    if kind in ("good", "malformed"):
        assert {step["model"]["reasoning"] for step in steps} == {"想一想"}
        assert all(step["tools"] for step in steps)
    roles = [message["role"] for message in record["conversation"]]
    assert roles[:2] == ["system", "user"]
    assert roles.count("assistant") == len(steps)
    sent = [message for message in record["conversation"] if message["role"] in ("tool", "user")]
    assert sum(steps[0]["observation"] in message["content"] for message in sent) == 1, (
        "the reset's text once"
    )


@pytest.mark.parametrize(
    ("mode", "kinds"),
    [
        ({"task_mode": "persona", "interaction_mode": "single_turn"}, ("good",)),
        ({"task_mode": "standard", "interaction_mode": "single_turn"}, ("good", "stubborn")),
        ({"task_mode": "persona", "interaction_mode": "multi_turn"}, ("good",)),
        ({"task_mode": "standard", "interaction_mode": "multi_turn"}, ("good", "talk")),
    ],
)
def test_four_scenarios_over_a_server_with_fewer_slots(server, release, tmp_path, capsys, mode, kinds):
    wins = chat_runs.winnable(release, 4, **mode)
    with ChatStub(chat_runs.script(wins, kinds)) as stub:
        path = chat_runs.config(
            tmp_path,
            stub.base_url,
            tasks=ids(wins),
            environment={**mode, "server": f"http://127.0.0.1:{server.port}", "wait_s": 60.0},
            prompt={"id": "en-v1", "text_beside_call": False},
        )
        assert main(["run", "run", str(path), "--json"]) == 0
    shown = capsys.readouterr()
    assert "2 slots for 4 episodes" in shown.err
    found = json.loads(shown.out)
    good = 4 if "stubborn" not in kinds else 2
    assert found["primary"]["reward_mean"] == good / 4
    assert server.call("GET", "/healthz")[1]["free_slots"] == 2
    first = stub.bodies[0]
    assert first["messages"][0]["content"].startswith("You are a shopping assistant")
    names = [tool["function"]["name"] for tool in first["tools"]]
    assert names == (["search", "ask_shopper"] if mode["interaction_mode"] == "multi_turn" else ["search"])
    traces = tmp_path / "runs" / "played" / "traces.jsonl"
    assert main(["replay", "--verify", str(traces)]) == 0
    index = RunIndex(lambda: traces.open("rb"))
    index.advance(60)
    assert {row.status for row in index.rows} == {"completed"}, "the replay page reads it"


@pytest.fixture(scope="module")
def server():
    with ServerProcess(SAMPLE_RELEASE, "--slots", "2") as found:
        yield found


def test_failed_episodes_are_no_zeros_and_are_played_again(tasks, tmp_path, key, capsys):
    four = some(tasks, 4)
    script = chat_runs.script(four, ("good", "down", "empty", "bad_request"))
    played = tmp_path / "runs" / "played"
    with ChatStub(script) as stub:
        path = chat_runs.config(
            tmp_path, stub.base_url, tasks=ids(four), model={**key, "give_up_s": 1.0, "temperature": 0.5}
        )
        assert main(["run", "run", str(path), "--quiet", "--json"]) == 1
        shown = capsys.readouterr()
        summary = json.loads(shown.out)
        assert summary["counts"] == {
            "requested": 4,
            "completed": 1,
            "failed": 3,
            "scored": 1,
            "coverage": 0.25,
        }
        assert summary["primary"]["reward_mean"] == 1.0
        assert summary["errors"] == {"bad_answer": 1, "status_400": 1, "status_503": 1}
        assert KEY not in shown.out + shown.err + (played / "traces.jsonl").read_text()
        failed = [record for record in chat_runs.recorded(played) if record["status"] == "failed"]
        assert {record["final"] for record in failed} == {None}
        assert main(["replay", "--verify", str(played / "traces.jsonl"), "--json"]) == 0
        assert document(capsys)["left_out"] == 3
        before = Counter(stub.asked)
        stub.script = chat_runs.script(four, ("stubborn", "good", "good", "good"))
        assert main(["run", "resume", str(path), "--quiet", "--json"]) == 0
        assert document(capsys)["counts"]["completed"] == 4
        completed = episode_seed(7, next(iter(four)), 0)
        again = {seed for seed, _ in (stub.asked - before)}
        assert again == set(script) - {completed}, "a completed episode is never asked again"
        asked = sum(stub.asked.values())
        assert main(["run", "resume", str(path), "--quiet"]) == 0
        assert sum(stub.asked.values()) == asked
        assert main(["run", "run", str(path)]) == 2
        assert "run_exists" in capsys.readouterr().err
        assert main(["run", "summarize", str(played), "--json"]) == 0
        assert document(capsys)["primary"]["reward_mean"] == 1.0


def test_failures_of_the_environment_are_no_zeros(server, tasks, tmp_path, capsys):
    """No slot for one episode, a lease that is gone in the middle of the other."""
    two = some(tasks, 2)
    admin = {"Authorization": f"Bearer {ADMIN}"}
    environment = {"server": f"http://127.0.0.1:{server.port}", "wait_s": 0.0}
    lease = server.call("POST", "/v1/episodes", {"task_id": next(iter(two))})[1]["lease_id"]
    with ChatStub(chat_runs.script(two, ("good",)), held_from=2) as stub:
        path = chat_runs.config(tmp_path, stub.base_url, tasks=ids(two), environment=environment)
        running = threading.Thread(target=main, args=(["run", "run", str(path), "--quiet", "--json"],))
        running.start()
        wait_until(lambda: stub.asked.total() == 2)
        assert server.call("DELETE", "/v1/episodes", headers=admin)[1] == {"released": 2}
        stub.gate.set()
        running.join(60)
        assert document(capsys)["errors"] == {"capacity": 1, "lease_lost": 1}
        records = chat_runs.recorded(tmp_path / "runs" / "played")
        assert [(one["status"], one["final"], one["error"]["stage"]) for one in records] == [
            ("failed", None, "environment")
        ] * 2
        assert sorted(len(one["steps"]) for one in records) == [0, 2], "what was played before is kept"
        assert lease not in json.dumps(records)
        assert main(["run", "resume", str(path), "--quiet", "--json"]) == 0
        assert document(capsys)["primary"]["reward_mean"] == 1.0


@pytest.mark.parametrize(
    ("change", "field", "step"),
    [
        (lambda one: one.update(duration_ms=1.0), None, None),
        (lambda one: one["steps"][1].update(observation="x"), "observation", 2),
        (lambda one: one["steps"][1]["environment"].update(observation="x"), "observations", 2),
        (lambda one: one["steps"][0]["environment"]["observation_state"].update(page=7), "states", 1),
        (lambda one: one["steps"][0].update(action="search[别的东西]"), "observations", 1),
        (lambda one: one["steps"].append(one["steps"][-1]), "actions", 5),
        (lambda one: one["final"].update(reward=0.5), "reward", 4),
        (lambda one: one["final"].update(termination_reason="action_limit"), "termination_reason", 4),
        (lambda one: one["reset"].update(task_instruction="x"), "instruction", 0),
        (lambda one: one["reset"]["environment"].update(page_size=3), "observations", 1),
        (lambda one: one["job"].update(task_id=10**9), "environment", None),
        (lambda one: one["provenance"].update(release="x"), "release", None),
    ],
)
def test_a_replay_finds_what_was_changed(won, release, tmp_path, change, field, step):
    changed = json.loads(json.dumps(won))
    change(changed)
    path = tmp_path / "traces.jsonl"
    path.write_text(json.dumps(won) + "\n" + json.dumps(changed) + "\n", encoding="utf-8")
    found = verify_file(path, release)
    assert (found.episodes, found.ok) == (2, field is None)
    if field is not None:
        (difference,) = found.differences
        assert (difference.episode, difference.field, difference.step) == (2, field, step)


def test_a_replay_refuses_half_an_episode(won, release, tmp_path, capsys):
    del won["steps"][0]["environment"]
    path = tmp_path / "traces.jsonl"
    path.write_text(json.dumps(won) + "\n", encoding="utf-8")
    assert main(["replay", "--verify", str(path)]) == 1
    assert "line 1: expected a whole shopsim-episode-v1" in capsys.readouterr().err


@pytest.fixture(scope="module")
def played(tasks, tmp_path_factory):
    """The line of an episode that was won in four actions."""
    four = {task_id: actions for task_id, actions in tasks.items() if len(actions) == 4}
    folder = tmp_path_factory.mktemp("won")
    with ChatStub(chat_runs.script(some(four, 1), ("good",))) as stub:
        path = chat_runs.config(folder, stub.base_url, tasks=ids(some(four, 1)))
        assert main(["run", "run", str(path), "--quiet"]) == 0
    return json.dumps(chat_runs.recorded(folder / "runs" / "played")[0])


@pytest.fixture
def won(played):
    return json.loads(played)


def test_another_plan_is_refused_with_what_differs(tasks, tmp_path, capsys):
    two = some(tasks, 2)
    with ChatStub(chat_runs.script(two, ("good",))) as stub:
        path = chat_runs.config(tmp_path, stub.base_url, tasks=ids(two))
        assert main(["run", "resume", str(path), "--quiet"]) == 0, "nothing to go on with: it begins"
        chat_runs.config(
            tmp_path, stub.base_url, tasks=ids(two), run={"concurrency": 1}, model={"stream": True}
        )
        assert main(["run", "resume", str(path), "--quiet"]) == 0, "how it is played is not the plan"
        chat_runs.config(
            tmp_path, stub.base_url, tasks=ids(two, repeats=2), model={"temperature": 1.5}, run={"seed": 8}
        )
        capsys.readouterr()
        assert main(["run", "resume", str(path)]) == 2
        said = capsys.readouterr().err
        assert "other_plan" in said
        assert "model.temperature: null recorded, 1.5 wanted" in said
        assert "seed: 7 recorded, 8 wanted" in said
        assert "jobs: 2 recorded, 4 wanted, 0 of them the same" in said
        assert main(["run", "plan", str(path), "--json"]) == 2
        shown = document(capsys)
        assert shown["exists"]
        assert len(shown["differences"]) == 3
        assert len(shown["plan"]["jobs"]) == 4


def test_a_refused_key_stops_the_run_and_is_not_shown(tasks, tmp_path, key, monkeypatch, capsys):
    two = some(tasks, 2)
    with ChatStub(chat_runs.script(two, ("unauthorized",))) as stub:
        path = chat_runs.config(tmp_path, stub.base_url, tasks=ids(two), model=key)
        assert main(["run", "run", str(path)]) == 1
        shown = capsys.readouterr()
        assert "unauthorized" in shown.err
        assert KEY not in shown.out + shown.err
        assert sum(stub.asked.values()) <= 2
        monkeypatch.delenv("MODEL_KEY")
        assert main(["run", "resume", str(path)]) == 2
        assert "missing_key" in capsys.readouterr().err
    assert json.loads((tmp_path / "runs" / "played" / "summary.json").read_text())["counts"]["failed"] == 0


def test_a_run_in_which_nothing_works_ends(tasks, tmp_path, capsys):
    with ChatStub(chat_runs.script(tasks, ("bad_request",))) as stub:
        run = {"stop_after_failures": 3, "concurrency": 1}
        path = chat_runs.config(tmp_path, stub.base_url, tasks=ids(tasks), run=run)
        assert main(["run", "run", str(path), "--json"]) == 1
        assert document(capsys)["error"]["code"] == "too_many_failures"
        assert sum(stub.asked.values()) == 3
    assert main(["run", "summarize", str(path), "--json"]) == 0
    assert document(capsys)["counts"]["failed"] == 3


def test_a_server_that_is_not_there_is_an_error_and_no_run(tasks, tmp_path, capsys):
    path = chat_runs.config(
        tmp_path, "http://127.0.0.1:9/v1", tasks=ids(some(tasks, 1)), environment={"server": "http://x@y"}
    )
    assert main(["run", "run", str(path)]) == 2
    assert "bad_url" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


class Process:
    """`shopsim run resume` as a process of its own."""

    def __init__(self, path: Path) -> None:
        code = "import sys; from shopsim_env.cli import main; sys.exit(main())"
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, "run", "resume", str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )

    def wait(self) -> tuple[int, str]:
        _, said = self.process.communicate(timeout=120)
        return self.process.returncode, said.decode()

    def stuck(self, stub: ChatStub, requests: int) -> None:
        """Waits until the endpoint was asked so often; from then on it does not answer."""
        stub.gate.clear()
        stub.held_from = requests
        wait_until(lambda: stub.asked.total() >= requests)


def wait_until(holds) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def completed_seeds(folder: Path) -> set[int]:
    path = folder / "traces.jsonl"
    if not path.exists():
        return set()
    index = RunIndex(lambda: path.open("rb"))
    index.advance(60)
    return {row.seed for row in index.rows if row.status == "completed"}


def test_kill_and_ctrl_c_lose_nothing_and_repeat_nothing(server, tasks, tmp_path, capsys):
    played = tmp_path / "runs" / "played"
    draw = random.Random(3)  # noqa: S311
    environment = {"server": f"http://127.0.0.1:{server.port}"}
    with ChatStub(chat_runs.script(tasks, ("good", "talk"))) as stub:
        path = chat_runs.config(
            tmp_path,
            stub.base_url,
            tasks=ids(tasks),
            run={"concurrency": 2, "grace_s": 0.0},
            environment=environment,
        )
        for how in (signal.SIGKILL, signal.SIGINT):
            done = completed_seeds(played)
            before = Counter(stub.asked)
            process = Process(path)
            process.stuck(stub, before.total() + draw.randint(10, 16))
            assert main(["run", "resume", str(path), "--quiet"]) == 1
            assert "run_in_use" in capsys.readouterr().err
            process.process.send_signal(how)
            code, said = process.wait()
            stub.gate.set()
            assert done <= completed_seeds(played)
            assert not {seed for seed, _ in (stub.asked - before)} & done
            if how == signal.SIGKILL:
                server.call("DELETE", "/v1/episodes", headers={"Authorization": f"Bearer {ADMIN}"})
                with (played / "traces.jsonl").open("ab") as stream:
                    stream.write(TORN)
            else:
                assert code == 130, said
                assert f"unfinished last line of {len(TORN)} bytes" in said
                assert "stopping" in said
                assert "Traceback" not in said
                assert server.call("GET", "/healthz")[1]["free_slots"] == 2, "leases are given back"
        assert main(["run", "resume", str(path)]) == 0
        assert len(completed_seeds(played)) == len(tasks)
    summary = json.loads((played / "summary.json").read_text())
    assert summary["counts"] == {"requested": 14, "completed": 14, "failed": 0, "scored": 14, "coverage": 1.0}
    assert summary["primary"]["reward_mean"] == 1.0


def test_sigterm_lets_short_episodes_end(tasks, tmp_path):
    with ChatStub(chat_runs.script(tasks, ("good",))) as stub:
        path = chat_runs.config(
            tmp_path, stub.base_url, tasks=ids(tasks), run={"concurrency": 3, "grace_s": 60.0}
        )
        process = Process(path)
        process.stuck(stub, 3)
        process.process.send_signal(signal.SIGTERM)
        assert b"stopping" in process.process.stderr.readline()
        stub.gate.set()
        code, _ = process.wait()
    assert code == 130
    assert len(completed_seeds(tmp_path / "runs" / "played")) == 3, "those that ran, and no new ones"


def test_no_canary_is_in_what_a_run_writes_or_sends(small_release, tmp_path, monkeypatch, capsys):
    canaries = (builds.CANARY_FULL, builds.CANARY_OPTION, builds.CANARY_ATTRIBUTE, builds.CANARY_USER)
    with load_release(small_release) as release:
        persona = [task_id for task_id, task in release.tasks.items() if task.has_persona]
    seen = []
    for name in ("single_turn", "multi_turn"):
        folder = tmp_path / name
        folder.mkdir()
        plays = {task_id: ["search[灯]", "click[nothing]"] for task_id in persona}
        with ChatStub(chat_runs.script(plays, ("good", "malformed", "bad_request"))) as stub:
            path = chat_runs.config(
                folder,
                stub.base_url,
                tasks=ids(plays),
                environment={"release": str(small_release), "interaction_mode": name},
            )
            assert main(["run", "run", str(path), "--json"]) in (0, 1)
            assert main(["run", "plan", str(path), "--json"]) == 0
            seen.append(json.dumps(stub.bodies, ensure_ascii=False))
        shown = capsys.readouterr()
        seen += [shown.out, shown.err, *(file.read_text() for file in (folder / "runs").rglob("*.json*"))]
    everything = "\n".join(seen)
    assert "click[nothing]" in everything
    for canary in canaries:
        assert canary not in everything


def test_progress_goes_to_standard_error(tasks, tmp_path, capsys):
    two = some(tasks, 2)
    with ChatStub(chat_runs.script(two, ("good",))) as stub:
        path = chat_runs.config(tmp_path, stub.base_url, tasks=ids(two))
        assert main(["run", "plan", str(path)]) == 0
        assert "episodes     2 (2 tasks, 1 each)" in capsys.readouterr().out
        assert main(["run", "run", str(path)]) == 0
        shown = capsys.readouterr()
    assert re.search(
        r"2/2 episodes, 0 failed, reward 1\.000, [\d.]+/min, 0:00:00 left, \d+ tokens", shown.err
    )
    assert "2 of 2 episodes completed, 0 failed" in shown.out


def test_more_threads_than_one_event_loop_are_not_needed(tasks, tmp_path):
    four = some(tasks, 4)
    before = threading.active_count()
    with ChatStub(chat_runs.script(four, ("slow",)), slow_s=0.1) as stub:
        path = chat_runs.config(tmp_path, stub.base_url, tasks=ids(four))
        assert main(["run", "run", str(path), "--quiet"]) == 0
        assert stub.most_in_flight == 4, "episodes are played side by side"
    assert threading.active_count() <= before + 1
