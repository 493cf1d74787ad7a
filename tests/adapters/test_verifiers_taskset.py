"""The task set in verifiers' own engine: its agent, its chat loop, its tool server, its validator."""

import asyncio
import gc
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

pytest.importorskip("verifiers", reason="the extra `verifiers` is not installed; `make adapters` has it")

import verifiers.v1 as vf
from places import SAMPLE_RELEASE
from servers import ServerProcess
from token_models import SHAPES
from verifiers.v1.cli.validate import CHECKS, _run_check
from verifiers.v1.configs.cli.validate import ValidateConfig
from verifiers.v1.envs.single_agent import SingleAgentEnvConfig

from shopsim_env import ShopEnv, load_release
from shopsim_env.adapters.verifiers import ENDED, ShopState
from shopsim_env.shop.oracle import solve


@pytest.fixture(scope="module")
def won():
    """Tasks that the oracle wins, and how."""
    found = {}
    with load_release() as release:
        env = ShopEnv(release)
        for task_id in release.splits["project/train"]:
            result = solve(release, env, task_id)
            if result.reached:
                found[task_id] = result.actions
            if len(found) == 3:
                return found
    raise AssertionError("the sample has tasks that can be won")


class Model(ThreadingHTTPServer):
    """An endpoint whose model plays actions and then says goodbye; `gate` holds its first answers."""

    def __init__(self, actions, gate=None):
        super().__init__(("127.0.0.1", 0), Answering)
        self.actions, self.gate, self.seen = actions, gate, []


class Answering(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append(body)
        if self.server.gate is not None:
            self.server.gate.wait(60)
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        delta, reason = {"role": "assistant", "content": "好了"}, "stop"
        if turn < len(self.server.actions):
            name, _, rest = self.server.actions[turn].partition("[")
            arguments = json.dumps({SHAPES[name]: rest[:-1]}, ensure_ascii=False)
            function = {"name": name, "arguments": arguments}
            call = {"index": 0, "id": f"call-{turn}", "type": "function", "function": function}
            delta, reason = {"role": "assistant", "tool_calls": [call]}, "tool_calls"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        head = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
        chunk = {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}], "usage": usage}
        content = f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@contextmanager
def model(actions, gate=None):
    with Model(actions, gate) as found:
        thread = threading.Thread(target=found.serve_forever, daemon=True)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def server():
    with ServerProcess(SAMPLE_RELEASE, "--slots", "4") as found:
        yield found


def free_slots(server):
    return server.call("GET", "/healthz")[1]["free_slots"]


def environment(server, task=None, **taskset):
    url = f"http://127.0.0.1:{server.port}"
    config = SingleAgentEnvConfig(
        taskset={"id": "vf-shop-tasks", "task": {"server": url, **(task or {})}, **taskset},
        agent={"harness": {"id": "vf-plain-null"}, "runtime": {"type": "subprocess"}, "max_turns": 30},
    )
    return vf.load_environment(config)


def task_of(env, task_id):
    return next(task for task in env.taskset if task.key == str(task_id))


def run(env, endpoint, task_id, n=1, on_complete=None):
    """Episodes of one task."""
    client = vf.EvalClientConfig(base_url=f"http://127.0.0.1:{endpoint.server_port}/v1", api_key_var="NO_KEY")
    context = vf.ModelContext(client=client, model="scripted", sampling=vf.SamplingConfig())

    async def main():
        async with env.serving():
            slots = env.slots(task_of(env, task_id), n)
            return await asyncio.gather(
                *(env.run_slot(slot, context, on_complete=on_complete) for slot in slots)
            )

    return asyncio.run(main())


def test_tasks_are_those_of_the_split_with_the_page_in_the_prompt(server):
    tasks = list(environment(server, prompt="en-v1").taskset.take(2))
    with load_release() as release:
        ids = release.splits["project/train"][:2]
        starts = [ShopEnv(release).reset(task_id) for task_id in ids]
    assert [task.key for task in tasks] == [str(task_id) for task_id in ids]
    assert len({task.key for task in tasks}) == 2
    for task, start in zip(tasks, starts, strict=True):
        assert task.data.prompt == f"{start.task_instruction}\n\n{start.observation}"
        assert task.data.system_prompt.startswith("You are a shopping assistant")
    assert free_slots(server) == 4


def test_a_won_episode(server, won):
    task_id, actions = next(iter(won.items()))
    with model(actions) as endpoint:
        (episode,) = run(environment(server), endpoint, task_id)
    (trace,) = episode.traces
    assert (episode.ok, trace.ok, trace.reward) == (True, True, 1.0)
    assert set(trace.rewards) == {"r_strict"}
    assert trace.metrics["r_success"] == trace.metrics["bought"] == 1.0
    assert trace.metrics["steps"] == len(actions)
    # Nothing is asked after the purchase, and the page of the start stands once.
    assert trace.stop_condition == "episode_ended"
    assert len(endpoint.seen) == len(actions)
    with load_release() as release:
        env = ShopEnv(release)
        first = env.reset(task_id)
        pages = [env.step(action).observation for action in actions[:-1]]
    last = endpoint.seen[-1]["messages"]
    assert [message["content"] for message in last if message["role"] == "tool"] == pages
    assert (
        json.dumps(last, ensure_ascii=False).count(json.dumps(first.observation, ensure_ascii=False)[1:-1])
        == 1
    )
    assert sorted(tool["function"]["name"] for tool in endpoint.seen[0]["tools"]) == ["click", "search"]
    assert free_slots(server) == 4


def test_an_agent_that_leaves_has_reward_0(server, won):
    with model(["search[收纳]"]) as endpoint:
        (episode,) = run(environment(server), endpoint, next(iter(won)))
    (trace,) = episode.traces
    assert (trace.ok, trace.reward, trace.metrics["bought"]) == (True, 0.0, 0.0)
    assert trace.state.result["termination_reason"] == "generation_length"
    with model([]) as endpoint:
        (episode,) = run(environment(server), endpoint, next(iter(won)))
    assert episode.traces[0].reward == 0.0
    assert free_slots(server) == 4


def test_a_shopper_can_be_asked(server, won):
    env = environment(server, environment={"interaction_mode": "multi_turn"})
    with model(["ask_shopper[预算多少？]"]) as endpoint:
        run(env, endpoint, next(iter(won)))
    offered = sorted(tool["function"]["name"] for tool in endpoint.seen[0]["tools"])
    assert offered == ["ask_shopper", "click", "search"]
    assert endpoint.seen[1]["messages"][-1]["content"] != ENDED


def test_nine_of_ten_cannot_start(won):
    task_id, actions = next(iter(won.items()))
    gate, done = threading.Event(), []

    async def count(episode):
        done.append(episode)
        if len(done) == 9:
            gate.set()

    with ServerProcess(SAMPLE_RELEASE, "--slots", "1") as small, model(actions, gate) as endpoint:
        env = environment(small, task={"wait_s": 0})
        episodes = run(env, endpoint, task_id, 10, count)
        assert free_slots(small) == 1
    traces = [episode.traces[0] for episode in episodes]
    usable = [trace for trace in traces if trace.ok]
    assert [trace.reward for trace in usable] == [1.0]
    lost = [trace for trace in traces if not trace.ok]
    assert len(lost) == 9
    assert all(not trace.rewards and "task setup" in trace.last_error.message for trace in lost)


def test_a_lease_that_is_lost_leaves_no_reward(server, won):
    task_id, actions = next(iter(won.items()))
    gate = threading.Event()
    with model(actions, gate) as endpoint:

        def lose():
            while not endpoint.seen:
                time.sleep(0.01)
            server.call(
                "DELETE", "/v1/episodes", headers={"authorization": "Bearer admin-token-of-the-tests"}
            )
            gate.set()

        thread = threading.Thread(target=lose)
        thread.start()
        (episode,) = run(environment(server), endpoint, task_id)
        thread.join()
    (trace,) = episode.traces
    assert (episode.ok, trace.ok) == (False, False)
    assert not any(trace.rewards.values())
    assert "lease_lost" in trace.last_error.message
    assert free_slots(server) == 4


def test_validate_plays_the_witness_where_the_release_has_it(server, won):
    config = ValidateConfig(taskset={"id": "vf-shop-tasks"}, runtime={"type": "subprocess"})
    release = {"release": SAMPLE_RELEASE}

    with_release, without = environment(server, task=release), environment(server)
    asked = [(task_of(with_release, task_id), "gold") for task_id in won]
    asked += [(task_of(without, next(iter(won))), mode) for mode in ("gold", "noop")]

    async def main():
        rows = []
        for task, mode in asked:
            rows.append(await _run_check(task, config, mode))
            assert rows[-1]["error"] is None, rows[-1]
            assert (await task._client().health()).free_slots == 4, mode
        return rows

    assert set(CHECKS) == {"setup", "gold", "noop"}
    rows = [(row["valid"], row["reason"], row.get("reward")) for row in asyncio.run(main())]
    assert rows == [*[(True, "valid", None)] * 3, (None, "unchecked", None), (True, "valid", 0.0)]


class Box:
    """Stands for a runtime, of which nothing is asked."""


def trace_of(task):
    return vf.Trace(
        task=vf.TraceTask(type="ShopTask", data=task.data),
        state=ShopState(),
        agent=vf.AgentInfo(config=vf.AgentConfig()),
    )


@pytest.mark.parametrize("kept", [False, True])
def test_sixty_rollouts_of_a_forgetful_trainer_run_in_four_slots(won, kept):
    """None comes to `finalize`. Dropped traces free their leases; those of traces that are kept expire."""
    ttl = ("--lease-ttl", "1") if kept else ()
    with ServerProcess(SAMPLE_RELEASE, "--slots", "4", *ttl) as four:
        task = task_of(environment(four, task={"wait_s": 60}), next(iter(won)))
        traces = []

        async def forgotten(number):
            trace = trace_of(task)
            await task.setup(trace, Box())
            if kept:
                traces.append(trace)
            return trace.state.lease_id

        async def main():
            started = await asyncio.gather(*map(forgotten, range(60)))
            while (await task._client().health()).free_slots < 4:
                gc.collect()
                await asyncio.sleep(0.05)
            return started

        started = asyncio.run(asyncio.wait_for(main(), 90))
    assert len(set(started)) == 60
    assert len(traces) == (60 if kept else 0)


def test_a_lease_goes_with_its_trace(server, won):
    task = task_of(environment(server), next(iter(won)))

    async def main():
        trace = trace_of(task)
        await task.setup(trace, Box())
        assert (await task._client().health()).free_slots == 3
        del trace
        gc.collect()
        while (await task._client().health()).free_slots < 4:
            await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(main(), 30))
