"""`RlveEnv`, batches, schedules, traces, and the same episode anywhere."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rlve_world import DONE, IDLE, sample_market

from shopsim_env import load_release
from shopsim_env.errors import EpisodeError, TraceError, UsageError
from shopsim_env.release import Release
from shopsim_env.rlve.env import RlveBatch, RlveEnv
from shopsim_env.rlve.episode import EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.oracles import oracle
from shopsim_env.rlve.schedule_file import ScheduleFile
from shopsim_env.rlve.scheduler import Settings
from shopsim_env.rlve.trace import TracedEpisode, compare_record, read_rlve_record
from shopsim_env.trace import TraceReader, TraceWriter
from shopsim_env.versions import RLVE_SUITE_VERSION


@pytest.fixture(scope="module")
def market() -> Iterator[Market]:
    with sample_market() as found:
        yield found


@pytest.fixture(scope="module")
def release() -> Iterator[Release]:
    with load_release() as found:
        yield found


def traced(market: Market, env_id: str, d: int, seed: int) -> TracedEpisode:
    episode, agent = TracedEpisode(market, EpisodeKey(env_id, d, seed)), oracle(env_id)
    while not episode.done:
        episode.step(agent.act(episode.sight()))
    return episode


def test_environments_take_turns(release: Release) -> None:
    with RlveEnv(release, ["POLICY", "PD"]) as env:
        starts = [env.reset(difficulty=0) for _ in range(3)]
    assert [start.key.env_id for start in starts] == ["POLICY", "PD", "POLICY"]
    assert [start.key.seed for start in starts] == [0, 1, 2]


def test_a_key_brings_the_same_episode(release: Release) -> None:
    with RlveEnv(release) as env:
        start = env.reset("PD", 5, 11)
        key = start.key
        assert env.reset(key.env_id, key.difficulty, key.seed).observation == start.observation
        assert env.reset("PD", 5, 12).observation != start.observation


def test_an_environment_outside_the_collection_is_refused_and_the_episode_goes_on(release: Release) -> None:
    with RlveEnv(release, "C1") as env:
        env.reset("CART", 0, 0)
        with pytest.raises(UsageError) as caught:
            env.reset("PD", 0, 0)
        assert caught.value.code == "unknown_environment"
        assert env.step(IDLE).observation["turn"] == 1


def test_misuse_is_said(release: Release) -> None:
    env = RlveEnv(release, ["PD"])
    with pytest.raises(EpisodeError) as early:
        env.step(IDLE)
    with pytest.raises(UsageError) as levelless:
        env.reset()
    env.close()
    with pytest.raises(EpisodeError) as late:
        env.reset("PD", 0, 0)
    assert [error.value.code for error in (early, levelless, late)] == [
        "no_episode",
        "no_difficulty",
        "closed",
    ]


def test_the_schedule_draws_levels_and_takes_results(release: Release, tmp_path: Path) -> None:
    schedule = ScheduleFile(
        tmp_path / "windows.json",
        suite=RLVE_SUITE_VERSION,
        environments=["POLICY"],
        settings=Settings(block=2),
    )
    with RlveEnv(release, ["POLICY"], schedule=schedule) as env:
        for _ in range(2):
            start, agent = env.reset(), oracle("POLICY")
            assert start.key.difficulty == 0
            while not env.episode.done:
                env.step(agent.act(env.episode.sight()))
    # Two of two succeeded in a block of two: the frontier moved from 0 to 1.
    assert (schedule.read().window("POLICY").low, schedule.read().window("POLICY").high) == (0, 1)


def test_a_chosen_level_is_no_result_of_the_schedule(release: Release, tmp_path: Path) -> None:
    schedule = ScheduleFile(tmp_path / "windows.json", suite=RLVE_SUITE_VERSION, environments=["PD"])
    with RlveEnv(release, ["PD"], schedule=schedule) as env:
        env.reset("PD", 0, 0)
        env.step(DONE)
    assert schedule.read().window("PD").total == 0


def test_a_batch_plays_what_single_episodes_play(release: Release, market: Market) -> None:
    keys = [EpisodeKey(env_id, d, 3) for env_id in ("PD", "POLICY") for d in (0, 6)]
    batch = RlveBatch(release)
    observations = batch.reset(keys)
    steps = batch.step([IDLE, None, DONE, IDLE])
    assert observations == [TracedEpisode(market, key).observation() for key in keys]
    assert [None if step is None else step.done for step in steps] == [False, None, True, False]
    with pytest.raises(UsageError) as short:
        batch.step([IDLE])
    with pytest.raises(EpisodeError) as over:
        batch.step([IDLE, None, IDLE, None])
    assert (short.value.code, over.value.code) == ("batch_size", "episode_over")
    # Nothing was played: the first episode is where it was.
    assert batch.episodes[0].observation()["turn"] == 1
    batch.close()


def test_traces_are_played_again_byte_for_byte(market: Market, tmp_path: Path) -> None:
    path = tmp_path / "rlve.jsonl"
    with TraceWriter(path, read=read_rlve_record) as writer:
        for env_id in ("PD", "POLICY"):
            for d in (0, 7):
                writer.append(traced(market, env_id, d, 2).record)
    lines = list(TraceReader(path))
    assert len(lines) == 4
    assert [compare_record(line, number, market) for number, line in lines] == [None] * 4


def test_an_altered_trace_is_told_apart(market: Market) -> None:
    record = traced(market, "POLICY", 3, 1).record
    value = json.loads(record.line())
    for name, new in (("reward", {**value["reward"], "total": 0.1}), ("release", "other"), ("suite", "v0")):
        line = (
            json.dumps({**value, name: new}, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"
        )
        found = compare_record(line.encode(), 1, market)
        assert found is not None
        assert found.field == name
    hashes = ["0" * 64, *value["observations"][1:]]
    line = json.dumps(
        {**value, "observations": hashes}, ensure_ascii=False, sort_keys=True, separators=(",", ":")
    )
    found = compare_record(line.encode() + b"\n", 1, market)
    assert found is not None
    assert (found.field, found.step) == ("observations", 0)


def test_records_hold_no_goal_and_no_words_of_the_customer(market: Market) -> None:
    episode = traced(market, "PD", 6, 4)
    line = episode.record.line().decode()
    assert all(
        name not in line.replace(json.dumps(episode.record.actions[-1]), "") for name in ["价格不", "weights"]
    )


@pytest.mark.parametrize(
    "wrong", [b"{", b"[]", b'{"schema":"shopsim-trace-v1"}', b'{"schema":"shopsim-rlve-trace-v1"}']
)
def test_other_lines_are_refused(wrong: bytes) -> None:
    with pytest.raises(TraceError):
        read_rlve_record(wrong)


def test_a_turn_that_json_cannot_hold_is_not_played(market: Market) -> None:
    episode = TracedEpisode(market, EpisodeKey("PD", 0, 0))
    for turn in ({"assistant_message": {1, 2}}, b"\xff"):
        with pytest.raises(TraceError) as caught:
            episode.step(turn)  # type: ignore[arg-type]
        assert caught.value.code == "unrecordable_action"
    assert episode.observation()["turn"] == 0


PROGRAM = """
import sys
from rlve_world import ENVIRONMENTS, sample_market
from shopsim_env.rlve.episode import EpisodeKey
from shopsim_env.rlve.oracles import oracle
from shopsim_env.rlve.trace import TracedEpisode
with sample_market() as market:
    order = ENVIRONMENTS if sys.argv[1] == "forth" else ENVIRONMENTS[::-1]
    lines = {}
    for env_id in order:
        for language in ("zh", "en"):
            episode, agent = TracedEpisode(market, EpisodeKey(env_id, 6, 1, language)), oracle(env_id)
            while not episode.done:
                episode.step(agent.act(episode.sight()))
            lines[env_id, language] = episode.record.line()
    sys.stdout.buffer.write(b"".join(lines[key] for key in sorted(lines)))
"""


def test_the_same_transcripts_in_any_process(tmp_path: Path) -> None:
    """Whatever the hash seed, the time zone and the order in which episodes are played."""
    found = set()
    for seed, zone, order in (("0", "UTC", "forth"), ("77", "Asia/Shanghai", "back")):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "TZ": zone,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "XDG_CACHE_HOME": str(tmp_path),
        }
        result = subprocess.run(
            [sys.executable, "-c", PROGRAM, order], env=environment, capture_output=True, check=True
        )
        found.add(result.stdout)
    assert len(found) == 1
    assert found.pop().count(b"\n") == 16
