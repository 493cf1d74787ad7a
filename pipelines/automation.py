"""The job that hashes published files anew and fails when one has changed outside a build, and its schedule.

No asset has an automation condition: the build job leaves out by itself what is proven unchanged, and assets
started one by one would miss its order of checks (docs/decisions/0021).
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from pipelines.resources.paths import RELEASES
from pipelines.resources.workspace import WorkspaceResource
from pipelines.settings import DATASET_NAME
from pipelines.stages.drift import FileState, file_states

OBSERVE_PUBLISHED = "observe_published"
_LISTED = 50


class ObserveConfig(dg.Config):
    """Data sets to look at; none named means every one that has artifacts or releases."""

    datasets: list[str] = []  # noqa: RUF012 - a pydantic field, copied per instance


@dg.op(description="Hashes the artifacts and the current release of each data set, and compares.")
def hash_published_files(
    context: dg.OpExecutionContext, config: ObserveConfig, workspace: WorkspaceResource
) -> Iterator[dg.AssetObservation | dg.Output[None]]:
    """Fails with file, expected and found hash of everything that has drifted."""
    artifacts, releases = workspace.artifacts(), Path(workspace.releases_root or RELEASES)
    names = config.datasets or sorted(_built(artifacts) | _built(releases))
    states = {name: list(file_states(artifacts / name, releases / name)) for name in names}
    drifted = {name: [state for state in found if state.drifted] for name, found in states.items()}
    yield from _observations(drifted)
    metadata = _metadata(states, drifted)
    lines = [
        f"{name}/{state.file}: expected {state.expected[:12]}, found {state.found[:12]}"
        for name, found in drifted.items()
        for state in found
    ]
    if lines:
        shown = "; ".join(lines[:3]) + (f"; and {len(lines) - 3} more" if len(lines) > 3 else "")
        text = f"published_files_drifted: {shown}. Build the data set again, or find out who changed it."
        raise dg.Failure(text, metadata=metadata, allow_retries=False)
    context.log.info(f"{sum(map(len, states.values()))} files of {len(names)} data sets are as written")
    yield dg.Output(None, metadata=metadata)


def _built(root: Path) -> set[str]:
    return {path.name for path in root.glob("*/") if DATASET_NAME.fullmatch(path.name)}


def _observations(drifted: dict[str, list[FileState]]) -> Iterator[dg.AssetObservation]:
    """Shows the drift on the page of each asset that is concerned."""
    for name, states in drifted.items():
        for state in states:
            yield dg.AssetObservation(
                asset_key=dg.AssetKey(state.asset.split("/")),
                description=f"{state.file} is not what was written",
                metadata={"data_set": name, "expected": state.expected, "found": state.found},
            )


def _metadata(states: dict[str, list[FileState]], drifted: dict[str, list[FileState]]) -> dict[str, Any]:
    files: Iterable[dg.TableRecord] = [
        dg.TableRecord({"data set": name, "file": item.file, "expected": item.expected, "found": item.found})
        for name, found in drifted.items()
        for item in found[:_LISTED]
    ]
    return {
        "files": sum(map(len, states.values())),
        "data_sets": ", ".join(states) or "none",
        "drifted": sum(map(len, drifted.values())),
        "drifted_files": dg.MetadataValue.table(
            list(files),
            schema=dg.TableSchema(
                [dg.TableColumn(name) for name in ("data set", "file", "expected", "found")]
            ),
        ),
    }


@dg.job(
    name=OBSERVE_PUBLISHED,
    executor_def=dg.in_process_executor,
    description="Hashes published files anew; fails when one was changed outside a build.",
)
def observe_published() -> None:
    """One step."""
    hash_published_files()


observe_daily = dg.ScheduleDefinition(
    name="observe_published_daily",
    job=observe_published,
    cron_schedule="30 5 * * *",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Looks for drift every day at 5:30.",
)
