"""The command `shopsim annotate`: plans persona price annotations, imports old ones, buys missing ones.

Without `--run --confirm-paid-api` nothing is ever asked. Exit codes: 0 done, 1 not everything was answered,
2 wrong use.
"""

import argparse
import signal
from pathlib import Path
from typing import Any

from shopsim_env.commands.output import add_common, show, show_json


def register(subparsers: Any) -> None:
    """Adds `annotate` to the `shopsim` parser."""
    parser = subparsers.add_parser("annotate", help="persona price annotations: plan, import, or buy them")
    _add_what(parser)
    _add_paid(parser)
    add_common(parser)
    parser.set_defaults(handler=_annotate)


def _add_what(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dataset", default="sample", metavar="NAME", help="as in `shopsim build` (default sample)"
    )
    parser.add_argument("--raw", metavar="FILE", help="raw archive (.json or .json.gz)")
    parser.add_argument("--lenient", action="store_true", help="quarantine rows with unpaired personas")
    parser.add_argument("--data", metavar="DIR", help="folder whose cache/ holds the answers (default: data)")
    parser.add_argument("--config", metavar="FILE", help="settings instead of configs/annotation.toml")
    parser.add_argument(
        "--import",
        dest="imports",
        action="append",
        default=[],
        metavar="FILE",
        help="take over answers of an older cache or a published audit file; repeatable",
    )
    parser.add_argument(
        "--runtime-regex-task-id",
        action="append",
        type=int,
        default=[],
        metavar="ID",
        help="leave this task to the run-time parser: it is not asked; repeatable",
    )


def _add_paid(parser: argparse.ArgumentParser) -> None:
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--plan", action="store_true", help="print the plan and ask nothing (the default)")
    mode.add_argument("--run", action="store_true", help="ask the endpoint; needs --confirm-paid-api")
    parser.add_argument("--confirm-paid-api", action="store_true", help="yes, requests may cost money")
    parser.add_argument(
        "--max-requests",
        "--max-batches",
        type=int,
        metavar="N",
        help="ask at most N instructions, retries not counted",
    )
    parser.add_argument("--workers", type=int, metavar="N", help="requests in flight (default: the settings)")


def _annotate(arguments: argparse.Namespace) -> int:
    from pipelines.annotate import AnnotateReport, annotation_job, import_files
    from pipelines.resources.workspace import WorkspaceResource
    from pipelines.settings import AnnotationSettings

    _check_numbers(arguments)
    config = _workspace(arguments)
    work = WorkspaceResource(**config).open()
    # As a build reads it, that is, without the option that takes the cache here.
    recorded = WorkspaceResource(**{**config, "annotations": None}).open().files.annotations
    settings = AnnotationSettings.model_validate(
        work.annotation.model_dump() | ({"workers": arguments.workers} if arguments.workers else {})
    )
    skip = frozenset(arguments.runtime_regex_task_id)
    job = annotation_job(work, settings, skip, arguments.max_requests)
    imported = import_files(job, [Path(name) for name in arguments.imports])
    report = AnnotateReport(job.plan(job.read()), imported, None if recorded is None else str(recorded))
    return _conclude(arguments, job, report)


def _conclude(arguments: argparse.Namespace, job: Any, report: Any) -> int:
    """Shows the plan, runs it when that was asked and confirmed, shows the outcome."""
    from pipelines.annotate_view import builds_lines, import_lines, plan_lines, run_lines

    if not arguments.json:
        show(import_lines(report))
        show(plan_lines(report.plan, job.settings))
        show(builds_lines(report, arguments.dataset))
    try:
        if arguments.run:
            _run(arguments, job, report)
        elif not arguments.json:
            show(["nothing was asked; --run --confirm-paid-api asks the endpoint"])
    finally:
        # Also after Ctrl-C: what was in flight is stored by then, and counted.
        if not arguments.json:
            show(run_lines(report, job.settings))
    if arguments.json:
        show_json(report.as_dict())
    return 0 if report.ok else 1


def _run(arguments: argparse.Namespace, job: Any, report: Any) -> None:
    from pipelines.annotate import run_paid
    from pipelines.annotate_view import progress_bar
    from pipelines.errors import ConfigError

    if not arguments.confirm_paid_api:
        raise ConfigError(
            f"up to {report.plan.at_most.requests} instructions would be asked at {job.settings.api_url}, "
            "which may cost money; nothing was asked. Add --confirm-paid-api to agree.",
            code="paid_api_unconfirmed",
        )
    # Being told to end is like Ctrl-C: what is in flight is stored first.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with progress_bar(job.settings, show=not arguments.json) as progress:
            run_paid(job, report, progress)
    finally:
        signal.signal(signal.SIGTERM, before)


def _workspace(arguments: argparse.Namespace) -> dict[str, Any]:
    """Fields of `WorkspaceResource`: the answers come from the cache, whatever file is configured."""
    from pipelines.settings import FROM_CACHE

    config: dict[str, Any] = {"dataset": arguments.dataset, "annotations": FROM_CACHE}
    if arguments.raw is not None:
        config["raw"] = str(Path(arguments.raw).resolve())
    if arguments.lenient:
        config["lenient"] = True
    if arguments.data is not None:
        config["cache_root"] = str(Path(arguments.data).resolve() / "cache")
    if arguments.config is not None:
        config["annotation_config"] = str(Path(arguments.config).resolve())
    return config


def _check_numbers(arguments: argparse.Namespace) -> None:
    from pipelines.errors import ConfigError

    for option in ("max_requests", "workers"):
        value = getattr(arguments, option)
        if value is not None and value < 1:
            raise ConfigError(f"--{option.replace('_', '-')}: expected at least 1, found {value}")
