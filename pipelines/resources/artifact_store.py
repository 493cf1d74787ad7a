"""The artifact store: one verified file per asset, and the receipts of the checks that it passed.

An artifact is written to a temporary file, hashed and renamed into place; every read hashes it again. A
failing blocking check cannot keep a bad file from replacing a good one, so the store also records which
check passed for which bytes; the release stage takes nothing that lacks a receipt. No Dagster here.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from pipelines.errors import ArtifactError
from pipelines.resources.reads import Reads
from shopsim_env.canonical import pretty_json, sha256_file


@dataclass(frozen=True, slots=True)
class Artifact:
    """A written artifact: hex SHA-256 and size of the file, what code and settings wrote it, its inputs."""

    asset: str
    path: Path
    sha256: str
    bytes: int
    code_version: str
    settings: Mapping[str, str]
    parents: Mapping[str, str]


_RECORD = TypeAdapter(Artifact)
_RECEIPTS = TypeAdapter(dict[str, str])


class ArtifactStore:
    """Artifacts of one data set below `root`.

    Args:
        root: Folder; nothing is created until the first write.
        settings: Digest of every setting of this run; an artifact whose settings have changed never enters
            a release.
        reads: Where to note what is opened; the settings noted there are recorded with each artifact.
    """

    def __init__(
        self, root: Path, settings: Mapping[str, str] | None = None, reads: Reads | None = None
    ) -> None:
        self.root = root
        self._settings = settings or {}
        self._reads = reads or Reads()

    def write(
        self,
        asset: str,
        filename: str,
        writer: Callable[[Path], object],
        *,
        code_version: str,
        parents: Iterable[str] = (),
    ) -> Artifact:
        """Lets `writer` fill a temporary file, then hashes it and renames it into place.

        Args:
            asset: Asset name; one artifact each.
            filename: Name of the file below the root.
            writer: Called with the temporary path; must create that file.
            code_version: Version of the code that writes.
            parents: Assets that were read; their present hashes are recorded.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        inputs = {parent: self.describe(parent).sha256 for parent in sorted(parents)}
        final = self.root / filename
        with self.scratch(filename) as temporary:
            writer(temporary)
            digest, size = sha256_file(temporary), temporary.stat().st_size
            _sync(temporary)
            temporary.replace(final)
        artifact = Artifact(asset, final, digest, size, code_version, dict(self._reads.settings), inputs)
        write_json(self._sidecar(asset), {**asdict(artifact), "path": filename})
        return artifact

    @contextmanager
    def scratch(self, name: str) -> Iterator[Path]:
        """A hidden path below the root for one file, which is removed at the end.

        Its name holds the number of this process: what a killed one leaves is found by `remove_debris`.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        path = self.root / f".{name}.{os.getpid()}.building"
        # A killed process of the same number may have left one (containers count from 1 again).
        path.unlink(missing_ok=True)
        try:
            yield path
        finally:
            path.unlink(missing_ok=True)

    def describe(self, asset: str) -> Artifact:
        """What was written for `asset`, without reading the file itself.

        Raises:
            ArtifactError: it was not built yet, or what was noted of it cannot be read.
        """
        sidecar = self._sidecar(asset)
        if not sidecar.is_file():
            raise ArtifactError(
                f"{asset}: expected an artifact under {self.root}, found none. Materialize {asset} first.",
                code="artifact_missing",
            )
        try:
            stored = _RECORD.validate_json(sidecar.read_bytes())
        except ValueError:
            raise ArtifactError(
                f"{sidecar}: expected the record of an artifact, found a damaged file. Materialize {asset} "
                "again, which writes both anew.",
                code="artifact_altered",
            ) from None
        return replace(stored, path=self.root / stored.path)

    def open(self, asset: str) -> Artifact:
        """The artifact of `asset`, after hashing the file.

        Raises:
            ArtifactError: missing or altered; names the file, expected and found.
        """
        artifact = self.describe(asset)
        found = sha256_file(artifact.path) if artifact.path.is_file() else "no file"
        if found != artifact.sha256:
            raise ArtifactError(
                f"{artifact.path}: expected SHA-256 {artifact.sha256}, found {found}. "
                f"Materialize {asset} again.",
                code="artifact_altered",
            )
        self._reads.artifacts[asset] = artifact.sha256
        return artifact

    def unchanged(
        self, asset: str, sha256: str, code_version: str, parents: Iterable[str]
    ) -> Artifact | None:
        """The artifact, if its file has this hash and was written by this code from the present inputs."""
        try:
            artifact = self.open(asset)
            inputs = {parent: self.describe(parent).sha256 for parent in parents}
        except ArtifactError:
            return None
        recorded = (artifact.sha256, artifact.code_version, dict(artifact.parents))
        return artifact if recorded == (sha256, code_version, inputs) else None

    def has_receipt(self, asset: str, check: str, sha256: str) -> bool:
        """Whether the check passed for these bytes of `asset`."""
        return self._receipts(asset).get(check) == sha256

    def path(self, asset: str) -> Path:
        """Verified path of the artifact of `asset`."""
        return self.open(asset).path

    def record_check(self, asset: str, check: str, sha256: str | None) -> None:
        """Notes for which bytes of `asset` the check passed; None takes an earlier note away."""
        receipts = {name: digest for name, digest in self._receipts(asset).items() if name != check}
        if sha256 is not None:
            receipts[check] = sha256
        write_json(self._receipt_file(asset), receipts)

    def require_checks(
        self, required: Mapping[str, Iterable[str]], code_versions: Mapping[str, str]
    ) -> dict[str, Artifact]:
        """Refuses what must not enter a release.

        Args:
            required: Asset to the names of the checks that must have passed for its present bytes.
            code_versions: Asset to its present code version.

        Raises:
            ArtifactError: names the asset and the missing check, or what has changed since it was written:
                the code, the settings or an input.

        Returns:
            The artifacts as they were judged.
        """
        judged = {asset: self.open(asset) for asset in required}
        for asset, checks in required.items():
            artifact, receipts = judged[asset], self._receipts(asset)
            for check in sorted(checks):
                if receipts.get(check) != artifact.sha256:
                    raise ArtifactError(
                        f"{asset}: check {check!r} has not passed for the present file. Materialize {asset} "
                        "together with its checks and mend what they report.",
                        code="check_missing",
                    )
            self._require_fresh(artifact, code_versions[asset])
        return judged

    def _require_fresh(self, artifact: Artifact, code_version: str) -> None:
        now = {"code": (artifact.code_version, code_version)}
        for name, digest in artifact.settings.items():
            now[f"setting {name}"] = (digest[:12], self._settings.get(name, "gone")[:12])
        for parent, digest in artifact.parents.items():
            now[parent] = (digest[:12], self.describe(parent).sha256[:12])
        for name, (then, found) in now.items():
            if then != found:
                raise ArtifactError(
                    f"{artifact.asset}: was built from {name} {then}, which is now {found}. "
                    f"Materialize {artifact.asset} again.",
                    code="artifact_stale",
                )

    def _receipts(self, asset: str) -> dict[str, str]:
        """Check to the hash that it passed for. A damaged file proves nothing: every check is due again."""
        path = self._receipt_file(asset)
        try:
            return _RECEIPTS.validate_json(path.read_bytes()) if path.is_file() else {}
        except ValueError:
            return {}

    def _sidecar(self, asset: str) -> Path:
        return self.root / "meta" / f"{asset}.json"

    def _receipt_file(self, asset: str) -> Path:
        return self.root / "meta" / f"{asset}.checks.json"


def write_json(path: Path, value: object) -> None:
    """Writes `value` so that a crash leaves the old file or the new one, never a part of either."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    temporary.write_text(pretty_json(value), encoding="utf-8")
    _sync(temporary)
    temporary.replace(path)


def _sync(path: Path) -> None:
    """Forces the bytes to disk before the rename, so that a crash leaves the old file or the new one."""
    with path.open("rb") as stream:
        os.fsync(stream.fileno())
