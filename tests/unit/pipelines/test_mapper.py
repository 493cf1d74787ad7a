"""The pipeline's mapper where there is no Ray; `tests/adapters/ray_cluster` has the rest."""

import os
import sys

import pytest

from pipelines.errors import ConfigError, WorkerError
from pipelines.resources.mapper import Worker, code_sha256, load_workers
from pipelines.stages.processes import spawned
from shopsim_env.errors import UsageError


def test_local_processes_are_the_cores_up_to_four() -> None:
    workers = load_workers("local")
    assert workers.count == min(os.cpu_count() or 1, 4)
    assert (workers.start, workers.always) == (spawned, False)


def test_an_unknown_mapper_and_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match=r"mapper: expected one of \['local', 'ray'\], found 'dask'"):
        load_workers("dask")
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError) as caught:
        load_workers("ray")
    assert caught.value.code == "missing_extra"


def test_a_worker_works_for_its_own_code_only() -> None:
    prepared: list[int] = []
    worker = Worker(code_sha256(), lambda: prepared.append(1))
    assert (worker.call(abs, -3), prepared, worker.process()) == (3, [1], os.getpid())
    other = Worker("0" * 64, lambda: prepared.append(2))
    for call in (lambda: other.call(abs, -3), other.process):
        with pytest.raises(WorkerError, match="expected the driver's source") as caught:
            call()
        assert caught.value.code == "other_code"
    assert prepared == [1]
