"""Opening the SQLite files of a release: read-only, without locks, with typed errors. No SQL lives here."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shopsim_env.errors import ReleaseError
from shopsim_env.locks import fork_safe_lock


def open_readonly(path: Path) -> sqlite3.Connection:
    """A connection that never writes and takes no lock; usable from any thread, one at a time.

    Raises:
        ReleaseError: The file is missing or not an SQLite database.
    """
    if not path.is_file():
        raise ReleaseError(f"expected a catalogue at {path}, found no file", code="catalog_missing")
    uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.DatabaseError as error:
        connection.close()
        raise ReleaseError(
            f"expected an SQLite database at {path}, found other bytes ({error})", code="catalog_unreadable"
        ) from error
    return connection


class ReadOnlyDatabase:
    """One read-only file that threads share; they take turns.

    Args:
        path: An SQLite file of a release.

    Raises:
        ReleaseError: The file is missing or not an SQLite database.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = fork_safe_lock()
        self._connection = open_readonly(path)

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows of a query.

        Raises:
            ReleaseError: The file was closed (code `closed`) or cannot be read.
        """
        with self._lock:
            try:
                return self._connection.execute(sql, parameters).fetchall()
            except sqlite3.ProgrammingError as error:
                raise ReleaseError(
                    f"{self._path}: the release is closed; open it again", code="closed"
                ) from error
            except sqlite3.Error as error:
                raise ReleaseError(f"{self._path}: cannot be read: {error}") from error

    def close(self) -> None:
        """Closes the file; closing twice is fine."""
        with self._lock:
            self._connection.close()
