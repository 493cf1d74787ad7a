"""The pipeline's mapper on two nodes: results of the local one, also when a worker is killed."""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import worker_functions

from pipelines.errors import WorkerError
from pipelines.resources import mapper
from pipelines.resources.mapper import RAY, ActorExecutor, Worker, load_workers
from pipelines.stages.processes import Workers, in_processes
from shopsim_env.adapters.ray.cluster import answer, start_actor

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.usefixtures("cluster")


def test_one_worker_for_each_core_of_the_cluster() -> None:
    workers = load_workers(RAY)
    assert (workers.count, workers.always) == (4, True)
    with in_processes(workers, chunk=3, alone=5) as each:
        results = list(each(worker_functions.where, range(60)))
        # Several functions may use the same workers.
        assert list(each(abs, range(-3, 0))) == [3, 2, 1]
    assert [number for number, _ in results] == list(range(60))
    processes = {process for _, process in results}
    assert len(processes) == 4
    assert os.getpid() not in processes


def test_a_killed_worker_changes_no_result(tmp_path: Path) -> None:
    marker = tmp_path / "died"
    with in_processes(Workers(2, ActorExecutor)) as each:
        assert list(each(partial(worker_functions.dies_once, marker), range(20))) == [
            n * n for n in range(20)
        ]
    assert marker.exists()


def test_a_fault_of_the_function_is_raised_as_it_was() -> None:
    with (
        in_processes(Workers(2, ActorExecutor)) as each,
        pytest.raises(ValueError, match="invalid") as caught,
    ):
        list(each(int, ["1", "x", "3"]))
    assert type(caught.value) is ValueError


def test_a_fault_of_the_preparation_is_raised_as_it_was() -> None:
    with (
        pytest.raises(LookupError, match="no index here"),
        in_processes(Workers(2, ActorExecutor), prepare=worker_functions.refuse),
    ):
        pass


def test_other_code_is_refused() -> None:
    actor = start_actor(Worker, ("0" * 64, None), {})
    with pytest.raises(WorkerError, match="expected the driver's source") as caught:
        answer(actor.call.remote(abs, -1))
    assert caught.value.code == "other_code"


def test_more_workers_than_cores_do_with_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapper, "_START_S", 15.0)
    with in_processes(Workers(5, ActorExecutor)) as each:
        assert len({process for _, process in each(worker_functions.where, range(40))}) == 4
        with (
            pytest.raises(WorkerError, match="a free core") as caught,
            in_processes(Workers(1, ActorExecutor, always=True)),
        ):
            pass
    assert caught.value.code == "no_worker"


def build(data: Path, *options: str) -> dict[str, Any]:
    shopsim = "import sys; from shopsim_env.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", shopsim, "build", "--dataset", "sample", "--data", str(data), "--json"]
    here = {**os.environ, "DAGSTER_HOME": str(data / "home")}
    ran = subprocess.run([*command, *options], cwd=ROOT, env=here, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-2_000:]
    report: dict[str, Any] = json.loads(ran.stdout)
    return report


def test_the_sample_is_the_same_release_to_the_byte(tmp_path: Path) -> None:
    local, there = build(tmp_path / "local"), build(tmp_path / "ray", "--mapper", "ray")
    hashes = [{stage["asset"]: stage["sha256"] for stage in report["stages"]} for report in (local, there)]
    assert hashes[0] == hashes[1]
    assert {"search_index", "search_arrays", "search_baseline", "witnesses", "release"} <= hashes[0].keys()
    roots = [Path(report["release"]) for report in (local, there)]
    manifests = [json.loads((root / "manifest.json").read_bytes()) for root in roots]
    assert manifests[0]["id"] == manifests[1]["id"]
    assert manifests[0]["files"] == manifests[1]["files"]
