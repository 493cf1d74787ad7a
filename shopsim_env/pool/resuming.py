"""From the lines of an action log to live leases: every episode is played again up to where it was.

Belongs here: the meaning of the lines. The file is in `journal`. A log of another release or environment is
refused, because the same actions would show other pages there.
"""

from collections.abc import Callable, Iterable
from typing import Any

from shopsim_env.errors import JournalError, ShopSimError
from shopsim_env.pool.journal import Journal, head_of
from shopsim_env.pool.lease import Lease, Started
from shopsim_env.pool.table import LeaseTable
from shopsim_env.pool.worlds import World
from shopsim_env.recording import IdentifiedRelease

Start = Callable[[Any], Started]


def holds_leases(journal: Journal, release: IdentifiedRelease, version: str) -> bool:
    """Whether the log of a world of that version has live leases, which then have to be resumed.

    Raises:
        JournalError: as `resume`, for what can be seen without playing.
    """
    lines = journal.lines()
    head = next(lines, None)
    if head is None:
        return False
    _check_head(head, journal, release, version)
    try:
        return bool(_live(lines))
    except (KeyError, TypeError, AttributeError) as error:
        raise _damaged(journal, f"a line lacks {error}") from error


def resume(
    journal: Journal,
    world: World,
    start: Start,
    release: IdentifiedRelease,
    table: LeaseTable,
    deadline: float,
) -> list[Lease]:
    """Restores the leases of the journal into an empty table and opens the journal for writing.

    Args:
        journal: The log, and where the pool goes on writing.
        world: How its lines are read.
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
        _check_head(head, journal, release, world.version)
        try:
            found = _live(lines)
            table.fence, table.groups = head["fence"], head["groups"]
            for opened, events in found:
                leases.append(_lease(world, start, table, opened, events, deadline))
        except (KeyError, TypeError, AttributeError) as error:
            raise _damaged(journal, f"a line lacks {error}") from error
        except ShopSimError as error:
            if isinstance(error, JournalError):
                raise
            raise _damaged(journal, f"an action that cannot be played ({error.code})") from error
    journal.start(release, table, world)
    return leases


def _check_head(head: dict[str, Any], journal: Journal, release: IdentifiedRelease, version: str) -> None:
    expected = head_of(release, version)
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
    world: World,
    start: Start,
    table: LeaseTable,
    opened: dict[str, Any],
    events: _Events,
    deadline: float,
) -> Lease:
    started = start(world.request(opened))
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
            entry = world.entry(event)
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
