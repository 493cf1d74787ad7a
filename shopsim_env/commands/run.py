"""`shopsim run`: a chat model plays tasks; every episode is recorded (docs/runner.md)."""

import argparse
import asyncio
import importlib.util
from pathlib import Path
from typing import Any

from shopsim_env.commands.output import add_common, show, show_json
from shopsim_env.errors import UsageError

_VERBS = {
    "plan": "show what would be played; asks no model",
    "run": "begin a run",
    "resume": "go on with a run, or begin it; completed episodes are never played again",
    "summarize": "make summary.json anew; CONFIG may also be a run folder",
}
_NEEDED = ("openai", "httpx")
INTERRUPTED = 130


def register(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser("run", help="let a chat model play tasks and record every episode")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, text in _VERBS.items():
        verb = verbs.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.")
        verb.add_argument("config", metavar="CONFIG", help="the file that describes the run (TOML)")
        if name in ("run", "resume"):
            verb.add_argument("--quiet", action="store_true", help="no progress on standard error")
        add_common(verb)
        verb.set_defaults(handler=_HANDLERS[name])


def plan(arguments: argparse.Namespace) -> int:
    """Shows the plan; exit code 2 when the folder holds a run of another plan."""
    from shopsim_env.runner.config import read_config
    from shopsim_env.runner.execute import plan_of
    from shopsim_env.runner.folder import RunFolder
    from shopsim_env.runner.plan import differences, fingerprint

    config = read_config(arguments.config)
    _require_server_packages(config)
    found = asyncio.run(plan_of(config))
    folder = RunFolder(config.folder)
    recorded = folder.manifest()
    changed = [] if recorded is None else differences(recorded["plan"], found)
    facts = {
        "folder": str(config.folder),
        "plan_fingerprint": fingerprint(found),
        "exists": recorded is not None,
        "differences": changed,
    }
    if arguments.json:
        show_json({**facts, "plan": found})
    else:
        show(_plan_lines(facts, found))
    return 2 if changed else 0


def run(arguments: argparse.Namespace) -> int:
    """Begins a run; exit code 0 when every episode is completed, 1 when not, 130 when stopped."""
    return _execute(arguments, resume=False)


def resume(arguments: argparse.Namespace) -> int:
    """Goes on with a run; exit codes as for `run`."""
    return _execute(arguments, resume=True)


def summarize(arguments: argparse.Namespace) -> int:
    """Makes the summary anew; exit code 0."""
    from shopsim_env.runner.config import read_config
    from shopsim_env.runner.folder import RunFolder

    given = Path(arguments.config)
    folder = RunFolder(given if given.is_dir() else read_config(given).folder)
    _show_summary(arguments, folder.path, folder.write_summary())
    return 0


def _execute(arguments: argparse.Namespace, *, resume: bool) -> int:
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"shopsim run needs {', '.join(missing)}; install 'shopsim[run]'", code="missing_extra"
        )
    from shopsim_env.runner.config import read_config
    from shopsim_env.runner.execute import execute

    config = read_config(arguments.config)
    outcome = asyncio.run(execute(config, resume=resume, shown=not arguments.quiet))
    _show_summary(arguments, config.folder, outcome.summary)
    if outcome.complete:
        return 0
    return INTERRUPTED if outcome.stopped else 1


def _require_server_packages(config: Any) -> None:
    if config.sections["environment"]["server"] is not None and importlib.util.find_spec("httpx") is None:
        raise UsageError("a run on a server needs httpx; install 'shopsim[run]'", code="missing_extra")


def _plan_lines(facts: dict[str, Any], found: dict[str, Any]) -> list[str]:
    jobs, environment = found["jobs"], found["environment"]
    if "env_id" in jobs[0]:
        keys = len({(job["env_id"], job["difficulty"], job["seed"]) for job in jobs})
        environments = dict.fromkeys(job["env_id"] for job in jobs)
        levels = dict.fromkeys(str(job["difficulty"]) for job in jobs)
        played, tools = f"{keys} keys", ""
        scenario = f"RLVE {', '.join(environments)}; d {', '.join(levels)}; {environment['language']}"
    else:
        keys = len({job["task_id"] for job in jobs})
        played, tools = f"{keys} tasks", f", tools {found['prompt']['tools']}"
        scenario = (
            f"{environment['task_mode']}, {environment['interaction_mode']}, "
            f"{environment['max_actions']} actions"
        )
    lines = [
        f"folder       {facts['folder']}{' (exists)' if facts['exists'] else ''}",
        f"episodes     {len(jobs)} ({played}, {len(jobs) // keys} each)",
        f"release      {found['release']}",
        f"scenario     {scenario}",
        f"model        {found['model']['name']}",
        f"prompt       {found['prompt']['id']}{tools}",
        f"fingerprint  {facts['plan_fingerprint']}",
    ]
    if facts["differences"]:
        lines += ["the folder holds a run of another plan:", *(f"  {line}" for line in facts["differences"])]
    return lines


def _show_summary(arguments: argparse.Namespace, folder: Path, summary: dict[str, Any]) -> None:
    if arguments.json:
        show_json({"folder": str(folder), **summary})
        return
    counts, primary, behavior = (summary[name] for name in ("counts", "primary", "behavior"))
    show(
        [
            f"{counts['completed']} of {counts['requested']} episodes completed, {counts['failed']} failed",
            f"reward {_number(primary['reward_mean'])} ± {_number(primary['reward_sem'])}, "
            f"success {_number(primary['success_rate'])}",
            f"{_number(behavior['steps_mean'])} steps, {behavior['protocol_errors']} protocol errors, "
            f"{behavior['invalid_actions']} refused actions",
            *(f"  {kind}: {count} failed" for kind, count in summary["errors"].items()),
            f"{folder}",
        ]
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


_HANDLERS = {"plan": plan, "run": run, "resume": resume, "summarize": summarize}
