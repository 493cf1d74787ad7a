"""Lucene over the same tokens, in a Java process: times of its own thread, after warm-up.

Needs Java 11 or newer and a jar with Lucene 9. One is inside a PyPI package (Java need not be called from
Python, only the jar is used): `pip download --no-deps pyserini==0.25.0`, then unzip
`pyserini/resources/jars/anserini-0.25.0-fatjar.jar`. It runs alone, not in turn with the others.
"""

import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

SOURCE = Path(__file__).with_name("LuceneSearch.java")


@dataclass(frozen=True, slots=True)
class LuceneAnswer:
    """CPU milliseconds of one query, and the asins of its first 150."""

    ms: float
    asins: tuple[str, ...]


def run_lucene(
    jar: Path, documents: Iterable[tuple[str, list[str]]], queries: Sequence[Sequence[str]]
) -> list[LuceneAnswer]:
    """Indexes the documents (asin, tokens) in a temporary folder and answers the queries."""
    with TemporaryDirectory() as folder:
        command = ["java", "-Xmx3g", "-cp", str(jar), str(SOURCE), f"{folder}/index"]
        ran = subprocess.run(
            command, input="\n".join(_lines(documents, queries)), capture_output=True, text=True, check=False
        )
    if ran.returncode:
        raise SystemExit(f"Lucene ended with exit code {ran.returncode}:\n{ran.stderr}")
    return [_answer(line) for line in ran.stdout.splitlines()]


def _lines(documents: Iterable[tuple[str, list[str]]], queries: Sequence[Sequence[str]]) -> Iterator[str]:
    yield from ("\t".join(("D", asin, " ".join(tokens))) for asin, tokens in documents)
    yield ""
    yield from ("Q\t" + " ".join(tokens) for tokens in queries)
    yield ""


def _answer(line: str) -> LuceneAnswer:
    ms, *asins = line.split("\t")
    return LuceneAnswer(float(ms), tuple(asins))
