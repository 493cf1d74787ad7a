"""Dagster's run history for a build in this process: the SQLite storage, with connections that are kept.

Dagster opens and closes a connection for each statement, about 2,000 in a build of which nothing has changed;
each close empties the write-ahead log, and every new connection compiles its statements anew. Files, tables
and what is written are Dagster's own. Other storages (PostgreSQL) are left as they are configured.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

import dagster as dg
from dagster._core.instance.ref import InstanceRef
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME, SqliteEventLogStorage
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from sqlalchemy import Connection, Engine, create_engine


class KeptEventLog(SqliteEventLogStorage):
    """Dagster's event log with one engine, and so one pooled connection, for each of its files."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        # Dagster's constructor already connects.
        self._engines: dict[str, Engine] = {}
        self._one_at_a_time = Lock()
        super().__init__(*arguments, **options)

    def run_connection(self, run_id: str | None = None) -> Any:
        """A transaction in the file of one run."""
        return self._transaction(str(run_id))

    def index_connection(self) -> AbstractContextManager[Connection]:
        """A transaction in the file that all runs share."""
        return self._transaction(INDEX_SHARD_NAME)

    @contextmanager
    def _transaction(self, shard: str) -> Iterator[Connection]:
        with self._one_at_a_time:
            if shard not in self._engines:
                # Dagster's own connection makes the tables of a new file.
                with super().run_connection(shard):
                    pass
                wait = {"timeout": SQLITE_BUSY_TIMEOUT_SECONDS}
                self._engines[shard] = create_engine(self.conn_string_for_shard(shard), connect_args=wait)
            with self._engines[shard].begin() as connection:
                yield connection

    def dispose(self) -> None:
        """Closes all connections."""
        for engine in self._engines.values():
            engine.dispose()
        super().dispose()


class KeptHistory(DagsterSqliteStorage):
    """Dagster's SQLite storage with a `KeptEventLog`."""

    def __init__(self, base_dir: str, inst_data: Any = None) -> None:
        super().__init__(base_dir, inst_data)
        self._event_log_storage = KeptEventLog(str(Path(base_dir) / "history" / "runs"))

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> "KeptHistory":
        """Called by Dagster, whose own makes an instance of its own class."""
        return cls(inst_data=inst_data, **config_value)


@contextmanager
def open_history(home: Path) -> Iterator[dg.DagsterInstance]:
    """The Dagster instance of a DAGSTER_HOME, for one build.

    Args:
        home: Folder with `dagster.yaml`, if any.
    """
    ref = InstanceRef.from_dir(str(home))
    storage = ref.storage_data
    if storage is not None and storage.class_name == DagsterSqliteStorage.__name__:
        kept = storage._replace(module_name=__name__, class_name=KeptHistory.__name__)
        ref = ref._replace(storage_data=kept)
    with dg.DagsterInstance.from_ref(ref) as instance:
        yield instance
