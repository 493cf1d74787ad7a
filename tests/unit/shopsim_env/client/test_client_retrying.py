"""The rule of repetition, without a network: what is sent again, after which pause, until when."""

import json

import pytest

from shopsim_env.client.calls import Calls
from shopsim_env.client.core import EpisodeCore
from shopsim_env.client.facts import Ask, wire_action
from shopsim_env.client.retrying import Lost, Pause, Reply, Request, Retries, exchange
from shopsim_env.errors import (
    CapacityError,
    EpisodeError,
    LeaseLostError,
    ServiceError,
    ShopSimError,
    TaskError,
    TraceError,
    UnknownTaskError,
    UsageError,
)
from shopsim_env.server.problems import STATUSES
from shopsim_env.shop.actions import AskShopper, Click, Search

GONE = Lost(False, "ConnectError")
LATE = Lost(True, "ReadTimeout")
TOKEN, ADMIN = "token-of-the-test", "admin-of-the-test"


def refused(code: str, status: int = 503, after: str = "1") -> Reply:
    body = json.dumps({"code": code, "detail": f"because of {code}"}).encode()
    return Reply(status, {"retry-after": after}, body)


def ok(**members) -> Reply:
    return Reply(200, {}, json.dumps(members).encode())


class World:
    """Answers in order; time passes only in pauses and, `late_s` each, in answers that do not come."""

    def __init__(self, *outcomes, late_s: float = 30.0) -> None:
        self.now = 100.0
        self.outcomes = list(outcomes)
        self.late_s = late_s
        self.sent: list[Request] = []
        self.pauses: list[float] = []

    def run(self, operation):
        outcome = None
        while True:
            try:
                effect = operation.send(outcome)
            except StopIteration as end:
                return end.value
            if isinstance(effect, Pause):
                self.pauses.append(effect.seconds)
                self.now += effect.seconds
                outcome = None
            else:
                self.sent.append(effect)
                outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
                self.now += self.late_s if outcome == LATE else 0

    def calls(self, **more) -> Calls:
        return Calls(TOKEN, ADMIN, 30.0, more.pop("retries", Retries()), clock=lambda: self.now)


def asked(world: World, retries: Retries, key: str = "k"):
    request = Request("GET", "/x", {}, None, 30.0)
    return world.run(exchange(lambda: request, retries, lambda: world.now, key))


def test_pauses_double_up_to_the_longest_and_lie_between_half_and_all():
    retries = Retries(60.0, 0.1, 5.0)
    for attempt, longest in enumerate([0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]):
        assert longest / 2 <= retries.pause(attempt, "a") <= longest
    assert retries.pause(3, "a") == retries.pause(3, "a")
    assert len({retries.pause(3, f"client {n}") for n in range(50)}) == 50, "clients do not come back at once"
    assert retries.pause(10**6, "a") <= 5.0


def test_a_lost_answer_is_asked_for_again_until_the_time_is_over():
    world = World(GONE, GONE, ok(a=1))
    assert json.loads(asked(world, Retries())) == {"a": 1}
    assert len(world.pauses) == 2
    world = World(GONE)
    with pytest.raises(ServiceError) as found:
        asked(world, Retries(give_up_s=7.0))
    assert (found.value.code, found.value.failure_kind) == ("unreachable", "env_crash")
    assert 107.0 - 5.0 <= world.now <= 107.0, "never longer than it was told"
    world = World(GONE)
    with pytest.raises(ServiceError):
        asked(world, Retries(give_up_s=0))
    assert len(world.sent) == 1


def test_the_time_counts_from_the_first_failure():
    world = World(LATE, ok(a=1))
    asked(world, Retries(give_up_s=5.0))
    world = World(LATE)
    with pytest.raises(ServiceError) as found:
        asked(world, Retries(give_up_s=5.0))
    assert (found.value.code, found.value.failure_kind) == ("timeout", "timeout")
    assert len(world.sent) == 2


def test_retry_after_is_honoured_and_bounded():
    world = World(refused("stopping", after="4"), ok(a=1))
    asked(world, Retries())
    assert 4.0 < world.pauses[0] <= 4.1
    world = World(refused("stopping", after="999"))
    with pytest.raises(ServiceError, match="because of stopping"):
        asked(world, Retries())
    assert world.pauses == []
    world = World(refused("stopping", after="Wed, 21 Oct 2026 07:28:00 GMT"), ok(a=1))
    asked(world, Retries())
    assert world.pauses[0] <= 0.1


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_proxy_without_its_server_is_asked_again(status):
    world = World(Reply(status, {}, b"<html>"), ok(a=1))
    asked(world, Retries())
    assert len(world.sent) == 2


@pytest.mark.parametrize("content", [b"<html>", b"[]", b'{"code":1}'])
def test_what_is_no_server_of_ours_is_a_bad_answer(content):
    for status in (301, 404, 500):
        world = World(Reply(status, {}, content))
        with pytest.raises(ServiceError) as found:
            asked(world, Retries())
        assert (found.value.code, found.value.failure_kind) == ("bad_answer", "adapter")
        assert len(world.sent) == 1


@pytest.mark.parametrize("content", [b"{", b"[]", b"{}"])
def test_an_answer_that_lacks_something_is_a_bad_answer(content):
    world = World(Reply(200, {}, content))
    for operation in (world.calls().facts(), world.calls().health(), world.calls().tasks(None, 0, 1)):
        with pytest.raises(ServiceError) as found:
            world.run(operation)
        assert found.value.code == "bad_answer"


def test_every_code_of_the_server_has_an_exception_and_only_safe_ones_are_repeated():
    repeated, kinds = set(), {}
    for code, status in STATUSES.items():
        world = World(refused(code, status))
        with pytest.raises(ShopSimError) as found:
            asked(world, Retries(give_up_s=3.0))
        kinds[code] = (type(found.value), found.value.failure_kind)
        assert found.value.code == code
        if len(world.sent) > 1:
            repeated.add(code)
    assert repeated == {
        *("stopping", "closed", "journal_failed", "search_index_error"),
        *("busy", "body_timeout"),
    }
    assert kinds["capacity"] == kinds["queue_full"] == (CapacityError, "capacity")
    assert kinds["lease_lost"] == kinds["stale_fence"] == (LeaseLostError, "lease_lost")
    assert kinds["ended"] == (EpisodeError, None)
    assert kinds["unknown_task"] == (UnknownTaskError, None)
    assert kinds["unknown_split"] == (TaskError, None)
    assert kinds["unknown_field"] == (UsageError, None)
    assert kinds["unrecordable_action"] == (TraceError, None)
    assert kinds["internal"] == (ServiceError, "env_crash")
    assert kinds["unauthorized"] == (ServiceError, "adapter")


def opening(wait_s: float, **more) -> Ask:
    return Ask(3, None, None, "none", wait_s, more.pop("private", False), more)


def test_want_of_room_is_waited_for_as_long_as_was_said_under_one_request_id():
    world = World(refused("queue_full"))
    with pytest.raises(CapacityError):
        world.run(world.calls().open(opening(10.0)))
    bodies = [json.loads(request.content) for request in world.sent]
    assert len({body["request_id"] for body in bodies}) == 1
    assert len(bodies[0]["request_id"]) == 32
    waits = [body["wait_s"] for body in bodies]
    assert waits[0] == 10.0
    assert waits == sorted(waits, reverse=True)
    assert waits[-1] >= 0
    assert world.now <= 110.0
    assert world.sent[0].timeout_s == 40.0
    world = World(refused("capacity"))
    with pytest.raises(CapacityError):
        world.run(world.calls().open(opening(0)))
    assert len(world.sent) == 1
    for wait_s in (-1, float("inf"), float("nan"), True):
        with pytest.raises(UsageError):
            world.run(world.calls().open(opening(wait_s)))


def test_the_admin_token_goes_where_it_is_needed_alone_and_nothing_shows_one():
    world = World(ok(lease_id="x"))
    for ask in (opening(0), opening(0, private=True)):
        world.run(world.calls().open(ask))
    assert [request.headers["authorization"] for request in world.sent] == [
        f"Bearer {TOKEN}",
        f"Bearer {ADMIN}",
    ]
    assert "Bearer" not in repr(world.sent)
    with pytest.raises(UsageError) as found:
        opening(0, page_sise=3)
    assert found.value.code == "unknown_field"


START = {
    "lease_id": "l" * 16,
    "fence": 7,
    "slot": 0,
    "expires_in_s": 900.0,
    "task_id": 3,
    "task_mode": "persona",
    "interaction_mode": "single_turn",
    "environment_version": "v",
    "task_instruction": "i",
    "user_persona": {},
    "observation": "o",
    "observation_state": {},
}
STEP = {
    "observation": "p",
    "observation_state": {},
    "reward": 0.0,
    "terminated": False,
    "truncated": False,
    "done": False,
    "termination_reason": None,
    "action_feedback": {},
    "reward_detail": {},
    "info": {},
    "valid": True,
    "failure_kind": None,
}
BROKEN = {**STEP, "reward": None, "valid": False, "failure_kind": "env_crash"}


def sent_ids(world: World) -> list[str]:
    return [json.loads(request.content)["request_id"] for request in world.sent]


def test_an_action_whose_answer_was_lost_is_repeated_under_its_id():
    world = World(GONE)
    episode = EpisodeCore(world.calls(retries=Retries(give_up_s=0)), START)
    with pytest.raises(ServiceError):
        world.run(episode.stepping("search[a]"))
    with pytest.raises(EpisodeError) as found:
        world.run(episode.stepping("search[b]"))
    assert found.value.code == "unsettled"
    world.outcomes = [ok(**STEP)]
    assert world.run(episode.stepping("search[a]")).observation == "p"
    world.run(episode.stepping("search[b]"))
    assert sent_ids(world) == ["7.1", "7.1", "7.2"]
    assert episode.actions_played == 2


def test_resume_takes_over_and_shows_what_was_played():
    world = World(GONE)
    episode = EpisodeCore(world.calls(retries=Retries(give_up_s=0)), START)
    with pytest.raises(ServiceError):
        world.run(episode.stepping("search[a]"))
    world.outcomes = [ok(**{**START, "fence": 9, "actions_played": 1, "last_step": STEP})]
    world.run(episode.resuming())
    assert (episode.fence, episode.actions_played, episode.last.observation) == (9, 1, "p")
    assert world.sent[-1].path.endswith("/takeover")
    world.outcomes = [ok(**STEP)]
    world.run(episode.stepping("search[b]"))
    assert json.loads(world.sent[-1].content)["request_id"].startswith("9.")


def test_a_refused_action_leaves_nothing_unsettled_and_a_failed_one_no_reward():
    world = World(refused("ended", 409))
    episode = EpisodeCore(world.calls(), START)
    with pytest.raises(EpisodeError):
        world.run(episode.stepping("search[a]"))
    world.outcomes = [ok(**BROKEN)]
    step = world.run(episode.stepping("search[b]"))
    assert (step.valid, step.reward, step.failure_kind) == (False, None, "env_crash")
    assert (episode.last, episode.actions_played) == (None, 0)
    running = episode.stepping("search[c]")
    next(running)
    with pytest.raises(EpisodeError) as found:
        next(episode.stepping("search[c]"))
    assert found.value.code == "busy"
    running.close()  # as when a call is cancelled
    with pytest.raises(EpisodeError, match="unknown"):
        next(episode.stepping("search[d]"))


def test_typed_actions_travel_as_tool_calls():
    assert wire_action(Search("a")) == {"name": "search", "arguments": {"query": "a"}}
    assert wire_action(Click("a")) == {"name": "click", "arguments": {"value": "a"}}
    assert wire_action(AskShopper("a")) == {"name": "ask_shopper", "arguments": {"message": "a"}}
    call = {"name": "click", "arguments": '{"value": "a"}'}
    assert wire_action([call]) == [call]
    for wrong in (None, 3, True):
        with pytest.raises(UsageError):
            wire_action(wrong)
    with pytest.raises(TraceError):
        wire_action({"name": float("nan")})


def test_bounds_are_checked():
    for wrong in (-1.0, float("inf"), float("nan")):
        with pytest.raises(UsageError):
            Retries(give_up_s=wrong)
        with pytest.raises(UsageError):
            Calls(None, None, wrong, Retries())
    with pytest.raises(UsageError):
        next(World(GONE).calls().take_over("../healthz"))
