"""Writes a sample: the gzip archive, the truth beside it and the recorded annotations.

Bytes depend on the rows alone: no time, no file name in the gzip header. Files appear by rename, complete or
not at all.
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from json.encoder import encode_basestring
from pathlib import Path
from typing import IO, Any

from pipelines.stages.sample.build import SampleRow, generate_sample
from pipelines.stages.sample.faults import ALL_CODES
from pipelines.stages.sample.quirks import count_quirks
from shopsim_env.canonical import pretty_json
from shopsim_env.errors import UsageError

_SUFFIX = ".json.gz"
_RAW = ".raw"
_COMPRESSION = 6
_CONSTANTS = {None: "null", True: "true", False: "false"}


@dataclass(frozen=True, slots=True)
class SampleFiles:
    """The three files of one sample."""

    archive: Path
    truth: Path
    annotations: Path


def sample_files(out: Path) -> SampleFiles:
    """Names of the three files for the archive name `out`: `NAME.json.gz` or `NAME.raw.json.gz`.

    Raises:
        UsageError: another ending.
    """
    stem = out.name.removesuffix(_SUFFIX).removesuffix(_RAW)
    if not out.name.endswith(_SUFFIX) or not stem:
        raise UsageError(f"expected an output name like my{_SUFFIX} or my{_RAW}{_SUFFIX}, found {out.name!r}")
    return SampleFiles(
        archive=out,
        truth=out.with_name(f"{stem}.truth.json"),
        annotations=out.with_name(f"{stem}.annotations.json"),
    )


def write_sample(out: Path, products: int, seed: int) -> SampleFiles:
    """Generates a sample archive with its side files; existing files are replaced.

    Args:
        out: Archive path, `NAME.json.gz` or `NAME.raw.json.gz`; `NAME.truth.json` and
            `NAME.annotations.json` go beside it.
        products: Number of products, at least 1.
        seed: Any integer; (products, seed) fixes every byte.

    Raises:
        UsageError: a wrong name or number.
    """
    return write_rows(out, generate_sample(products, seed), products, seed)


def write_rows(out: Path, rows: Iterable[SampleRow], products: int, seed: int) -> SampleFiles:
    """Writes rows as they come; only the small side files are kept in memory."""
    files = sample_files(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    truth = _Truth(products, seed)
    with replaced(files.archive) as raw, packed(raw) as stream:
        stream.write(b"[")
        for number, row in enumerate(rows):
            text = indented_json(row.record, 1)
            stream.write(f"{',' if number else ''}\n  {text}".encode())
            truth.add(row)
        stream.write(b"\n]\n")
    _write_text(files.truth, pretty_json(truth.as_dict()))
    _write_text(files.annotations, pretty_json(truth.annotations))
    return files


def packed(raw: IO[bytes]) -> gzip.GzipFile:
    """A gzip stream without time and file name, so that equal rows give equal bytes."""
    return gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0, compresslevel=_COMPRESSION)


class _Truth:
    """Collects what the side files say while rows pass by."""

    def __init__(self, products: int, seed: int) -> None:
        self._products = products
        self._seed = seed
        self._faults: dict[str, list[dict[str, Any]]] = {code: [] for code in ALL_CODES}
        self._budgets: dict[str, Any] = {}
        self._unwinnable: list[int] = []
        self._quirks: Counter[str] = Counter()
        self._titles: Counter[str] = Counter()
        self.annotations: list[dict[str, Any]] = []

    def add(self, row: SampleRow) -> None:
        """Takes one row into account."""
        if row.fault:
            entry = {"task_id": row.index, "asin": row.record["asin"], "winnable": row.winnable}
            self._faults[row.fault].append(entry)
        if not row.winnable:
            self._unwinnable.append(row.index)
        self._budgets[str(row.index)] = row.budget
        self._quirks.update(count_quirks(row.record))
        self._titles[row.record["title"]] += 1
        if row.annotation is not None:
            self.annotations.append(row.annotation)

    def as_dict(self) -> dict[str, Any]:
        """The truth file; keys of `budgets` are task ids as text."""
        repeated = sum(count for count in self._titles.values() if count > 1)
        return {
            "products": self._products,
            "seed": self._seed,
            "faults": self._faults,
            "budgets": self._budgets,
            "unwinnable": self._unwinnable,
            "quirks": {**self._quirks, "title_repeated": repeated},
        }


def indented_json(value: Any, level: int = 0) -> str:
    """`json.dumps(value, ensure_ascii=False, indent=2)`, nested `level` deep, several times faster.

    The standard encoder falls back to Python generators as soon as it indents.
    """
    out: list[str] = []
    _render(value, "\n" + "  " * level, out)
    return "".join(out)


def _render(value: Any, line: str, out: list[str]) -> None:
    if isinstance(value, str):
        out.append(encode_basestring(value))
    elif isinstance(value, dict) and value:
        deeper = line + "  "
        mark = "{"
        for key, item in value.items():
            out.append(f"{mark}{deeper}{encode_basestring(key)}: ")
            _render(item, deeper, out)
            mark = ","
        out.append(f"{line}}}")
    elif isinstance(value, list) and value:
        deeper = line + "  "
        mark = "["
        for item in value:
            out.append(mark + deeper)
            _render(item, deeper, out)
            mark = ","
        out.append(f"{line}]")
    elif value is None or isinstance(value, bool):
        out.append(_CONSTANTS[value])
    elif isinstance(value, int):
        out.append(str(value))
    else:
        out.append(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _write_text(path: Path, text: str) -> None:
    with replaced(path) as stream:
        stream.write(text.encode())


@contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """A stream whose file takes the place of `path` only after everything is written."""
    building = path.with_name(f"{path.name}.building")
    try:
        with building.open("wb") as stream:
            yield stream
        building.replace(path)
    finally:
        building.unlink(missing_ok=True)
