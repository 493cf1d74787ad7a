"""Writes the golden traces of the sample release: `make golden`.

Run it after a change that is meant to change what agents see, and commit the result with the raised version.
The players are scripts; they read pages as an agent does. Only the first group knows the goal.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from shopsim_env.recording import TracedEnv
from shopsim_env.release import Release, load_release
from shopsim_env.shop.actions import AskShopper, Click, Search
from shopsim_env.shop.oracle import solve_any
from shopsim_env.trace import TraceRecord, TraceWriter

GOLDEN = Path(__file__).with_name("sample.jsonl")

Player = Callable[[TracedEnv, int], None]


def tasks(release: Release, label: str, count: int) -> list[int]:
    return [number for number, task in release.tasks.items() if label in task.labels][:count]


def by_oracle(release: Release) -> Player:
    def play(env: TracedEnv, task: int) -> None:
        solve_any(release, env, task)

    return play


def words(env: TracedEnv, task: int) -> str:
    return env.reset(task, seed=task).task_instruction


def choose(env: TracedEnv, state: dict[str, Any], pick: int) -> dict[str, Any]:
    """Chooses the value number `pick` (or the last) on every axis of the open product."""
    for axis, values in state["available_options"].items():
        value = values[pick] if pick < len(values) else values[-1]
        if state["selected_options"].get(axis) != value:
            state = env.step(Click(f"{axis}={value}")).observation_state
    return state


def first_result(pick: int) -> Player:
    def play(env: TracedEnv, task: int) -> None:
        state = env.step(Search(words(env, task))).observation_state
        state = env.step(f"click[{state['products'][0]['asin']}]").observation_state
        choose(env, state, pick)
        env.step("click[buy now]")

    return play


def pages(env: TracedEnv, task: int) -> None:
    """To the last page and one beyond, back, a product of the third page, its way back, a new search."""
    env.reset(task)
    env.step("search[家用 便携 收纳 套装]")
    for _ in range(8):
        env.step("click[next >]")
    for _ in range(5):
        state = env.step("click[< prev]").observation_state
    env.step(f"click[{state['products'][-1]['asin']}]")
    env.step("click[< prev]")
    env.step("click[back to search]")
    env.step("search[Ａ字裙 ＸＬ!!]")


def changes(env: TracedEnv, task: int) -> None:
    """Every axis is chosen, changed and chosen again before buying."""
    state = env.step(Search(words(env, task))).observation_state
    products = [product["asin"] for product in state["products"]]
    for asin in products:
        state = env.step(Click(asin)).observation_state
        if len(state["available_options"]) >= 2:
            break
        env.step(Click("< prev"))
    for pick in (0, 1, 0, 2):
        state = choose(env, state, pick)
    env.step("click[buy now]")


def refusals(env: TracedEnv, task: int) -> None:
    """Each reason for a refusal at least once, then the end by the limit."""
    start = env.reset(task)
    for action in ("think", "search[]", "search[！？]", "click[buy now]"):
        env.step(action)
    for action in ("search[杯] click[x]", "search[a\nb]"):
        env.step(action)
    env.step("search[" + "长" * 4_001 + "]")
    env.step(AskShopper("要什么颜色？"))
    for odd in (None, 7, ["search[杯]"], [{"name": "search", "arguments": "{"}], {"name": "finish"}):
        env.step(odd)
    state = env.step(Search(start.task_instruction)).observation_state
    env.step(Search("again"))
    asin = next(p["asin"] for p in state["products"])
    state = env.step(Click(asin)).observation_state
    env.step("click[buy now]")
    label = next((text for text in state["actions"] if "=" in text), "none=none")
    while not env.step(Click(label)).done:
        pass


def nothing(env: TracedEnv, task: int) -> None:
    env.reset(task)
    while not env.step("click[back to search]").done:
        pass


def cut_short(env: TracedEnv, task: int) -> None:
    env.step(Search(words(env, task)))
    env.terminate("generation_length")


def left(env: TracedEnv, task: int) -> None:
    env.step(Search(words(env, task)))
    env.close()


def tool_calls(env: TracedEnv, task: int) -> None:
    """OpenAI tool calls with text and object arguments, a list with one, a lone surrogate, no hits."""
    env.reset(task)
    env.step({"type": "function", "function": {"name": "search", "arguments": '{"query": "\\ud83d 泵"}'}})
    env.step([{"name": "click", "arguments": {"value": "back to search"}}])
    state = env.step({"name": "search", "arguments": {"query": "收纳盒"}}).observation_state
    if state["products"]:
        env.step({"name": "click", "arguments": {"value": state["products"][-1]["asin"]}})
    env.step({"name": "click", "arguments": {"value": "buy now"}})


def asking(env: TracedEnv, task: int) -> None:
    """Questions on several pages, one that nobody understands, a purchase that the shopper speaks against."""
    env.reset(task, seed=17)
    for message in ("你好", "想要什么规格？", "预算多少？", "", "有什么特点要求？"):
        env.step(AskShopper(message))
    state = env.step("search[收纳]").observation_state
    env.step("ask_shopper[可以买这个吗？]")
    state = env.step(Click(state["products"][0]["asin"])).observation_state
    choose(env, state, 0)
    env.step({"name": "ask_shopper", "arguments": {"message": "颜色呢？确认下单吗？"}})
    env.step("click[buy now]")


def cases(release: Release) -> Iterator[tuple[dict[str, Any], int, Player]]:
    """Options of the environment, task, player."""
    persona, standard = tasks(release, "persona", 12), tasks(release, "standard", 12)
    oracle = by_oracle(release)
    for task in persona[:3]:
        yield {"task_mode": "persona"}, task, oracle
    for task in standard[:2]:
        yield {"task_mode": "standard"}, task, oracle
    yield {"task_mode": "standard"}, persona[3], oracle
    yield {"task_mode": "persona"}, standard[2], oracle
    for task in persona[4:6]:
        yield {"option_match": "paper"}, task, oracle
    for position, pick in enumerate((0, 0, 99)):
        yield {}, persona[6 + position], first_result(pick)
    yield {"task_mode": "standard", "option_match": "paper"}, standard[3], first_result(1)
    yield {}, persona[9], pages
    yield {"task_mode": "standard"}, standard[4], changes
    yield {"option_match": "paper"}, persona[10], changes
    yield {}, persona[11], refusals
    yield {"max_actions": 12}, persona[0], nothing
    yield {"max_invalid": 3}, persona[0], nothing
    yield {}, persona[1], cut_short
    yield {}, persona[2], left
    yield {"task_mode": "standard"}, standard[5], tool_calls
    for mode, task in (("persona", persona[5]), ("standard", standard[6])):
        yield {"task_mode": mode, "interaction_mode": "multi_turn"}, task, asking
    yield {"page_size": 5, "observation_style": "compact"}, persona[3], pages
    yield {"page_size": 7, "observation_style": "compact"}, persona[4], changes


def records(release: Release) -> Iterator[TraceRecord]:
    """The golden episodes, played now."""
    for options, task, player in cases(release):
        env = TracedEnv(release, **options)
        player(env, task)
        env.close()
        yield env.finished[-1]


def main() -> int:
    """Writes the file anew."""
    GOLDEN.unlink(missing_ok=True)
    with load_release() as release, TraceWriter(GOLDEN) as writer:
        for record in records(release):
            writer.append(record)
    sys.stdout.write(f"{GOLDEN}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
