"""RLVE through the three clients: one interface, the same answers, refusals and traces."""

import asyncio
import os
import threading

import pytest
from blocking import Blocking
from places import ROOT
from rlve_world import DONE, IDLE, sample_market
from servers import ADMIN, ServerProcess, free_port

from shopsim_env import AsyncClient, Client, LocalClient, load_release
from shopsim_env.errors import (
    CapacityError,
    EpisodeError,
    LeaseLostError,
    ServiceError,
    ShopSimError,
    UsageError,
)
from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.rlve.trace import compare_record

SAMPLE = ROOT / "shopsim_env" / "sample_release"
SEARCH = {
    "assistant_message": "我看看。",
    "tool_calls": [{"name": "catalog.search", "args": {"query": "", "filters": {"price_max": 80}}}],
}
FAULTY = '{"assistant_message": 3}'


@pytest.fixture(scope="module")
def server():
    with ServerProcess(SAMPLE, "--slots", "2", "--lease-ttl", "600") as found:
        yield found


@pytest.fixture(scope="module")
def release():
    with load_release() as found:
        yield found


def refused(call, *arguments, **more):
    with pytest.raises(ShopSimError) as caught:
        call(*arguments, **more)
    return type(caught.value), caught.value.code


def scenario(client):
    """Everything that can be called; what came of it, without ids of leases."""
    yield client.rlve_facts("en")
    episode = client.rlve("PD", 4, 3, overrides={"p_noise": 0.0})
    yield episode.start, episode.tools, episode.observation, episode.done, repr(episode)
    for turn in (SEARCH, FAULTY.replace("3", '"好的。"'), IDLE):
        step = episode.step(turn)
        yield step, episode.last == step, episode.turns_played
    yield refused(episode.goal)
    other = client.attach_rlve(episode.lease_id)
    yield other.start == episode.start, other.last == step, other.turns_played
    yield refused(episode.step, DONE)
    episode.resume()
    yield refused(other.heartbeat)
    yield episode.step(DONE), episode.done
    yield episode.goal(), episode.trace(), episode.heartbeat()
    yield refused(episode.step, DONE)
    free = client.rlve("POLICY", 2, 5, language="en", strict=False, tools="none")
    yield free.start, free.tools, free.step(FAULTY).info["fault"], free.turns_played
    yield refused(client.rlve, "POLICY", 2, 5, wait_s=0)
    yield client.release_all_rlve()
    yield episode.release(), free.release(), episode.released
    for turn in (3, None, {"assistant_message": {1}}, {"a": float("nan")}, {"assistant_message": "\ud800"}):
        yield refused(free.step, turn)
    for asked in (("NO", 1, 1), ("PD", -1, 1), ("PD", 1, -1), ("PD", "1", 1)):
        yield refused(client.rlve, *asked)
    yield refused(client.rlve, "PD", 1, 1, overrides={"nothing": 1})
    yield refused(client.rlve, "PD", 1, 1, wait_s=-1)
    yield refused(client.rlve_facts, "fr")
    yield refused(client.attach_rlve, "never-given-lease-id")


def test_three_clients_see_the_same(server, release, monkeypatch):
    monkeypatch.setenv("SHOPSIM_ADMIN_TOKEN", ADMIN)
    address = f"http://127.0.0.1:{server.port}"
    with LocalClient(release, slots=2, ttl_s=600.0) as local:
        expected = list(scenario(local))
    with Client(address) as client:
        found = list(scenario(client))
    loop = asyncio.new_event_loop()
    try:
        again = AsyncClient(address)
        third = list(scenario(Blocking(again, loop)))
        loop.run_until_complete(again.close())
    finally:
        loop.close()
    assert len(found) == len(expected) == len(third)
    for number, (one, two, three) in enumerate(zip(expected, found, third, strict=True)):
        plain = repr(one).replace("LocalRlveEpisode", "RlveEpisode")
        assert repr(two) == plain, number
        assert repr(three).replace("AsyncRlveEpisode", "RlveEpisode") == plain, number
    assert expected[5][0] is EpisodeError, "no goal before the end"
    with sample_market() as market:
        episode = Episode(market, EpisodeKey("PD", 4, 3, "zh", {"p_noise": 0.0}))
        assert expected[1][0].observation == episode.observation()
        assert expected[2][0] == episode.step(SEARCH)
        line = next(row[1] for row in expected if isinstance(row, tuple) and isinstance(row[1], bytes))
        assert compare_record(line, 1, market) is None
    kinds = {row for row in expected if isinstance(row, tuple) and isinstance(row[0], type)}
    assert kinds >= {
        (EpisodeError, "not_ended"),
        (EpisodeError, "ended"),
        (LeaseLostError, "stale_fence"),
        (CapacityError, "capacity"),
        (LeaseLostError, "lease_lost"),
        (UsageError, "wrong_type"),
        (UsageError, "out_of_range"),
        (UsageError, "not_finite"),
    }


def test_a_killed_server_is_waited_for(tmp_path):
    """kill -9 before every turn: each is played once, and the trace is that of an undisturbed episode."""
    options, port = ("--resume-log", str(tmp_path / "log")), free_port()
    with Client(f"http://127.0.0.1:{port}") as client:
        server = ServerProcess(SAMPLE, *options, port=port)
        episode = client.rlve("POLICY", 3, 7)
        for turn in (IDLE, DONE):
            server.kill()
            playing = threading.Thread(target=episode.step, args=(turn,))
            playing.start()
            server = ServerProcess(SAMPLE, *options, port=port)
            playing.join(60)
        assert (episode.turns_played, episode.done) == (2, True)
        with sample_market() as market:
            assert compare_record(episode.trace(), 1, market) is None
        assert episode.release()
        assert server.stop() == 0


def test_a_server_without_rlve_says_so(tmp_path):
    """A process in which pydantic cannot be found."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['pydantic'] = None\n")
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    with (
        ServerProcess(SAMPLE, PYTHONPATH=paths) as server,
        Client(f"http://127.0.0.1:{server.port}") as client,
        pytest.raises(ServiceError) as caught,
    ):
        client.rlve("PD", 1, 1)
    assert (caught.value.code, caught.value.failure_kind) == ("rlve_unavailable", "adapter")
