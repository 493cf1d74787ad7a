"""`shopsim rlve selfcheck`: oracles solve every episode, cheaters none by more than chance.

Belongs here: arguments and the table. Playing and verdicts are in `panel`, which is imported on use: it needs
the extra `rlve`.
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

from shopsim_env.commands.output import add_common, add_release, show, show_json
from shopsim_env.errors import UsageError
from shopsim_env.release import load_release
from shopsim_env.rlve.environments import ENVIRONMENTS, collection

if TYPE_CHECKING:
    from shopsim_env.rlve.panel.check import Row

_LEVELS = re.compile(r"(\d+)(?:-(\d+))?(?:/(\d+))?")
_HEAD = f"{'environment':<12}{'d':>3}  {'agent':<28}{'success':>14}{'chance':>9}{'total':>8}{'best':>8}"


def add_selfcheck(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser(
        "selfcheck",
        help="prove that episodes can be solved and not be guessed",
        description="Play oracles, cheaters, shortcuts, saboteurs and weaker honest agents over environments "
        "and difficulties. Exit code 1 when an oracle fails, a cheater or shortcut succeeds more often than "
        "chance allows, a saboteur succeeds at all, an honest agent gains from difficulty, the chance itself "
        "is too high, or the customer's words leave out what it tells.",
    )
    parser.add_argument(
        "--environments", default="C8", metavar="IDS", help="collection, or ids with commas (default C8)"
    )
    parser.add_argument(
        "--levels",
        default="0-12/4",
        metavar="D",
        help="difficulties: 4, 0-12 or 0-12/4 for every 4th (default)",
    )
    parser.add_argument("--seeds", type=int, default=20, metavar="N", help="episodes of each (default 20)")
    parser.add_argument("--language", choices=("zh", "en"), default="zh", help="the customer's (default zh)")
    parser.add_argument(
        "--agents", metavar="NAMES", help="with commas, such as oracle,hasty or 'first hit'; default all"
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes (default 1)")
    add_release(parser)
    add_common(parser)
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Plays and prints; exit code 1 when there is a problem."""
    from shopsim_env.rlve.panel.verdicts import problems

    for name in ("seeds", "workers"):
        if getattr(arguments, name) < 1:
            raise UsageError(f"--{name}: expected at least 1, found {getattr(arguments, name)}")
    jobs = _jobs(arguments)
    rows: list[Row] = []
    if not arguments.json:
        show([_HEAD])
    for found in _played(jobs, arguments.workers):
        rows += found
        if not arguments.json:
            show([_line(item) for item in found])
    wrong = problems(rows)
    if arguments.json:
        show_json({"ok": not wrong, "problems": wrong, "rows": [_row(item) for item in rows]})
    else:
        episodes = sum(item.episodes for item in rows)
        good = f"all {len(rows)} rows hold, and the verdicts over them ({episodes} episodes)"
        show(["", *(wrong or [good])])
    return 1 if wrong else 0


def levels(text: str) -> tuple[int, ...]:
    """Difficulties of `4`, `0-12` or `0-12/4`.

    Raises:
        UsageError: anything else.
    """
    found = _LEVELS.fullmatch(text)
    if found is None:
        raise UsageError(f"--levels: expected 4, 0-12 or 0-12/4, found {text!r}")
    first, step = int(found[1]), int(found[3] or 1)
    last = int(found[2] or first)
    if last < first or step < 1:
        raise UsageError(
            f"--levels: expected a first level of at most the last and a step from 1, found {text!r}"
        )
    return tuple(range(first, last + 1, step))


_Job = tuple[str | None, str, int, int, str, tuple[str, ...] | None]


def _jobs(arguments: argparse.Namespace) -> list[_Job]:
    chosen = arguments.environments
    ids = collection(chosen if chosen[:1] in "CR" and chosen[1:].isdigit() else chosen.split(","))
    names = tuple(arguments.agents.split(",")) if arguments.agents else None
    _check_names(names or (), ids)
    return [
        (arguments.release, env_id, level, arguments.seeds, arguments.language, names)
        for env_id in (name for name in ENVIRONMENTS if name in ids)
        for level in levels(arguments.levels)
    ]


def _check_names(names: Sequence[str], env_ids: Sequence[str]) -> None:
    from shopsim_env.rlve.panel.members import MEMBERS, members_of

    unknown = sorted(set(names) - set(MEMBERS))
    if unknown:
        raise UsageError(f"--agents: expected names among {', '.join(MEMBERS)}, found {unknown}")
    playing = {name for env_id in env_ids for name in members_of(env_id)}
    idle = [name for name in names if name not in playing]
    if idle:
        where = ", ".join(env_ids)
        raise UsageError(
            f"--agents: expected agents that play in {where}, found {idle}; name the environments in which "
            "they do"
        )


def _played(jobs: Sequence[_Job], workers: int) -> "Iterator[list[Row]]":
    if workers == 1:
        yield from map(_play, jobs)
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(_play, jobs)


def _play(job: _Job) -> "list[Row]":
    from shopsim_env.rlve.market import Market
    from shopsim_env.rlve.panel.check import check

    path, env_id, level, seeds, language, names = job
    with load_release(path) as release, Market.of(release) as market:
        return list(check(market, [env_id], [level], range(seeds), language=language, names=names))


def _line(item: "Row") -> str:
    mark = "  <-- " + item.problem if item.problem else ""
    success = f"{item.successes}/{item.episodes} {100 * item.success:5.1f} %"
    return (
        f"{item.env_id:<12}{item.difficulty:>3}  {item.agent:<28}{success:>14}{100 * item.chance:>7.2f} %"
        f"{item.total:>8.3f}{item.best:>8.3f}{mark}"
    )


def _row(item: "Row") -> dict[str, Any]:
    return {
        "environment": item.env_id,
        "difficulty": item.difficulty,
        "agent": item.agent,
        "kind": item.kind,
        "episodes": item.episodes,
        "successes": item.successes,
        "mean_total": item.total,
        "mean_best": item.best,
        "mean_chance": item.chance,
        "failed_seeds": list(item.failed),
        "unsaid": list(item.unsaid),
        "problem": item.problem,
    }
