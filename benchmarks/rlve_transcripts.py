"""The same RLVE transcripts by one process and by eight, whatever the hash seed and time zone; all replayed.

    .venv/bin/python -m benchmarks.rlve_transcripts [--episodes 1000] [--release DIR]

Belongs here: the runs in fresh interpreters and the comparison. The oracles play all environments at d = 0 to
12 in Chinese and English. Exit code 1 when a transcript differs or a replay finds a difference.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice, product
from pathlib import Path

from shopsim_env.canonical import sha256_file
from shopsim_env.release import load_release
from shopsim_env.rlve.environments import ENVIRONMENTS
from shopsim_env.rlve.episode import LANGUAGES, EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.oracles import oracle
from shopsim_env.rlve.trace import TracedEpisode, compare_record
from shopsim_env.trace import TraceReader

LEVELS = range(13)
# (workers, hash seed, time zone)
RUNS = ((1, "0", "UTC"), (8, "12345", "Asia/Shanghai"), (8, "999", "America/New_York"))


def keys(count: int) -> Iterator[EpisodeKey]:
    """The first episodes, environments turning fastest."""
    seeds = range(1 + count // (len(LEVELS) * len(LANGUAGES) * len(ENVIRONMENTS)))
    every = product(seeds, LEVELS, LANGUAGES, ENVIRONMENTS)
    return (EpisodeKey(env, d, seed, language) for seed, d, language, env in islice(every, count))


def played(job: tuple[str | None, list[EpisodeKey]]) -> list[bytes]:
    """Lines of the traces of some episodes."""
    path, some = job
    lines = []
    with load_release(path) as release, Market.of(release) as market:
        for key in some:
            episode, agent = TracedEpisode(market, key), oracle(key.env_id)
            while not episode.done:
                episode.step(agent.act(episode.sight()))
            lines.append(episode.record.line())
    return lines


def write(path: Path, release: str | None, count: int, workers: int) -> None:
    """Plays all episodes, `workers` of them side by side, and writes their traces in order."""
    every = list(keys(count))
    if workers == 1:
        lines = played((release, every))
    else:
        with ProcessPoolExecutor(workers) as pool:
            parts = list(pool.map(played, [(release, every[at::workers]) for at in range(workers)]))
        lines = [parts[at % workers][at // workers] for at in range(count)]
    path.write_bytes(b"".join(lines))


def run(release: str | None, count: int) -> int:
    """Runs, compares, replays; the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for number, (workers, seed, zone) in enumerate(RUNS):
            paths.append(Path(folder) / f"{number}.jsonl")
            command = [sys.executable, "-m", "benchmarks.rlve_transcripts", "--episodes", str(count)]
            command += ["--workers", str(workers), "--out", str(paths[-1])]
            command += ["--release", release] if release else []
            subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone}, check=True)
            print(f"{workers} workers, hash seed {seed}, {zone}: sha256 {sha256_file(paths[-1])}")
        same = len({sha256_file(path) for path in paths}) == 1
        with load_release(release) as opened, Market.of(opened) as market:
            found = [compare_record(line, at, market) for at, line in TraceReader(paths[0])]
    differences = [one for one in found if one is not None]
    print(f"{len(found)} episodes replayed, {len(differences)} differ; runs {'equal' if same else 'DIFFER'}")
    for one in differences[:10]:
        print(one)
    return 0 if same and not differences else 1


def main() -> int:
    """Reads the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--release")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.out is not None:
        write(arguments.out, arguments.release, arguments.episodes, arguments.workers or 1)
        return 0
    return run(arguments.release, arguments.episodes)


if __name__ == "__main__":
    sys.exit(main())
