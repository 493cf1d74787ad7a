"""What a title noun is, and what makes them.

Belongs here: the protocol of a tagger, the literal terms that stand in for nouns, and the rule that turns a
tagger's words into title terms. Taggers that need a package live in `pipelines.resources.tagger`; the runtime
reads finished nouns from a release.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Protocol

from shopsim_env.canonical import compact_json, sha256_text
from shopsim_env.text.normalize import fold
from shopsim_env.text.tokens import han_bigrams, han_runs

# Part of every fingerprint: a change of `noun_terms` or `literal_terms` changes the nouns of every tagger.
NOUN_RULE_VERSION = "casefold-distinct-literal-fallback-v1"

_ALNUM_RUN = re.compile(r"[a-z0-9]+")


class Tagger(Protocol):
    """Finds the nouns of a title. `fingerprint` changes whenever the same title may give other nouns."""

    @property
    def name(self) -> str:
        """Name as written in the configuration."""

    @property
    def version(self) -> str:
        """Version of the tagger and its model."""

    @property
    def fingerprint(self) -> str:
        """Hex SHA-256 over everything that decides the result."""

    def nouns(self, text: str) -> tuple[str, ...]:
        """Distinct title terms of one text; see `noun_terms`."""

    def nouns_of(self, texts: Iterable[str]) -> Iterator[tuple[str, ...]]:
        """`nouns` of each text in order; a tagger may work in batches."""


class LiteralTagger:
    """The deterministic fallback of the seed: literal terms, no model."""

    name = "literal"
    version = "1"

    @property
    def fingerprint(self) -> str:
        """Hex SHA-256 of name, version and noun rule."""
        return tagger_fingerprint(self.name, self.version, {})

    def nouns(self, text: str) -> tuple[str, ...]:
        """Literal terms of `text`."""
        return literal_terms(text)

    def nouns_of(self, texts: Iterable[str]) -> Iterator[tuple[str, ...]]:
        """Literal terms of each text."""
        return map(literal_terms, texts)


def literal_terms(text: str) -> tuple[str, ...]:
    """Distinct literal terms: ASCII letter or digit runs of the folded text, then Han pairs per run.

    A run of one Han character stays as it is. `"A4纸 双面纸"` gives `("a4", "纸", "双面", "面纸")`.
    """
    folded = fold(text)
    terms: list[str] = _ALNUM_RUN.findall(folded)
    for run in han_runs(folded):
        terms += han_bigrams(run)
    return tuple(dict.fromkeys(terms))


def noun_terms(words: Iterable[str], text: str) -> tuple[str, ...]:
    """Title terms from the noun words that a tagger found in `text`.

    Case folded, trimmed, distinct, in order of occurrence; the literal terms when no noun is left (seed, type
    score).
    """
    terms = dict.fromkeys(word.casefold().strip() for word in words)
    terms.pop("", None)
    return tuple(terms) or literal_terms(text)


def tagger_fingerprint(name: str, version: str, parts: dict[str, str]) -> str:
    """Hex SHA-256 of a tagger: name, version, the noun rule and `parts` (versions, file hashes, probes)."""
    return sha256_text(compact_json([name, version, NOUN_RULE_VERSION, parts]))
