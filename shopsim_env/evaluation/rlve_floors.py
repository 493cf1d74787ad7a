"""Floors and ceiling of an RLVE run: agents of the panel, played on the very keys of the run.

Belongs here: which agents, and their figures by environment and difficulty. The agents are in
`shopsim_env.rlve.panel` and `shopsim_env.rlve.oracles`.
"""

import json
import math
from typing import Any, Final

from shopsim_env.errors import UsageError
from shopsim_env.evaluation.measuring import by_group
from shopsim_env.evaluation.results import RunResults
from shopsim_env.intervals import wilson
from shopsim_env.release import Release
from shopsim_env.versions import RLVE_SUITE_VERSION

ORACLE: Final = "oracle"
AGENTS: Final = ("answer at once", "first hit", ORACLE)


def rlve_floors(run: RunResults, release: Release) -> list[dict[str, Any]]:
    """One row per environment, difficulty and agent: `success` with its Wilson interval, and mean `total`.

    Raises:
        UsageError: a run of another suite version (code `other_suite`).
    """
    from shopsim_env.rlve.episode import EpisodeKey
    from shopsim_env.rlve.market import Market
    from shopsim_env.rlve.panel.members import agent
    from shopsim_env.rlve.panel.playing import play

    if run.settings.versions.get("rlve_suite") != RLVE_SUITE_VERSION:
        raise UsageError(
            f"--floors: expected a run of {RLVE_SUITE_VERSION}, found "
            f"{run.settings.versions.get('rlve_suite')}",
            code="other_suite",
        )
    rows = []
    with Market.of(release) as market:
        for (env_id, difficulty), results in by_group(run.results).items():
            keys = [EpisodeKey(**json.loads(task)) for task in sorted({one.task for one in results})]
            for name in AGENTS:
                played = [play(market, key, agent(env_id, name, key.seed)) for key in keys]
                won = sum(one.success for one in played)
                low, high = wilson(won, len(played))
                rows.append(
                    {
                        "env_id": env_id,
                        "difficulty": int(difficulty),
                        "agent": name,
                        "ceiling": name == ORACLE,
                        "episodes": len(played),
                        "success": won / len(played),
                        "success_low": low,
                        "success_high": high,
                        "total": math.fsum(one.total for one in played) / len(played),
                    }
                )
    return rows
