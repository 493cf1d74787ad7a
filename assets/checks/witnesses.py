"""What must hold of the witnesses, and the warning when fewer tasks than before can be won."""

import json
from collections.abc import Iterator

from assets._inputs import all_splits, derivable, inactive
from assets._playable import staged
from assets.checks.blocking import blocking_check, warning_check
from pipelines.resources.workspace import Workspace
from pipelines.stages.cleaning import iter_cleaned
from pipelines.stages.witness_report import fallen_shares, summarise_witnesses
from pipelines.stages.witnesses import modes_of, read_witnesses, replay, replayed
from shopsim_env.private import GRADES, Witness
from shopsim_env.release.layout import METRICS
from shopsim_env.release.opening import open_staged

# Part of a split's tasks that may lose a grade from one release to the next without a warning.
TOLERANCE = 0.01


@blocking_check("witnesses")
def every_task_graded(work: Workspace) -> Iterator[str]:
    """Each offered task has one witness for each mode: W1 with an action list, or a reason and none."""
    not_offered = inactive(work)
    expected = [
        (task["task_id"], mode)
        for record in iter_cleaned(work.store.path("cleaned_v2"))
        for task in record.get("instructions") or ()
        if task["task_id"] not in not_offered
        for mode in modes_of(has_persona=bool(record.get("user_persona")))
    ]
    stated = derivable(work)
    found = []
    for witness in read_witnesses(work.store.path("witnesses")):
        found.append((witness.task_id, witness.mode))
        if not _is_sound(witness) or ("W3" in witness.grades) != stated.get(found[-1]):
            yield f"task {witness.task_id}, {witness.mode}: grades, reason and labels do not agree"
    if found != sorted(expected):
        missing, extra = set(expected) - set(found), set(found) - set(expected)
        yield (
            f"expected {len(expected)} in order of id and mode, found {len(found)}; "
            f"missing {sorted(missing)[:3]}, extra {sorted(extra)[:3]}"
        )


def _is_sound(witness: Witness) -> bool:
    won = "W1" in witness.grades
    ordered = [grade for grade in GRADES if grade in witness.grades]
    if ordered != list(witness.grades):
        return False
    return won == bool(witness.actions) == bool(witness.found_by) == (not witness.reason)


@blocking_check("witnesses")
def witnesses_replay(work: Workspace) -> Iterator[str]:
    """A seeded choice of the action lists, played again by the runtime, reaches r_success = 1."""
    chosen = replayed(read_witnesses(work.store.path("witnesses")))
    with staged(work) as root:
        release = open_staged(root)
        try:
            for witness in chosen:
                problem = replay(release, witness)
                if problem:
                    yield f"task {witness.task_id}, {witness.mode}: {problem}"
        finally:
            release.close()


@warning_check("witnesses")
def grade_shares_have_not_fallen(work: Workspace) -> Iterator[str]:
    """No grade lost more than one task in a hundred of a split since the data set's latest release."""
    path = work.released(METRICS)
    if path is None:
        return
    try:
        # A release from before there were witnesses has no shares.
        before = json.loads(path.read_bytes()).get("witnesses", {})
    except (ValueError, AttributeError):
        yield f"{path}: expected the metrics of a release, found a damaged file; nothing was compared"
        return
    now = summarise_witnesses(read_witnesses(work.store.path("witnesses")), all_splits(work))
    yield from fallen_shares(now, before, TOLERANCE)
