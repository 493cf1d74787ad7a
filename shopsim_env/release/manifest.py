"""The manifest: parsing with refusal of anything unexpected, the release id, canonical bytes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shopsim_env.canonical import compact_json, pretty_json, sha256_text
from shopsim_env.errors import ReleaseError
from shopsim_env.release.layout import MANIFEST, REQUIRED_PUBLIC, visibility
from shopsim_env.versions import RELEASE_SCHEMA_VERSION, component_versions

_KEYS = {
    "assets",
    "components",
    "content",
    "counts",
    "dataset",
    "files",
    "id",
    "licence",
    "manifest_sha256",
    "public_copy",
    "schema_version",
    "tagger",
    "tools",
}


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file of a release: size in bytes, hex SHA-256, `public` or `private`, writing stage."""

    bytes: int
    sha256: str
    visibility: str
    stage: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """A parsed manifest. `payload` is the whole document, files included."""

    id: str
    dataset: str
    public_copy: bool
    files: Mapping[str, FileEntry]
    content: Mapping[str, str]
    sha256: str
    payload_json: str

    @property
    def payload(self) -> dict[str, Any]:
        """The document as a fresh dict."""
        result: dict[str, Any] = json.loads(self.payload_json)
        return result


def release_id(components: Mapping[str, str], tagger: Mapping[str, str], content: Mapping[str, str]) -> str:
    """SHA-256 over versions, tagger fingerprint and logical content (contract 6).

    File hashes and tool versions stay outside, so that two machines agree.
    """
    identity = {
        "schema_version": RELEASE_SCHEMA_VERSION,
        "components": dict(components),
        "tagger": dict(tagger),
        "content": dict(content),
    }
    return sha256_text(compact_json(identity))


def manifest_bytes(payload: Mapping[str, Any]) -> bytes:
    """Canonical bytes of a manifest, with `manifest_sha256` over the rest of it."""
    body = {key: value for key, value in payload.items() if key != "manifest_sha256"}
    body["manifest_sha256"] = sha256_text(compact_json(body))
    return pretty_json(body).encode("utf-8")


def read_manifest(root: Path) -> Manifest:
    """Reads and checks `manifest.json` of the release folder `root`.

    Raises:
        ReleaseError: no folder or manifest, altered bytes, other schema or component versions.
    """
    path = root / MANIFEST
    if not path.is_file():
        raise ReleaseError(
            f"{path}: expected a release manifest, found none. Build a release with `shopsim build`, or give "
            "the folder that holds manifest.json.",
            code="release_missing",
        )
    raw = path.read_bytes()
    payload = _parse(path, raw)
    _check_versions(path, payload)
    files = _files(path, payload["files"])
    expected = release_id(payload["components"], payload["tagger"], payload["content"])
    if payload["id"] != expected:
        raise ReleaseError(f"{path}: expected id {expected}, found {payload['id']}.", code="id_mismatch")
    return Manifest(
        id=expected,
        dataset=payload["dataset"],
        public_copy=payload["public_copy"],
        files=files,
        content=payload["content"],
        sha256=payload["manifest_sha256"],
        payload_json=compact_json(payload),
    )


def _parse(path: Path, raw: bytes) -> dict[str, Any]:
    try:
        payload = json.loads(raw.decode("utf-8"))
    except ValueError as error:
        raise ReleaseError(f"{path}: expected JSON, found {error}.", code="manifest_altered") from error
    if not isinstance(payload, dict):
        raise ReleaseError(
            f"{path}: expected a JSON object, found {type(payload).__name__}.", code="manifest_altered"
        )
    if payload.get("schema_version") != RELEASE_SCHEMA_VERSION:
        raise ReleaseError(
            f"{path}: expected schema_version {RELEASE_SCHEMA_VERSION}, found "
            f"{payload.get('schema_version')!r}. Rebuild it with this version of shopsim.",
            code="version_mismatch",
        )
    if set(payload) != _KEYS:
        odd = sorted(set(payload) ^ _KEYS)
        raise ReleaseError(f"{path}: missing or unknown keys {odd}.", code="manifest_altered")
    if manifest_bytes(payload) != raw:
        raise ReleaseError(
            f"{path}: expected the bytes that manifest_sha256 covers, found altered ones. "
            "Get the release again or rebuild it.",
            code="manifest_altered",
        )
    return payload


def _check_versions(path: Path, payload: Mapping[str, Any]) -> None:
    expected, found = component_versions(), payload["components"]
    for name in sorted(set(expected) | set(found)):
        if expected.get(name) != found.get(name):
            raise ReleaseError(
                f"{path}: component {name}: expected {expected.get(name)!r}, found {found.get(name)!r}. "
                "Rebuild the release with this version of shopsim, or install the version that built it.",
                code="version_mismatch",
            )


def _files(path: Path, entries: Mapping[str, Mapping[str, Any]]) -> dict[str, FileEntry]:
    missing = [name for name in REQUIRED_PUBLIC if name not in entries]
    if missing:
        raise ReleaseError(f"{path}: expected entries for {missing}.", code="manifest_altered")
    files = {name: FileEntry(**entry) for name, entry in entries.items()}
    for name, entry in files.items():
        if ".." in Path(name).parts or Path(name).is_absolute() or entry.visibility != visibility(name):
            raise ReleaseError(f"{path}: refused file entry {name!r}.", code="manifest_altered")
    return files
