"""Named jobs: selections of assets that people and schedules start."""

import dagster as dg

BUILD_RELEASE = "build_release"

build_release = dg.define_asset_job(
    BUILD_RELEASE,
    selection=dg.AssetSelection.all(),
    description="Raw archive to verified release: every asset with its blocking checks, in one process.",
    executor_def=dg.in_process_executor,
)
