"""What `shopsim evaluate` and `shopsim compare` do with their arguments.

Belongs here: the release that a run was played on, floors, files, plain text. Figures are in other modules of
this package, arguments in `shopsim_env.commands.evaluate`.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from shopsim_env.canonical import pretty_json
from shopsim_env.commands.floors import floor_row, play_floors
from shopsim_env.commands.output import show, show_json
from shopsim_env.errors import UsageError
from shopsim_env.evaluation.card import group_names, make_card
from shopsim_env.evaluation.card_view import card_sections
from shopsim_env.evaluation.comparison_view import comparison_sections
from shopsim_env.evaluation.markdown import write_markdown
from shopsim_env.evaluation.measuring import Draws, by_group
from shopsim_env.evaluation.paired import compare_runs, refuse_unlike
from shopsim_env.evaluation.report import write_html
from shopsim_env.evaluation.results import RLVE, RunResults, read_run
from shopsim_env.evaluation.rlve_floors import rlve_floors
from shopsim_env.evaluation.strata import TaskStrata
from shopsim_env.evaluation.views import NOTHING, Section, Table, cells
from shopsim_env.evaluation.words import Words
from shopsim_env.release import Release, load_release
from shopsim_env.shop.env import ShopEnv


def evaluate(arguments: argparse.Namespace) -> int:
    """Measures one run; exit code 0."""
    card_file = None if arguments.card is None else Path(arguments.card)
    if card_file is not None and card_file.suffix != ".md":
        raise UsageError(f"--card: expected a name that ends in .md, found {card_file.name!r}")
    json_file = None if card_file is None else card_file.with_suffix(".json")
    _check_targets([card_file, json_file, arguments.html], arguments.force)
    found = read_run(arguments.run)
    with ExitStack() as opened:
        release = _release(opened, found, arguments.release)
        floors: list[dict[str, Any]] | None
        if found.kind == RLVE and arguments.floors:
            floors = rlve_floors(found, _played_release(opened, found, arguments.release))
        else:
            floors = _floors(found, release) if release and arguments.floors else None
        card = make_card(
            found,
            strata=TaskStrata(release, arguments.strata) if release else None,
            release=release,
            floors=floors,
            ks=_sizes(arguments.k),
            draws=_draws(arguments),
        )
    words = Words(arguments.language)
    sections = card_sections(card, words)
    if card_file is not None and json_file is not None:
        _write(card_file, write_markdown(words["card_title"], sections))
        _write(json_file, pretty_json(card))
    _report(arguments, card, words["card_title"], sections, words)
    return 0


def compare(arguments: argparse.Namespace) -> int:
    """Compares two runs; exit code 0, and 2 for runs that may not be compared."""
    _check_targets([arguments.html], arguments.force)
    first, second = read_run(arguments.first), read_run(arguments.second)
    refuse_unlike(first, second)
    with ExitStack() as opened:
        release = _release(opened, first, arguments.release)
        strata = TaskStrata(release, arguments.strata) if release else None
        comparison = compare_runs(first, second, strata=strata, draws=_draws(arguments))
    words = Words(arguments.language)
    sections = comparison_sections(comparison, words)
    _report(arguments, comparison, words["comparison_title"], sections, words)
    return 0


def _draws(arguments: argparse.Namespace) -> Draws:
    return Draws(arguments.seed, arguments.resamples)


def _sizes(ks: Sequence[int] | None) -> list[int]:
    sizes = sorted(set(ks or ()))
    if sizes and sizes[0] < 1:
        raise UsageError(f"--k: expected at least 1, found {sizes[0]}")
    return sizes


def _release(opened: ExitStack, run: RunResults, path: str | None) -> Release | None:
    """The release that a run of the Shop was played on; figures of RLVE need none."""
    return None if run.kind == RLVE else _played_release(opened, run, path)


def _played_release(opened: ExitStack, run: RunResults, path: str | None) -> Release:
    release = opened.enter_context(load_release(path))
    if run.settings.release != release.id:
        raise UsageError(
            f"expected the release that was played, {run.settings.release or 'which no episode names'}, "
            f"found {release.id} at {release.path}; name the folder of the former with --release",
            code="other_release",
        )
    return release


def _floors(run: RunResults, release: Release) -> list[dict[str, Any]]:
    """Agents without skill on the tasks of each scenario, under the settings of the run."""
    known = ShopEnv(release).options.keys()
    odd = sorted(run.settings.environment.keys() - known)
    if odd:
        raise UsageError(f"--floors: expected keywords of ShopEnv in the run's environment, found {odd}")
    rows = []
    for group, results in by_group(run.results).items():
        about = group_names(run.kind, group)
        env = ShopEnv(release, **run.settings.environment, **about)
        tasks = tuple(sorted({int(result.task) for result in results}))
        played = play_floors(release, env, {"/".join(group): tasks})
        rows += [{**about, **floor_row(floor)} for floor in played]
        env.close()
    return rows


def _report(
    arguments: argparse.Namespace,
    document: dict[str, Any],
    title: str,
    sections: Sequence[Section],
    words: Words,
) -> None:
    """Writes the report if there is to be one, and prints."""
    if arguments.html is not None:
        subtitle = f"{document['schema']} · {words['release']} {(document['release'] or NOTHING)[:12]}"
        _write(Path(arguments.html), write_html(title, subtitle, sections, words))
    if arguments.json:
        show_json(document)
    else:
        show(_plain(sections))


def _plain(sections: Sequence[Section]) -> Iterator[str]:
    for section in sections:
        yield section.title
        yield from (f"  {note}" for note in section.notes)
        for table in (*(table for _, table in section.charts), *section.tables):
            yield from (f"  {line}" for line in _aligned(table))
        yield ""


def _aligned(table: Table) -> Iterator[str]:
    rows = [table.head, *table.rows]
    widths = [max(cells(row[place]) for row in rows) for place in range(len(table.head))]
    for row in rows:
        padded = (text + " " * (width - cells(text)) for text, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()


def _check_targets(targets: Sequence[str | Path | None], force: bool) -> None:
    """Refuses before anything is read, so that no half of the files is written."""
    paths = [Path(target) for target in targets if target is not None]
    if len({path.absolute() for path in paths}) != len(paths):
        raise UsageError("expected a file of its own for the card, its JSON and the report, found one twice")
    for path in paths:
        _check_target(path, force)


def _check_target(path: Path, force: bool) -> None:
    try:
        inside, folder, exists = path.absolute().parent.is_dir(), path.is_dir(), path.exists()
    except OSError as error:
        raise _unusable(path, error) from error
    if not inside:
        raise UsageError(f"{path}: expected a folder to write into, found none", code="output_unusable")
    if folder or (exists and not force):
        raise UsageError(
            f"{path}: exists; nothing was changed. Give another name, or --force to replace a file.",
            code="would_overwrite",
        )


def _unusable(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"{path}: expected a file that can be written, found {error.strerror}", code="output_unusable"
    )


def _write(path: Path, text: str) -> None:
    """Writes a file whole or not at all."""
    building = path.with_name(f".{os.getpid()}.building")  # short: the name of `path` may be long
    try:
        building.write_text(text, encoding="utf-8", newline="\n")
        building.replace(path)
    except OSError as error:
        raise _unusable(path, error) from error
    finally:
        building.unlink(missing_ok=True)
