"""What a build of the index alone rebuilds, and whether the artifacts that it takes are those of its options.

Belongs here: refusing artifacts that other options, code or files would have made otherwise. The build itself
is in `pipelines.build`.
"""

from assets._code_version import CODE_VERSIONS
from assets.checks.modules import required_checks
from pipelines.errors import ArtifactError
from pipelines.resources.workspace import Workspace

INDEX_ASSETS = ("search_index", "search_arrays", "search_baseline")
INDEX_INPUTS = ("cleaned_v2", "source_splits", "persona_splits", "task_ids", "price_axis_exclusions")


def require_inputs(workspace: Workspace) -> None:
    """Refuses an index when its inputs, or what they come from, are not what a whole build would make now.

    Raises:
        ArtifactError: names the artifact and the setting, code, check, input or file that differs (codes
            `artifact_missing`, `artifact_altered`, `artifact_stale`, `check_missing`).
    """
    everything = _ancestry(workspace)
    workspace.store.require_checks({name: required_checks(name) for name in everything}, CODE_VERSIONS)
    for asset in everything:
        for name, then, now in workspace.memos.moved(asset):
            raise ArtifactError(
                f"{asset}: was built from {name} {then or 'none'}, which is now {now or 'none'}. Give the "
                "options of the earlier build, or build without --index-only.",
                code="artifact_stale",
            )


def _ancestry(workspace: Workspace) -> list[str]:
    """The inputs and all artifacts that they come from, sources first."""
    found: dict[str, None] = {}
    waiting = list(INDEX_INPUTS)
    while waiting:
        asset = waiting.pop()
        found.pop(asset, None)
        found[asset] = None
        waiting.extend(workspace.store.describe(asset).parents)
    return list(reversed(found))
