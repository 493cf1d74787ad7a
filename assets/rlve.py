"""Group `rlve`: the world facts of the conversational environments."""

from pathlib import Path

import dagster as dg

from assets._code_version import code_version
from assets._materialize import OWNERS, Facts, materialize
from pipelines.resources.workspace import WorkspaceResource
from pipelines.stages.rlve_world import WorldReport, build_world

WORLD = code_version("rlve_world", "pipelines.stages.rlve_world")


@dg.asset(
    deps=["search_index"],
    group_name="rlve",
    owners=OWNERS,
    kinds={"python", "sqlite"},
    code_version=WORLD,
)
def rlve_world(workspace: WorkspaceResource) -> dg.MaterializeResult:
    """Shop facts of every product, from the source or derived from its asin; categories and attributes."""
    work = workspace.open()

    def write(path: Path) -> Facts:
        with work.progress("rlve_world") as on_progress:
            report = build_world(work.store.path("search_index"), path, on_progress)
        return _world_facts(report)

    return materialize(work, "rlve_world", "rlve.sqlite", WORLD, write, parents=("search_index",))


def _world_facts(report: WorldReport) -> Facts:
    rows = [
        {"fact": name, "source": report.products - derived, "derived": derived}
        for name, derived in report.derived.items()
    ]
    return Facts(
        report.products,
        numbers={"categories": report.categories, "products_without_price": report.without_price},
        preview=rows,
        bars={"attribute values by family": report.attributes, "derived facts": report.derived},
        columns={
            "asin": "TEXT",
            "category": "INTEGER",
            "brand": "TEXT",
            **dict.fromkeys(report.derived, "INTEGER"),
        },
    )
