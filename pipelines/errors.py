"""Errors of the pipeline, under the runtime's root so that one handler prints them all."""

from shopsim_env.errors import ShopSimError


class DatasetError(ShopSimError):
    """The raw archive or a configured expectation is not met.

    Args:
        message: What was expected and found.
        record: Index of the record in the archive, None when the whole file is meant.
        field: Dotted path of the field, "" when the whole record is meant.
    """

    default_code = "dataset_error"

    def __init__(
        self,
        message: str,
        *,
        record: int | None = None,
        field: str = "",
        code: str | None = None,
    ) -> None:
        where = "" if record is None else f"record {record}"
        where += f", field {field!r}" if field and where else (f"field {field!r}" if field else "")
        super().__init__(f"{where}: {message}" if where else message, code=code)
        self.record = record
        self.field = field


class ArtifactError(ShopSimError):
    """An artifact is missing, altered or stale; names the file, expected and found."""

    default_code = "artifact_error"


class ConfigError(ShopSimError):
    """A file under `configs/` or a command line value does not fit."""

    default_code = "config_error"
    wrong_use = True


class WorkerError(ShopSimError):
    """A process of a cluster that cannot work for a stage; results are never taken from it."""

    default_code = "worker_error"
