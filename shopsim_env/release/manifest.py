"""The manifest: parsing with refusal of anything unexpected, the release id, canonical bytes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shopsim_env.canonical import compact_json, pretty_json, sha256_text
from shopsim_env.errors import ReleaseError
from shopsim_env.release.layout import MANIFEST, REQUIRED, REQUIRED_PUBLIC, visibility
from shopsim_env.versions import RELEASE_SCHEMA_VERSION, component_versions

_KEYS = {
    "absent_files",
    "assets",
    "components",
    "content",
    "counts",
    "dataset",
    "files",
    "human_exclusions",
    "id",
    "licence",
    "manifest_sha256",
    "public_copy",
    "schema_version",
    "tagger",
    "tools",
}
# Releases from before there were other currencies do not say theirs.
_OPTIONAL_KEYS = {"currency"}
EARLIER_CURRENCY = "CNY"


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
    _check_shape(path, payload)
    _check_versions(path, payload)
    files = _files(path, payload)
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
        canonical = manifest_bytes(payload) if isinstance(payload, dict) else b""
    except (ValueError, RecursionError) as error:
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
    odd = sorted((set(payload) ^ _KEYS) - _OPTIONAL_KEYS)
    if odd:
        raise ReleaseError(f"{path}: missing or unknown keys {odd}.", code="manifest_altered")
    if canonical != raw:
        raise ReleaseError(
            f"{path}: expected the bytes that manifest_sha256 covers, found altered ones. "
            "Get the release again or rebuild it.",
            code="manifest_altered",
        )
    return payload


def is_release_folder(root: Path) -> bool:
    """Whether `root` holds a manifest of ours, of any version and in any state."""
    try:
        payload = json.loads((root / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(payload, dict) and str(payload.get("schema_version", "")).startswith("shopsim-release-")


_SHAPE: Mapping[str, type] = {
    "absent_files": list,
    "assets": dict,
    "components": dict,
    "content": dict,
    "counts": dict,
    "dataset": str,
    "files": dict,
    "human_exclusions": dict,
    "id": str,
    "public_copy": bool,
    "tagger": dict,
    "tools": dict,
}
_ENTRY_SHAPE: Mapping[str, type] = {"bytes": int, "sha256": str, "visibility": str, "stage": str}


def _check_shape(path: Path, payload: Mapping[str, Any]) -> None:
    for name, kind in {**_SHAPE, **dict.fromkeys(_OPTIONAL_KEYS & payload.keys(), str)}.items():
        if not isinstance(payload[name], kind):
            found = type(payload[name]).__name__
            raise ReleaseError(
                f"{path}: {name}: expected {kind.__name__}, found {found}.", code="manifest_altered"
            )
    for name, entry in payload["files"].items():
        fits = isinstance(entry, dict) and entry.keys() == _ENTRY_SHAPE.keys()
        if not fits or not all(isinstance(entry[key], kind) for key, kind in _ENTRY_SHAPE.items()):
            raise ReleaseError(
                f"{path}: file {name!r}: expected {sorted(_ENTRY_SHAPE)}, found another entry.",
                code="manifest_altered",
            )


def _check_versions(path: Path, payload: Mapping[str, Any]) -> None:
    expected, found = component_versions(), payload["components"]
    for name in sorted(set(expected) | set(found)):
        if expected.get(name) != found.get(name):
            raise ReleaseError(
                f"{path}: component {name}: expected {expected.get(name)!r}, found {found.get(name)!r}. "
                "Rebuild the release with this version of shopsim, or install the version that built it.",
                code="version_mismatch",
            )


def _check_absent(path: Path, absent: list[Any], public_copy: bool) -> None:
    """A public copy names the private files that it lacks; a whole release lacks none."""
    lacking = {name for name in REQUIRED if visibility(name) == "private"} if public_copy else set()
    private = all(isinstance(name, str) and visibility(name) == "private" for name in absent)
    if not private or not lacking <= set(absent) or bool(absent) != public_copy:
        raise ReleaseError(
            f"{path}: absent_files: expected the private files that are not here.", code="manifest_altered"
        )


def _files(path: Path, payload: Mapping[str, Any]) -> dict[str, FileEntry]:
    entries, public_copy = payload["files"], payload["public_copy"]
    missing = [name for name in (REQUIRED_PUBLIC if public_copy else REQUIRED) if name not in entries]
    if missing:
        raise ReleaseError(f"{path}: expected entries for {missing}.", code="manifest_altered")
    private = [name for name in entries if visibility(name) == "private"]
    if public_copy and private:
        raise ReleaseError(f"{path}: a public copy holds private files {private}.", code="manifest_altered")
    _check_absent(path, payload["absent_files"], public_copy)
    files = {name: FileEntry(**entry) for name, entry in entries.items()}
    for name, entry in files.items():
        if ".." in Path(name).parts or Path(name).is_absolute() or entry.visibility != visibility(name):
            raise ReleaseError(f"{path}: refused file entry {name!r}.", code="manifest_altered")
    return files
