"""Schedules: when jobs start by themselves. All are off until someone switches them on.

Belongs here: times and run configs. What a job does stands in `jobs`.
"""

from typing import Any

import dagster as dg

from pipelines.jobs import reannotate
from pipelines.resources.paths import CONFIGS
from pipelines.settings import FROM_CACHE, ReannotationSettings, load_annotation


def reannotation_config(settings: ReannotationSettings) -> dict[str, Any]:
    """Run config of one weekly run: answers from the cache, a cap, and no purchase without confirmation."""
    paid = {"confirm_paid_api": settings.confirm_paid_api, "max_requests": settings.max_requests}
    return {
        "ops": {"price_annotations": {"config": paid}},
        "resources": {"workspace": {"config": {"dataset": settings.dataset, "annotations": FROM_CACHE}}},
    }


def reannotation_schedule(settings: ReannotationSettings) -> dg.ScheduleDefinition:
    """Asks only what the plan finds missing, invalidated or expired, and at most `max_requests` of it."""
    return dg.ScheduleDefinition(
        name="weekly_reannotation",
        job=reannotate,
        cron_schedule=settings.cron,
        run_config=reannotation_config(settings),
        default_status=dg.DefaultScheduleStatus.STOPPED,
        description="Weekly re-annotation under a cap; [reannotation] in configs/annotation.toml.",
    )


weekly_reannotation = reannotation_schedule(load_annotation(CONFIGS / "annotation.toml").reannotation)
