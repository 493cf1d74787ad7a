"""Search engines side by side on generated catalogues: speed, equality, build.

    python -m benchmarks.search [--products N ...] [--folder DIR] [--simple N] [--full N] [--no-peers]
                                [--workers N] [--lucene JAR] [--json FILE]

Everything of one catalogue runs in one process, engines alternating on every query; the ratio to quote is
the median of per-query ratios to the published FTS5 query. tantivy and bm25s join where they can be
imported; they rank the same tokens, but not alike. What the folder has is not built again.
"""

import argparse
import json
import os
import resource
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from shutil import rmtree
from typing import Any

from benchmarks.corpus import Catalogue
from benchmarks.lucene import run_lucene
from benchmarks.peers import Peer, documents_of, open_peers
from benchmarks.records import read_records, write_records
from pipelines.stages.processes import Workers
from pipelines.stages.search_arrays import build_search_arrays
from pipelines.stages.search_index import build_search_index
from shopsim_env.search.engines import SearchService
from shopsim_env.search.fts5 import Fts5Engine
from shopsim_env.search.measure import Variant, machine_facts, reference_search, time_variants
from shopsim_env.search.where import product_set
from shopsim_env.text.tokens import tokenize
from shopsim_env.versions import TOP_K

REFERENCE = "published FTS5 query"
# Ratio for simple and full texts, and 95th percentile in ms, that the project asks of the compiled kernel.
GOALS = {
    22_726: ((100, 0.25), (300, 0.7)),
    200_000: ((300, None), (550, None)),
    2_000_000: ((700, 3), (1_400, 10)),
}


@dataclass(frozen=True, slots=True)
class Built:
    """A catalogue on disk, and what building cost when it was built.

    `wall` and `cpu` are seconds by stage; `peak_mib` adds up the largest sizes of all processes.
    """

    folder: Path
    wall: dict[str, float]
    cpu: dict[str, float]
    peak_mib: int


def build(folder: Path, products: int, workers: int) -> Built:
    """Index and arrays in a process of their own, so that its peak memory is theirs."""
    built = folder / "built.json"
    if not built.is_file():
        paths = write_records(folder / "records", products, workers)
        worker = get_context("spawn").Process(target=_build, args=(folder, paths, workers))
        worker.start()
        worker.join()
        if worker.exitcode:
            raise SystemExit(f"the build ended with exit code {worker.exitcode}")
        rmtree(folder / "records")
    return Built(folder, **json.loads(built.read_text(encoding="utf-8")))


def _build(folder: Path, records: list[Path], workers: int) -> None:
    catalog, arrays, apart = folder / "catalog.sqlite", folder / "arrays.bin", Workers(workers)
    wall, cpu = {}, {}

    def stage(name: str, work: Callable[[], object]) -> None:
        started, before = time.perf_counter(), _cpu_seconds()
        print(f"  {work()}", flush=True)
        wall[name] = round(time.perf_counter() - started, 1)
        cpu[name] = round(_cpu_seconds() - before, 1)

    for path in (catalog, arrays):
        path.unlink(missing_ok=True)
    stage(
        "index",
        lambda: build_search_index(read_records(records), catalog, workers=apart, on_progress=_print),
    )
    stage("arrays", lambda: build_search_arrays(catalog, arrays, _print, workers=apart))
    sizes = [resource.getrusage(who).ru_maxrss // 1024 for who in _PROCESSES]
    facts = {"wall": wall, "cpu": cpu, "peak_mib": sizes[0] + workers * sizes[1]}
    (folder / "built.json").write_text(json.dumps(facts), encoding="utf-8")


_PROCESSES = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def _cpu_seconds() -> float:
    """Of this process and of the ended ones that it started."""
    used = [resource.getrusage(who) for who in _PROCESSES]
    return sum(item.ru_utime + item.ru_stime for item in used)


def _print(done: int, total: int) -> None:
    if done % 204_800 == 0 or done == total:
        print(f"  {done:,} of {total or 'all'}", flush=True)


def compare(built: Built, products: int, counts: dict[str, int], peers: bool) -> dict[str, Any]:
    """Times and equality for both kinds of text."""
    catalog = built.folder / "catalog.sqlite"
    pairs = Catalogue().queries(products, max(counts.values()), seed=5)
    service = SearchService(Fts5Engine.open(catalog), built.folder / "arrays.bin", cache_hits=0)
    result: dict[str, Any] = {}
    with closing(service), closing(sqlite3.connect(f"file:{catalog}?mode=ro", uri=True)) as connection:
        ranker = service._engine("fast")._ranker  # without tokenising, as the other side is timed
        variants: dict[str, Variant] = {
            REFERENCE: lambda tokens: reference_search(connection, tokens, TOP_K),
            ranker.name: lambda tokens: ranker.search(tokens, TOP_K, None, []),
        }
        if products <= 300_000:
            numpy_ranker = service._engine("numpy")._ranker
            variants["numpy"] = lambda tokens: numpy_ranker.search(tokens, TOP_K, None, [])
        others = open_peers(built.folder) if peers else []
        variants |= {peer.name: peer.search for peer in others}
        for position, (kind, count) in enumerate(counts.items()):
            texts = [pair[position] for pair in pairs[:count]]
            queries = [tokenize(text) for text in texts]
            timings = time_variants(variants, queries, reference=REFERENCE)
            result[kind] = {
                "timings": [asdict(timing) for timing in timings],
                "whole_call": service_times(service, texts),
                "equal": _equal(service, texts, products),
                "overlap": {peer.name: _overlap(peer, service, texts) for peer in others},
            }
    return result


def lucene_times(jar: Path, built: Built, products: int, counts: dict[str, int]) -> dict[str, Any]:
    """CPU times of Lucene on the same queries, and its overlap with the contract's ranking."""
    catalog, result = built.folder / "catalog.sqlite", {}
    pairs = Catalogue().queries(products, max(counts.values()), seed=5)
    documents = documents_of(catalog)
    with closing(
        SearchService(Fts5Engine.open(catalog), built.folder / "arrays.bin", cache_hits=0)
    ) as service:
        for position, (kind, count) in enumerate(counts.items()):
            texts = [pair[position] for pair in pairs[:count]]
            found = run_lucene(jar, documents, [tokenize(text) for text in texts])
            times = sorted(answer.ms for answer in found)
            ours = [set(service.search(text).asins) for text in texts]
            shares = [
                len(mine & set(answer.asins)) / len(mine)
                for mine, answer in zip(ours, found, strict=True)
                if mine
            ]
            result[kind] = {
                "p50_ms": round(times[len(times) // 2], 3),
                "p95_ms": round(times[int(len(times) * 0.95)], 3),
                "overlap": round(sum(shares) / len(shares), 3),
            }
    return result


def service_times(service: SearchService, texts: list[str]) -> dict[str, list[float]]:
    """The whole call with tokenising, the same over a part of the products, and deeper.

    p50 and p95 in milliseconds, and the median of how many times the plain call each one takes.
    """
    products = service.fts5.manifest["product_count"]

    def every(step: int) -> Callable[[str], object]:
        part = product_set(range(1, products + 1, step), products, lambda _: None)
        return lambda text: service.search(text, where=part)

    calls: dict[str, Callable[[str], object]] = {
        "all": service.search,
        "50 %": every(2),
        "10 %": every(10),
        "2.5 %": every(40),
        "0.1 %": every(1_000),
        "top 500": lambda text: service.search(text, 500),
    }
    for call in calls.values():  # pages of the file that no query has touched yet would count for "all" alone
        for text in texts:
            call(text)
    return {
        timing.name: [round(timing.p50_ms, 3), round(timing.p95_ms, 3), round(1 / timing.ratio_p50, 2)]
        for timing in time_variants(calls, texts, reference="all")
    }


def _equal(service: SearchService, texts: list[str], products: int) -> str:
    """Bit-equal results; FTS5 is slow on large catalogues, so that fewer are compared there."""
    some = texts[: 100 if products <= 50_000 else 20 if products <= 300_000 else 4]
    same = sum(service.search(text) == service.search(text, engine="fts5") for text in some)
    return f"{same} of {len(some)}"


def _overlap(peer: Peer, service: SearchService, texts: list[str]) -> float:
    """Mean share of our first 150 that the peer has too."""
    shares = []
    for text in texts:
        ours = set(service.search(text).asins)
        if ours:
            shares.append(len(ours & set(peer.search(tokenize(text)))) / len(ours))
    return round(sum(shares) / max(len(shares), 1), 3)


def report_lines(products: int, built: Built, measured: dict[str, Any]) -> Iterator[str]:
    sizes = " + ".join(_size(built.folder / name) for name in ("catalog.sqlite", "arrays.bin"))
    yield f"== {products:,} products; files {sizes}"
    spent = ", ".join(f"{name} {built.wall[name]} s ({cpu} s of CPU)" for name, cpu in built.cpu.items())
    yield f"build: {spent}; peak of all processes {built.peak_mib:,} MiB"
    for position, kind in enumerate(("simple", "full")):
        goal = GOALS.get(products, ((None, None), (None, None)))[position]
        values = measured[kind]
        asked = values["timings"][0]["queries"]
        yield f"{kind} texts, {asked} queries; goal: ratio {goal[0]}, p95 {goal[1]} ms"
        for timing in values["timings"]:
            yield (
                f"  {timing['name']:<22} p50 {timing['p50_ms']:10.3f}  p95 {timing['p95_ms']:10.3f} ms"
                f"  ratio {timing['ratio_p50']:8.1f} (5 %: {timing['ratio_p5']:.1f})"
            )
        if "lucene" in measured:
            yield f"  Lucene, CPU of its thread after warm-up: {measured['lucene'][kind]}"
        yield f"  whole call [p50 ms, p95 ms, times the plain call]: {values['whole_call']}"
        yield f"  bit-equal to FTS5: {values['equal']}; overlap of the first 150: {values['overlap']}"


def _size(path: Path) -> str:
    return f"{path.stat().st_size / 1e6:,.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--products", type=int, nargs="+", default=[22_726])
    parser.add_argument("--folder", type=Path, default=Path("data/cache/benchmarks"))
    parser.add_argument("--simple", type=int, default=100, help="simple queries")
    parser.add_argument("--full", type=int, default=100, help="full queries")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes that build")
    parser.add_argument("--lucene", type=Path, metavar="JAR", help="see benchmarks/lucene.py")
    parser.add_argument("--json", type=Path, help="write all figures here")
    arguments = parser.parse_args()
    print(f"{machine_facts()}; load {os.getloadavg()[0]:.1f}", flush=True)
    everything: dict[str, Any] = {"machine": machine_facts()}
    for products in arguments.products:
        built = build(arguments.folder / str(products), products, arguments.workers)
        counts = {"simple": arguments.simple, "full": arguments.full}
        measured = compare(built, products, counts, not arguments.no_peers)
        if arguments.lucene:
            measured["lucene"] = lucene_times(arguments.lucene, built, products, counts)
        print("\n".join(report_lines(products, built, measured)), flush=True)
        everything[str(products)] = {"wall": built.wall, "cpu": built.cpu, "mib": built.peak_mib, **measured}
    print(f"load {os.getloadavg()[0]:.1f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(everything, ensure_ascii=False, indent=1))


if __name__ == "__main__":
    main()
