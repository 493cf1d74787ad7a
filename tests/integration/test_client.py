"""The three clients against real servers: the same bytes, and nothing played twice whatever breaks."""

import asyncio
import contextlib
import logging
import socket
import subprocess
import sys
import threading
import time
from dataclasses import asdict, is_dataclass

import pytest
from blocking import Blocking
from places import ROOT, SAMPLE_RELEASE
from servers import ADMIN, ServerProcess, free_port

from shopsim_env import AsyncClient, Client, LocalClient, load_release
from shopsim_env.canonical import compact_json
from shopsim_env.client import Retries
from shopsim_env.errors import (
    CapacityError,
    EpisodeError,
    LeaseLostError,
    ServiceError,
    ShopSimError,
    UsageError,
)
from shopsim_env.shop.actions import Click, Search

QUICK = Retries(give_up_s=1.0, first_s=0.02, most_s=0.1)


@pytest.fixture(scope="module")
def release():
    with load_release(SAMPLE_RELEASE) as found:
        yield found


@pytest.fixture(scope="module")
def task(release):
    return release.splits["project/train"][0]


@pytest.fixture(scope="module")
def server():
    with ServerProcess(SAMPLE_RELEASE, "--slots", "3", "--lease-ttl", "600") as found:
        yield found


def address(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def scenario(client, task: int):
    """Everything that can be seen, as bytes; lease ids and fences apart."""

    yield seen(client.release_facts())
    yield seen(client.tasks("project/train", offset=1, limit=3))
    for mode, tools in (("single_turn", "dynamic"), ("multi_turn", "static")):
        episode = client.episode(task, interaction_mode=mode, tools=tools, seed=5, page_size=7)
        yield seen(episode.reset)
        yield seen(episode.tools)
        step = episode.step(Search(episode.reset.task_instruction))
        yield seen(step)
        asin = step.observation_state["products"][0]["asin"]
        clicks = [{"name": "click", "arguments": {"value": asin}}, "click[没有\ud800]", "", ["x"]]
        for action in clicks:
            step = episode.step(action)
            yield seen(step)
            yield seen(episode.tools)
        episode.resume()
        yield seen(episode.last)
        while missing := step.observation_state["missing_option_axes"]:
            texts = step.observation_state["actions"]
            step = episode.step(Click(next(text for text in texts if text.startswith(f"{missing[0]}="))))
            yield seen(step)
        yield refused(episode.step, None)
        yield refused(episode.terminate, "tired")
        if mode == "multi_turn":
            yield seen(episode.step("ask_shopper[预算是多少？]"))
            yield seen(episode.terminate("generation_length"))
        else:
            yield seen(episode.step("click[buy now]"))
        yield refused(episode.step, "search[x]")
        yield episode.trace().line()
        yield seen([episode.done, episode.actions_played, episode.release(), episode.release()])
        yield refused(episode.step, "search[x]")
    group = client.group(split="project/train", seed=3, n=2, observation_style="compact")
    group.episodes[0].reset.observation_state["actions"] = "changed by its holder"
    yield seen(group.episodes[1].reset)
    yield seen(group.anchor)
    for episode in group.episodes:
        yield seen(episode.step("search[收纳]"))
        yield seen(episode.release())
    yield from refusals(client, task)


def seen(value) -> bytes:
    plain = asdict(value) if is_dataclass(value) else value
    return compact_json(plain).encode("utf-8", "surrogatepass")


def refused(call, *args, **options) -> bytes:
    with pytest.raises(ShopSimError) as found:
        call(*args, **options)
    error = found.value
    return seen([type(error).__name__, error.code, str(error), error.failure_kind])


def refusals(client, task: int):
    for options in (
        {"task_id": 10**9},
        {"split": "nothing", "seed": 1},
        {},
        {"task_id": task, "page_size": 99},
        {"task_id": task, "colour": 1},
        {"task_id": task, "tools": "all"},
        {"task_id": task, "split": "project/train"},
        {"task_id": task, "wait_s": -1},
        {"task_id": "3"},
    ):
        yield refused(client.episode, **options)
    yield refused(client.tasks, limit=0)
    yield refused(client.attach, "never-given-lease-id")


def test_three_clients_see_the_same_bytes(server, release, task):
    with LocalClient(release, slots=3, ttl_s=600) as local:
        expected = list(scenario(local, task))
    with Client(address(server.port)) as client:
        found = list(scenario(client, task))
    assert len(found) == len(expected)
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        assert one == other, number
    loop = asyncio.new_event_loop()
    try:
        client = AsyncClient(address(server.port))
        assert list(scenario(Blocking(client, loop), task)) == expected
        loop.run_until_complete(client.close())
    finally:
        loop.close()


def actions_of(release, task) -> list[str]:
    """A purchase, found by playing in this process."""
    with LocalClient(release) as client, client.episode(task) as episode:
        actions = [f"search[{episode.reset.task_instruction}]"]
        step = episode.step(actions[0])
        actions.append(f"click[{step.observation_state['products'][0]['asin']}]")
        step = episode.step(actions[-1])
        while missing := step.observation_state["missing_option_axes"]:
            texts = step.observation_state["actions"]
            actions.append(f"click[{next(text for text in texts if text.startswith(f'{missing[0]}='))}]")
            step = episode.step(actions[-1])
        return [*actions, "click[buy now]"]


def undisturbed(release, task, actions) -> bytes:
    with LocalClient(release) as client, client.episode(task) as episode:
        for action in actions:
            episode.step(action)
        return episode.trace().line()


def test_a_server_killed_in_mid_episode_comes_back_with_the_episode(release, task, tmp_path):
    """kill -9 before every action; the call that waits for the restart plays it once."""
    actions, port = actions_of(release, task), free_port()
    options = ("--resume-log", str(tmp_path / "log"), "--slots", "2")
    current = ServerProcess(SAMPLE_RELEASE, *options, port=port)
    patient = Retries(give_up_s=120.0, first_s=0.05, most_s=0.2)

    def restart() -> None:
        time.sleep(0.2)
        restarted.append(ServerProcess(SAMPLE_RELEASE, *options, port=port))

    with Client(address(port), retries=patient) as client, client.episode(task) as episode:
        for number, action in enumerate(actions):
            if number in (1, len(actions) - 1):
                restarted: list[ServerProcess] = []
                current.kill()
                thread = threading.Thread(target=restart)
                thread.start()
                step = episode.step(action)
                thread.join()
                current = restarted[0]
                assert current.facts["resumed_leases"] == 1
            else:
                step = episode.step(action)
        assert step.done
        assert step.termination_reason == "purchase"
        assert episode.trace().line() == undisturbed(release, task, actions)
        later = client.attach(episode.lease_id)
        assert (later.done, later.actions_played, later.last) == (True, len(actions), step)
        later.release()
    assert current.stop() == 0


def test_without_a_log_a_restart_loses_the_episode_and_makes_no_reward_up(task):
    port = free_port()
    with ServerProcess(SAMPLE_RELEASE, port=port) as first, Client(address(port), retries=QUICK) as client:
        episode = client.episode(task)
        first.kill()
        with pytest.raises(ServiceError) as found:
            episode.step("search[收纳]")
        assert (found.value.code, found.value.failure_kind) == ("unreachable", "env_crash")
        with pytest.raises(EpisodeError) as unsettled:
            episode.step("search[别的]")
        assert unsettled.value.code == "unsettled"
        with ServerProcess(SAMPLE_RELEASE, port=port):
            with pytest.raises(LeaseLostError) as lost:
                episode.resume()
            assert lost.value.failure_kind == "lease_lost"
            assert not episode.release()


class Proxy:
    """A TCP proxy that cuts as many of the next answers as `cut` says: the server has acted, nobody hears."""

    def __init__(self, port: int) -> None:
        self._target, self.cut, self.cuts = port, 0, 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self._target))
            for source, sink, answers in ((near, far, False), (far, near, True)):
                thread = threading.Thread(target=self._pump, args=(source, sink, answers), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _pump(self, source, sink, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if answers and self.cut:
                    self.cut, self.cuts = self.cut - 1, self.cuts + 1
                    break
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            if not answers:
                end.close()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)


@pytest.fixture
def proxy(server):
    found = Proxy(server.port)
    yield found
    found.close()


def metric(server, name: str) -> float:
    text = server.call("GET", "/metrics")[1].decode()
    return next(float(line.split()[1]) for line in text.splitlines() if line.startswith(f"{name} "))


def test_cut_answers_play_nothing_twice(server, proxy, release, task):
    actions = actions_of(release, task)
    played, opened = metric(server, "shopsim_pool_steps_total"), metric(server, "shopsim_pool_opened_total")
    retries = Retries(give_up_s=30.0, first_s=0.01, most_s=0.05)
    with Client(address(proxy.port), retries=retries) as client:
        proxy.cut = 2
        with client.episode(task) as episode:
            for action in actions:
                proxy.cut = 1
                step = episode.step(action)
            proxy.cut = 1
            line = episode.trace().line()
        assert step.done
        assert line == undisturbed(release, task, actions)
    assert proxy.cuts == 2 + len(actions) + 1
    assert metric(server, "shopsim_pool_steps_total") - played == len(actions)
    assert metric(server, "shopsim_pool_opened_total") - opened == 1


def test_async_cut_answers_and_cancelled_calls(proxy, task):
    async def play() -> None:
        retries = Retries(give_up_s=30.0, first_s=0.01, most_s=0.05)
        async with AsyncClient(address(proxy.port), retries=retries) as client:
            async with client.episode(task) as episode:
                proxy.cut = 2
                assert (await episode.step("search[收纳]")).valid
                running = asyncio.ensure_future(episode.step("click[back to search]"))
                await asyncio.sleep(0)
                running.cancel()
                await asyncio.wait([running])
                with pytest.raises(EpisodeError, match="unknown"):
                    await episode.step("search[别的]")
                await episode.resume()
                fence = episode.fence
                assert episode.actions_played in (1, 2), "whatever it was, it is known now"
                assert (await episode.step("search[收纳]")).valid
                assert episode.fence == fence
                other = await client.attach(episode.lease_id)
                with pytest.raises(LeaseLostError) as stale:
                    await episode.step("search[a]")
                assert stale.value.code == "stale_fence"
                await other.release()
            assert (await client.health()).free_slots == 3
            assert "Client('http://127.0.0.1" in repr(client)

    asyncio.run(play())


async def cancelled(running: asyncio.Future) -> None:
    running.cancel()
    await asyncio.wait([running])
    assert running.cancelled()


def free_slots(server) -> int:
    return server.call("GET", "/healthz")[1]["free_slots"]


@pytest.mark.parametrize("slots", [1, 2])
def test_a_cancelled_start_that_the_server_made_leaves_no_lease(server, proxy, task, slots):
    """The answer is cut, so the client pauses before it asks again, and is cancelled there."""

    async def play() -> None:
        slow = Retries(give_up_s=60.0, first_s=30.0, most_s=30.0)
        async with AsyncClient(address(proxy.port), retries=slow) as client:
            proxy.cut = 1
            opening = client.episode(task) if slots == 1 else client.group(task, n=slots)
            running = asyncio.ensure_future(opening)
            while free_slots(server) == 3 or proxy.cut:
                await asyncio.sleep(0.005)
            assert free_slots(server) == 3 - slots
            await cancelled(running)
            assert free_slots(server) == 3

    asyncio.run(play())


def test_a_start_that_is_cancelled_in_the_line_leaves_no_lease(server, task):
    async def play() -> None:
        async with AsyncClient(address(server.port), retries=QUICK) as client:
            async with client.group(task, n=3):
                running = asyncio.ensure_future(client.episode(task))
                while (await client.health()).waiting == 0:
                    await asyncio.sleep(0.005)
                await cancelled(running)
            health = await client.health()
            assert (health.free_slots, health.waiting) == (3, 0)

    asyncio.run(play())


def test_a_start_that_is_cancelled_at_any_moment_leaves_no_lease(server, task):
    async def play() -> None:
        async with AsyncClient(address(server.port), retries=QUICK) as client:
            for moment in range(30):
                running = asyncio.ensure_future(client.episode(task))
                for _ in range(moment):
                    await asyncio.sleep(0)
                if running.done():
                    await running.result().release()
                else:
                    await cancelled(running)
            assert (await client.health()).free_slots == 3

    asyncio.run(play())


def test_a_cancelled_end_still_releases(server, task):
    async def play() -> None:
        async with AsyncClient(address(server.port), retries=QUICK) as client:
            leaving = asyncio.ensure_future((await client.episode(task)).leave())
            await asyncio.sleep(0)
            await cancelled(leaving)
        assert free_slots(server) == 3

    asyncio.run(play())


def test_async_beats_keep_a_lease_and_without_them_it_expires(task):
    async def play(port: int) -> None:
        async with AsyncClient(address(port)) as client, client.episode(task, heartbeat=True) as episode:
            async with client.group(task, n=2) as group:
                with pytest.raises(CapacityError):
                    await client.episode(task, wait_s=0)
                # Somebody who waits gets the slot of a lease that nobody uses.
                await (await client.episode(task, wait_s=60)).release()
                with pytest.raises(LeaseLostError) as lost:
                    await group.episodes[0].step("search[a]")
                assert lost.value.code == "lease_lost"
            assert await episode.heartbeat() == 3.0

    with ServerProcess(SAMPLE_RELEASE, "--slots", "3", "--lease-ttl", "3") as server:
        asyncio.run(play(server.port))


def test_waiting_for_a_slot_and_back_pressure(server, task):
    with Client(address(server.port)) as client:
        group = client.group(task, n=3, heartbeat=True)
        begin = time.monotonic()
        with pytest.raises(CapacityError) as found:
            client.episode(task, wait_s=0.3)
        assert time.monotonic() - begin >= 0.3
        assert found.value.failure_kind == "capacity"
        threading.Timer(0.2, group.episodes[1].release).start()
        with client.episode(task, wait_s=60) as episode:
            assert episode.slot == group.episodes[1].slot
        with group:
            pass
        assert client.health().free_slots == 3


def test_tokens_open_what_they_should_and_are_never_shown(task, monkeypatch, caplog):
    token = "token-that-is-a-secret"  # noqa: S105
    monkeypatch.delenv("SHOPSIM_TOKEN", raising=False)
    monkeypatch.delenv("SHOPSIM_ADMIN_TOKEN", raising=False)
    caplog.set_level(logging.DEBUG)
    errors = []
    with ServerProcess(SAMPLE_RELEASE, SHOPSIM_TOKEN=token) as server:
        for wrong in (None, "another-token-altogether"):
            with Client(address(server.port), token=wrong) as client:
                with pytest.raises(ServiceError) as found:
                    client.episode(task)
                assert (found.value.code, found.value.failure_kind) == ("unauthorized", "adapter")
                errors.append(str(found.value))
        monkeypatch.setenv("SHOPSIM_TOKEN", token)
        with Client(address(server.port)) as client, client.episode(task) as episode:
            with pytest.raises(ServiceError, match="admin token"):
                client.episode(task, private=True)
            with Client(address(server.port), admin_token=ADMIN) as admin:
                assert admin.episode(task, private=True).private["asin"]
                assert admin.release_all() == 2
            errors += [repr(client), repr(episode), repr(client._calls)]
            lease_id = episode.lease_id
    shown = "\n".join([*errors, *(record.getMessage() for record in caplog.records)])
    for secret in (token, ADMIN, lease_id):
        assert secret not in shown


def test_bad_addresses_tokens_and_strangers(task):
    for url in (
        *("127.0.0.1:5700", "ftp://127.0.0.1", "http://", "http://u:p@127.0.0.1", "http://a/?x=1"),
        *("http://[x", "http://a b", "http://a:99999", "http://a/p\n", 3),
    ):
        with pytest.raises(UsageError) as found:
            Client(url)
        assert "u:p" not in str(found.value)
    with pytest.raises(UsageError) as found:
        AsyncClient("http://127.0.0.1", token="geheim\n")  # noqa: S106
    assert "geheim" not in str(found.value)
    with Client(address(free_port()), retries=QUICK) as client, pytest.raises(ServiceError) as gone:
        client.health()
    assert gone.value.code == "unreachable"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        retries = Retries(give_up_s=0)
        with Client(address(silent.getsockname()[1]), timeout_s=0.2, retries=retries) as client:
            with pytest.raises(ServiceError) as late:
                client.health()
            assert (late.value.code, late.value.failure_kind) == ("timeout", "timeout")


def test_without_httpx_only_the_http_clients_are_missing():
    code = """
import sys
sys.modules["httpx"] = None
import shopsim_env
assert "asyncio" not in sys.modules
from shopsim_env import AsyncClient, Client, LocalClient
for kind in (Client, AsyncClient):
    try:
        kind("http://127.0.0.1:1")
    except shopsim_env.UsageError as error:
        print(error.code)
with LocalClient(shopsim_env.load_release()) as client:
    print(client.health().ready)
print(sorted({"starlette", "uvicorn", "prometheus_client"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["missing_extra", "missing_extra", "True", "[]"]


def test_leaving_a_dead_server_warns_and_hides_nothing(task, caplog):
    with ServerProcess(SAMPLE_RELEASE) as server, Client(address(server.port), retries=QUICK) as client:
        episode = client.episode(task)
        server.kill()
        with pytest.raises(ZeroDivisionError), episode:
            raise ZeroDivisionError
        with pytest.raises(UsageError):
            client.episode(task, seed=object())
    assert [record.getMessage() for record in caplog.records if record.name == "shopsim_env.client"] == [
        "an episode was not released and will expire: unreachable"
    ]


def test_an_async_beat_ends_with_its_lease(task, caplog):
    async def play(server: ServerProcess) -> None:
        async with AsyncClient(address(server.port), retries=QUICK) as client:
            assert (await client.tasks(limit=1)).tasks
            async with client.episode(task, heartbeat=True) as episode:
                await client.release_all()
                while client._beats.episodes:
                    await asyncio.sleep(0.02)
                with pytest.raises(LeaseLostError):
                    await episode.step("search[a]")
                server.kill()
                raise ZeroDivisionError

    with ServerProcess(SAMPLE_RELEASE, "--lease-ttl", "0.6") as server, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOPSIM_ADMIN_TOKEN", ADMIN)
        with pytest.raises(ZeroDivisionError):
            asyncio.run(play(server))
    messages = [record.getMessage() for record in caplog.records if record.name == "shopsim_env.client"]
    assert messages == [
        "heartbeat failed: lease_lost",
        "an episode was not released and will expire: unreachable",
    ]
