"""How a check is declared, blocking or warning, and the list of those that a release requires."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import islice

import dagster as dg

from assets._failures import intended_failures
from pipelines.resources.workspace import Workspace, WorkspaceResource

MAX_PROBLEMS = 20

# Asset name -> names of its blocking checks; filled as check modules are imported.
REQUIRED: dict[str, list[str]] = defaultdict(list)

Check = Callable[[Workspace], Iterable[str]]


def _evaluate(function: Check, work: Workspace, asset: str, name: str, artifact: bool) -> list[str]:
    """What the check found. It leaves a receipt for the very bytes it saw, or takes the old one away."""
    with intended_failures():
        seen = work.store.open(asset).sha256 if artifact else ""
        problems = list(islice(function(work), MAX_PROBLEMS))
        if artifact:
            work.store.record_check(asset, name, seen if not problems else None)
    return problems


def blocking_check(asset: str, *, artifact: bool = True) -> Callable[[Check], dg.AssetChecksDefinition]:
    """Turns a function that yields problems (none: passed) into a blocking check of `asset`.

    Problems name ids, counts and codes, never task text. The check's name is the function's: what holds when
    it passes. Its docstring becomes the description.

    Args:
        asset: Asset name, with `/` between the parts of its key.
        artifact: False for the release itself, which is no artifact and needs no receipt.
    """

    def declare(function: Check) -> dg.AssetChecksDefinition:
        name = function.__name__
        if artifact:
            REQUIRED[asset].append(name)

        @dg.asset_check(
            asset=dg.AssetKey(asset.split("/")), name=name, description=function.__doc__, blocking=True
        )
        def run(workspace: WorkspaceResource) -> dg.AssetCheckResult:
            work = workspace.open()
            problems = _evaluate(function, work, asset, name, artifact)
            return dg.AssetCheckResult(
                passed=not problems,
                metadata={"problems": dg.MetadataValue.json(problems)},
                description="; ".join(problems[:3]) or None,
            )

        return run

    return declare


def warning_check(asset: str) -> Callable[[Check], dg.AssetChecksDefinition]:
    """Turns a function that yields findings into a check that warns of drift and stops nothing.

    It leaves no receipt and no release requires it. Findings are worded as problems are.

    Args:
        asset: Asset name, with `/` between the parts of its key.
    """

    def declare(function: Check) -> dg.AssetChecksDefinition:
        @dg.asset_check(
            asset=dg.AssetKey(asset.split("/")), name=function.__name__, description=function.__doc__
        )
        def run(workspace: WorkspaceResource) -> dg.AssetCheckResult:
            with intended_failures():
                findings = list(islice(function(workspace.open()), MAX_PROBLEMS))
            return dg.AssetCheckResult(
                passed=not findings,
                severity=dg.AssetCheckSeverity.WARN,
                metadata={"problems": dg.MetadataValue.json(findings)},
                description="; ".join(findings[:3]) or None,
            )

        return run

    return declare
