"""`shopsim bench`: how fast the search engines are on this machine, on the tasks' own texts."""

import argparse
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import partial
from typing import Any

from shopsim_env.commands.output import add_common, add_release, show, show_json
from shopsim_env.errors import UsageError
from shopsim_env.release import Release, layout, load_release
from shopsim_env.search.engines import SearchService
from shopsim_env.search.fts5 import Fts5Engine
from shopsim_env.search.measure import Timing, Variant, machine_facts, reference_search, time_variants
from shopsim_env.sqlite import open_readonly
from shopsim_env.text.tokens import tokenize
from shopsim_env.versions import TOP_K

REFERENCE = "published FTS5 query"


def register(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser("bench", help="measure the search engines on this machine")
    parser.add_argument(
        "--queries", type=int, default=60, metavar="N", help="queries of each kind (default 60)"
    )
    add_release(parser)
    add_common(parser)
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Measures; exit code 1 when an engine ranked otherwise than FTS5."""
    if arguments.queries < 1:
        raise UsageError(f"--queries: expected at least 1, found {arguments.queries}")
    with load_release(arguments.release) as release:
        report = measure(release, arguments.queries)
    if arguments.json:
        show_json(report)
    else:
        show(_lines(report))
    return 0 if report["equal"] else 1


def measure(release: Release, count: int) -> dict[str, Any]:
    """Times every engine of this machine and compares what they rank."""
    root, kinds = release.path, task_texts(release, count)
    service = SearchService(Fts5Engine.open(root / layout.CATALOG), root / layout.SEARCH_ARRAYS, cache_hits=0)
    with closing(service), closing(open_readonly(root / layout.CATALOG)) as connection:
        choices = service.choices()
        engines = {choice.runs: choice.name for choice in choices if choice.name and choice.runs}
        variants: dict[str, Variant] = {
            REFERENCE: lambda query: reference_search(connection, tokenize(query), TOP_K),
            **{runs: partial(service.search, engine=name) for runs, name in engines.items()},
        }
        timings = {kind: time_variants(variants, texts, reference=REFERENCE) for kind, texts in kinds.items()}
        equal = all(
            service.search(text, engine=name) == service.search(text, engine="fts5")
            for texts in kinds.values()
            for text in texts
            for name in engines.values()
        )
    return {
        "release": release.id,
        "products": service.fts5.manifest["product_count"],
        "default": choices[0].runs,
        "unavailable": {choice.name: choice.problem for choice in choices if choice.problem},
        "machine": machine_facts(),
        "equal": equal,
        "timings": {kind: [asdict(timing) for timing in found] for kind, found in timings.items()},
    }


def task_texts(release: Release, count: int) -> dict[str, list[str]]:
    """Up to `count` simple and full texts that tasks show, from all over the task list."""
    simple: list[str] = []
    full: list[str] = []
    for task in release.tasks.values():
        for texts, text in ((simple, task.instruction_simple), (full, task.instruction)):
            if text and tokenize(text):
                texts.append(text)
    kinds = {"simple": _spread(simple, count), "full": _spread(full, count)}
    return {kind: texts for kind, texts in kinds.items() if texts}


def _spread(texts: Sequence[str], count: int) -> list[str]:
    step = max(len(texts) // count, 1)
    return list(texts[::step][:count])


def _lines(report: Mapping[str, Any]) -> list[str]:
    facts = ", ".join(f"{name} {value}" for name, value in report["machine"].items())
    lines = [
        f"{report['products']:,} products, {facts}",
        "CPU time of one search with tokenising; ratio: published FTS5 query / this, query by query",
    ]
    for kind, timings in report["timings"].items():
        lines.append(f"{kind} texts ({timings[0]['queries']})")
        lines += [_row(Timing(**timing)) for timing in timings]
    lines += [f"engine {name}: {problem}" for name, problem in report["unavailable"].items()]
    lines.append(f"searches run on: {report['default']}")
    lines.append("all engines rank alike" if report["equal"] else "AN ENGINE RANKS OTHERWISE THAN FTS5")
    return lines


def _row(timing: Timing) -> str:
    return (
        f"  {timing.name:<22} p50 {timing.p50_ms:9.3f} ms  p95 {timing.p95_ms:9.3f} ms  "
        f"ratio {timing.ratio_p50:8.1f} (5 % of queries below {timing.ratio_p5:.1f})"
    )
