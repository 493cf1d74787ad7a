"""Time and memory of mapping a product file: a large one against one of a tenth of its rows.

    python -m benchmarks.product_ingest [--products N] [--file FILE] [--json]

Claim: memory is bounded by a batch of rows, besides one dict entry a product. Each file is mapped in a
process of its own. Without `--file` the files are generated in a temporary folder, in the columns of the
public catalogue. Exit code 1 when each further product takes more than `BYTES_PER_PRODUCT` at the peak.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.machine import cpu_name
from pipelines.stages.products.read import read_products
from pipelines.stages.sample.english_writer import write_english

SEED = 20261130
BYTES_PER_PRODUCT = 400


def measure(path: Path) -> dict[str, Any]:
    """Maps one file in this process."""
    with tempfile.TemporaryDirectory() as folder:
        before = _peak_mib()
        started, cpu = time.perf_counter(), time.process_time()
        report = read_products(path, Path(folder) / "raw_products.parquet", currency="USD")
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return {
        "products": report.product_count,
        "file_mib": round(path.stat().st_size / 2**20, 1),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(cpu, 1),
        "products_per_cpu_second": round(report.product_count / cpu),
        "mib_before": round(before, 1),
        "peak_mib": round(_peak_mib(), 1),
    }


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _apart(path: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.product_ingest", "--file", str(path), "--json"]
    found: dict[str, Any] = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True).stdout
    )
    return found


def compare(products: int) -> dict[str, Any]:
    """Generates both files and maps each in its own process."""
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for name, count in (("small", products // 10), ("large", products)):
            path = Path(folder) / f"{name}.parquet"
            write_english(path, count, SEED)
            found[name] = _apart(path)
    more = found["large"]["products"] - found["small"]["products"]
    grown = found["large"]["peak_mib"] - found["small"]["peak_mib"]
    return {**found, "bytes_per_further_product": round(grown * 2**20 / more), "cpu": cpu_name()}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="benchmarks.product_ingest", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--products", type=int, default=200_000, metavar="N", help="of the large file")
    parser.add_argument("--file", type=Path, metavar="FILE", help="map this file, in this process")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    report = measure(arguments.file) if arguments.file else compare(arguments.products)
    if arguments.json:
        print(json.dumps(report))
    else:
        print("\n".join(f"{name:<26} {json.dumps(value)}" for name, value in report.items()))
    return int(report.get("bytes_per_further_product", 0) > BYTES_PER_PRODUCT)


if __name__ == "__main__":
    sys.exit(main())
