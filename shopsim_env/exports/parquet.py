"""Task rows as parquet (extra `export`): a fixed schema, row groups of a fixed size, no metadata of pandas.

Belongs here: columns and their types. The same rows give the same bytes with the same pyarrow.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any, BinaryIO, Final

from shopsim_env.errors import UsageError
from shopsim_env.exports.writing import Row

_GROUP: Final = 1_000


def import_pyarrow() -> tuple[Any, Any]:
    """Pyarrow and its parquet module.

    Raises:
        UsageError: they are not installed (code `missing_extra`).
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        message = "parquet needs the pyarrow package; install 'shopsim[export]', or write .jsonl."
        raise UsageError(message, code="missing_extra") from error
    return pyarrow, pyarrow.parquet


def write_parquet(stream: BinaryIO, rows: Iterable[Row]) -> int:
    """Writes task rows; holds one row group of them at a time."""
    arrow, parquet = import_pyarrow()
    schema, count, rest = _schema(arrow), 0, iter(rows)
    with parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
        while group := list(islice(rest, _GROUP)):
            writer.write_table(arrow.Table.from_pylist(group, schema=schema), row_group_size=_GROUP)
            count += len(group)
    return count


def _schema(arrow: Any) -> Any:
    text, number = arrow.string(), arrow.int64()
    message = arrow.struct([("role", text), ("content", text)])
    environment = arrow.struct(
        [
            ("task_mode", text),
            ("interaction_mode", text),
            ("option_match", text),
            ("max_actions", number),
            ("page_size", number),
            ("observation_style", text),
            ("max_invalid", number),
            ("persona_view", text),
        ]
    )
    extra = arrow.struct(
        [
            ("index", number),
            ("task_id", number),
            ("split", text),
            ("release", text),
            ("seed", number),
            ("prompt", text),
            ("environment", environment),
        ]
    )
    return arrow.schema(
        [
            ("prompt", arrow.list_(message)),
            ("task_id", number),
            ("split", text),
            ("data_source", text),
            ("ability", text),
            ("agent_name", text),
            ("tools", text),
            ("extra_info", extra),
        ]
    )
