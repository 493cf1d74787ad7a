"""`shopsim run` over RLVE against a chat endpoint on a socket: oracle, broken models, a server, kills."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from chat_runs import recorded
from places import ROOT, SAMPLE_RELEASE
from rlve_chat_stub import EMPTY, MALFORMED, UNKNOWN, RlveChatStub, config, model_seed, oracle_messages
from rlve_world import DONE, sample_market
from servers import ServerProcess

from shopsim_env import load_release
from shopsim_env.canonical import compact_json
from shopsim_env.cli import main
from shopsim_env.replay import verify_file
from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.versions import RLVE_SUITE_VERSION

KEYS = [EpisodeKey(env_id, d, seed) for env_id in ("PD", "CART", "POLICY") for d in (0, 3) for seed in (1, 2)]
BROKEN = {1: ([MALFORMED], "format_invalid"), 2: ([UNKNOWN], "tool_invalid"), 3: ([EMPTY], "format_invalid")}


@pytest.fixture(scope="module")
def market():
    with sample_market() as found:
        yield found


@pytest.fixture(scope="module")
def script(market):
    """Samples of each key: 0 plays as the oracle does, in the first keys 1 is broken."""
    plays = {}
    for place, key in enumerate(KEYS):
        said = oracle_messages(market, key)
        for sample in (0, 1):
            broken = sample and BROKEN.get(place + 1)
            plays[model_seed(key, sample)] = ("good", broken[0] if broken else said)
    return plays


def outcomes(records):
    return {
        one["episode_id"]: (one["final"]["termination_reason"], one["final"]["reward"]) for one in records
    }


@pytest.mark.parametrize("served", [False, True])
def test_oracle_turns_and_broken_models_come_to_what_rlve_says(market, script, tmp_path, served, capsys):
    with RlveChatStub(script) as stub:
        if served:
            with ServerProcess(SAMPLE_RELEASE) as server:
                path = config(tmp_path, stub.base_url, f"http://127.0.0.1:{server.port}")
                assert main(["run", "run", str(path), "--quiet", "--json"]) == 0
        else:
            assert main(["run", "run", str(config(tmp_path, stub.base_url)), "--quiet", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["counts"] == {"requested": 24, "completed": 24, "failed": 0, "scored": 24, "coverage": 1.0}
    assert summary["behavior"]["protocol_errors"] == 3
    assert summary["primary"]["success_rate"] == 21 / 24  # every oracle wins, three broken models do not
    records = recorded(tmp_path / "runs" / "played")
    for place, key in enumerate(KEYS):
        name = f"{key.env_id}-d{key.difficulty:03d}-zh-seed-{key.seed:06d}__sample"
        won, other = outcomes(records)[f"{name}-000"], outcomes(records)[f"{name}-001"]
        assert won[0] == "agent_done"
        assert won[1] > 0.5
        assert other == ((BROKEN[place + 1][1], -1.0) if place + 1 in BROKEN else won)
    with load_release() as release:
        found = verify_file(tmp_path / "runs" / "played" / "traces.jsonl", release)
    assert (found.ok, found.episodes) == (True, 24)
    # No goal: what a requester of it is told after the end is in no file of the run.
    text = "".join(
        part.read_text(encoding="utf-8") for part in (tmp_path / "runs" / "played").glob("*.json*")
    )
    for key in KEYS:
        episode = Episode(market, key)
        episode.step(DONE)
        assert compact_json(episode.goal()) not in text
    assert '"goal"' not in text
    assert not any('"goal"' in json.dumps(body) for body in stub.bodies)


def test_kill_and_resume_repeats_nothing_and_loses_nothing(script, tmp_path, capsys):
    run = tmp_path / "runs" / "played"
    with RlveChatStub(script, held_from=30) as stub:
        path = config(tmp_path, stub.base_url)
        code = "import sys; from shopsim_env.cli import main; sys.exit(main())"
        arguments = [sys.executable, "-c", code, "run", "run", str(path), "--quiet"]
        process = subprocess.Popen(arguments, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
        until = time.monotonic() + 60
        while stub.asked.total() < 30 and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = {one["episode_id"] for one in recorded(run)}
        assert 0 < len(before) < 24
        with (run / "traces.jsonl").open("ab") as stream:
            stream.write(b'{"conversation":[{"content":"\xe4')
        stub.gate.set()
        stub.held_from = sys.maxsize
        assert main(["run", "resume", str(path), "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["completed"] == 24
    names = [one["episode_id"] for one in recorded(run)]
    assert len(names) == len(set(names)) == 24
    path = config(tmp_path, stub.base_url, difficulties=[0])
    assert main(["run", "resume", str(path), "--quiet"]) == 2
    assert "jobs: 24 recorded, 12 wanted, 12 of them the same" in capsys.readouterr().err


def test_runs_are_evaluated_and_compared(script, tmp_path, capsys):
    with RlveChatStub(script) as stub:
        for name in ("a", "b"):
            path = config(tmp_path, stub.base_url, name=name, environments=["PD"])
            assert main(["run", "run", str(path), "--quiet"]) == 0
        smaller = config(tmp_path, stub.base_url, name="c", environments=["PD"], difficulties=[0])
        assert main(["run", "run", str(smaller), "--quiet"]) == 0
    capsys.readouterr()
    runs = tmp_path / "runs"
    assert main(["evaluate", str(runs / "a"), "--json"]) == 0
    card = json.loads(capsys.readouterr().out)
    assert (card["kind"], card["plan"]["planned"]) == ("rlve", True)
    assert card["counts"] == {**card["counts"], "requested": 8, "scored": 8, "missing": 0, "tasks": 4}
    assert card["overall"]["metrics"]["success"]["mean"] == 5 / 8
    assert card["overall"]["termination_reasons"] == {"agent_done": 5, "format_invalid": 2, "tool_invalid": 1}
    assert card["overall"]["passes"][0]["pass_at_k"]["mean"] == 5 / 8
    assert card["overall"]["passes"][1]["pass_at_k"]["mean"] == 1.0  # sample 0 of every key wins
    assert [(one["env_id"], one["difficulty"]) for one in card["groups"]] == [("PD", 0), ("PD", 3)]
    assert card["behaviour"]["protocol_errors"] == 3
    assert card["cost"]["tokens"]["total_tokens"] > 0
    assert main(["evaluate", str(runs / "a"), "--floors", "--json"]) == 0
    floors = json.loads(capsys.readouterr().out)["floors"]
    bounds = {(one["agent"], one["difficulty"]): one for one in floors}
    assert len(bounds) == 6
    for level in (0, 3):
        oracle = bounds["oracle", level]
        assert (oracle["success"], oracle["ceiling"], oracle["episodes"]) == (1.0, True, 2)
        assert bounds["answer at once", level]["success"] == 0.0
    assert main(["compare", str(runs / "a"), str(runs / "b"), "--json"]) == 0
    capsys.readouterr()
    assert main(["compare", str(runs / "a"), str(runs / "c")]) == 2
    manifest = runs / "b" / "manifest.json"
    manifest.write_text(manifest.read_text(encoding="utf-8").replace(RLVE_SUITE_VERSION, "shopsim-rlve-v0"))
    traces = runs / "b" / "traces.jsonl"
    traces.write_bytes(traces.read_bytes().replace(RLVE_SUITE_VERSION.encode(), b"shopsim-rlve-v0"))
    capsys.readouterr()
    assert main(["compare", str(runs / "a"), str(runs / "b")]) == 2
    assert "rlve_suite" in capsys.readouterr().err


def test_the_replay_page_shows_a_run(script, tmp_path):
    with RlveChatStub(script) as stub:
        assert main(["run", "run", str(config(tmp_path, stub.base_url, environments=["PD"])), "--quiet"]) == 0
    (record, *_) = recorded(tmp_path / "runs" / "played")
    with ServerProcess(SAMPLE_RELEASE, "--runs", str(tmp_path / "runs")) as server:

        def ask(path):
            status, body, _ = server.call("GET", f"/replay-ui/api/{path}")
            assert status == 200
            return body

        (run,) = ask("runs")["runs"]
        until = time.monotonic() + 30
        while not ask(f"run?run={run['id']}")["done"] and time.monotonic() < until:
            time.sleep(0.1)
        found = ask(f"episode?run={run['id']}&episode={record['episode_id']}")
    assert [step["action"] for step in found["steps"]] == record["trace"]["actions"]
    assert all(step["equal"] for step in found["steps"])


def test_exports_hold_what_the_model_saw(market, script, tmp_path, capsys):
    with RlveChatStub(script) as stub:
        path = config(tmp_path, stub.base_url, environments=["PD"])
        assert main(["run", "run", str(path), "--quiet"]) == 0
    run, out = str(tmp_path / "runs" / "played"), tmp_path / "out.jsonl"
    assert main(["export", "sft", run, "--min-reward", "0", "--out", str(out)]) == 0
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(rows) == 5  # those of the oracle; a hard failure is -1
    assert {row["world"] for row in rows} == {"PD d0 zh", "PD d3 zh"}
    first = rows[0]
    assert [tool["function"]["name"] for tool in first["tools"]][-1] == "final_answer"
    assert len(first["tools"]) == 18
    assert [one["role"] for one in first["messages"]][:2] == ["system", "user"]
    assert all(one["train"] for one in first["messages"] if one["role"] == "assistant")
    assert main(["export", "groups", run, "--out", str(out), "--force"]) == 0
    groups = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [group["size"] for group in groups] == [2, 2, 2, 2]
    for group in groups[:3]:  # the oracle and a broken model
        bad, good = sorted(member["reward"] for member in group["members"])
        assert (bad, group["mean"]) == (-1.0, (good - 1) / 2)
    assert groups[3]["zero_variance"]  # the oracle twice
    assert main(["export", "preferences", run, "--out", str(out), "--force"]) == 0
    pairs = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert len(pairs) == 3
    assert '"goal"' not in out.read_text(encoding="utf-8")
    assert main(["export", "sft", run, "--split", "project/train", "--out", str(out), "--force"]) == 1
    assert "no --split for RLVE" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("[tasks]\nids = [1]\n", "found ['tasks']"),
        ('[prompt]\ntools = "static"\n', "found ['prompt.tools']"),
        ('[prompt]\nid = "zh-v1"\n', "rlve-en-v1"),
    ],
)
def test_what_belongs_to_the_shop_is_refused(tmp_path, capsys, change, says):
    path = config(tmp_path, "http://127.0.0.1:9/v1")
    path.write_text(path.read_text(encoding="utf-8") + "\n" + change, encoding="utf-8")
    assert main(["run", "plan", str(path)]) == 2
    assert says in capsys.readouterr().err


def test_levels_and_environments_are_checked(tmp_path, capsys):
    for wrong, says in (
        ({"environments": ["XX"]}, "found 'XX'"),
        ({"collection": "C8"}, "either collection or environments"),
        ({"difficulties": [101]}, "expected levels up to 100"),
    ):
        assert main(["run", "plan", str(config(tmp_path, "http://127.0.0.1:9/v1", **wrong))]) == 2
        assert says in capsys.readouterr().err
