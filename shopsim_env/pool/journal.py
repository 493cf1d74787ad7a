"""The action log of a pool: an append-only file from which a restarted process resumes every live lease.

Belongs here: the file, its lines, its repair and its bound. What a line means for the table: `resuming`. A
line is in the file before the answer that it belongs to leaves the pool. The file holds lease ids, which are
secrets, and what clients sent; nothing of a goal. Written by one process at a time.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from shopsim_env.errors import JournalError
from shopsim_env.pool.lease import Entry, Lease
from shopsim_env.pool.table import LeaseTable
from shopsim_env.pool.worlds import SHOP, World
from shopsim_env.recording import IdentifiedRelease
from shopsim_env.trace import cut_torn_line

try:
    import fcntl
except ImportError:  # Windows: nothing stops a second writer there
    fcntl = None  # type: ignore[assignment]

JOURNAL_SCHEMA: Final = "shopsim-actions-v1"
FILE_NAME: Final = "actions.jsonl"
_SLACK = 1 << 20


class Journal:
    """The log in a folder of its own.

    Every line is handed to the operating system before `opened`, `played`, `fenced` or `dropped` return: it
    survives the end of this process, however sudden. With `sync` it is on the disk as well and survives the
    end of the machine, at the price of one `fsync` an action.

    Args:
        folder: Made if missing, for this user alone.
        sync: Whether each line is synced.

    Raises:
        JournalError: the folder cannot be used (`journal_unusable`), another process writes there
            (`journal_in_use`).
    """

    def __init__(self, folder: str | Path, *, sync: bool = False) -> None:
        self.folder = Path(folder)
        self.path = self.folder / FILE_NAME
        self.sync = sync
        self.torn = 0
        self._sizes: dict[str, int] = {}
        self._size = 0
        self._broken = ""
        self._head: dict[str, Any] = {}
        self._world: World = SHOP
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise JournalError(
                f"{self.folder}: expected a folder that can be written, found: {error.strerror}",
                code="journal_unusable",
            ) from error
        self._file: int | None = None
        self._lock_folder()

    def lines(self) -> Iterator[dict[str, Any]]:
        """What an earlier process wrote; a line that it left unfinished is cut off, `torn` counts its bytes.

        Raises:
            JournalError: a whole line that is no JSON object (`journal_damaged`).
        """
        if not self.path.exists():
            return
        self.torn = cut_torn_line(self.path)
        with self.path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                try:
                    value = json.loads(line)
                except ValueError:
                    value = None
                if not isinstance(value, dict):
                    raise JournalError(
                        f"{self.path}, line {number}: expected a JSON object, found something else; move the "
                        "file away to start without it",
                        code="journal_damaged",
                    )
                yield value

    def start(self, release: IdentifiedRelease, table: LeaseTable, world: World) -> None:
        """Begins the file anew with what is live, and opens it for writing."""
        self._world = world
        self._head = head_of(release, world.version)
        self._rewrite(table)

    def check(self) -> None:
        """Refuses to go on after a line could not be written.

        Raises:
            JournalError: code `journal_failed`.
        """
        if self._broken:
            raise JournalError(
                f"the action log cannot be written ({self._broken}); restart the server when it can",
                code="journal_failed",
            )

    def opened(self, leases: tuple[Lease, ...]) -> None:
        """Writes new leases down."""
        self._append(b"".join(self._counted(lease.id, self._opening(lease)) for lease in leases))

    def played(self, lease: Lease, entry: Entry) -> None:
        """Writes an action or a forced end down."""
        self._append(self._counted(lease.id, playing(lease.id, entry)))

    def fenced(self, lease: Lease) -> None:
        """Writes a new fencing number down."""
        self._append(self._counted(lease.id, {"fence": lease.fence, "lease": lease.id}))

    def dropped(self, lease: Lease, table: LeaseTable) -> None:
        """Writes the end of a lease down; rewrites the file when most of it is about dropped leases."""
        self._append(_line({"drop": lease.id}))
        self._sizes.pop(lease.id, None)
        if self._size > _SLACK + 2 * sum(self._sizes.values()):
            self._rewrite(table)

    def close(self) -> None:
        """Syncs and closes. Closing twice is fine."""
        if self._file is not None:
            os.fsync(self._file)
            os.close(self._file)
            self._file = None
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _lock_folder(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.close()
            raise JournalError(
                f"{self.folder}: another server writes its action log there; give each its own folder",
                code="journal_in_use",
            ) from error

    def _opening(self, lease: Lease) -> dict[str, Any]:
        """The line of a new lease."""
        return {
            "open": lease.id,
            "fence": lease.fence,
            "slot": lease.slot,
            "seed": lease.seed,
            "request": lease.request_id,
            "asked": lease.asked,
            "note": lease.note,
            "group": lease.group,
            **self._world.opening(lease),
        }

    def _counted(self, lease_id: str, value: dict[str, Any]) -> bytes:
        line = _line(value)
        self._sizes[lease_id] = self._sizes.get(lease_id, 0) + len(line)
        return line

    def _append(self, data: bytes) -> None:
        self.check()
        if self._file is None:
            raise JournalError("the action log is closed", code="journal_failed")
        try:
            _write(self._file, data)
            if self.sync:
                os.fsync(self._file)
        except OSError as error:
            # What was played is ahead of the log from here on: nothing more may be answered.
            self._broken = str(error.strerror)
            self.check()
        self._size += len(data)

    def _rewrite(self, table: LeaseTable) -> None:
        """Replaces the file by one that holds the live leases alone."""
        self._sizes = {}
        head = {**self._head, "fence": table.fence, "groups": table.groups}
        parts = [_line(head)]
        for lease in table.leases.values():
            parts.append(self._counted(lease.id, self._opening(lease)))
            parts.extend(self._counted(lease.id, playing(lease.id, entry)) for entry in lease.entries)
        data = b"".join(parts)
        building = self.path.with_suffix(".building")
        try:
            file = os.open(building, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
            _write(file, data)
            os.fsync(file)
            building.replace(self.path)
        except OSError as error:
            self._broken = str(error.strerror)
            self.check()
        if self._file is not None:
            os.close(self._file)
        self._file, self._size = file, len(data)


def head_of(release: IdentifiedRelease, version: str) -> dict[str, Any]:
    """What the first line says of the log, for a world of that version; another log is refused."""
    return {"schema": JOURNAL_SCHEMA, "release": release.id, "environment": version}


def playing(lease_id: str, entry: Entry) -> dict[str, Any]:
    """The line of an action or a forced end."""
    done = {"action": entry.action} if entry.reason is None else {"end": entry.reason}
    return {"lease": lease_id, "request": entry.request_id, **done}


def _line(value: dict[str, Any]) -> bytes:
    # Escaped: a model may have sent half of a surrogate pair, which UTF-8 cannot hold.
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def _write(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
