"""Data set configuration: what is committed loads, and what does not fit is named."""

from pathlib import Path

import pytest
from places import ROOT

from pipelines.errors import ConfigError
from pipelines.settings import adhoc_dataset, configured_datasets, load_dataset

CONFIGS = ROOT / "configs"


def test_committed_data_sets_load() -> None:
    names = configured_datasets(CONFIGS)
    assert {"sample", "paper", "like-published"} <= set(names)
    for name in names:
        assert load_dataset(CONFIGS, name).name == name


def test_paper_pins_the_published_figures() -> None:
    paper = load_dataset(CONFIGS, "paper")
    assert paper.archive_sha256 == "f51c33217061479f9c95a1068621fcd38e4883ae3d2f6a1627037bea934f2125"
    assert (paper.expected.products, paper.expected.excluded_products) == (23421, 695)
    assert paper.expected.active_products == 22726
    assert (paper.expected.active_persona_tasks, paper.expected.active_standard_tasks) == (4526, 18200)
    assert (paper.project_splits.validation_size, paper.project_splits.test_size) == (400, 400)
    assert paper.project_splits.seed == 20260829
    bounds = {name: (bound.start, bound.stop, bound.persona) for name, bound in paper.source_splits.items()}
    assert bounds == {
        "persona_eval": (0, 1343, True),
        "standard_eval": (0, 1459, False),
        "persona_train": (1459, 4782, True),
        "standard_train": (4782, 23421, False),
        "all_train": (1459, 23421, None),
    }


def test_unknown_data_set_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="sample") as caught:
        load_dataset(CONFIGS, "nope")
    assert caught.value.code == "unknown_dataset"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('name = "x"\narchive = "a"\nsurprise = 1\n', "surprise"),
        ('name = "x"\narchive = "a"\narchive_sha256 = "short"\n', "archive_sha256"),
        ('name = "x"\n', "archive"),
        ('name = "x"\narchive = "a"\n[baseline]\nfloor_full = 2\n', "floor_full"),
        ("name = \n", "x.toml"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, text: str, named: str) -> None:
    folder = tmp_path / "datasets"
    folder.mkdir()
    (folder / "x.toml").write_text(text)
    with pytest.raises(ConfigError, match=named):
        load_dataset(tmp_path, "x")


@pytest.mark.parametrize("name", ["", "../up", "A", "a/b", ".hidden", "x" * 65])
def test_ad_hoc_name_is_a_plain_folder_name(name: str) -> None:
    with pytest.raises(ConfigError, match="data set name"):
        adhoc_dataset(name, Path("raw.json.gz"))


def test_ad_hoc_pins_nothing() -> None:
    settings = adhoc_dataset("mine", Path("raw.json.gz"))
    assert settings.archive_sha256 is None
    assert settings.project_splits.validation_size is None
    assert settings.source_splits == {}
