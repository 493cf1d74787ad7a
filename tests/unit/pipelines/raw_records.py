"""Small raw archives for the stage tests; every text here is ours."""

import gzip
import json
from pathlib import Path
from typing import Any

from pipelines.stages.ingest import RawRow, iter_records, read_archive

PERSONA = {"用户ID": "U1, ", "地区信息": {"城市": "远城"}}


def axis(*priced: tuple[str, Any]) -> list[dict[str, Any]]:
    """Option entries from (value, price) pairs; a price of None leaves the key out."""
    return [{"value": value} | ({} if price is None else {"price": price}) for value, price in priced]


def instruction(text: str = "买一盏营地灯", simple: str | None = None, **changes: Any) -> dict[str, Any]:
    """One task with a target attribute and a target option."""
    return {
        "instruction": text,
        "instruction_simple": simple,
        "attributes": ["防水"],
        "instruction_options": ["暖光"],
        "options": ["暖光"],
        "worker_id": "0",
    } | changes


def product(asin: str = "700000000021", **changes: Any) -> dict[str, Any]:
    """A standard product with one task; `changes` replace or add fields."""
    return {
        "asin": asin,
        "tag": "train",
        "title": "云岚 营地灯",
        "shop_name": "云岚户外店",
        "category": "户外›照明",
        "attribute": ["防水"],
        "customization_options": {"颜色": axis(("暖光", 10), ("冷光", 12))},
        "pricing": [10.0, 12.0],
        "instructions": [instruction()],
    } | changes


def persona_product(asin: str, simple: str = "营地灯，预算100元", **changes: Any) -> dict[str, Any]:
    """A persona product with one task."""
    task = instruction(f"{simple}，要防水", simple)
    return product(asin, instructions=[task], user_persona=PERSONA) | changes


def write_archive(path: Path, records: Any) -> Path:
    """Writes `records` as JSON, packed when the name ends in .gz; returns `path`."""
    data = json.dumps(records, ensure_ascii=False, indent=1).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return path


def raw_rows(folder: Path, records: Any, **options: Any) -> list[RawRow]:
    """Ingests `records` and returns the rows."""
    out = folder / "raw_products.parquet"
    read_archive(write_archive(folder / "raw.json.gz", records), out, **options)
    return list(iter_records(out))
