"""The chaos, storm and fuzz benchmarks, small: kill -9 twice, a second of storm, a few hundred fuzzed
bodies."""

import json
import subprocess
import sys

from places import ROOT


def run(script: str, *arguments: str) -> dict:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / script), *arguments],
        cwd=ROOT / "benchmarks",
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_kill_9_changes_no_trace():
    found = run(
        "server_chaos.py", "--kills", "2", "--players", "4", "--slots", "3", "--tasks", "8", "--rlve", "8"
    )
    assert found["kills"] == 2
    assert found["episodes"] >= 4
    assert found["rlve_episodes"] >= 1
    assert found["problems"] == []


def test_a_storm_of_leases_shares_none():
    found = run("server_storm.py", "--seconds", "1.5", "--holders", "12", "--slots", "3")
    assert found["problems"] == []
    assert found["leases"] > 3
    assert found["pages read"] > 10
    assert found["lease_lost"] > 0


def test_fuzzed_bodies_get_no_500():
    found = run("fuzz_server.py", "--bodies", "400")
    assert found["sent"] == 400
    assert found["problems"] == []
    assert not any(status.startswith("5") and status != "503" for status in found["statuses"])
