"""Leases over RLVE episodes: the pool's rules hold for them, and a lease plays what an `Episode` plays."""

from collections.abc import Iterator

import pytest
from rlve_world import DONE, IDLE, sample_market

from shopsim_env.errors import (
    EpisodeError,
    JournalError,
    PoolError,
    SearchIndexError,
    TraceError,
    UsageError,
)
from shopsim_env.pool import LeasePool
from shopsim_env.pool.journal import Journal
from shopsim_env.rlve.answering import ANSWER_FIELDS, answer_schema
from shopsim_env.rlve.environments import ENVIRONMENTS
from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.rlve.leases import RlveLeases, RlveRequest
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.protocol import Answer
from shopsim_env.rlve.trace import compare_record

KEY = EpisodeKey("PD", 4, 3)
SEARCH = {
    "assistant_message": "请问还有什么要求？",
    "tool_calls": [{"name": "catalog.search", "args": {"query": "", "filters": {"price_max": 80}}}],
}


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(scope="module")
def market() -> Iterator[Market]:
    with sample_market() as found:
        yield found


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def leases(market: Market, clock: Clock) -> RlveLeases:
    return RlveLeases(market, 2, ttl_s=10, max_waiting=1, clock=clock)


def code_of(error: type[Exception], call, *arguments, **more) -> str:
    with pytest.raises(error) as caught:
        call(*arguments, **more)
    return caught.value.code


def test_a_lease_plays_what_an_episode_plays(leases: RlveLeases, market: Market) -> None:
    lease = leases.open(RlveRequest(KEY))
    episode = Episode(market, KEY)
    assert (lease.start.observation, lease.start.key, lease.seed) == (episode.observation(), KEY, 3)
    for turn in (SEARCH, IDLE, DONE):
        assert code_of(EpisodeError, leases.finished, lease.id) == "not_ended"
        assert leases.step(lease.id, turn, fence=lease.fence) == episode.step(turn)
    assert leases.finished(lease.id).goal() == episode.goal()
    assert code_of(EpisodeError, leases.step, lease.id, IDLE, fence=lease.fence) == "ended"
    assert compare_record(leases.trace(lease.id).line(), 1, market) is None
    assert (leases.counters.steps, leases.counters.ended, leases.running) == (3, 1, 0)


def test_repeated_requests_give_the_first_answer(leases: RlveLeases) -> None:
    lease = leases.open(RlveRequest(KEY))
    first = leases.step(lease.id, SEARCH, fence=lease.fence, request_id="a")
    second = leases.step(lease.id, IDLE, fence=lease.fence, request_id="b")
    assert leases.step(lease.id, DONE, fence=lease.fence, request_id="b") == second
    assert leases.step(lease.id, DONE, fence=lease.fence, request_id="a") == first
    assert (leases.counters.repeated, len(lease.entries)) == (2, 2)
    request = RlveRequest(KEY, request_id="k" * 32)
    again = leases.open(request)
    assert leases.open(request) is again
    assert code_of(PoolError, leases.open, RlveRequest(KEY, False, "k" * 32)) == "request_id_reused"


def test_slots_are_bounded_waiting_is_fair_and_unused_leases_expire(leases: RlveLeases, clock: Clock) -> None:
    first, second = leases.open(RlveRequest(KEY)), leases.open(RlveRequest(KEY))
    assert code_of(PoolError, leases.open, RlveRequest(KEY)) == "capacity"
    ticket = leases.ask(RlveRequest(KEY), 60)
    assert code_of(PoolError, leases.ask, RlveRequest(KEY), 60) == "queue_full"
    clock.now += 9
    leases.use(second.id)
    clock.now += 2
    leases.sweep()
    assert code_of(PoolError, leases.step, first.id, IDLE, fence=first.fence) == "lease_lost"
    assert ticket.result()[0].slot == first.slot
    old = second.fence
    leases.take_over(second.id)
    assert code_of(PoolError, leases.step, second.id, IDLE, fence=old) == "stale_fence"


def test_what_cannot_be_played_takes_no_slot(leases: RlveLeases) -> None:
    assert code_of(UsageError, leases.open, RlveRequest(EpisodeKey("PD", 0, 1, "zh", {"m": 0}))) == "bad_axis"
    assert leases.free_slots == 2


def test_a_failure_in_the_middle_of_a_turn_leaves_the_episode_as_it_was(
    leases: RlveLeases, market: Market
) -> None:
    lease = leases.open(RlveRequest(KEY))
    leases.step(lease.id, SEARCH, fence=lease.fence)
    adding = {
        "assistant_message": "好的。",
        "tool_calls": [{"name": "catalog.search", "args": {"query": "锅"}}],
    }
    overlay = lease.env.overlay
    overlay.shelf = Unreadable(overlay.shelf)  # of this episode alone: the shelf itself is shared
    overlay.release = Unreadable(overlay.release)
    assert code_of(SearchIndexError, leases.step, lease.id, adding, fence=lease.fence) == "search_index_error"
    assert (len(lease.entries), leases.counters.steps) == (1, 1)
    episode = Episode(market, KEY)
    episode.step(SEARCH)
    assert leases.step(lease.id, adding, fence=lease.fence) == episode.step(adding)


class Unreadable:
    """A thing whose files cannot be read any more."""

    def __init__(self, what: object) -> None:
        self._what = what

    def __getattr__(self, name: str) -> object:
        raise SearchIndexError("the file cannot be read")


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_an_answer_has_fields_that_the_protocol_knows(env_id: str) -> None:
    zh, en = (answer_schema(env_id, language)["properties"] for language in ("zh", "en"))
    assert list(zh) == list(en) == [*ANSWER_FIELDS[env_id], "done"]
    assert set(zh) <= set(Answer.__dataclass_fields__)
    assert all(zh[name]["description"] != en[name]["description"] for name in zh)


def test_a_journal_brings_everything_back(market: Market, tmp_path) -> None:
    first = RlveLeases(market, 3, journal=Journal(tmp_path))
    lease = first.open(RlveRequest(KEY, request_id="k" * 32, note="functions"))
    strange = '{"assistant_message": "半个代理对 \\ud83d"}'
    free = first.open(RlveRequest(EpisodeKey("POLICY", 2, 5, "en", {"p_noise": 0.1}), strict=False))
    first.give_back(first.open(RlveRequest(KEY)).id)
    steps = [
        first.step(lease.id, SEARCH, fence=lease.fence, request_id="a"),
        first.step(lease.id, IDLE, fence=lease.fence),
    ]
    refused = first.step(free.id, strange, fence=free.fence, request_id="b")
    assert refused.info["fault"]["code"]
    first.take_over(free.id)
    fence, traces = free.fence, [first.trace(one.id).line() for one in (lease, free)]
    first.close()

    second = RlveLeases(market, 3, journal=Journal(tmp_path))
    assert (second.counters.resumed, second.free_slots) == (2, 1)
    assert [second.trace(one.id).line() for one in (lease, free)] == traces
    again, other = second.peek(lease.id), second.peek(free.id)
    assert (again.start, again.last, again.fence, again.slot) == (lease.start, steps[1], lease.fence, 0)
    assert (again.note, other.start.strict, other.fence) == ("functions", False, fence)
    assert second.open(RlveRequest(KEY, request_id="k" * 32, note="functions")) is again
    assert second.step(lease.id, DONE, fence=lease.fence, request_id="a") == steps[0]
    assert second.step(free.id, DONE, fence=fence, request_id="b") == refused
    ended = second.step(lease.id, DONE, fence=lease.fence)
    episode = Episode(market, KEY)
    assert [episode.step(turn) for turn in (SEARCH, IDLE, DONE)][-1] == ended
    second.close()


def test_a_journal_of_another_world_is_refused(market: Market, tmp_path) -> None:
    LeasePool(market.release, 1, journal=Journal(tmp_path)).close()
    journal = Journal(tmp_path)
    assert code_of(JournalError, RlveLeases, market, 1, journal=journal) == "journal_mismatch"


def test_a_turn_that_json_does_not_hold_is_not_played(leases: RlveLeases) -> None:
    lease = leases.open(RlveRequest(KEY))
    odd = {"assistant_message": "x", "answer": {1, 2}}
    assert code_of(TraceError, leases.step, lease.id, odd, fence=lease.fence) == "unrecordable_action"
    assert lease.entries == []
