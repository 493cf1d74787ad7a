"""One way to write JSON that gets hashed, and the hashes themselves.

Equal values give equal bytes on every machine: keys sorted, no escaping of non-ASCII, no NaN. Anything that
is hashed, compared or published as JSON goes through here; plain API responses need not.
"""

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_CHUNK = 1 << 20


def compact_json(value: Any) -> str:
    """`value` as one line of JSON: sorted keys, no blanks, UTF-8 text unescaped, NaN refused."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def ordered_json(value: Any) -> str:
    """`value` as one line of JSON, keys as they come: for readers to whom their order matters."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def pretty_json(value: Any) -> str:
    """`value` in the published file form: sorted keys, two blanks, unescaped, one final newline."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=2, allow_nan=False) + "\n"


def sha256_text(text: str) -> str:
    """Hex SHA-256 of the UTF-8 bytes of `text`."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def sha256_file(path: Path) -> str:
    """Hex SHA-256 of a file, read in pieces of one MiB."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def sha256_lines(lines: Iterable[str]) -> str:
    """Hex SHA-256 over `lines`, each followed by a newline: the digest of a table of canonical rows."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(line.encode("utf-8"))
        digest.update(b"\n")
    return digest.hexdigest()
