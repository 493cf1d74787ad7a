"""From the start of a process to its first page of results, through `load_release`, and its private memory.

    python -m benchmarks.start CATALOGUE [CATALOGUE ...] [--repeats N]

CATALOGUE is a folder with `catalog.sqlite` and `arrays.bin`, as `benchmarks.search` leaves it. A public
release is composed around it, with as many tasks as the published archive, opened once so that a receipt is
there, and then opened by new processes. Modules are compiled beforehand, as an installed package has them.
The best run counts; CPU time is printed too, because other work on the machine lengthens the wall time.
"""

import argparse
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pipelines.stages.rlve_world import build_world
from shopsim_env.canonical import pretty_json, sha256_file
from shopsim_env.catalog.schema import TITLE_NOUN_DDL
from shopsim_env.release import layout, load_release
from shopsim_env.release.manifest import manifest_bytes, release_id
from shopsim_env.search.measure import machine_facts
from shopsim_env.versions import RELEASE_SCHEMA_VERSION, component_versions

TASKS = 22_726
# Products -> milliseconds that the project allows; private memory in MiB for all.
GOALS = {22_726: 100, 2_000_000: 150}
GOAL_MIB = 20
_PAGE = """
import sys
from shopsim_env import load_release
release = load_release(sys.argv[1])
found = release.search(sys.argv[2])
page = [release.product(asin).title for asin in found.asins[:20]]
memory = dict(line.split(":", 1) for line in open("/proc/self/status") if line.startswith("Rss"))
print(found.engine, len(page), int(memory["RssAnon"].split()[0]))
"""
_QUERY = "想买一款百搭保温杯"


@dataclass(frozen=True, slots=True)
class Start:
    """Best wall and CPU time of a start in milliseconds, and private memory in MiB after the page."""

    wall_ms: float
    cpu_ms: float
    private_mib: float
    engine: str


def compose_release(catalogue: Path, root: Path) -> int:
    """A public release around a generated catalogue; number of products.

    The logical digests are left out: only `verify="full"` reads them.
    """
    (root / layout.SEARCH_ARRAYS).parent.mkdir(parents=True)
    shutil.copyfile(catalogue / "catalog.sqlite", root / layout.CATALOG)
    os.link(catalogue / "arrays.bin", root / layout.SEARCH_ARRAYS)
    with closing(sqlite3.connect(root / layout.CATALOG)) as connection:
        connection.execute(TITLE_NOUN_DDL)
        connection.execute("INSERT INTO title_noun SELECT id, '[]' FROM product")
        products = int(connection.execute("SELECT max(id) FROM product").fetchone()[0])
        connection.commit()
    build_world(root / layout.CATALOG, root / layout.RLVE)
    with closing(sqlite3.connect(root / layout.TASKS)) as connection:
        connection.executescript(layout.TASKS_SCHEMA)
        rows = ((number, f"找一款商品{number}", None, None, "[]") for number in range(TASKS))
        connection.executemany("INSERT INTO task VALUES (?, ?, ?, ?, ?)", rows)
        connection.commit()
    splits = {"source/all": list(range(TASKS)), "project/test": list(range(400))}
    (root / layout.SPLITS).write_text(pretty_json(splits), encoding="utf-8")
    (root / layout.METRICS).write_text("{}\n", encoding="utf-8")
    (root / layout.MANIFEST).write_bytes(manifest_bytes(_manifest(root, products)))
    return products


def _manifest(root: Path, products: int) -> dict[str, Any]:
    components, tagger = component_versions(), {"name": "none", "version": "0", "fingerprint": "0"}
    return {
        "schema_version": RELEASE_SCHEMA_VERSION,
        "id": release_id(components, tagger, {}),
        "dataset": "generated",
        "licence": "generated",
        "public_copy": True,
        "components": components,
        "tagger": tagger,
        "content": {},
        "counts": {"products": products},
        "absent_files": [name for name in layout.REQUIRED if layout.visibility(name) == "private"],
        "human_exclusions": {},
        "assets": {},
        "tools": {},
        "files": {
            name: {
                "bytes": (root / name).stat().st_size,
                "sha256": sha256_file(root / name),
                "visibility": "public",
                "stage": "release",
            }
            for name in layout.REQUIRED_PUBLIC
        },
    }


def measure(code: str, arguments: list[str], environment: Mapping[str, str], repeats: int) -> Start:
    """Runs `code` in new processes; the first run only compiles modules."""
    walls, cpus, printed = [], [], ""
    for _ in range(repeats + 1):
        before, started = _children(), time.perf_counter()
        printed = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        ).stdout
        walls.append(time.perf_counter() - started)
        cpus.append(_children() - before)
    engine, _, kib = printed.split() or ("", "", "0")
    best_wall, best_cpu = min(walls[1:]), min(cpus[1:])
    return Start(round(best_wall * 1e3, 1), round(best_cpu * 1e3, 1), round(int(kib) / 1024, 1), engine)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure_start(catalogue: Path, repeats: int) -> dict[str, Any]:
    """The start on a release around `catalogue`, and of Python alone."""
    with TemporaryDirectory(dir=catalogue) as name:
        folder = Path(name)
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
        products = compose_release(catalogue, folder / "release")
        load_release(folder / "release").close()
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONPYCACHEPREFIX"] = str(folder / "compiled")
        page = measure(_PAGE, [str(folder / "release"), _QUERY], environment, repeats)
        python = measure("pass", [], environment, repeats)
    return {"products": products, "page": asdict(page), "python_alone": asdict(python)}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("catalogues", type=Path, nargs="+", metavar="CATALOGUE")
    parser.add_argument("--repeats", type=int, default=25, metavar="N")
    arguments = parser.parse_args()
    print(f"{machine_facts()}; load {os.getloadavg()[0]:.1f}")
    met = True
    for catalogue in arguments.catalogues:
        found = measure_start(catalogue.resolve(), arguments.repeats)
        page, goal = found["page"], GOALS.get(found["products"])
        print(json.dumps({**found, "goal_ms": goal, "goal_mib": GOAL_MIB}))
        met &= page["private_mib"] <= GOAL_MIB and (goal is None or page["wall_ms"] <= goal)
    print(f"load {os.getloadavg()[0]:.1f}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
