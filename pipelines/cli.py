"""Pipeline commands of `shopsim` in a checkout: build, sample, baseline, published, audit and annotate.

Registration imports nothing heavy; Dagster is loaded when a command runs.
"""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, astuple
from pathlib import Path
from typing import Any

from pipelines import cli_annotate
from shopsim_env.commands.output import add_common, show, show_json

SAMPLE_SEED = 20261130
SAMPLE_PRODUCTS = 800
_SPLIT_OPTIONS = (
    ("--seed", "seed", "seed of the project splits"),
    ("--val-size", "validation_size", "tasks of project/val, with --test-size"),
    ("--test-size", "test_size", "tasks of project/test, with --val-size"),
    ("--held-out-max", "held_out_max_group_size", "largest group of linked tasks that val or test may hold"),
)


def register(subparsers: Any) -> None:
    """Adds the pipeline commands to the `shopsim` parser."""
    _register_build(subparsers)
    _register_sample(subparsers)
    _register_baseline(subparsers)
    _register_published(subparsers)
    _register_audit(subparsers)
    cli_annotate.register(subparsers)


def _register_build(subparsers: Any) -> None:
    parser = subparsers.add_parser("build", help="raw archive to verified release, through Dagster")
    parser.add_argument(
        "--dataset",
        default="sample",
        metavar="NAME",
        help="sample (default), catalog_en, paper, like-published, or any name with --raw or --products",
    )
    parser.add_argument("--raw", metavar="FILE", help="raw archive (.json or .json.gz)")
    parser.add_argument(
        "--products", metavar="FILE", help="English product file (.parquet, .jsonl, .json) in place of --raw"
    )
    parser.add_argument(
        "--currency", metavar="CODE", help="currency of its prices (default: USD, or as configured)"
    )
    parser.add_argument(
        "--from-cleaned", metavar="FILE", help="published cleaned v2 archive, with --manifest"
    )
    parser.add_argument(
        "--manifest", metavar="FILE", help="manifest of that archive; its files lie beside it"
    )
    parser.add_argument(
        "--annotations",
        metavar="FILE",
        help="recorded persona price annotations; 'cache' for what `shopsim annotate` bought",
    )
    parser.add_argument(
        "--runtime-regex-task-id",
        action="append",
        default=[],
        metavar="ID",
        help="read this persona task's budget at run time; repeatable; 'all' for every one",
    )
    parser.add_argument("--lenient", action="store_true", help="quarantine rows with unpaired personas")
    parser.add_argument("--out", metavar="DIR", help="release folder (default: data/releases/NAME/...)")
    parser.add_argument("--data", metavar="DIR", help="folder for artifacts and releases (default: data)")
    parser.add_argument("--force", action="store_true", help="allow --out to replace another release")
    parser.add_argument(
        "--index-only",
        action="store_true",
        help="rebuild index and baseline from the artifacts of an earlier build; publishes nothing",
    )
    _add_mapper(parser)
    parser.add_argument(
        "--rerun", action="store_true", help="write every stage and run every check anew, changed or not"
    )
    _add_split_options(parser)
    add_common(parser)
    parser.set_defaults(handler=_build)


def _add_mapper(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--mapper",
        choices=("local", "ray"),
        default="local",
        help="where heavy stages work: processes here (default), or the Ray cluster of RAY_ADDRESS",
    )


def _add_split_options(parser: argparse.ArgumentParser) -> None:
    """Options of the project splits; each replaces a value of the data set's configuration."""
    for option, name, text in _SPLIT_OPTIONS:
        parser.add_argument(option, dest=name, type=int, metavar="N", help=text)


def _register_sample(subparsers: Any) -> None:
    parser = subparsers.add_parser("sample", help="generate a raw archive in the real schema")
    parser.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help="archive to write, NAME.json.gz or NAME.raw.json.gz; NAME.annotations.json and "
        "NAME.truth.json go beside it",
    )
    parser.add_argument(
        "--english",
        action="store_true",
        help="an English product file instead: NAME.jsonl.gz or NAME.parquet, and NAME.truth.json",
    )
    parser.add_argument(
        "--products", type=int, metavar="N", help="number of products (default 800; 1200 with --english)"
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=SAMPLE_SEED,
        metavar="S",
        help=f"default {SAMPLE_SEED}: the committed sample",
    )
    parser.add_argument(
        "--like-published", metavar="DIR", help="copy the index structure of published id lists"
    )
    parser.add_argument("--force", action="store_true", help="replace existing files")
    add_common(parser)
    parser.set_defaults(handler=_sample)


def _register_baseline(subparsers: Any) -> None:
    parser = subparsers.add_parser("baseline", help="search baseline of one split of a release")
    parser.add_argument("release", metavar="RELEASE", help="release folder with its private part")
    parser.add_argument("--split", required=True, metavar="NAME", help="source/NAME or project/NAME")
    parser.add_argument(
        "--weights",
        default="v3",
        metavar="NAME",
        help="v3 (default, the contract) or v2 (the shifted column weights that v3 mended, ranked by FTS5)",
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="local processes (default 1)")
    _add_mapper(parser)
    add_common(parser)
    parser.set_defaults(handler=_baseline)


def _register_published(subparsers: Any) -> None:
    parser = subparsers.add_parser("published", help="which published figures a release reproduces")
    parser.add_argument("release", metavar="RELEASE", help="release folder with its private part")
    parser.add_argument("--dataset", metavar="NAME", help="whose figures (default: the release's own)")
    add_common(parser)
    parser.set_defaults(handler=_published)


def _register_audit(subparsers: Any) -> None:
    parser = subparsers.add_parser("audit", help="reason codes of a release, or one case with its lineage")
    parser.add_argument("release", metavar="RELEASE", help="release folder with its private part")
    case = parser.add_mutually_exclusive_group()
    case.add_argument("--asin", metavar="A", help="one product, also an excluded one, with its tasks")
    case.add_argument(
        "--task", type=int, metavar="T", help="one task, also an inactive one, with its product"
    )
    add_common(parser)
    parser.set_defaults(handler=_audit)


def _build(arguments: argparse.Namespace) -> int:
    from pipelines.build import run_build
    from pipelines.report import build_lines
    from shopsim_env.release.placing import check_replaceable

    if arguments.out is not None:
        check_replaceable(Path(arguments.out), force=arguments.force)
    report = run_build(_build_config(arguments), index_only=arguments.index_only)
    if arguments.json:
        show_json(report.as_dict())
    else:
        show(build_lines(report))
    return 0 if report.ok and report.reproduced else 1


def _published(arguments: argparse.Namespace) -> int:
    from pipelines.published import compare_release
    from pipelines.report import figure_lines

    figures = compare_release(Path(arguments.release), arguments.dataset)
    failed = any(figure.failed for figure in figures)
    if arguments.json:
        show_json({"ok": not failed, "figures": [asdict(figure) for figure in figures]})
    else:
        show(figure_lines(figures))
    return 1 if failed else 0


def _build_config(arguments: argparse.Namespace) -> dict[str, Any]:
    listed = arguments.runtime_regex_task_id
    config: dict[str, Any] = {
        "dataset": arguments.dataset,
        "runtime_regex_all": "all" in listed,
        "runtime_regex_task_ids": [_task_id(text) for text in listed if text != "all"],
        "force": arguments.force,
        "rerun": arguments.rerun,
        "show_progress": not arguments.json,
        "mapper": arguments.mapper,
    }
    if arguments.currency is not None:
        config["currency"] = arguments.currency
    for name in ("raw", "products", "from_cleaned", "manifest", "annotations", "out"):
        value = getattr(arguments, name)
        if value is not None:
            config[name] = value if (name, value) == ("annotations", "cache") else str(Path(value).resolve())
    if arguments.lenient:
        config["lenient"] = True
    chosen = {name: getattr(arguments, name) for _, name, _ in _SPLIT_OPTIONS}
    config["project_splits"] = {name: value for name, value in chosen.items() if value is not None}
    if arguments.data is not None:
        data = Path(arguments.data).resolve()
        config |= {f"{name}_root": str(data / name) for name in ("artifacts", "releases", "cache")}
    return config


def _task_id(text: str) -> int:
    from pipelines.errors import ConfigError

    if not text.isdecimal():
        raise ConfigError(f"--runtime-regex-task-id: expected a task id or 'all', found {text!r}")
    return int(text)


def _sample(arguments: argparse.Namespace) -> int:
    if arguments.english:
        return _sample_english(arguments)
    from pipelines.stages.sample.like_published import write_like_published
    from pipelines.stages.sample.writer import sample_files, write_sample
    from shopsim_env.canonical import sha256_file

    out = Path(arguments.out)
    _refuse_existing(astuple(sample_files(out)), arguments.force)
    if arguments.like_published is not None:
        files = write_like_published(out, Path(arguments.like_published), arguments.seed)
    else:
        files = write_sample(
            out, SAMPLE_PRODUCTS if arguments.products is None else arguments.products, arguments.seed
        )
    report = {
        "archive": str(files.archive),
        "archive_sha256": sha256_file(files.archive),
        "annotations": str(files.annotations),
        "truth": str(files.truth),
    }
    return _show_files(arguments, report)


def _sample_english(arguments: argparse.Namespace) -> int:
    from pipelines.errors import ConfigError
    from pipelines.stages.sample.english_writer import ENGLISH_PRODUCTS, english_files, write_english
    from shopsim_env.canonical import sha256_file

    if arguments.like_published is not None:
        raise ConfigError("expected --english or --like-published, found both")
    out = Path(arguments.out)
    _refuse_existing(astuple(english_files(out)), arguments.force)
    files = write_english(
        out, ENGLISH_PRODUCTS if arguments.products is None else arguments.products, arguments.seed
    )
    hashed = sha256_file(files.archive)
    return _show_files(
        arguments, {"archive": str(files.archive), "archive_sha256": hashed, "truth": str(files.truth)}
    )


def _show_files(arguments: argparse.Namespace, report: dict[str, str]) -> int:
    if arguments.json:
        show_json(report)
    else:
        show(f"{name:<14} {value}" for name, value in report.items())
    return 0


def _baseline(arguments: argparse.Namespace) -> int:
    from pipelines.baseline_report import baseline_lines
    from pipelines.errors import ConfigError
    from pipelines.resources.mapper import LOCAL, load_workers
    from pipelines.stages.processes import Workers
    from pipelines.stages.release_baseline import measure_split

    if arguments.workers < 1:
        raise ConfigError(f"--workers: expected at least 1, found {arguments.workers}")
    local = arguments.mapper == LOCAL
    workers = Workers(arguments.workers) if local else load_workers(arguments.mapper)
    report = measure_split(
        Path(arguments.release), arguments.split, weights=arguments.weights, workers=workers
    )
    if arguments.json:
        show_json(report)
    else:
        show(baseline_lines(report))
    return 0


def _audit(arguments: argparse.Namespace) -> int:
    from pipelines.audit_report import case_lines, summary_lines
    from pipelines.stages.audit.lookup import audit_case, audit_summary

    path = Path(arguments.release)
    if arguments.asin is None and arguments.task is None:
        report, lines = audit_summary(path), summary_lines
    else:
        report, lines = audit_case(path, asin=arguments.asin, task_id=arguments.task), case_lines
    if arguments.json:
        show_json(report)
    else:
        show(lines(report))
    return 0


def _refuse_existing(paths: Sequence[Path], force: bool) -> None:
    from pipelines.errors import ConfigError

    present = [str(path) for path in paths if path.exists()]
    if present and not force:
        raise ConfigError(
            f"{', '.join(present)}: exists; nothing was changed. Give another --out, or --force to replace."
        )
