"""An archive with our texts whose index structure equals the published one.

Reads only id lists (which products were excluded, on which axes); no title, option or sentence comes from
there. With it the published exclusion and split files can be reproduced without the original archive.
"""

import gzip
import json
from pathlib import Path
from typing import Any

from pipelines.errors import DatasetError
from pipelines.stages.sample.build import generate_sample
from pipelines.stages.sample.ranges import index_ranges
from pipelines.stages.sample.writer import SampleFiles, write_rows

EXCLUSIONS_FILE = "catalog_exclusions.v2.json"
SPLITS_FILE = "task_splits.cleaned.v2.json.gz"

Excluded = dict[int, tuple[str, tuple[str, ...]]]


def write_like_published(out: Path, published_dir: Path, seed: int) -> SampleFiles:
    """Writes an archive with the published indices: excluded products, their asins and axes, persona ranges.

    Args:
        out: Archive path, `NAME.raw.json.gz`.
        published_dir: Folder with `catalog_exclusions.v2.json` and `task_splits.cleaned.v2.json.gz`.
        seed: Any integer; it changes texts and prices, not the structure.

    Raises:
        DatasetError: a file is missing or unreadable, or the two files contradict each other.
    """
    products, excluded = read_published(published_dir)
    return write_rows(out, generate_sample(products, seed, excluded), products, seed)


def read_published(folder: Path) -> tuple[int, Excluded]:
    """Number of products and the excluded ones by index, checked against the published splits."""
    exclusions = _read(folder / EXCLUSIONS_FILE)
    splits = _read(folder / SPLITS_FILE)
    try:
        products = int(splits["source_task_count"])
        excluded: Excluded = {
            entry["source_product_index"]: (entry["asin"], tuple(entry["price_affecting_axes"]))
            for entry in exclusions
        }
        found = {name: splits["splits"][name]["task_ids"] for name in ("persona_eval", "persona_train")}
    except (KeyError, TypeError, ValueError) as error:
        raise DatasetError(
            f"expected the published forms of {EXCLUSIONS_FILE} and {SPLITS_FILE} in {folder}: {error!r}"
        ) from error
    _check_persona_ids(found, products, excluded)
    return products, excluded


def _check_persona_ids(found: dict[str, list[int]], products: int, excluded: Excluded) -> None:
    """The published persona tasks must be the persona index ranges without the excluded products."""
    ranges = index_ranges(products)
    for name, indices in (("persona_eval", ranges.persona_eval), ("persona_train", ranges.persona_train)):
        expected = [index for index in indices if index not in excluded]
        if found[name] != expected:
            raise DatasetError(
                f"split {name}: expected {len(expected)} task ids from the index range "
                f"{indices.start}..{indices.stop - 1}, found {len(found[name])}; "
                "use both files of one release"
            )


def _read(path: Path) -> Any:
    try:
        raw = path.read_bytes()
        return json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    except FileNotFoundError:
        raise DatasetError(f"expected the published file {path}; it is not there") from None
    except (OSError, EOFError, ValueError) as error:
        raise DatasetError(f"expected JSON in {path}: {error}") from error
