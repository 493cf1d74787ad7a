"""How a check is declared, blocking or warning, and the list of those that a release requires."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import islice

import dagster as dg

from assets._failures import intended_failures
from assets._recipe import as_imported, recipe
from pipelines.resources.workspace import Workspace, WorkspaceResource

MAX_PROBLEMS = 20

# Asset name -> names of its blocking checks; filled as check modules are imported.
REQUIRED: dict[str, list[str]] = defaultdict(list)

Check = Callable[[Workspace], Iterable[str]]
Seen = Callable[[Workspace], str]


def _evaluate(
    function: Check, work: Workspace, asset: str, seen: Seen | None, *, receipt: bool
) -> tuple[list[str], bool]:
    """What the check found, and whether it is known from earlier: same bytes, code, settings and inputs.

    With `receipt` it leaves one for the very bytes it saw, or takes the old one away.
    """
    name = function.__name__
    code, memo = recipe(function.__module__, name), f"{asset}.{name}"
    with intended_failures():
        sha256 = seen(work) if seen else work.store.open(asset).sha256
        if not work.rerun and _is_known(work, asset, name, code, sha256, receipt):
            return [], True
        work.memos.forget(memo)
        with as_imported(function.__module__, name):
            problems = list(islice(function(work), MAX_PROBLEMS))
        if receipt:
            work.store.record_check(asset, name, sha256 if not problems else None)
        if not problems:
            work.memos.keep(memo, code, work.reads, {"sha256": sha256})
    return problems, False


def _is_known(work: Workspace, asset: str, name: str, code: str, sha256: str, receipt: bool) -> bool:
    kept = work.memos.recall(f"{asset}.{name}", code)
    if kept is None or kept["sha256"] != sha256:
        return False
    return work.store.has_receipt(asset, name, sha256) or not receipt


def blocking_check(asset: str, *, seen: Seen | None = None) -> Callable[[Check], dg.AssetChecksDefinition]:
    """Turns a function that yields problems (none: passed) into a blocking check of `asset`.

    Problems name ids, counts and codes, never task text. The check's name is the function's: what holds when
    it passes. Its docstring becomes the description.

    Args:
        asset: Asset name, with `/` between the parts of its key.
        seen: Hash of what is checked, for the release itself, which is no artifact and needs no receipt.
    """

    def declare(function: Check) -> dg.AssetChecksDefinition:
        name = function.__name__
        if seen is None:
            REQUIRED[asset].append(name)

        @dg.asset_check(
            asset=dg.AssetKey(asset.split("/")), name=name, description=function.__doc__, blocking=True
        )
        def run(workspace: WorkspaceResource) -> dg.AssetCheckResult:
            work = workspace.open()
            problems, unchanged = _evaluate(function, work, asset, seen, receipt=seen is None)
            return dg.AssetCheckResult(
                passed=not problems,
                metadata={"problems": dg.MetadataValue.json(problems), "unchanged": unchanged},
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
            findings, unchanged = _evaluate(function, workspace.open(), asset, None, receipt=False)
            return dg.AssetCheckResult(
                passed=not findings,
                severity=dg.AssetCheckSeverity.WARN,
                metadata={"problems": dg.MetadataValue.json(findings), "unchanged": unchanged},
                description="; ".join(findings[:3]) or None,
            )

        return run

    return declare
