"""Real tasks on a release that is built from the real records: what can be won, and why the rest cannot.

    .venv/bin/python -m benchmarks.real_tasks [--shared DIR] [--json]

Measures ingest on incomplete records (missing fields by reason, quarantined rows), time and peak memory of
the build, search recall of the tasks' own texts, and how many of the playable tasks an agent that knows the
goal brings to r_success = 1. Every episode is played twice; all observations must be equal. The records carry
no licence: they stay outside the project, and only numbers, codes and task ids leave this program.
"""

import gzip
import json
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dagster as dg

from benchmarks.real_records import measure_real
from pipelines.build import BuildReport, run_build
from pipelines.stages.search_metrics import evaluate_search
from shopsim_env import Release, ShopEnv, load_release
from shopsim_env.canonical import compact_json, sha256_lines
from shopsim_env.private import Goal, Witness
from shopsim_env.shop.env import Reset
from shopsim_env.shop.oracle import OracleResult, solve_any

DATASET = "real"
# A task may fail for these reasons without a fault of ours: the records themselves make it unwinnable.
FAULTS_OF_THE_DATA = ("over_budget", "price_unverifiable", "option_missing")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One played task; holds no text of it.

    `archive_id` is the id in the source archive, `task_id` the one of the release that was built from a part
    of it. `price_reason` says why a price is unverifiable; `price` and `ceiling` are in yuan, None where
    unknown. `grades` and `witness_reason` are the release's witness. `observations_sha256` covers what an
    agent saw from the reset to the end.
    """

    archive_id: int
    task_id: int
    mode: str
    found_by: str
    actions: int
    attributes: int
    r_att: float
    ceiling: float | None
    price: float | None
    price_reason: str | None
    reached: bool
    reason: str
    grades: tuple[str, ...]
    witness_reason: str
    observations_sha256: str


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything that was measured. `attached` counts the tasks by what became of them."""

    attached: Mapping[str, int]
    build: BuildReport
    outcomes: tuple[Outcome, ...]
    repeated_equal: bool
    search: Mapping[str, Any]
    seconds: Mapping[str, float]
    memory_mib: Mapping[str, int]


def read_lines(path: Path) -> Iterator[Row]:
    """Objects of a gzipped JSON Lines file, one at a time."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def attach_tasks(rows: Iterable[Row], tasks: Iterable[Row], fates: Counter[str]) -> Iterator[Row]:
    """Raw records without `_tier`; a record without its task receives it where the gold product is known.

    Args:
        rows: Product records in the raw schema.
        tasks: Tasks with `goal_asin` (None: not known), texts, goal options, goal attributes and persona.
        fates: Receives, after the last row, how many tasks were `attached`, `in_record` already,
            `without_text`, `gold_unknown` or `gold_absent` (from the records).
    """
    waiting: dict[str, list[Row]] = {}
    for task in tasks:
        if task["goal_asin"]:
            waiting.setdefault(task["goal_asin"], []).append(task)
        else:
            fates["gold_unknown"] += 1
    for row in rows:
        record = {name: value for name, value in row.items() if name != "_tier"}
        for task in waiting.pop(record["asin"], ()):
            fates[_attach(record, task)] += 1
        yield record
    fates["gold_absent"] += sum(map(len, waiting.values()))


def _attach(record: Row, task: Row) -> str:
    if record.get("instructions"):
        return "in_record"
    if not task["instruction"]:
        return "without_text"
    options = list(task["goal_options"] or ())
    instruction = {
        "asin": record["asin"],
        "instruction": task["instruction"],
        "instruction_simple": task["instruction_simple"],
        "attributes": list(task["goal_attributes"] or ()),
        "instruction_options": options,
        "options": options,
    }
    record["instructions"] = [instruction]
    # An unpaired persona or simple text is attached as it is: ingest sets such a row aside and counts it.
    if task["user_persona"]:
        record["user_persona"] = task["user_persona"]
    return "attached"


def write_archive(records: Iterable[Row], path: Path) -> None:
    """Writes `records` as one JSON array, one record in memory at a time."""
    with path.open("w", encoding="utf-8") as stream:
        for number, record in enumerate(records):
            stream.write("[" if number == 0 else ",\n")
            json.dump(record, stream, ensure_ascii=False)
        stream.write("]\n")


def build_release(archive: Path, folder: Path) -> BuildReport:
    """The whole job on `archive`, leniently, with every budget read at run time; all files below `folder`."""
    config = {
        "dataset": DATASET,
        "raw": str(archive),
        "lenient": True,
        "runtime_regex_all": True,
        "artifacts_root": str(folder / "artifacts"),
        "releases_root": str(folder / "releases"),
    }
    with dg.DagsterInstance.ephemeral() as instance:
        return run_build(config, instance=instance)


def goals_by_asin(release: Release, asins: Iterable[str]) -> dict[str, Goal]:
    """Goals of these gold products; the ids of the source archive mean nothing here, its asins do."""
    goals = {goal.product.asin: goal for goal in release.private().goals()}
    return {asin: goals[asin] for asin in asins if asin in goals}


def play(release: Release, playable: Iterable[Row], goals: Mapping[str, Goal]) -> tuple[Outcome, ...]:
    """Plays every task that has a goal, searching its simple text and, where that fails, the full one."""
    outcomes = []
    for row in playable:
        goal = goals.get(row["asin"])
        if goal is None:
            continue
        env = ShopEnv(release, task_mode=_mode(goal))
        start = env.reset(goal.task_id)
        result = solve_any(release, env, goal.task_id, ("simple", "full"))
        witness = release.private().witness(goal.task_id, _mode(goal))
        outcomes.append(_outcome(row["task_id"], goal, start, result, witness))
    return tuple(outcomes)


def _mode(goal: Goal) -> str:
    return "persona" if goal.has_persona else "standard"


def _outcome(archive_id: int, goal: Goal, start: Reset, result: OracleResult, witness: Witness) -> Outcome:
    detail = result.steps[-1][1].reward_detail
    price = detail.get("price_resolution") or {}
    return Outcome(
        archive_id=archive_id,
        task_id=goal.task_id,
        mode=_mode(goal),
        found_by=result.query if goal.instruction_simple else "full",
        actions=len(result.steps),
        attributes=len(goal.attributes),
        r_att=detail["r_att"],
        ceiling=None if goal.budget_upper is None else float(goal.budget_upper),
        price=price.get("price"),
        price_reason=price.get("reason"),
        reached=result.reached,
        reason=result.reason,
        grades=witness.grades,
        witness_reason=witness.reason,
        observations_sha256=sha256_lines(_observed(start, result)),
    )


def _observed(start: Reset, result: OracleResult) -> Iterator[str]:
    yield from (start.task_instruction, compact_json(start.user_persona), start.observation)
    yield compact_json(start.observation_state)
    for action, step in result.steps:
        yield from (action, step.observation, compact_json(step.observation_state))


def measure(shared: Path, folder: Path) -> Measured:
    """Builds, plays twice (the second time on a release opened anew) and searches.

    Args:
        shared: Folder that holds `real/products.jsonl.gz` and its neighbours.
        folder: Empty folder for the archive, the artifacts and the release.

    Raises:
        FileNotFoundError: a file of the real data is not there.
        RuntimeError: the build published no release.
    """
    real, fates, archive = shared / "real", Counter[str](), folder / "raw.json"
    rows = attach_tasks(read_lines(real / "products.jsonl.gz"), read_lines(real / "tasks.jsonl.gz"), fates)
    write_archive(rows, archive)
    playable = list(read_lines(real / "playable_tasks.jsonl.gz"))
    before, started = _peak_mib(), time.perf_counter()
    build = build_release(archive, folder)
    built, after = time.perf_counter(), _peak_mib()
    if build.release is None:
        raise RuntimeError("no release was published:\n" + "\n".join(build.problems))
    with load_release(build.release) as release:
        goals = goals_by_asin(release, [row["asin"] for row in playable])
        opened = time.perf_counter()
        outcomes = play(release, playable, goals)
        played = time.perf_counter()
        search = evaluate_search(release, [_query(goal) for goal in goals.values()])
    with load_release(build.release) as release:
        again = play(release, playable, goals_by_asin(release, goals))
    return Measured(
        attached=dict(sorted(fates.items())),
        build=build,
        outcomes=outcomes,
        repeated_equal=outcomes == again,
        search=search,
        seconds={"build": round(built - started, 2), "play": round(played - opened, 2)},
        memory_mib={"before_build": before, "peak_of_build": after},
    )


def _query(goal: Goal) -> tuple[int, str, str | None, str | None]:
    return goal.task_id, goal.product.asin, goal.instruction_simple or None, goal.instruction


def _peak_mib() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak // (1 << 20 if sys.platform == "darwin" else 1 << 10))


def summary(measured: Measured) -> dict[str, Any]:
    """The report as numbers, codes and archive ids."""
    outcomes, build = measured.outcomes, measured.build
    failed = [outcome for outcome in outcomes if not outcome.reached]
    plain = [outcome for outcome in outcomes if not outcome.attributes]
    ingest = {name: build.ingest[name] for name in ("product_count", "task_count", "gaps", "quarantined")}
    return {
        "release_id": build.release_id,
        "tasks": dict(measured.attached),
        "ingest": ingest,
        "played": len(outcomes),
        "by_mode": _counts(outcome.mode for outcome in outcomes),
        "found_by": _counts(outcome.found_by for outcome in outcomes),
        "reached": len(outcomes) - len(failed),
        "not_reached": _counts(outcome.reason for outcome in failed),
        "unverifiable_because": _counts(
            str(outcome.price_reason) for outcome in failed if outcome.reason == "price_unverifiable"
        ),
        "over_budget": {
            outcome.archive_id: {"price": outcome.price, "ceiling": outcome.ceiling}
            for outcome in failed
            if outcome.reason == "over_budget"
        },
        "without_target_attributes": {
            "tasks": len(plain),
            "reached": sum(outcome.reached for outcome in plain),
        },
        "witness_grades": _counts(grade for outcome in outcomes for grade in outcome.grades),
        "witnesses_agree": _agree(outcomes),
        "without_ceiling": sum(outcome.ceiling is None for outcome in outcomes),
        "search": dict(measured.search),
        "same_observations_when_repeated": measured.repeated_equal,
        "observations_sha256": sha256_lines(outcome.observations_sha256 for outcome in outcomes),
        "seconds": dict(measured.seconds),
        "memory_mib": dict(measured.memory_mib),
    }


def _agree(outcomes: Iterable[Outcome]) -> bool:
    """Whether each witness of the release says what came out here."""
    return all(("W1" in item.grades, item.witness_reason) == (item.reached, item.reason) for item in outcomes)


def _counts(codes: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(codes).items()))


def as_lines(report: Mapping[str, Any]) -> Iterator[str]:
    """The summary for a person: one line per figure."""
    for name, value in report.items():
        if name in ("ingest", "search"):
            yield f"{name}"
            parts = value["modes"] if name == "search" else value
            yield from (f"  {key:<26} {json.dumps(part)}" for key, part in parts.items())
        else:
            yield f"{name:<32} {json.dumps(value)}"


def passed(measured: Measured) -> bool:
    """Whether every task was won or is unwinnable by its own records, and the repetition gave equal bytes."""
    explained = all(item.reached or item.reason in FAULTS_OF_THE_DATA for item in measured.outcomes)
    equal = measured.repeated_equal and _agree(measured.outcomes)
    return measured.build.ok and bool(measured.outcomes) and explained and equal


def main() -> int:
    measured, as_json = measure_real("benchmarks.real_tasks", __doc__, measure)
    report = summary(measured)
    print(json.dumps(report, indent=2) if as_json else "\n".join(as_lines(report)))
    return 0 if passed(measured) else 1


if __name__ == "__main__":
    sys.exit(main())
