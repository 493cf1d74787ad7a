"""The English catalogue end to end: build, quality report, release without tasks, the commands on it."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from builds import config
from places import ROOT

from pipelines.build import BuildReport, run_build
from pipelines.definitions import defs
from pipelines.errors import ConfigError
from pipelines.resources.artifact_store import ArtifactStore
from pipelines.resources.workspace import WorkspaceResource
from pipelines.settings import DatasetSettings
from pipelines.stages.sample.english_writer import write_english
from shopsim_env import cli
from shopsim_env.catalog.prices import resolve_price
from shopsim_env.errors import ShopSimError
from shopsim_env.release import Release, load_release
from shopsim_env.release.manifest import manifest_bytes
from shopsim_env.release.public import make_public_copy
from shopsim_env.rlve.facts import World
from shopsim_env.shop.env import ShopEnv

TRUTH = json.loads((ROOT / "data" / "samples" / "catalog_en.truth.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("english")


@pytest.fixture(scope="module")
def report(folder: Path) -> BuildReport:
    """`shopsim build --dataset catalog_en`, elsewhere."""
    with dg.DagsterInstance.ephemeral() as instance:
        built = run_build(config(folder, dataset="catalog_en", runtime_regex_all=False), instance=instance)
    assert built.ok, built.problems
    return built


@pytest.fixture(scope="module")
def release(report: BuildReport) -> Iterator[Release]:
    with load_release(Path(str(report.release))) as opened:
        yield opened


def shopsim(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    code = cli.main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_report_counts_what_the_generator_planted(report: BuildReport, folder: Path) -> None:
    mapping = report.ingest["mapping"]
    assert (mapping["rows"], mapping["set_aside"]) == (TRUTH["rows"], TRUTH["set_aside"])
    assert mapping["left_out"] == TRUTH["left_out"]
    assert report.ingest["product_count"] == TRUTH["products"]
    path = folder / "artifacts" / "catalog_en" / "catalogue_quality.json"
    quality = json.loads(path.read_text(encoding="utf-8"))
    assert {issue: entry["products"] for issue, entry in quality["gaps"].items()} == TRUTH["gaps"]
    assert report.warnings == []


def test_the_release_is_a_catalogue_without_tasks(release: Release) -> None:
    manifest = release.manifest
    assert (manifest["currency"], release.currency) == ("USD", "USD")
    assert (manifest["counts"]["products"], len(release.tasks)) == (1200, 0)
    assert set(release.splits.values()) == {()}
    assert {"source/all_train", "project/test_clean"} <= set(release.splits)
    with pytest.raises(ShopSimError) as caught:
        ShopEnv(release, split="project/train").reset(seed=1)
    assert caught.value.code == "empty_split"


def test_latin_words_find_products_and_prices_are_read(release: Release) -> None:
    hits = release.search("usb-c charger", 20).hits
    assert len(hits) == 20
    products = [release.product(hit.asin) for hit in hits]
    assert all("USB-C" in product.title and "Charger" in product.title for product in products)
    priced = next(product for product in products if product.axes and product.listing)
    axis = next(axis for axis in priced.axes if axis.name == "Wattage")
    chosen = {axis.name: axis.values[0].public for axis in priced.axes}
    assert resolve_price(priced, chosen).price == axis.values[0].price


def test_the_world_reads_colour_size_material_and_connector(release: Release) -> None:
    with World.of(release) as world:
        assert len(world) == 1200
        facts = [world.facts_at(number) for number in range(1, 1201)]
        assert (
            sum(fact.provenance["rating"] == "derived" for fact in facts) == TRUTH["gaps"]["rating_missing"]
        )
        unpriced = TRUTH["gaps"]["price_missing"] + TRUTH["gaps"]["price_zero"]
        assert sum(fact.price_low is None for fact in facts) == unpriced
        named = {attribute.family for fact in facts for attribute in fact.attributes}
    assert {"color", "size", "shoe_size", "material", "connector_type"} <= named


def test_commands_search_it_and_say_that_there_is_nothing_to_play(
    release: Release, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = shopsim(capsys, "search", "usb-c charger", "--release", release.path, "--json")
    found = json.loads(out)
    assert (code, found["currency"], found["hits"][0]["rank"]) == (0, "USD", 1)
    assert " USD  " in shopsim(capsys, "search", "dress", "--release", release.path)[1]
    for command in ("play", "floors"):
        code, _, err = shopsim(capsys, command, "--release", release.path)
        assert (code, err.startswith("shopsim: no_tasks: ")) == (2, True)


def test_a_public_copy_states_the_currency(release: Release, tmp_path: Path) -> None:
    make_public_copy(release.path, tmp_path / "copy")
    with load_release(tmp_path / "copy") as copy:
        assert (copy.id, copy.currency) == (release.id, "USD")


def test_a_currency_that_is_no_text_is_refused(release: Release, tmp_path: Path) -> None:
    shutil.copytree(release.path, tmp_path / "copy")
    (tmp_path / "copy" / "manifest.json").write_bytes(manifest_bytes({**release.manifest, "currency": 7}))
    with pytest.raises(ShopSimError, match="currency: expected str, found int"):
        load_release(tmp_path / "copy")


def drop_first_row(quality: dict[str, Any]) -> None:
    quality["set_aside"]["missing_id"]["rows"].pop(0)


def twice(quality: dict[str, Any]) -> None:
    quality["set_aside"]["missing_title"]["rows"].append(0)


def beyond(quality: dict[str, Any]) -> None:
    quality["set_aside"]["missing_title"]["rows"].append(TRUTH["rows"])


@pytest.mark.parametrize(
    ("plant", "problem"), [(drop_first_row, "lost"), (twice, "twice"), (beyond, "not in")]
)
def test_a_row_that_is_nowhere_or_twice_stops_the_release(
    report: BuildReport, folder: Path, tmp_path: Path, plant: Callable[[Any], None], problem: str
) -> None:
    shutil.copytree(folder / "artifacts", tmp_path / "artifacts")
    store = ArtifactStore(tmp_path / "artifacts" / "catalog_en")
    good = store.open("catalogue_quality")
    quality = json.loads(good.path.read_text(encoding="utf-8"))
    plant(quality)
    store.write(
        "catalogue_quality",
        good.path.name,
        lambda new: new.write_text(json.dumps(quality)),
        code_version=good.code_version,
        parents=good.parents,
    )
    checks = dg.AssetSelection.checks_for_assets(dg.AssetKey("catalogue_quality"))
    fields = config(tmp_path, dataset="catalog_en", runtime_regex_all=False)
    with dg.DagsterInstance.ephemeral() as instance:
        result = dg.materialize(
            [*defs.assets, *defs.asset_checks],
            selection=checks | dg.AssetSelection.assets("release"),
            resources={"workspace": WorkspaceResource(**fields)},
            instance=instance,
            raise_on_error=False,
        )
    failed = {item.check_name: item for item in result.get_asset_check_evaluations() if not item.passed}
    assert set(failed) == {"every_row_accounted_for", "quality_follows_from_products"}
    problems = failed["every_row_accounted_for"].metadata["problems"].value
    assert any(problem in text for text in problems)
    assert any(text.startswith("set_aside_rows: expected 13, found ") for text in problems)
    assert not list((tmp_path / "releases").rglob("manifest.json"))


def test_an_own_file_and_its_currency(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the command: a file in pounds, a tenth of whose rows have no title; it builds and warns."""
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path / "home"))
    rows = [
        {"id": f"G{number}", "title": f"Teapot {number}" if number % 10 else "", "price": f"£{number}.50"}
        for number in range(1, 21)
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    options = ("--products", path, "--currency", "GBP", "--data", tmp_path / "data")
    code, out, err = shopsim(capsys, "build", "--dataset", "mine", *options)
    assert code == 0, out + err
    assert "set aside: missing_title 2 of 20 rows" in out
    assert "warning: check catalogue_quality.few_rows_set_aside: missing_title: 2 of 20 rows" in out
    assert "search it (there are no tasks): shopsim search QUERY" in out
    with load_release(tmp_path / "data" / "releases" / "mine" / "current") as release:
        assert release.currency == "GBP"
        assert release.product("G7").listing_text == "7.5"
        assert release.manifest["tagger"]["name"] == "literal"


def test_the_sample_command_writes_an_english_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "small.parquet"
    words = ("sample", "--english", "--out", out, "--products", 3, "--seed", 5)
    code, text, _ = shopsim(capsys, *words, "--json")
    assert code == 0
    assert json.loads(text)["truth"] == str(tmp_path / "small.truth.json")
    again = write_english(tmp_path / "again.parquet", 3, 5)
    assert again.archive.read_bytes() == out.read_bytes()
    assert shopsim(capsys, *words)[0] == 2, "nothing is replaced without --force"
    assert shopsim(capsys, *words, "--force", "--like-published", tmp_path)[0] == 2


def test_wrong_settings_are_named() -> None:
    for fields in (
        {"products": "a.parquet", "raw": "b.json"},
        {"products": "a.parquet", "manifest": "m.json"},
    ):
        with pytest.raises(ConfigError) as caught:
            WorkspaceResource(dataset="small", **fields).open()
        assert caught.value.code == "source_unclear"
    with pytest.raises(ConfigError, match="--currency: expected an ISO code such as USD, found 'dollars'"):
        WorkspaceResource(dataset="small", products="a.parquet", currency="dollars").open()
    with pytest.raises(ValueError, match="cleaned_manifest: expected none"):
        DatasetSettings(name="x", archive="a.parquet", source="products", cleaned_manifest="m.json")


def test_a_missing_product_file_names_its_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("build", "--dataset", "mine", "--products", tmp_path / "none.parquet", "--data", tmp_path)
    code, _, err = shopsim(capsys, *words)
    assert (code, "give another with --products" in err) == (2, True)
