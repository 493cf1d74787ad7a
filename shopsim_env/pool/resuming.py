"""From the lines of an action log to live leases: every episode is played again up to where it was.

Belongs here: the meaning of the lines. The file is in `journal`. A log of another release or environment is
refused, because the same actions would show other pages there.
"""

from collections.abc import Callable, Iterable
from typing import Any

from shopsim_env.errors import JournalError, ShopSimError
from shopsim_env.pool.journal import JOURNAL_SCHEMA, Journal
from shopsim_env.pool.lease import Entry, EpisodeRequest, Lease, Started
from shopsim_env.pool.table import LeaseTable
from shopsim_env.recording import IdentifiedRelease
from shopsim_env.versions import ENVIRONMENT_VERSION

Start = Callable[[EpisodeRequest], Started]


def resume(
    journal: Journal, start: Start, release: IdentifiedRelease, table: LeaseTable, deadline: float
) -> list[Lease]:
    """Restores the leases of the journal into an empty table and opens the journal for writing.

    Args:
        journal: The log, and where the pool goes on writing.
        start: Starts an episode.
        release: The release that is played.
        table: Gets the leases.
        deadline: When they expire if nobody uses them.

    Raises:
        JournalError: another release or environment (`journal_mismatch`), damaged lines (`journal_damaged`),
            more leases than slots (`journal_too_large`).
    """
    lines = journal.lines()
    head = next(lines, None)
    leases = []
    if head is not None:
        _check_head(head, journal, release)
        try:
            found = _live(lines)
            table.fence, table.groups = head["fence"], head["groups"]
            for opened, events in found:
                leases.append(_lease(start, table, opened, events, deadline))
        except (KeyError, TypeError, AttributeError) as error:
            raise _damaged(journal, f"a line lacks {error}") from error
        except ShopSimError as error:
            if isinstance(error, JournalError):
                raise
            raise _damaged(journal, f"an action that cannot be played ({error.code})") from error
    journal.start(release, table)
    return leases


def _check_head(head: dict[str, Any], journal: Journal, release: IdentifiedRelease) -> None:
    expected = {"schema": JOURNAL_SCHEMA, "release": release.id, "environment": ENVIRONMENT_VERSION}
    found = {name: head.get(name) for name in expected}
    if found != expected:
        raise JournalError(
            f"{journal.path}: expected a log of {expected}, found {found}; serve that release, or give "
            "another folder",
            code="journal_mismatch",
        )


_Events = list[dict[str, Any]]


def _live(lines: Iterable[dict[str, Any]]) -> list[tuple[dict[str, Any], _Events]]:
    """The opening line of each live lease and what followed, in the order of opening."""
    live: dict[str, tuple[dict[str, Any], _Events]] = {}
    for line in lines:
        if "open" in line:
            live[line["open"]] = (line, [])
        elif "drop" in line:
            request = live.pop(line["drop"])[0]["request"]
            for opened, _ in live.values():
                if request is not None and opened["request"] == request:
                    opened["request"] = None  # as the pool does: a group is asked for as a whole
        else:
            live[line["lease"]][1].append(line)
    return list(live.values())


def _lease(
    start: Start,
    table: LeaseTable,
    opened: dict[str, Any],
    events: _Events,
    deadline: float,
) -> Lease:
    request = EpisodeRequest(task_id=opened["task"], seed=opened["seed"], options=opened["options"])
    started = start(request)
    lease = Lease(
        id=opened["open"],
        fence=opened["fence"],
        slot=opened["slot"],
        start=started.start,
        env=started.env,
        seed=opened["seed"],
        request_id=opened["request"],
        asked=opened["asked"],
        note=opened["note"],
        group=opened["group"],
        deadline=deadline,
    )
    for event in events:
        if "fence" in event:
            lease.fence = event["fence"]
        else:
            entry = Entry(event.get("action"), event.get("end"), event["request"])
            lease.add(entry, entry.play(lease.env))
    table.fence = max(table.fence, lease.fence)
    if lease.group is not None:
        table.groups = max(table.groups, int(lease.group.rpartition("-")[2]))
    if not table.restore(lease):
        raise JournalError(
            f"slot {lease.slot}: expected it free among {table.slots}, found none; serve with at least "
            f"{lease.slot + 1} slots",
            code="journal_too_large",
        )
    return lease


def _damaged(journal: Journal, found: str) -> JournalError:
    return JournalError(
        f"{journal.path}: expected the lines of an action log, found {found}; move the file away to start "
        "without it",
        code="journal_damaged",
    )
