"""The action log: what a restarted pool knows, what is repaired, what is refused, and that it stays small."""

import json
import os

import pytest
from shop_world import LAMP, shop_release

from shopsim_env.errors import JournalError
from shopsim_env.pool import EpisodeRequest, LeasePool
from shopsim_env.pool.journal import FILE_NAME, Journal

LAMPS = "search[星野台灯]"


@pytest.fixture
def release(tmp_path):
    (tmp_path / "release").mkdir()
    small = shop_release(tmp_path / "release")
    yield small
    small.close()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "log"


def pool_on(release, folder, slots=3, **more):
    return LeasePool(release, slots, journal=Journal(folder, **more))


def code_of(call, *arguments, **more) -> str:
    with pytest.raises(JournalError) as caught:
        call(*arguments, **more)
    return caught.value.code


A = EpisodeRequest(task_id=8, options={"task_mode": "standard"}, request_id="k" * 32, note="n")


def play_some(pool):
    a = pool.open(A)
    b, c = pool.open_group(EpisodeRequest(task_id=3, seed=4, options={"interaction_mode": "multi_turn"}), 2)
    pool.step(a.id, LAMPS, fence=a.fence, request_id="1")
    pool.step(a.id, f"click[{LAMP}]", fence=a.fence, request_id="2")
    pool.step(b.id, {"name": "ask_shopper", "arguments": {"message": "预算多少？\ud800"}}, fence=b.fence)
    pool.terminate(c.id, "action_limit", fence=c.fence, request_id="3")
    pool.take_over(b.id)
    return a, b, c


def test_a_restarted_pool_goes_on_where_it_was(release, folder):
    first = pool_on(release, folder)
    leases = play_some(first)
    traces = [first.trace(lease.id).line() for lease in leases]
    first.close()
    second = pool_on(release, folder)
    assert (second.counters.resumed, second.free_slots) == (3, 0)
    for lease, trace in zip(leases, traces, strict=True):
        found = second.use(lease.id, lease.fence)
        assert second.trace(lease.id).line() == trace
        assert (found.slot, found.start, found.last, found.group, found.note, found.request_id) == (
            lease.slot,
            lease.start,
            lease.last,
            lease.group,
            lease.note,
            lease.request_id,
        )
    a, _, c = leases
    assert second.step(a.id, "click[x]", fence=a.fence, request_id="2") == a.last
    assert second.terminate(c.id, "action_limit", fence=c.fence, request_id="3") == c.last
    assert second.open(A).id == a.id
    second.give_back(c.id)
    new = second.open_group(EpisodeRequest(task_id=3), 1)[0]
    assert new.fence > max(lease.fence for lease in leases)
    assert new.group == "task-000003__group-000002"
    second.close()


def test_every_line_is_there_before_the_answer(release, folder):
    """Without close, as after kill -9: another process would find everything."""
    pool = pool_on(release, folder)
    lease = pool.open(EpisodeRequest(task_id=8))
    pool.step(lease.id, LAMPS, fence=lease.fence)
    lines = [json.loads(line) for line in (folder / FILE_NAME).read_bytes().splitlines()]
    assert lines[0]["schema"] == "shopsim-actions-v1"
    assert (lines[1]["open"], lines[1]["task"]) == (lease.id, 8)
    assert (lines[2]["lease"], lines[2]["action"]) == (lease.id, LAMPS)
    assert (folder / FILE_NAME).stat().st_mode & 0o777 == 0o600
    pool.give_back(lease.id)
    assert json.loads((folder / FILE_NAME).read_bytes().splitlines()[-1]) == {"drop": lease.id}
    pool.close()


@pytest.mark.parametrize("cut", [1, 5, 60])
def test_a_torn_last_line_is_cut_off(release, folder, cut):
    pool = pool_on(release, folder)
    lease = pool.open(EpisodeRequest(task_id=8))
    pool.step(lease.id, LAMPS, fence=lease.fence, request_id="1")
    before = lease.last
    pool.step(lease.id, f"click[{LAMP}]", fence=lease.fence, request_id="2")
    pool.close()
    path = folder / FILE_NAME
    os.truncate(path, path.stat().st_size - cut)
    pool = pool_on(release, folder)
    found = pool.use(lease.id)
    # A line that lacks only its end of line is whole.
    assert found.last == (lease.last if cut == 1 else before)
    again = pool.step(lease.id, f"click[{LAMP}]", fence=lease.fence, request_id="2")
    assert again == lease.last
    pool.close()


def test_the_file_stays_small(release, folder):
    pool = pool_on(release, folder, slots=2)
    kept = pool.open(EpisodeRequest(task_id=8))
    pool.step(kept.id, LAMPS, fence=kept.fence)
    query = "search[" + "台灯" * 1900 + "]"
    largest = 0
    for _ in range(120):
        lease = pool.open(EpisodeRequest(task_id=8))
        pool.step(lease.id, query, fence=lease.fence)
        pool.give_back(lease.id)
        largest = max(largest, (folder / FILE_NAME).stat().st_size)
    assert 900_000 < largest < (1 << 20) + 100_000, "120 episodes of 23 KB each were written"
    pool.close()
    pool = pool_on(release, folder, slots=2)
    assert pool.use(kept.id).last == kept.last
    pool.close()


def test_synced_logs_work_alike(release, folder):
    pool = pool_on(release, folder, sync=True)
    lease = pool.open(EpisodeRequest(task_id=8))
    pool.step(lease.id, LAMPS, fence=lease.fence)
    pool.close()
    assert pool_on(release, folder).use(lease.id).last == lease.last


def test_other_releases_and_damage_are_refused(release, folder):
    pool = pool_on(release, folder)
    play_some(pool)
    pool.close()
    path = folder / FILE_NAME
    good = path.read_bytes()
    for bad, code in (
        (good.replace(b'"release":"small"', b'"release":"other"'), "journal_mismatch"),
        (good.replace(b'"fence":', b'"fenc":'), "journal_damaged"),
        (good.replace(b'"task":8', b'"task":9999'), "journal_damaged"),
        (good.replace(b'{"lease"', b'{lease"'), "journal_damaged"),
        (b"my notes\n" + good, "journal_damaged"),
        (b"[1]\n" + good, "journal_damaged"),
    ):
        path.write_bytes(bad)
        assert code_of(pool_on, release, folder) == code
        assert path.read_bytes() == bad, "left alone"
    path.write_bytes(good)
    assert code_of(pool_on, release, folder, slots=2) == "journal_too_large"
    assert pool_on(release, folder).counters.resumed == 3


def test_one_writer_at_a_time(release, folder):
    pool = pool_on(release, folder)
    assert code_of(Journal, folder) == "journal_in_use"
    pool.close()
    Journal(folder).close()
    (folder.parent / "file").write_text("x")
    assert code_of(Journal, folder.parent / "file" / "log") == "journal_unusable"


def test_after_a_failed_write_nothing_is_answered(release, folder):
    pool = pool_on(release, folder)
    lease = pool.open(EpisodeRequest(task_id=8))
    pool.step(lease.id, LAMPS, fence=lease.fence, request_id="1")
    os.close(pool._journal._file)  # what a full disk does: every write fails from now on
    action = f"click[{LAMP}]"
    assert code_of(pool.step, lease.id, action, fence=lease.fence, request_id="2") == "journal_failed"
    assert code_of(pool.step, lease.id, action, fence=lease.fence, request_id="3") == "journal_failed"
    assert code_of(pool.open, EpisodeRequest(task_id=8)) == "journal_failed"
    pool._journal._file = None
    pool.close()
    again = pool_on(release, folder)
    assert again.use(lease.id).answered == {"1": 1}
    again.close()
