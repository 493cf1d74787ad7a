"""The one code location: assets, checks, jobs, sensors, schedules and the workspace resource. Wiring only."""

import dagster as dg

from assets import annotations, audit, catalog, cleaned, products, release, rlve, search, splits, witnesses
from assets.checks.modules import CHECK_MODULES
from pipelines.automation import observe_daily, observe_published
from pipelines.jobs import build_release, reannotate
from pipelines.resources.workspace import WorkspaceResource
from pipelines.schedules import weekly_reannotation
from pipelines.sensors import failed_run_log, raw_archive_changed

ASSET_MODULES = [catalog, products, annotations, cleaned, audit, splits, search, rlve, witnesses, release]


def build_definitions(workspace: WorkspaceResource) -> dg.Definitions:
    """Definitions over one default workspace; run config can choose another data set for a run."""
    return dg.Definitions(
        assets=dg.load_assets_from_modules(ASSET_MODULES),
        asset_checks=dg.load_asset_checks_from_modules(CHECK_MODULES),
        jobs=[build_release, reannotate, observe_published],
        schedules=[weekly_reannotation, observe_daily],
        sensors=[raw_archive_changed, failed_run_log],
        resources={"workspace": workspace},
    )


defs = build_definitions(WorkspaceResource())
