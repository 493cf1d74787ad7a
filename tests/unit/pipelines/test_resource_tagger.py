"""Taggers that need a package: the real rjieba, the real `spacy.load` on a pipeline assembled here."""

import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from spacy_model import save_model

from pipelines.errors import ConfigError
from pipelines.resources.tagger import load_tagger
from shopsim_env.text.nouns import LiteralTagger

with warnings.catch_warnings():
    # typer, which spaCy imports, still reads names that click deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    import spacy
    from spacy.training import Example


def edit_meta(folder: Path, **changes: Any) -> None:
    path = folder / "meta.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **changes}), "utf-8")


def test_literal() -> None:
    assert isinstance(load_tagger("literal"), LiteralTagger)


@pytest.mark.parametrize("name", ["", "jieba", "spacy", "Literal"])
def test_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="expected literal, rjieba or spacy:") as caught:
        load_tagger(name)
    assert caught.value.code == "tagger_unknown"


def test_rjieba_takes_nouns_and_folds_them() -> None:
    tagger = load_tagger("rjieba")
    assert (tagger.name, tagger.version) == ("rjieba", "0.2.2")
    nouns = tagger.nouns("学生保温杯，老师保温杯")
    assert "老师" in nouns
    assert "学生" in nouns
    assert len(set(nouns)) == len(nouns)
    assert "，" not in nouns
    assert list(tagger.nouns_of(["学生保温杯，老师保温杯"])) == [nouns]


def test_rjieba_falls_back_to_literal_terms_without_a_noun() -> None:
    assert load_tagger("rjieba").nouns("！") == ()
    assert load_tagger("rjieba").nouns("500") == ("500",)


def test_rjieba_fingerprint_is_stable_and_its_own() -> None:
    assert load_tagger("rjieba").fingerprint == load_tagger("rjieba").fingerprint
    assert load_tagger("rjieba").fingerprint != load_tagger("literal").fingerprint


def test_words_added_to_the_shared_dictionary_do_not_change_nouns() -> None:
    import rjieba

    title = "渡鸦灯罩架"
    before = load_tagger("rjieba").nouns(title)
    rjieba.add_word(title, 100_000, "n")
    assert rjieba.tag(title) == [(title, "n")]
    assert load_tagger("rjieba").nouns(title) == before


def test_missing_package_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, module in (("rjieba", "rjieba"), ("spacy:zh_core_web_sm", "spacy")):
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ConfigError, match=r"pip install -r requirements\.lock") as caught:
            load_tagger(name)
        assert caught.value.code == "tagger_missing"


def test_spacy_pipeline_from_a_folder(tmp_path: Path) -> None:
    tagger = load_tagger(f"spacy:{save_model(tmp_path / 'model')}")
    assert (tagger.name, tagger.version) == ("spacy:zh_test_sm", "3.8.0")
    assert tagger.nouns("大华杯杯") == ("华", "杯")
    assert tagger.nouns("很大的") == ("很大", "大的")  # no noun: literal terms
    assert list(tagger.nouns_of(["杯", "大", "华"])) == [("杯",), ("大",), ("华",)]


def test_spacy_fingerprint_covers_every_file_and_not_the_place(tmp_path: Path) -> None:
    first, second = save_model(tmp_path / "a"), save_model(tmp_path / "b")
    fingerprint = load_tagger(f"spacy:{first}").fingerprint
    assert load_tagger(f"spacy:{second}").fingerprint == fingerprint
    (second / "extra.txt").write_text("changed")
    assert load_tagger(f"spacy:{second}").fingerprint != fingerprint


@pytest.mark.parametrize(
    ("model", "changes", "message"),
    [
        ({"lang": "en"}, {}, "expected a model of language 'zh', found en"),
        (
            {},
            {"spacy_version": ">=2.0,<3.0"},
            r"expected a model for spaCy 3\.8\.18, found one for >=2\.0,<3\.0",
        ),
        ({}, {"spacy_version": ""}, "found one for no version"),
        ({"tags": False}, {}, r"expected a pipeline that assigns parts of speech, found only \[\]"),
    ],
)
def test_foreign_spacy_model_is_refused(tmp_path: Path, model: Any, changes: Any, message: str) -> None:
    folder = save_model(tmp_path / "model", **model)
    edit_meta(folder, **changes)
    with pytest.raises(ConfigError, match=message) as caught:
        load_tagger(f"spacy:{folder}")
    assert caught.value.code == "tagger_foreign"


@pytest.mark.parametrize(
    ("meta", "message"),
    [
        (None, r"expected a spaCy model with a meta\.json, found none"),
        ("{", "expected JSON in"),
        ("[]", "expected an object with name and version"),
        ('{"lang": "zh"}', "expected an object with name and version"),
    ],
)
def test_folder_without_a_usable_meta_is_refused(tmp_path: Path, meta: str | None, message: str) -> None:
    if meta is not None:
        (tmp_path / "meta.json").write_text(meta)
    with pytest.raises(ConfigError, match=message):
        load_tagger(f"spacy:{tmp_path}")


def edit_config(folder: Path, old: str, new: str) -> None:
    path = folder / "config.cfg"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


@pytest.mark.parametrize("segmenter", ["jieba", "pkuseg"])
def test_missing_segmenter_is_named(tmp_path: Path, segmenter: str) -> None:
    folder = save_model(tmp_path / "model")
    edit_config(folder, 'segmenter = "char"', f'segmenter = "{segmenter}"')
    with pytest.raises(ConfigError, match=rf"(?i)found nothing installed;.*{segmenter}") as caught:
        load_tagger(f"spacy:{folder}")
    assert caught.value.code == "tagger_missing"


@pytest.mark.parametrize(("name", "content"), [("config.cfg", "[nlp]\n"), ("vocab/strings.json", "[")])
def test_damaged_model_is_refused(tmp_path: Path, name: str, content: str) -> None:
    folder = save_model(tmp_path / "model")
    (folder / name).write_text(content)
    with pytest.raises(ConfigError, match="expected a whole spaCy pipeline in") as caught:
        load_tagger(f"spacy:{folder}")
    assert caught.value.code == "tagger_foreign"


def test_trained_weights_are_loaded_and_covered_by_the_fingerprint(tmp_path: Path) -> None:
    """A morphologizer that learns three characters; spaCy reads its weights from the folder."""
    nlp = spacy.blank("zh")
    nlp.add_pipe("morphologizer")
    texts = [("红杯", "ADJ NOUN"), ("蓝灯", "ADJ NOUN"), ("红灯", "ADJ NOUN"), ("蓝杯", "ADJ NOUN")]
    examples = [
        Example.from_dict(nlp.make_doc(text), {"words": list(text), "pos": pos.split()})
        for text, pos in texts
    ]
    spacy.util.fix_random_seed(0)
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(20):
        nlp.update(examples, sgd=optimizer)
    nlp.meta.update({"name": "trained_sm", "version": "1.0.0"})
    nlp.to_disk(tmp_path / "trained")
    tagger = load_tagger(f"spacy:{tmp_path / 'trained'}")
    assert tagger.name == "spacy:zh_trained_sm"
    assert tagger.nouns("蓝灯") == ("灯",)
    assert list(tagger.nouns_of(["红杯", "红灯"])) == [("杯",), ("灯",)]
    weights = next((tmp_path / "trained" / "morphologizer").glob("model"))
    weights.write_bytes(weights.read_bytes() + b"\x00")
    with pytest.raises(ConfigError, match="whole spaCy pipeline"):
        load_tagger(f"spacy:{tmp_path / 'trained'}")


def install(site: Path, name: str, version: str, init: str = "raise SystemExit('imported')") -> Path:
    """What pip would leave of a package: module folder and distribution metadata."""
    package = site / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(init)
    info = site / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return package


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def test_spacy_package_is_loaded_without_running_its_code(site: Path) -> None:
    package = install(site, "zh_test_sm", "3.8.0")
    data = save_model(package / "zh_test_sm-3.8.0")
    (package / "meta.json").write_bytes((data / "meta.json").read_bytes())
    importlib.invalidate_caches()
    tagger = load_tagger("spacy:zh_test_sm")
    assert (tagger.name, tagger.nouns("大杯")) == ("spacy:zh_test_sm", ("杯",))
    assert "zh_test_sm" not in sys.modules


def test_package_of_the_right_name_without_a_model_is_refused(site: Path) -> None:
    install(site, "zh_core_web_sm", "999.9.9")
    importlib.invalidate_caches()
    with pytest.raises(ConfigError, match=r"with a meta\.json, found none") as caught:
        load_tagger("spacy:zh_core_web_sm")
    assert caught.value.code == "tagger_foreign"
    assert "zh_core_web_sm" not in sys.modules


@pytest.mark.parametrize(("version", "meta"), [("999.9.9", {}), ("3.8.0", {"name": "other_sm"})])
def test_package_whose_meta_says_otherwise_is_refused(site: Path, version: str, meta: dict[str, str]) -> None:
    package = install(site, "zh_test_sm", version)
    save_model(package, **meta)
    importlib.invalidate_caches()
    with pytest.raises(
        ConfigError, match=rf"expected a meta\.json of zh_test_sm {version}, found one of zh_"
    ):
        load_tagger("spacy:zh_test_sm")


def test_bare_folder_on_the_path_is_refused(site: Path) -> None:
    save_model(site / "zh_bare_sm")
    (site / "zh_bare_sm" / "__init__.py").touch()
    importlib.invalidate_caches()
    with pytest.raises(ConfigError, match="expected an installed distribution of that name"):
        load_tagger("spacy:zh_bare_sm")


def test_package_that_is_not_installed_warns_of_the_foreign_one() -> None:
    with pytest.raises(ConfigError, match=r"spaCy model zh_absent_sm.*on PyPI is somebody else's") as caught:
        load_tagger("spacy:zh_absent_sm")
    assert caught.value.code == "tagger_missing"
