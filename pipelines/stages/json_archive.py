"""Streaming of one JSON array from a `.json` or `.json.gz` file, with bounded memory.

Belongs here: opening, hashing, progress and the errors of the container (gzip, text, JSON). What the elements
mean is checked by `ingest_schema`. Error codes: archive_missing, not_gzip, gzip_truncated, gzip_corrupt,
not_utf8, unpaired_surrogate, json_truncated, json_invalid, nested_too_deeply, number_out_of_range,
trailing_data, not_an_array.
"""

import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import ijson
from ijson.common import JSONError

from pipelines.errors import DatasetError
from pipelines.stages.json_guard import MAX_DEPTH, GuardFault, JsonGuard

OnProgress = Callable[[int, int], None]

_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_JSON_BLANKS = b" \t\r\n"
_CHUNK = 1 << 18
_SHOWN_LEVELS = 8
# Words of the JSON scanner -> our code and sentence. Its own message is not shown: it quotes the text around
# the fault, which may be goal text.
_SCANNER_FAULTS = (
    ("premature EOF", "json_truncated", "the JSON ends early; the file seems cut off"),
    ("Incomplete", "json_truncated", "the JSON ends early; the file seems cut off"),
    ("overflow", "number_out_of_range", "a number beyond 64 bits or beyond a finite float"),
    ("trailing garbage", "trailing_data", "expected nothing after the closing bracket of the array"),
    ("UTF8", "not_utf8", "bytes that are not UTF-8"),
)
_GUARD_FAULTS = {
    "unpaired_surrogate": "expected text, found an unpaired surrogate (\\ud800 to \\udfff)",
    "nested_too_deeply": f"expected a product object, found values nested more than {MAX_DEPTH} levels deep",
}
_OTHER_FAULT = ("json_invalid", "not valid JSON (NaN and Infinity are not JSON numbers)")


class ArchiveReader:
    """Decompressed bytes of an archive as a file object for the JSON scanner.

    `data_sha256` is the hash of everything read so far. `on_progress(bytes_done, bytes_total)` counts bytes
    of the file as it lies on disk.
    """

    def __init__(self, path: Path, on_progress: OnProgress | None = None) -> None:
        if not path.is_file():
            raise DatasetError(f"expected an archive at {path}, found no file", code="archive_missing")
        self._path = path
        self._raw = path.open("rb")
        self._total = path.stat().st_size
        self._on_progress = on_progress
        self._digest = hashlib.sha256()
        self._guard = JsonGuard()
        try:
            self._stream = self._open_stream(path)
            self._pending = self._first_chunk()
        except BaseException:
            self._raw.close()
            raise

    def _open_stream(self, path: Path) -> BinaryIO | gzip.GzipFile:
        magic = self._raw.read(2)
        self._raw.seek(0)
        if magic == _GZIP_MAGIC:
            return gzip.GzipFile(fileobj=self._raw)
        if path.suffix == ".gz":
            raise DatasetError(
                f"{path.name}: expected gzip data (1f 8b), found {magic.hex(' ') or 'an empty file'}; "
                "name a plain JSON file .json",
                code="not_gzip",
            )
        return self._raw

    def _first_chunk(self) -> bytes:
        head = self._load(_CHUNK)
        if head.startswith(_BOM):
            raise DatasetError("expected plain UTF-8, found a byte order mark; remove it", code="not_utf8")
        while head and not head.strip(_JSON_BLANKS):
            head = self._load(_CHUNK)
        found = head.lstrip(_JSON_BLANKS)[:1].decode("latin-1")
        if found != "[":
            raise DatasetError(
                "expected one JSON array of product objects, found "
                + (f"a document that starts with {found!r}" if found else "an empty document"),
                code="not_an_array",
            )
        return head

    def read(self, size: int = -1) -> bytes:
        """Next decompressed bytes; b"" at the end. `size` bounds them as in any file object."""
        if size == 0:
            return b""
        if self._pending:
            piece = self._pending if size < 0 else self._pending[:size]
            self._pending = self._pending[len(piece) :]
            return piece
        return self._load(size)

    def _load(self, size: int) -> bytes:
        try:
            data = self._stream.read(size)
        except EOFError as error:
            raise DatasetError(
                f"the gzip stream ends early, after {self._raw.tell()} bytes of the file; copy it again",
                code="gzip_truncated",
            ) from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise DatasetError(f"the gzip stream is damaged: {error}", code="gzip_corrupt") from error
        self._digest.update(data)
        try:
            self._guard.feed(data)
        except GuardFault as fault:
            raise _guard_error(self._path, fault) from None
        if self._on_progress is not None:
            self._on_progress(self._raw.tell(), self._total)
        return data

    @property
    def data_sha256(self) -> str:
        """Hex SHA-256 of the decompressed bytes read so far."""
        return self._digest.hexdigest()

    def __enter__(self) -> "ArchiveReader":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()
        self._raw.close()


def iter_elements(reader: ArchiveReader, path: Path) -> Iterator[Any]:
    """Elements of the array, one at a time; integers stay int, other numbers are float.

    Args:
        reader: Freshly opened reader of `path`.
        path: Read a second time after a fault, to name its field.

    Raises:
        DatasetError: The text is not one JSON array; names record and, where known, the dotted field.
    """
    count = 0
    try:
        for element in ijson.items(reader, "item", use_float=True, buf_size=_CHUNK):
            yield element
            count += 1
    except JSONError as error:
        code, message = _fault(str(error))
        field = "" if code in ("json_truncated", "trailing_data") else _locate(path)[1]
        record = None if code == "trailing_data" else count
        raise DatasetError(message, record=record, field=field, code=code) from None


def data_sha256(path: Path) -> str:
    """Hex SHA-256 of the decompressed bytes of an archive, read as a stream.

    Raises:
        DatasetError: The container is missing or damaged.
    """
    with ArchiveReader(path) as reader:
        while reader.read(1 << 20):
            pass
        return reader.data_sha256


def iter_array(path: Path) -> Iterator[Any]:
    """Elements of the JSON array in `path`, for readers that need neither hash nor progress."""
    with ArchiveReader(path) as reader:
        yield from iter_elements(reader, path)


def _fault(message: str) -> tuple[str, str]:
    for words, code, sentence in _SCANNER_FAULTS:
        if words in message:
            return code, sentence
    return _OTHER_FAULT


def _guard_error(path: Path, fault: GuardFault) -> DatasetError:
    record, field = _locate(path, fault.offset)
    message = f"{_GUARD_FAULTS[fault.code]}, at byte {fault.offset} of the JSON text"
    return DatasetError(message, record=record, field=field, code=fault.code)


class _Head:
    """The first `size` bytes of a stream, or all of them."""

    def __init__(self, stream: BinaryIO | gzip.GzipFile, size: int | None) -> None:
        self._stream = stream
        self._left = size

    def read(self, size: int) -> bytes:
        """Next bytes, for the scanner."""
        if self._left is None:
            return self._stream.read(size)
        data = self._stream.read(min(size, self._left))
        self._left -= len(data)
        return data


def _locate(path: Path, stop: int | None = None) -> tuple[int | None, str]:
    """Record and dotted field at which the scanner stops in the first `stop` bytes; (None, "") outside."""
    trail: list[str | int] = []
    with path.open("rb") as raw:
        packed = raw.read(2) == _GZIP_MAGIC
        raw.seek(0)
        stream = gzip.GzipFile(fileobj=raw) if packed else raw
        try:
            for event, value in ijson.basic_parse(_Head(stream, stop), use_float=True, buf_size=_CHUNK):
                _follow(trail, event, value)
        except JSONError:
            record = trail[0] if trail else None
            return (record if isinstance(record, int) else None), _dotted(trail[1:_SHOWN_LEVELS])
    return None, ""


def _follow(trail: list[str | int], event: str, value: Any) -> None:
    """Keeps `trail` at the place where the next value stands: index in an array, key in an object."""
    if event == "map_key":
        trail[-1] = value
        return
    if event == "start_array":
        trail.append(0)
        return
    if event == "start_map":
        trail.append("")
        return
    if event in ("end_array", "end_map"):
        trail.pop()
    if trail and isinstance(trail[-1], int):
        trail[-1] += 1


def _dotted(trail: list[str | int]) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in trail)
    return "".join(parts).strip(".")
