"""Named jobs: selections of assets that people and schedules start."""

import dagster as dg

BUILD_RELEASE = "build_release"
REANNOTATE = "reannotate"

build_release = dg.define_asset_job(
    BUILD_RELEASE,
    selection=dg.AssetSelection.all(),
    description="Raw archive to verified release: every asset with its blocking checks, in one process.",
    executor_def=dg.in_process_executor,
)

reannotate = dg.define_asset_job(
    REANNOTATE,
    selection=dg.AssetSelection.assets("annotation_drift").upstream(),
    description="Plans persona prices anew, asks what is missing, invalidated or expired, reports the drift.",
    executor_def=dg.in_process_executor,
)
