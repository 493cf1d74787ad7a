"""A build does again exactly what has changed: by input, setting, code or damage; and says so."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from builds import config, small_records, write_config, write_records
from places import ROOT

from assets.release import PARENTS
from pipelines.build import BuildReport, run_build
from pipelines.errors import ArtifactError
from shopsim_env.release import layout, load_release

CONFIG = """
name = "small"
archive = "{archive}"
tagger = "{tagger}"
runtime_regex_task_ids = "all"
[project_splits]
seed = {seed}
[expected]
products = {products}
[baseline]
splits = ["source/standard_eval"]
floor_full = {floor}
"""
# Reads what no memory knows (bought answers) and is made at every build.
ALWAYS = {"price_annotations"}
# Compares with the release before, so it follows every change of that.
DRIFT = "annotation_drift"
EVERYTHING = {*PARENTS, "release"} - ALWAYS


class Shop:
    """One folder with an archive, a configuration and what builds leave."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.archive = folder / "raw.json.gz"

    def build(
        self,
        *,
        seed: int = 1,
        floor: float = 0.0,
        tagger: str = "rjieba",
        products: int = 8,
        rerun: bool = False,
        index_only: bool = False,
    ) -> BuildReport:
        values: dict[str, Any] = {"seed": seed, "floor": floor, "tagger": tagger, "products": products}
        text = CONFIG.format(archive=self.archive, **values)
        configs = write_config(self.folder / "configs", "small", text)
        fields: dict[str, Any] = {"configs_root": configs, "runtime_regex_all": False, "rerun": rerun}
        with dg.DagsterInstance.ephemeral() as instance:
            return run_build(config(self.folder, **fields), instance=instance, index_only=index_only)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    write_records(folder / "raw.json.gz")
    report = Shop(folder).build()
    assert report.ok, report.problems
    assert not any(stage.unchanged for stage in report.stages)
    # There was no release before; now there is one to compare with.
    second = Shop(folder).build()
    assert {stage.asset for stage in second.stages if not stage.unchanged} == {DRIFT} | ALWAYS
    return folder


@pytest.fixture
def shop(built: Path, tmp_path: Path) -> Shop:
    shutil.copytree(built, tmp_path / "shop", symlinks=True)
    return Shop(tmp_path / "shop")


def redone(report: BuildReport) -> set[str]:
    assert report.ok, report.problems
    assert {stage.asset for stage in report.stages} == EVERYTHING | ALWAYS | {DRIFT}
    done = {stage.asset for stage in report.stages if not stage.unchanged}
    assert done >= ALWAYS
    return done - ALWAYS


def test_nothing_changed_nothing_done(shop: Shop) -> None:
    before = {path: path.stat().st_ino for path in shop.folder.rglob("*") if path.is_file()}
    report = shop.build()
    assert redone(report) == set()
    assert report.checks_unchanged == report.checks_passed
    after = {path: path.stat().st_ino for path in before}
    # Moved with the folder, the archive has its name and content, and that is all that counts.
    changed = {path.name for path in before if after[path] != before[path]}
    anew = {"persona_price_annotations.v2.json", *(f"{asset}.json" for asset in ALWAYS)}
    assert changed <= {"small.toml", ".lock", *anew} | {
        path.name for path in shop.folder.rglob("meta/*.checks.json")
    }


def test_rerun_does_everything_again_with_the_same_result(shop: Shop) -> None:
    first = shop.build()
    report = shop.build(rerun=True)
    assert redone(report) == EVERYTHING | {DRIFT}
    assert report.checks_unchanged == 0
    assert (report.release_id, report.release) == (first.release_id, first.release)


def test_a_setting_reaches_those_that_read_it(shop: Shop) -> None:
    """The seed is written into the split manifest, so its readers follow; their siblings do not."""
    parts = {"split/train", "split/val", "split/test"}
    readers = {"search_baseline", "release"} | {
        "clean_splits",
        "contamination",
        "exclusion_lineage",
        "witnesses",
    }
    assert redone(shop.build(seed=2)) == {"persona_splits", *parts, *readers}


def test_equal_bytes_end_a_change(shop: Shop) -> None:
    """The floor is among the settings of the baseline, whose bytes do not depend on it."""
    report = shop.build(floor=0.1)
    assert redone(report) == {"search_baseline"}
    assert report.checks_unchanged < report.checks_passed, "the check of the floor ran again"


def test_a_passed_check_does_not_vouch_for_other_settings(shop: Shop) -> None:
    for _ in range(2):
        report = shop.build(products=9)
        assert not report.ok
        assert "archive_counts_expected: products: expected 9, found 8" in report.problems[0]


LIST = 'dataset = "small"\nversion = "1"\nexclude = []\n'


def test_a_new_version_of_the_same_exclusions_reaches_the_release(shop: Shop) -> None:
    """Contract 7.20: the manifest names the versions of the lists, whose entries may stay as they were."""
    folder = shop.folder / "configs" / "exclusions"
    folder.mkdir()

    def versions() -> Any:
        path = shop.folder / "releases" / "small" / "current" / "manifest.json"
        return json.loads(path.read_text(encoding="utf-8"))["human_exclusions"]["versions"]

    (folder / "hand.toml").write_text(LIST, encoding="utf-8")
    assert "human_exclusions" in redone(shop.build())
    assert versions() == {"hand.toml": "1"}
    (folder / "hand.toml").write_text(LIST.replace('"1"', '"2"'), encoding="utf-8")
    done = redone(shop.build())
    assert {"human_exclusions", "release"} <= done
    assert not {"cleaned_v2", "title_nouns", "search_index", "persona_splits"} & done, "equal bytes end it"
    assert versions() == {"hand.toml": "2"}
    (folder / "hand.toml").rename(folder / "list.toml")
    assert "human_exclusions" in redone(shop.build())
    assert versions() == {"list.toml": "2"}


def test_another_tagger_reaches_the_nouns_alone(shop: Shop) -> None:
    assert redone(shop.build(tagger="literal")) == {"title_nouns", "witnesses", "release"}


def test_a_changed_archive_stops_where_bytes_are_equal(shop: Shop) -> None:
    """A title is in neither task ids nor exclusions: what reads only those stays."""
    records = small_records()
    records[4]["title"] += " 加厚"
    write_records(shop.archive, records)
    assert EVERYTHING - redone(shop.build()) == {"source_splits"}


@pytest.mark.parametrize("asset", ["title_nouns", "split/val"])
def test_a_damaged_artifact_is_written_again(shop: Shop, asset: str) -> None:
    root = shop.folder / "artifacts" / "small"
    described = json.loads((root / "meta" / f"{asset}.json").read_text(encoding="utf-8"))
    path = root / described["path"]
    path.write_bytes(path.read_bytes()[:-1])
    assert redone(shop.build()) == {asset}
    assert len(path.read_bytes()) == described["bytes"]


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]"])
def test_damaged_notes_mean_that_work_is_done_again(shop: Shop, damage: bytes) -> None:
    """A memory of an asset and of a check, the record of an artifact, receipts."""
    meta = shop.folder / "artifacts" / "small" / "meta"
    for name in ("memo/title_nouns.json", "memo/audit.findings_fit_the_table_of_codes.json"):
        (meta / name).write_bytes(damage)
    for name in ("task_labels.json", "clean_splits.checks.json"):
        (meta / name).write_bytes(damage)
    report = shop.build()
    assert redone(report) == {"title_nouns", "task_labels"}
    assert report.checks_unchanged < report.checks_passed
    assert redone(shop.build()) == set()


def test_a_damaged_record_stops_the_index_alone_and_names_the_file(shop: Shop) -> None:
    (shop.folder / "artifacts" / "small" / "meta" / "cleaned_v2.json").write_bytes(b"")
    with pytest.raises(ArtifactError, match=r"cleaned_v2\.json: .*Materialize cleaned_v2") as caught:
        shop.build(rerun=True, index_only=True)
    assert caught.value.code == "artifact_altered"


@pytest.mark.parametrize("name", ["splits.json", "metrics.json", layout.ANNOTATIONS_EXPORT])
def test_a_damaged_release_is_replaced(shop: Shop, name: str) -> None:
    current = shop.folder / "releases" / "small" / "current"
    whole = (current / name).read_bytes()
    (current / name).write_text("{")
    report = shop.build()
    assert redone(report) - {DRIFT} == {"release"}
    # What is compared with the release before says that it could not be; splits are not compared.
    assert len(report.warnings) == (name != "splits.json")
    assert all(
        name in line and line.endswith("a damaged file; nothing was compared") for line in report.warnings
    )
    assert (current / name).read_bytes() == whole
    load_release(current, verify="full").close()
    assert [path.name for path in current.parent.iterdir() if path.is_dir() and not path.is_symlink()] == [
        current.resolve().name
    ]


def test_a_release_without_its_manifest_is_not_taken_for_one(shop: Shop) -> None:
    current = (shop.folder / "releases" / "small" / "current").resolve()
    (current / "manifest.json").write_text("{")
    report = shop.build()
    assert not report.ok
    assert str(current) in report.problems[0]
    assert "remove it" in report.problems[0]
    shutil.rmtree(current)
    assert redone(shop.build()) == {"release", DRIFT}


RECIPES = """
import json
from assets._recipe import recipe
from assets.checks.blocking import REQUIRED
FUNCTIONS = {
    "catalog": ["raw_products", "task_ids", "price_axis_exclusions"],
    "annotations": ["price_annotations"],
    "cleaned": ["cleaned_v2", "source_splits", "clean_manifest", "title_nouns"],
    "splits": ["splits"],
    "search": ["search_index", "search_arrays", "search_baseline"],
    "release": ["release"],
    "checks.cleaned": ["every_title_tagged", "manifest_matches_archive"],
}
pairs = [(home, name) for home, names in FUNCTIONS.items() for name in names]
print(json.dumps({name: recipe(f"assets.{home}", name) for home, name in pairs}))
"""


def printed(code: Path, script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=code,
        env={**os.environ, "PYTHONPATH": str(code)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def recipes(code: Path) -> dict[str, str]:
    return dict(json.loads(printed(code, RECIPES)))


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A copy of the code, to be edited."""
    for name in ("assets", "pipelines", "shopsim_env"):
        ignored = shutil.ignore_patterns("__pycache__", "sample_release")
        shutil.copytree(ROOT / name, tmp_path / "code" / name, ignore=ignored)
    return tmp_path / "code"


def test_a_changed_module_reaches_those_that_use_it(code: Path) -> None:
    """The stage of the nouns is edited, and an asset module next to one asset of it."""
    before = recipes(code)
    edits = {
        "pipelines/stages/nouns.py": "# an edit\n",
        "assets/splits.py": "\n\ndef unused() -> None:\n    pass\n",
        "assets/search.py": "\nFTS_COLUMNS += ()\n",
    }
    for name, text in edits.items():
        with (code / name).open("a", encoding="utf-8") as stream:
            stream.write(text)
    after = recipes(code)
    changed = {name for name, digest in before.items() if after[name] != digest}
    assert changed == {"title_nouns", "every_title_tagged", "release", "search_index"}


TOOLS = "from pipelines.resources.memo import tools_sha256; print(tools_sha256())"


def test_another_kernel_is_another_tool(code: Path) -> None:
    """So the checks that compare the engines run again; what is built differs in a byte, or is not there."""
    (kernel,) = (code / "shopsim_env" / "search").glob("_kernel*.so")
    first, again = printed(code, TOOLS), printed(code, TOOLS)
    kernel.write_bytes(kernel.read_bytes() + b"\0")
    other = printed(code, TOOLS)
    kernel.unlink()
    assert first == again
    assert len({first, other, printed(code, TOOLS)}) == 3


EDITED = """
from pathlib import Path
from assets._recipe import as_imported
from pipelines.errors import ArtifactError
from shopsim_env.release import load_release
stage = Path("pipelines/stages/nouns.py")
with as_imported("assets.cleaned", "title_nouns"):
    pass
try:
    with as_imported("assets.cleaned", "title_nouns"):
        stage.write_text(stage.read_text() + "# an edit")
        print("worked")
except ArtifactError as error:
    print(error.code, str(error).partition(":")[0])
with as_imported("assets.catalog", "raw_products"):
    print("another stage")
try:
    with as_imported("assets.cleaned", "title_nouns"):
        print("never")
except ArtifactError as error:
    print(error.code)
"""


def test_work_is_refused_while_its_source_is_edited(code: Path) -> None:
    """Worker processes import what is on disk; the recipe is of what this process imported."""
    assert printed(code, EDITED).splitlines() == [
        "worked",
        "source_edited pipelines.stages.nouns",
        "another stage",
        "source_edited",
    ]
