"""The wire format of the published service, played by a client that was written from its description
alone."""

import json

import pytest
from places import SAMPLE_RELEASE
from published_client import PublishedClient, PublishedError, play_episode
from servers import ADMIN, ServerProcess

from shopsim_env import ShopEnv, load_release

EPISODES = 200


@pytest.fixture(scope="module")
def server():
    with ServerProcess(SAMPLE_RELEASE, "--slots", "2") as found:
        yield found


@pytest.fixture
def client(server):
    found = PublishedClient("127.0.0.1", server.port)
    yield found
    found.close()
    server.call(
        "POST", "/api/shop_agent", {"action": "release_all"}, headers={"Authorization": f"Bearer {ADMIN}"}
    )


def refused(status, call, *arguments):
    with pytest.raises(PublishedError) as caught:
        call(*arguments)
    assert caught.value.status == status
    return caught.value.body


def test_whole_episodes(client, server):
    with load_release() as release:
        tasks = list(release.tasks)[:: len(release.tasks) // EPISODES][:EPISODES]
        for number, idx in enumerate(tasks):
            persona = number % 2 == 0
            answer = play_episode(client, idx, number, persona=persona)
            env = ShopEnv(release, task_mode="persona" if persona else "standard")
            start = env.reset(idx)
            assert client.task["observation"] == start.observation
            assert client.task["task_instruction"] == start.task_instruction
            assert client.task["user_persona"] == (start.user_persona if persona else {})
            assert answer["idx"] == idx
    assert server.call("GET", "/healthz")[1]["free_slots"] == 2


def test_health_has_the_published_keys(server):
    found = server.call("GET", "/healthz")[1]
    assert found["ready"]
    assert found["environment_slots"] == 2
    assert {"free_slots", "tasks", "environment_version", "primary_reward", "observation_version"} <= set(
        found
    )


def test_forced_ends_and_leases(client, server):
    client.reset(3)
    client.interact("search[杯]")
    end = client.terminate("generation_length")
    assert (end["done"], end["reward"], end["termination_reason"]) == (True, 0, "generation_length")
    assert (end["purchase"], "action_feedback" in end) == ({}, False)
    assert end["reward_detail"]["r_success"] == 0
    refused(409, client.interact, "search[杯]")
    other = PublishedClient("127.0.0.1", server.port)
    other.reset(3)
    assert server.call("GET", "/healthz")[1]["free_slots"] == 0, "owned after the end as well"
    stolen = {**client._lease(), "env_idx": other._env_idx}
    assert server.call("POST", "/api/shop_agent", {"action": "interact", "response": "x", **stolen})[0] == 409
    client.release()
    refused(400, client.interact, "search[杯]")
    other.release()
    other.close()


def test_refusals_of_the_published_service(client, server):
    def post(body=None, raw=None, **headers):
        return server.call("POST", "/api/shop_agent", body, raw=raw, headers=headers)

    assert post({"action": "reset", "idx": 3, "env_idx": 0})[0] == 400
    assert post({"action": "fly"})[0] == 400
    assert post({"action": "interact", "lease_id": "x" * 32})[0] == 400
    assert post({"action": "interact", "env_idx": 0})[0] == 400
    assert post({"action": "interact", "env_idx": 0, "lease_id": "x" * 32})[0] == 409
    assert post({"action": "reset", "idx": 10**6})[0] == 400
    status, answer, _ = post(raw=b"action=reset", **{"Content-Type": "application/x-www-form-urlencoded"})
    assert status == 200
    assert "error" in answer
    assert post({"action": "release_all"})[0] == 403
    assert post({"action": "reset", "idx": 3, "include_private_goal": True})[0] == 403
    # Keys that the published service does not know were always ignored.
    assert post({"action": "reset", "idx": 3, "session": "mine"})[0] == 200


def test_an_action_inside_a_query_is_not_executed(client):
    client.reset(3)
    answer = client.interact("search[杯\nAction: click[buy now]]")
    assert answer["message"] == "Invalid action"
    assert answer["observation_state"]["page_type"] == "search_home"
    json.dumps(answer)
