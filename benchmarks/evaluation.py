"""Evaluation: its formulas against brute force and scipy, and how long runs take.

    python -m benchmarks.evaluation [--episodes 6000] [--step-kb 4]

scipy is no dependency: the comparison with it runs where it is installed and says so where it is not.
Prints JSON.
"""

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterable
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

from shopsim_env.canonical import compact_json
from shopsim_env.evaluation.card import make_card
from shopsim_env.evaluation.paired import compare_runs
from shopsim_env.evaluation.results import read_run
from shopsim_env.evaluation.statistics import Cluster, bootstrap, mcnemar, pass_at_k, pass_hat_k

_NAMES = ("r_loose", "r_strict", "r_success", "r_type", "r_att", "r_option", "r_price")


def by_hand() -> dict[str, float]:
    """Largest gap between pass@k, pass^k and counting all choices of k among n."""
    gaps = [0.0]
    for n in range(1, 9):
        for c in range(n + 1):
            won = [True] * c + [False] * (n - c)
            for k in range(1, n + 1):
                chosen = list(combinations(won, k))
                for formula, rule in ((pass_at_k, any), (pass_hat_k, all)):
                    share = sum(map(rule, chosen)) / len(chosen)
                    gaps.append(abs(share - (formula(n, c, k) or 0.0)))
    return {"passes_against_enumeration": max(gaps)}


def with_scipy() -> dict[str, Any]:
    """Largest gaps to scipy: exact p-values, and ends of bootstrap intervals of 300 tasks."""
    if find_spec("scipy") is None:
        return {"scipy": "not installed"}
    import numpy as np
    import scipy
    from scipy.stats import binomtest
    from scipy.stats import bootstrap as other

    p = [
        abs(mcnemar(one, two) - binomtest(one, one + two).pvalue)
        for one in range(30)
        for two in range(30)
        if one + two
    ]
    draw = random.Random(5)  # noqa: S311
    values = [float(draw.random() < 0.3) for _ in range(300)]
    [ours] = bootstrap([[Cluster(value, 1) for value in values]], resamples=9_999)
    theirs = other(
        (np.array(values),), np.mean, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    assert ours is not None
    ends = (abs(ours.low - theirs.low), abs(ours.high - theirs.high))
    return {"scipy": scipy.__version__, "mcnemar_gap": max(p), "bootstrap_gap": float(max(ends))}


def records(episodes: int, kilobytes: int, seed: int) -> Iterable[str]:
    """Lines of a run with four samples a task and ten steps an episode."""
    draw = random.Random(seed)  # noqa: S311
    step = {
        "observation": "一" * (kilobytes * 1024 // 3),
        "model": {"usage": {"prompt_tokens": 100, "total_tokens": 120}},
        "environment": {"valid": True, "action_feedback": {"valid": True}},
    }
    for number in range(episodes):
        won = draw.random() < 0.4
        detail = dict.fromkeys(_NAMES, float(won))
        job = {"task_id": number // 4, "sample_id": number % 4, "seed": number, "split": None}
        yield compact_json(
            {
                "schema": "shopsim-episode-v1",
                "episode_id": f"task-{number // 4:06d}__sample-{number % 4:03d}",
                "status": "completed",
                "job": job,
                "provenance": {"release": "0" * 64, "versions": {}, "model": {"name": "m"}},
                "reset": {"environment": {"task_mode": "persona"}},
                "steps": [step] * 10,
                "final": {"done": True, "reward": float(won), "reward_detail": detail},
            }
        )


def speed(episodes: int, kilobytes: int) -> dict[str, float]:
    """CPU seconds of reading, of a card and of a comparison."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "traces.jsonl"
        with path.open("w", encoding="utf-8") as stream:
            for line in records(episodes, kilobytes, 1):
                stream.write(line + "\n")
        megabytes = path.stat().st_size / 1e6
        start = time.process_time()
        run = read_run(path)
        read = time.process_time()
        make_card(run)
        card = time.process_time()
        compare_runs(run, run)
        end = time.process_time()
    return {
        "episodes": episodes,
        "megabytes": round(megabytes, 1),
        "read_s": round(read - start, 2),
        "read_mb_per_s": round(megabytes / (read - start), 1),
        "card_s": round(card - read, 2),
        "compare_s": round(end - card, 2),
    }


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=6_000)
    parser.add_argument("--step-kb", type=int, default=4)
    arguments = parser.parse_args()
    found = {**by_hand(), **with_scipy(), **speed(arguments.episodes, arguments.step_kb)}
    print(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
