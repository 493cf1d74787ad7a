"""Rules of the code base that no linter states: packaging, public names, sizes, Dagster modules, words."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
import yaml
from places import ROOT

import shopsim_env
from assets._code_version import _closure
from pipelines.settings import configured_datasets
from pipelines.stages.price_axes import MAX_PRICE_AXES
from shopsim_env import versions
from shopsim_env.reward.total import RewardDetail
from shopsim_env.search.schema import FIELD_WEIGHTS

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SOURCES = [path for top in ("shopsim_env", "pipelines", "assets") for path in (ROOT / top).rglob("*.py")]
TEXT_SUFFIXES = {".py", ".toml", ".md", ".yaml", ".json", ".lock", ".sh", ""}


def tracked_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [ROOT / line for line in listed.splitlines() if (ROOT / line).is_file()]


def test_wheel_packages_are_the_folders() -> None:
    folders = {
        ".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "shopsim_env").rglob("__init__.py")
    }
    assert set(PYPROJECT["tool"]["setuptools"]["packages"]) == folders


def test_runtime_has_no_required_dependency() -> None:
    assert PYPROJECT["project"]["dependencies"] == []


def test_workspace_and_dg_name_the_same_module() -> None:
    workspace = yaml.safe_load((ROOT / "workspace.yaml").read_text(encoding="utf-8"))
    module = workspace["load_from"][0]["python_module"]
    project = PYPROJECT["tool"]["dg"]["project"]
    assert module["module_name"] == project["code_location_target_module"]
    assert module["location_name"] == project["code_location_name"]


def test_environment_json_freezes_the_versions_in_the_code() -> None:
    frozen = json.loads((ROOT / "configs" / "environment.json").read_text(encoding="utf-8"))
    assert frozen["environment_version"] == versions.ENVIRONMENT_VERSION
    assert frozen["search"] == {
        "version": versions.SEARCH_VERSION,
        "option_document_version": versions.OPTION_DOCUMENT_VERSION,
        "top_k": versions.TOP_K,
        "page_size": versions.PAGE_SIZE,
        "field_weights": dict(FIELD_WEIGHTS),
    }
    assert frozen["reward"]["version"] == versions.REWARD_VERSION
    assert frozen["reward"]["paper_version"] == versions.PAPER_REWARD_VERSION
    assert frozen["episode_limits"] == versions.ACTION_LIMITS
    assert frozen["catalog_filter"] == {
        "version": versions.CATALOG_FILTER_VERSION,
        "max_price_affecting_axes": MAX_PRICE_AXES,
    }
    assert set(frozen["reward"]["reported_metrics"]) <= {item.name for item in fields(RewardDetail)}
    assert frozen["reward"]["primary"] == "r_strict"
    assert frozen["budget_parser_version"] == versions.BUDGET_PARSER_VERSION
    assert frozen["variant_price_version"] == versions.VARIANT_PRICE_VERSION
    assert frozen["observation_version"] == versions.OBSERVATION_VERSION
    assert frozen["shopper_observation_version"] == versions.SHOPPER_OBSERVATION_VERSION
    assert frozen["tool_version"] == versions.TOOL_VERSION


def test_public_names_are_exactly_those_listed() -> None:
    assert set(shopsim_env._HOMES) == set(shopsim_env.__all__)
    for name in shopsim_env.__all__:
        assert getattr(shopsim_env, name).__name__ == name
    assert set(shopsim_env.__all__) <= set(dir(shopsim_env))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        shopsim_env.nothing  # noqa: B018
    source = ast.parse((ROOT / "shopsim_env" / "__init__.py").read_text(encoding="utf-8"))
    typed = {
        alias.name: node.module
        for node in ast.walk(source)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("shopsim_env")
        for alias in node.names
    }
    assert typed == shopsim_env._HOMES, "type checkers see the same names"


def printed(code: str) -> list[str]:
    """Lines that a fresh interpreter prints."""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return result.stdout.splitlines()


def test_searching_a_release_loads_no_episode_code() -> None:
    code = (
        "import sys, shopsim_env; shopsim_env.load_release; print(sorted(n for n in sys.modules "
        "if n.startswith(('shopsim_env.shop', 'shopsim_env.reward', 'shopsim_env.tasks.budget'))))"
    )
    assert printed(code) == ["[]"]


def test_importing_the_runtime_loads_nothing_heavy() -> None:
    code = (
        "import sys, shopsim_env; "
        "print(sorted({n.split('.')[0] for n in sys.modules} & "
        "{'dagster','pandas','pyarrow','numpy','openai','spacy','ray','rjieba','pydantic','rich','asyncio'}))"
    )
    assert printed(code) == ["[]"]


def test_commands_of_rlve_load_no_tools() -> None:
    code = (
        "import sys; from shopsim_env.cli import main; main(['rlve', 'difficulty', '--json']); "
        "print(sorted(n for n in sys.modules if n.startswith(('pydantic', 'shopsim_env.rlve.tools'))))"
    )
    assert printed(code)[-1] == "[]"


def test_the_world_of_an_episode_needs_no_pydantic() -> None:
    code = (
        "import sys, shopsim_env.rlve.overlay, shopsim_env.rlve.shelf, shopsim_env.rlve.protocol; "
        "print('pydantic' in sys.modules)"
    )
    assert printed(code) == ["False"]


def test_importing_the_pipeline_package_does_not_load_dagster() -> None:
    code = "import sys, pipelines, pipelines.cli, pipelines.settings; print('dagster' in sys.modules)"
    assert printed(code) == ["False"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_module_says_what_belongs_in_it_and_stays_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "a module opens by saying what belongs in it"
    assert text.count("\n") <= 400
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert (node.end_lineno or 0) - node.lineno < 50, f"{node.name} is longer than 50 lines"


def test_asset_functions_are_wiring() -> None:
    """At most 25 lines each, decorators apart: read inputs, call one stage, hand over the result."""
    for path in (ROOT / "assets").glob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and any(
                "asset" in ast.dump(item) for item in node.decorator_list
            ):
                assert (node.end_lineno or 0) - node.lineno < 25, f"{path.name}: {node.name}"


def test_code_versions_reach_the_rules_that_an_asset_depends_on() -> None:
    assert "shopsim_env.catalog.product" in _closure(["pipelines.stages.price_axes"])
    assert "shopsim_env.text.normalize" in _closure(["pipelines.stages.search_index"])
    assert "shopsim_env.tasks.persona" in _closure(["pipelines.stages.release"])
    assert not any(name.startswith("assets") for name in _closure(["pipelines.stages.release"]))


def test_dagster_modules_do_not_postpone_annotations() -> None:
    for path in SOURCES:
        if path.parts[-2] in ("assets", "checks") or path.parent == ROOT / "pipelines":
            assert "from __future__ import annotations" not in path.read_text(encoding="utf-8"), path


def test_no_pickle_and_no_unfinished_marks() -> None:
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(import|from) pickle\b", text, re.MULTILINE), path
        assert not re.search(r"\b(TODO|FIXME|XXX|NotImplementedError)\b", text), path


def test_lock_file_names_no_address_and_pins_hashes() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert not re.search(r"https?://|file:", lock)
    pins = re.findall(r"^[a-z0-9][^\s=]*==", lock, re.MULTILINE)
    assert len(pins) > 100
    assert lock.count("--hash=sha256:") >= len(pins)
    assert not re.search(r"^zh[-_]core[-_]web[-_]sm==", lock, re.MULTILINE), (
        "that name on PyPI is a squatter's"
    )
    dagster = set(
        re.findall(r"^dagster(?:-webserver|-graphql|-pipes|-shared|-dg-cli|-dg-core)?==(\S+)", lock, re.M)
    )
    assert dagster == {"1.13.27"}


def test_no_file_names_the_machine_that_it_was_made_on() -> None:
    home = str(Path.home()) + "/"
    parent = str(ROOT.parent) + "/"
    for path in tracked_files():
        if path.suffix in TEXT_SUFFIXES and path.name != "LICENSE":
            text = path.read_text(encoding="utf-8", errors="ignore")
            assert home not in text, path
            assert parent not in text, path


def test_top_level_is_the_given_one() -> None:
    allowed = {
        *("pipelines", "assets", "shopsim_env", "configs", "data", "tests", "benchmarks", "docs", ".ci"),
        *(
            "workspace.yaml",
            "pyproject.toml",
            "setup.py",
            "requirements.lock",
            "Makefile",
            "README.md",
            "CONTRIBUTING.md",
        ),
        *("CHANGELOG.md", "LICENSE", ".gitignore", ".gitattributes"),
    }
    assert {path.relative_to(ROOT).parts[0] for path in tracked_files()} <= allowed


def test_every_data_set_is_named_as_its_file() -> None:
    for name in configured_datasets(ROOT / "configs"):
        text = (ROOT / "configs" / "datasets" / f"{name}.toml").read_text(encoding="utf-8")
        assert tomllib.loads(text)["name"] == name
