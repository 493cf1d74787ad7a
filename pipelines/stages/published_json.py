"""JSON files in the published format, and their two hashes.

The earlier public release recorded SHA-256 over CRLF line ends while its files have LF ends. Our files have
LF ends; both hashes are carried (docs/decisions/0003-crlf-hashes.md).
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.errors import ArtifactError
from shopsim_env.canonical import pretty_json, sha256_text


@dataclass(frozen=True, slots=True)
class PublishedJson:
    """The text of one published file: two blanks, sorted keys, LF ends, one final newline."""

    text: str

    @classmethod
    def of(cls, value: Any) -> "PublishedJson":
        """Serialises `value`."""
        return cls(pretty_json(value))

    @property
    def sha256(self) -> str:
        """Hash of the file as we write it."""
        return sha256_text(self.text)

    @property
    def crlf_sha256(self) -> str:
        """Hash of the same file with CRLF ends: the one that the public release recorded."""
        return sha256_text(self.text.replace("\n", "\r\n"))

    def write(self, path: Path) -> None:
        """Writes the LF form, on every system."""
        path.write_bytes(self.text.encode("utf-8"))


def read_json(path: Path) -> Any:
    """The value of a JSON file.

    Raises:
        ArtifactError: The file is missing or not JSON.
    """
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise ArtifactError(f"expected a JSON file at {path}, found none") from error
    except ValueError as error:
        raise ArtifactError(
            f"{path}: expected JSON, found something else ({type(error).__name__})"
        ) from error
