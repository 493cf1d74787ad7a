"""The run history of a build is Dagster's own, written through few connections."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from pipelines.resources.run_history import KeptEventLog, open_history

QUIET = "telemetry:\n  enabled: false\n"
STEPS = 3
_connected: list[str] = []
_counting: list[bool] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "sqlite3.connect" and _counting:
        _connected.append(Path(str(arguments[0])).name)


@pytest.fixture(scope="module", autouse=True)
def hook() -> None:
    """An audit hook stays for the life of the process; it notes only while `connections` is entered."""
    sys.addaudithook(_note)


@contextmanager
def connections() -> Iterator[list[str]]:
    _connected.clear()
    _counting.append(True)
    yield _connected
    _counting.clear()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "dagster.yaml").write_text(QUIET, encoding="utf-8")
    return tmp_path


@dg.op
def work(_context: dg.OpExecutionContext) -> dg.Output[int]:
    return dg.Output(1, metadata={"rows": 1})


def execute(instance: dg.DagsterInstance, steps: int = STEPS) -> str:
    @dg.job(executor_def=dg.in_process_executor)
    def several() -> None:
        for number in range(steps):
            work.alias(f"work_{number}")()

    result = several.execute_in_process(
        instance=instance, run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    )
    assert result.success
    return str(result.run_id)


def events(instance: dg.DagsterInstance, run_id: str) -> list[str]:
    return [record.event_log_entry.user_message for record in instance.get_records_for_run(run_id).records]


def test_an_instance_of_dagsters_own_reads_the_run_while_and_after_it_is_open(home: Path) -> None:
    with open_history(home) as instance, dg.DagsterInstance.from_config(str(home)) as reader:
        run_id = execute(instance)
        seen = events(instance, run_id)
        assert len(seen) > 3 * STEPS
        assert events(reader, run_id) == seen
        assert events(instance, execute(reader)), "and the other way round"
    assert not list(home.rglob("*-wal")), "connections are closed at the end"
    with dg.DagsterInstance.from_config(str(home)) as later:
        assert events(later, run_id) == seen
        assert {run.run_id for run in later.get_runs()} >= {run_id}


def test_connections_do_not_grow_with_events(home: Path) -> None:
    """Dagster makes the file of a run with a few; all events then go through one."""
    counts = []
    with open_history(home) as instance:
        execute(instance, 1)
        for steps in (1, 4):
            with connections() as found:
                run_id = execute(instance, steps)
            counts.append(found.count(f"{run_id}.db"))
            assert found.count("index.db") == 0, "kept from the run before"
    assert counts[0] == counts[1] > 0


@pytest.mark.parametrize("place", ["base_dir", "event_log_storage"])
def test_configured_storage_is_where_it_was(home: Path, place: str) -> None:
    """A folder of one's own is used; a storage of another class stays as it is."""
    folder = home / "elsewhere"
    texts = {
        "base_dir": f"storage:\n  sqlite:\n    base_dir: {folder}\n",
        "event_log_storage": "event_log_storage:\n  module: dagster._core.storage.event_log\n"
        f"  class: SqliteEventLogStorage\n  config:\n    base_dir: {folder}\n",
    }
    (home / "dagster.yaml").write_text(QUIET + texts[place], encoding="utf-8")
    with open_history(home) as instance:
        run_id = execute(instance)
        assert isinstance(instance.event_log_storage, KeptEventLog) == (place == "base_dir")
    assert len(list(folder.rglob(f"{run_id}.db"))) == 1
