"""Documents that cannot go stale: blocks run, commands exist, tables and the diagram agree with the code."""

import argparse
import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from places import ROOT

from assets.checks.blocking import REQUIRED
from assets.checks.modules import CHECK_MODULES
from pipelines.definitions import defs
from pipelines.settings import DatasetSettings
from pipelines.stages.audit.codes import CODES
from pipelines.stages.audit.labels import LABELS, NOT_GRADED
from shopsim_env.catalog import prices
from shopsim_env.cli import build_parser
from shopsim_env.client.faults import _CLASSES
from shopsim_env.contamination import MEANINGS
from shopsim_env.release import layout, manifest
from shopsim_env.rlve.difficulty import Axes, TaskAxes
from shopsim_env.rlve.environments import COLLECTIONS, ENVIRONMENTS
from shopsim_env.rlve.policy.rules import EFFECTS
from shopsim_env.rlve.policy.vocabulary import FAMILIES
from shopsim_env.server.operations import OPERATIONS
from shopsim_env.server.problems import STATUSES
from shopsim_env.shop.feedback import REASONS
from shopsim_env.versions import VARIANT_PRICE_VERSION, component_versions

DOCS = ROOT / "docs"
PAGES = sorted(
    [*DOCS.rglob("*.md"), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
)
PAGES += [ROOT / "data" / "README.md"]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:shopsim|make) [^`]+)`")
SHELL = ("sh", "console")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def page_id(path: Path) -> str:
    return str(path.relative_to(ROOT))


def blocks(path: Path, language: str) -> list[str]:
    return [code for found, code in FENCE.findall(path.read_text(encoding="utf-8")) if found == language]


def shell_lines(path: Path) -> list[str]:
    return [line for name in SHELL for block in blocks(path, name) for line in block.splitlines()]


def commands(path: Path, program: str) -> list[list[str]]:
    """Words of every command of `program` in shell blocks and inline code, without the program."""
    text = path.read_text(encoding="utf-8")
    lines = shell_lines(path)
    lines += INLINE.findall(re.sub(FENCE, "", text))
    found = []
    for line in lines:
        words = shlex.split(line, comments=True)
        if words and Path(words[0]).name == program:
            found.append(words[1:])
    return found


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    groups = (item for item in parser._actions if isinstance(item, argparse._SubParsersAction))
    return next((dict(item.choices) for item in groups), {})


def parser_of(words: list[str]) -> argparse.ArgumentParser:
    """The parser of a command; of the group where prose names no command of it."""
    parser = build_parser()
    for word in words:
        known = subcommands(parser)
        if not known or word.startswith("-"):
            break
        assert word in known, words
        parser = known[word]
    return parser


def named(page: str, section: str = "") -> set[str]:
    """Words in code spans of a document, or of one section of it."""
    text = (DOCS / page).read_text(encoding="utf-8")
    if section:
        text = text.split(f"{section}\n", 1)[1]
        text = re.split(r"^#{2,3} ", text, maxsplit=1, flags=re.MULTILINE)[0]
    return set(re.findall(r"`([^`\n]+)`", text))


@pytest.mark.parametrize("path", [page for page in PAGES if blocks(page, "python")], ids=page_id)
def test_python_blocks_run_in_order(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "document"}
    with contextlib.redirect_stdout(io.StringIO()):
        for number, code in enumerate(blocks(path, "python"), start=1):
            exec(compile(code, f"{page_id(path)}, block {number}", "exec"), names)  # noqa: S102
    if "release" in names:
        names["release"].close()


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_shopsim_commands_exist_with_their_options(path: Path) -> None:
    for words in commands(path, "shopsim"):
        options = {option for action in parser_of(words)._actions for option in action.option_strings}
        # Prose leaves arguments out (`shopsim build`), so only names of options are compared there.
        used = {word.partition("=")[0] for word in words if word.startswith("--")}
        assert used <= options, words


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_shopsim_commands_in_shell_blocks_parse(path: Path) -> None:
    parser = build_parser()
    for line in shell_lines(path):
        words = shlex.split(line, comments=True)
        if words and Path(words[0]).name == "shopsim":
            parser.parse_args(words[1:])


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_make_targets_exist(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for words in commands(path, "make"):
        assert {word for word in words if "=" not in word} <= targets, words


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_relative_links_lead_to_files(path: Path) -> None:
    for target in LINK.findall(re.sub(FENCE, "", path.read_text(encoding="utf-8"))):
        assert (path.parent / target).exists(), target


def test_the_diagram_is_the_asset_graph() -> None:
    """Arrows are the dependencies without those that follow from a longer path."""
    graph: nx.DiGraph = nx.DiGraph()
    for definition in defs.assets or ():
        for spec in definition.specs:  # type: ignore[union-attr]
            node = spec.key.to_user_string().replace("/", "_")
            graph.add_edges_from(
                (dep.asset_key.to_user_string().replace("/", "_"), node) for dep in spec.deps
            )
    (diagram,) = blocks(DOCS / "pipeline.md", "mermaid")
    drawn = set(re.findall(r"^\s*(\w+) --> (\w+)$", diagram, re.MULTILINE))
    assert drawn == set(nx.transitive_reduction(graph).edges)
    groups = {
        name: set(re.findall(r"^ {8}(\w+)", body, re.MULTILINE))
        for name, body in re.findall(r"subgraph (\w+)\n(.*?)\n {4}end", diagram, re.DOTALL)
    }
    real: dict[str, set[str]] = {}
    for definition in defs.assets or ():
        for spec in definition.specs:  # type: ignore[union-attr]
            real.setdefault(str(spec.group_name), set()).add(spec.key.to_user_string().replace("/", "_"))
    assert groups == {name: nodes for name, nodes in real.items() if name != "release"}


def test_pipeline_page_names_every_check() -> None:
    assert CHECK_MODULES
    checks = {check for names in REQUIRED.values() for check in names} | {"release_verifies"}
    assert checks <= named("pipeline.md", "## The graph") | section_names("pipeline.md", "###")


def section_names(page: str, marker: str) -> set[str]:
    """Code words of every section whose heading starts with `marker`."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return {word for part in text.split(f"\n{marker} ")[1:] for word in re.findall(r"`([^`\n]+)`", part)}


def raised_codes(*modules: str) -> Iterator[str]:
    for name in modules:
        text = (ROOT / name).read_text(encoding="utf-8")
        yield from re.findall(r'code="(\w+)"', text)
        yield from re.findall(r'^    \("[^"]+", "(\w+)", "', text, re.MULTILINE)
        yield from re.findall(r'^    "(\w+_\w+)": "expected ', text, re.MULTILINE)


def test_pipeline_page_names_every_refusal_of_the_ingest() -> None:
    stages = "pipelines/stages"
    codes = set(
        raised_codes(
            *(f"{stages}/{name}.py" for name in ("ingest", "ingest_rules", "ingest_schema", "json_archive"))
        )
    )
    assert {"json_truncated", "persona_without_simple", "duplicate_asin"} <= codes
    assert codes | {"wrong_type", "json_invalid"} <= named("pipeline.md", "### What is refused")


def test_pipeline_page_names_every_key_of_a_data_set() -> None:
    keys = {name.strip("[]") for name in named("pipeline.md", "## Data sets")}
    assert set(DatasetSettings.model_fields) <= keys


def test_release_page_names_files_keys_parts_and_refusals() -> None:
    words = named("release-format.md")
    files = {value for name, value in vars(layout).items() if name.isupper() and name.endswith("_EXPORT")}
    files |= {
        layout.MANIFEST,
        layout.CATALOG,
        layout.TASKS,
        layout.SPLITS,
        layout.METRICS,
        layout.GOALS,
        layout.EVIDENCE,
    }
    assert files <= words
    assert words >= manifest._KEYS
    assert set(layout.LOGICAL_PARTS) <= words
    columns = re.findall(
        r"^\s{2}(\w+) |, (\w+) (?:TEXT|INTEGER)",
        layout.TASKS_SCHEMA + layout.GOALS_SCHEMA + layout.EVIDENCE_SCHEMA,
        re.M,
    )
    assert {name for pair in columns for name in pair if name} <= words
    folder = "shopsim_env/release"
    codes = set(raised_codes(f"{folder}/manifest.py", f"{folder}/opening.py", f"{folder}/verify.py"))
    assert {"file_altered", "version_mismatch"} <= codes <= words


def test_audit_page_has_the_table_of_codes_and_every_label() -> None:
    text = (DOCS / "audit.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (\w+) \| (yes)? ?\| (.+) \|$", text, re.MULTILINE)
    table = [(code.name, code.subject, code.severity, code.public, code.meaning) for code in CODES.values()]
    assert [(*row[:3], row[3] == "yes", row[4]) for row in rows] == table
    assert {*LABELS, NOT_GRADED} <= named("audit.md")


def test_training_page_names_every_kind_of_contamination() -> None:
    assert set(MEANINGS) <= named("training.md")


def test_runtime_page_names_every_feedback_reason() -> None:
    assert set(REASONS) <= named("runtime.md", "### Feedback reasons")


def test_server_page_names_every_code_and_path() -> None:
    text = (DOCS / "server.md").read_text(encoding="utf-8")
    pool = "shopsim_env/pool"
    codes = set(STATUSES) | set(raised_codes(f"{pool}/journal.py", f"{pool}/resuming.py"))
    assert codes <= set(re.findall(r"`(\w+)`", text))
    assert all(f"{entry.method} {entry.path}" in text for entry in OPERATIONS)


def test_client_page_names_every_own_code_and_exception() -> None:
    folder = ROOT / "shopsim_env" / "client"
    codes = set(raised_codes(*(str(path.relative_to(ROOT)) for path in folder.glob("*.py"))))
    assert {"unsettled", "bad_answer"} <= codes <= named("client.md")
    assert {error.__name__ for error in _CLASSES.values()} - {"UnknownTaskError"} <= named("client.md")


def test_rlve_page_names_every_code_axis_environment_and_collection() -> None:
    words = named("rlve.md")
    folder = "shopsim_env/rlve"
    codes = set(raised_codes(f"{folder}/difficulty.py", f"{folder}/environments.py"))
    assert {"bad_difficulty", "unknown_collection"} <= codes <= words
    assert {item.name for kind in (Axes, TaskAxes) for item in fields(kind)} <= words
    assert {*ENVIRONMENTS, *COLLECTIONS} <= words


def test_policy_page_names_every_code_effect_and_family() -> None:
    words = named("rlve-policy.md")
    folder = ROOT / "shopsim_env" / "rlve" / "policy"
    codes = set(raised_codes(*(str(path.relative_to(ROOT)) for path in folder.glob("*.py"))))
    assert {"policy_tie", "policy_branch"} <= codes <= words
    assert {*EFFECTS, *FAMILIES} <= words


def test_reward_page_names_every_price_code() -> None:
    codes = {value for name, value in vars(prices).items() if name.isupper() and isinstance(value, str)}
    assert codes <= named("reward.md", "## The price of a selection") | {VARIANT_PRICE_VERSION}


def test_changelog_names_every_component_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert [version for version in component_versions().values() if version not in text] == []
