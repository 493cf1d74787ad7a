"""What may be said about a failed step or check: codes, names and our own messages, which quote no task text.

Messages of foreign exceptions may quote the data around a fault; of those only the class is named.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import dagster as dg

CHECK_EVENT = "ASSET_CHECK_EVALUATION"


def problems_of(events: Iterable[dg.DagsterEvent]) -> Iterator[str]:
    """One line for each thing that went wrong in a run, in the order of its events."""
    for event in events:
        if event.event_type_value == CHECK_EVENT:
            check = event.asset_check_evaluation_data
            yield from findings_of(check) if is_blocking(check) else ()
        elif event.is_step_failure:
            failure = event.step_failure_data
            if failure.user_failure_data is not None:
                yield f"{event.step_key}: {failure.user_failure_data.description}"
            elif failure.error is not None and failure.error.cls_name != "DagsterAssetCheckFailedError":
                yield f"{event.step_key}: unexpected {failure.error.cls_name}; see this run in the Dagster UI"


def is_blocking(check: dg.AssetCheckEvaluation) -> bool:
    """Whether a failure of this check stops the release; the others warn."""
    return check.severity is dg.AssetCheckSeverity.ERROR


def findings_of(check: dg.AssetCheckEvaluation) -> Iterator[str]:
    """One line for each finding of a check that did not pass."""
    if not check.passed:
        listed: Any = check.metadata["problems"].value
        for problem in listed or ["failed"]:
            yield f"check {check.asset_key.to_user_string()}.{check.check_name}: {problem}"
