"""Raw records of a generated catalogue on disk, made by several processes, read as a stream.

Making a record costs as much as indexing it, so that a build is timed from these files. Belongs here: the
files. Does not belong here: what a record says (`corpus`).
"""

import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.corpus import Catalogue

_PART = 50_000


def write_records(folder: Path, products: int, workers: int) -> list[Path]:
    """The files of `products` records; parts that the folder has are not made again."""
    folder.mkdir(parents=True, exist_ok=True)
    starts = range(0, products, _PART)
    paths = [folder / f"records-{start}-{min(start + _PART, products)}.jsonl" for start in starts]
    missing = [path for path in paths if not path.is_file()]
    with ProcessPoolExecutor(max(workers, 1), get_context("spawn")) as pool:
        for number, _ in enumerate(pool.map(_write_part, missing), start=1):
            print(f"  records: part {number} of {len(missing)}", flush=True)
    return paths


def _write_part(path: Path) -> None:
    _, start, stop = path.stem.split("-")
    catalogue, building = Catalogue(), path.with_suffix(".building")
    with building.open("w", encoding="utf-8") as stream:
        for number in range(int(start), int(stop)):
            json.dump(catalogue.product(number), stream, ensure_ascii=False, separators=(",", ":"))
            stream.write("\n")
    building.replace(path)


def read_records(paths: list[Path]) -> Iterator[dict[str, Any]]:
    """The records of these files in order, one at a time."""
    for path in paths:
        with path.open(encoding="utf-8") as stream:
            yield from map(json.loads, stream)
