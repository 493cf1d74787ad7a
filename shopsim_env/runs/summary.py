"""`summary.json` of a run, made anew from its traces (docs/runs.md).

Belongs here: the form of the file. The arithmetic is in `figures`.
"""

from collections.abc import Sequence
from typing import Any, Final

from shopsim_env.runs.figures import figures
from shopsim_env.runs.rows import TOKENS, Row

SUMMARY_SCHEMA: Final = "shopsim-summary-v1"


def summary(rows: Sequence[Row], requested: int) -> dict[str, Any]:
    """Figures of a run of `requested` episodes; only completed ones feed the means."""
    found = figures(rows)
    counts, behaviour, cost = found["counts"], found["behaviour"], found["cost"]
    return {
        "schema": SUMMARY_SCHEMA,
        "counts": {
            "requested": requested,
            "completed": counts["completed"],
            "failed": counts["failed"],
            "scored": counts["scored"],
            "coverage": counts["completed"] / requested if requested else None,
        },
        "primary": {
            "reward_mean": found["reward"]["mean"],
            "reward_sem": found["reward"]["sem"],
            "success_rate": found["reward"]["success"],
        },
        "reward_components": found["components"],
        "behavior": {
            "steps_mean": behaviour["steps_mean"],
            "protocol_errors": behaviour["protocol_errors"],
            "invalid_actions": behaviour["invalid_actions"],
            "invalid_action_rate": behaviour["invalid_rate"],
            "termination_reasons": dict(found["termination_reasons"]),
        },
        "cost": {
            "duration_ms_mean": cost["duration_ms_mean"],
            **(cost["tokens"] or dict.fromkeys(TOKENS)),
        },
        "errors": dict(found["errors"]),
    }
