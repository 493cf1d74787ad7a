"""Taggers that need a package: rjieba and spaCy. The only module that loads either.

The configuration names the tagger; a missing one is an error and never silently replaced, because another
tagger gives other nouns and so other rewards. Taggers without a package live in `shopsim_env.text.nouns`.
"""

import importlib.util
import json
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from pipelines.errors import ConfigError
from pipelines.resources.paths import ROOT
from shopsim_env.canonical import compact_json, sha256_file, sha256_text
from shopsim_env.text.nouns import LiteralTagger, Tagger, noun_terms, tagger_fingerprint

_SPACY_PREFIX = "spacy:"
_NOUN_TAGS = ("NOUN", "PROPN")
_RJIEBA_NOUNS = "n"
# Slow and without influence on parts of speech.
_UNUSED_COMPONENTS = ("parser", "ner", "senter")
_SEGMENTER_PACKAGES = {"jieba": "jieba", "pkuseg": "spacy-pkuseg"}
_BATCH = 256

# Titles of our own. Their tags stand for a dictionary that is compiled into a library, which differs in bytes
# from platform to platform; and they show whether a pipeline assigns parts of speech at all.
_PROBES = (
    "不锈钢保温杯大容量男女学生便携水壶500ml",
    "A4打印纸双面复印纸整箱70g",
    "夏季薄款冰丝凉席三件套可折叠",
    "儿童益智积木拼装玩具礼盒",
)


def load_tagger(name: str) -> Tagger:
    """The tagger with this name.

    Args:
        name: "literal", "rjieba", "spacy:PACKAGE" or "spacy:FOLDER" (a name with a separator is a folder,
            relative to the repository root).

    Raises:
        ConfigError: Unknown name, or package, model or segmenter missing, foreign, damaged or of a version
            that does not fit.
    """
    if name == "literal":
        return LiteralTagger()
    if name == "rjieba":
        return RjiebaTagger()
    if name.startswith(_SPACY_PREFIX):
        return SpacyTagger(name.removeprefix(_SPACY_PREFIX))
    raise ConfigError(
        f"tagger: expected literal, rjieba or spacy:PACKAGE_OR_FOLDER, found {name!r}", code="tagger_unknown"
    )


class RjiebaTagger:
    """Words that rjieba tags as a kind of noun (`n...`)."""

    name = "rjieba"

    def __init__(self) -> None:
        try:
            import rjieba
        except ImportError as error:
            raise _missing("rjieba", "pip install -r requirements.lock") from error
        # An own instance: words that other code adds to the shared dictionary must not change nouns.
        self._jieba = rjieba.Jieba()
        self.version = metadata.version("rjieba")
        probes = [self._jieba.tag(probe) for probe in _PROBES]
        parts = {"probes": sha256_text(compact_json(probes)), "nouns": _RJIEBA_NOUNS}
        self.fingerprint = tagger_fingerprint(self.name, self.version, parts)

    def nouns(self, text: str) -> tuple[str, ...]:
        """Title terms of one text."""
        return noun_terms(
            (word for word, tag in self._jieba.tag(text) if tag.startswith(_RJIEBA_NOUNS)), text
        )

    def nouns_of(self, texts: Iterable[str]) -> Iterator[tuple[str, ...]]:
        """Title terms of each text."""
        return map(self.nouns, texts)


class SpacyTagger:
    """Tokens that a Chinese spaCy pipeline tags NOUN or PROPN (seed, type score)."""

    def __init__(self, target: str) -> None:
        try:
            import spacy
        except ImportError as error:
            raise _missing("spaCy", "pip install -r requirements.lock") from error
        folder, meta = _find_model(target)
        _check_model(target, meta, spacy)
        self._nlp = _load(spacy, target, folder)
        if not any(token.pos_ for probe in _PROBES for token in self._nlp(probe)):
            raise _foreign(target, "a pipeline that assigns parts of speech", f"only {self._nlp.pipe_names}")
        self.name = f"{_SPACY_PREFIX}{meta['lang']}_{meta['name']}"
        self.version = str(meta["version"])
        rules = {"spacy": metadata.version("spacy"), "nouns": " ".join(_NOUN_TAGS)}
        parts = {**rules, **self._segmenter(), **_file_hashes(folder)}
        self.fingerprint = tagger_fingerprint(self.name, self.version, parts)

    def _segmenter(self) -> dict[str, str]:
        segmenter = str(self._nlp.config["nlp"]["tokenizer"].get("segmenter", ""))
        package = _SEGMENTER_PACKAGES.get(segmenter)
        try:
            version = metadata.version(package) if package else ""
        except metadata.PackageNotFoundError as error:
            raise _missing(f"{package}, which the model segments with", f"pip install {package}") from error
        return {f"segmenter {segmenter}": version}

    def nouns(self, text: str) -> tuple[str, ...]:
        """Title terms of one text."""
        return next(self.nouns_of([text]))

    def nouns_of(self, texts: Iterable[str]) -> Iterator[tuple[str, ...]]:
        """Title terms of each text, tagged in batches."""
        for doc in self._nlp.pipe(texts, batch_size=_BATCH):
            yield noun_terms((token.text for token in doc if token.pos_ in _NOUN_TAGS), doc.text)


def _find_model(target: str) -> tuple[Path, dict[str, Any]]:
    """Folder with the model's data and its `meta.json`. A package is looked at and never imported."""
    if not target.isidentifier():
        return ROOT / target, _read_meta(target, ROOT / target)
    spec = importlib.util.find_spec(target)
    if spec is None:
        raise _missing(
            f"the spaCy model {target}",
            "install its wheel from the releases of the spacy-models project (the package of that name on "
            "PyPI is somebody else's)",
        )
    package = Path(spec.origin).parent if spec.origin else Path(target)
    meta = _read_meta(target, package)
    found = f"{meta.get('lang')}_{meta.get('name')} {meta.get('version')}"
    if found != f"{target} {_installed_version(target)}":
        raise _foreign(target, f"a meta.json of {target} {_installed_version(target)}", f"one of {found}")
    folder = package / f"{target}-{meta['version']}"
    return folder, _read_meta(target, folder)


def _installed_version(target: str) -> str:
    try:
        return metadata.version(target)
    except metadata.PackageNotFoundError as error:
        raise _foreign(target, "an installed distribution of that name", "a bare folder") from error


def _read_meta(target: str, folder: Path) -> dict[str, Any]:
    path = folder / "meta.json"
    if not path.is_file():
        raise _foreign(target, "a spaCy model with a meta.json", f"none in {folder}")
    try:
        meta = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise _foreign(target, f"JSON in {path}", error) from error
    if not isinstance(meta, dict) or not {"name", "version"} <= meta.keys():
        raise _foreign(target, f"an object with name and version in {path}", meta)
    return meta


def _check_model(target: str, meta: dict[str, Any], spacy: Any) -> None:
    if meta.get("lang") != "zh":
        raise _foreign(target, "a model of language 'zh'", meta.get("lang"))
    wanted = str(meta.get("spacy_version", ""))
    if not wanted or not spacy.util.is_compatible_version(spacy.__version__, wanted):
        raise _foreign(target, f"a model for spaCy {spacy.__version__}", f"one for {wanted or 'no version'}")


def _load(spacy: Any, target: str, folder: Path) -> Any:
    """The pipeline in `folder`; what spaCy says about a fault in it names no place and no cure."""
    try:
        return spacy.load(folder, exclude=list(_UNUSED_COMPONENTS))
    except ImportError as error:
        reason = str(error).splitlines()[0]
        raise _missing(f"what the spaCy model {target} needs", f"spaCy says: {reason}") from error
    except (ValueError, OSError, KeyError) as error:
        raise _foreign(
            target, f"a whole spaCy pipeline in {folder}", f"one that does not load: {error}"
        ) from error


def _file_hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {f"file {path.relative_to(folder).as_posix()}": sha256_file(path) for path in files}


def _missing(what: str, how: str) -> ConfigError:
    return ConfigError(
        f"tagger: expected {what}, found nothing installed; {how}, or name another tagger in the "
        "configuration of the data set (literal and rjieba need no model)",
        code="tagger_missing",
    )


def _foreign(target: str, expected: str, found: object) -> ConfigError:
    return ConfigError(f"tagger spacy:{target}: expected {expected}, found {found}", code="tagger_foreign")
