"""The spaCy route through the assets: the configured pipeline tags the titles, and the check knows it."""

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from builds import config, write_config, write_records
from spacy_model import save_model

from pipelines.definitions import defs
from pipelines.resources.artifact_store import ArtifactStore
from pipelines.resources.workspace import WorkspaceResource
from pipelines.stages.nouns import read_nouns

CONFIG = """
name = "small"
archive = "{archive}"
tagger = "spacy:{model}"
runtime_regex_task_ids = "all"
"""


def run(folder: Path, selection: dg.AssetSelection, model: Path) -> dg.ExecuteInProcessResult:
    archive = folder / "raw.json.gz"
    configs = write_config(folder / "configs", "small", CONFIG.format(archive=archive, model=model))
    fields: dict[str, Any] = config(folder, configs_root=configs, runtime_regex_all=False)
    with dg.DagsterInstance.ephemeral() as instance:
        return dg.materialize(
            [*defs.assets, *defs.asset_checks],
            selection=selection,
            resources={"workspace": WorkspaceResource(**fields)},
            instance=instance,
            raise_on_error=False,
        )


@pytest.fixture(scope="module")
def tagged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spacy")
    write_records(folder / "raw.json.gz")
    save_model(folder / "model")
    upstream = dg.AssetSelection.assets("title_nouns").upstream()
    assert run(folder, upstream, folder / "model").success
    return folder


def test_titles_are_tagged_by_the_named_pipeline(tagged: Path) -> None:
    nouns = read_nouns(ArtifactStore(tagged / "artifacts" / "small").path("title_nouns"))
    assert (nouns.tagger_name, nouns.tagger_version) == ("spacy:zh_test_sm", "3.8.0")
    assert len(nouns.nouns) == 7


def test_another_pipeline_in_the_same_folder_fails_the_check(tagged: Path) -> None:
    """Same name and version; only the fingerprint tells them apart."""
    checks = dg.AssetSelection.checks_for_assets("title_nouns")
    same = run(tagged, checks, tagged / "model")
    (evaluation,) = same.get_asset_check_evaluations()
    assert evaluation.passed
    (tagged / "model" / "extra.txt").write_text("another")
    (evaluation,) = run(tagged, checks, tagged / "model").get_asset_check_evaluations()
    assert not evaluation.passed
    assert "tagger: expected spacy:zh_test_sm 3.8.0" in evaluation.metadata["problems"].value[0]


def test_a_model_that_is_not_there_stops_the_asset(tagged: Path) -> None:
    result = run(tagged, dg.AssetSelection.assets("title_nouns"), tagged / "absent")
    assert not result.success
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert "tagger_foreign" in str(failure.step_failure_data.user_failure_data.description)
