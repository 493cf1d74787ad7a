"""`LocalClient`: waiting, expiry, heartbeats and groups in this process."""

import threading
import time

import pytest

from shopsim_env import LocalClient, load_release
from shopsim_env.errors import CapacityError, LeaseLostError, PoolError, TaskError, UsageError


@pytest.fixture(scope="module")
def release():
    with load_release() as found:
        yield found


@pytest.fixture(scope="module")
def task(release):
    return release.splits["project/train"][0]


def test_a_thread_waits_for_the_slot_that_another_gives_back(release, task):
    with LocalClient(release, slots=1) as client:
        first, got = client.episode(task), []
        thread = threading.Thread(target=lambda: got.append(client.episode(task, wait_s=60)))
        thread.start()
        while client.health().waiting == 0:
            time.sleep(0.01)
        assert first.release()
        thread.join(30)
        assert got[0].slot == 0
        with pytest.raises(CapacityError) as found:
            client.episode(task, wait_s=0)
        assert found.value.failure_kind == "capacity"
        with pytest.raises(CapacityError):
            client.episode(task, wait_s=0.1)
        assert client.health().waiting == 0
        assert client.release_all() == 1
        with pytest.raises(LeaseLostError):
            got[0].step("search[a]")
        assert not got[0].release()
    with pytest.raises(PoolError):
        client.episode(task)


def test_leaving_gives_back_and_never_hides_an_error(release, task):
    with LocalClient(release, slots=2) as client:
        episode = client.episode(task)
        other = client.attach(episode.lease_id)
        assert other.fence != episode.fence
        with pytest.raises(LeaseLostError):
            episode.heartbeat()
        with pytest.raises(ZeroDivisionError), episode:
            raise ZeroDivisionError
        assert client.health().free_slots == 1, "the new holder keeps it"
        episode.resume()
        with pytest.raises(LeaseLostError):
            other.step("search[a]")
        episode.release()
        with client.group(task, n=2) as group:
            assert len({member.lease_id for member in group.episodes}) == 2
            assert group.episodes[0].reset == group.episodes[1].reset
        assert client.health().free_slots == 2
        with pytest.raises(UsageError) as found:
            client.group(task, n=3)
        assert found.value.code == "group_too_large"


def test_a_heartbeat_keeps_a_lease_and_without_one_it_expires(release, task):
    with LocalClient(release, slots=2, ttl_s=3.0) as client:
        left, kept = client.episode(task), client.episode(task, heartbeat=True)
        third = client.episode(task, wait_s=60)  # has to wait until a lease expires
        assert third.slot == left.slot
        with pytest.raises(LeaseLostError):
            left.step("search[a]")
        third.release()
        assert kept.step("search[a]").valid
        client.keep(left, kept=True)  # a lease that is gone is left out after one beat
        while left in client._beats.episodes:
            time.sleep(0.02)
        assert kept.heartbeat() == 3.0
        assert kept.release()


def test_tools_private_and_lists(release, task):
    with LocalClient(release) as client:
        none = client.episode(task, tools="none", private=True)
        assert none.tools is None
        assert none.private["asin"] == release.private().goal(task).product.asin
        assert client.episode(task).private is None
        assert client.release_facts().id == release.id
        page = client.tasks("project/train", limit=2)
        assert [row.task_id for row in page.tasks] == list(release.splits["project/train"][:2])
        with pytest.raises(TaskError):
            client.tasks("nothing")
        with pytest.raises(UsageError):
            client.tasks(limit=0)
        with pytest.raises(UsageError):
            none.terminate("tired")
        assert none.terminate("generation_length").truncated
        assert none.done
        assert repr(none) == f"LocalEpisode(task_id={task}, actions_played=1, ...)"
