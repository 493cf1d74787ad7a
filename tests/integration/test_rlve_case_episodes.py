"""Cases about whole episodes: openings, histories, repeated questions, journeys, and what reads no clock."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from rlve_world import ENVIRONMENTS, played, sample_market

from shopsim_env.rlve.environments import collection
from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.oracles import oracle
from shopsim_env.rlve.scheduler import Result, new_schedule

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def market() -> Iterator[Market]:
    with sample_market() as found:
        yield found


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_no_opening_has_a_gap(market: Market, env_id: str) -> None:
    for d in (0, 4, 8):
        for seed in range(4):
            for language in ("zh", "en"):
                said = Episode(market, EpisodeKey(env_id, d, seed, language)).observation()["conversation"]
                assert not re.search(r"[{}]|None", said[0]["content"])


def test_the_visit_history_of_level_6(market: Market) -> None:
    """Three targets and twice as many others."""
    for seed in range(4):
        episode = Episode(market, EpisodeKey("CART", 6, seed))
        call = {"name": "user.get_visit_history", "args": {}}
        step = episode.step({"assistant_message": "好的。", "tool_calls": [call]})
        shown = {card["product_id"] for card in step.observation["tool_results"][0]["result"]["products"]}
        assert len(shown) == 9
        targets = {item["product_id"] for item in episode.task.goal()["items"]}
        assert len(targets) == 3
        assert targets <= shown


def test_asking_the_same_again_and_again_costs_turns(market: Market) -> None:
    """Which order? Asked in 8 turns of 9, each time with the list of orders: most turns are charged."""
    asking = {
        "assistant_message": "请问是哪个订单？",
        "tool_calls": [{"name": "order.list", "args": {"days": 365}}],
    }
    for seed in range(5):
        episode = Episode(market, EpisodeKey("RETURN", 10, seed))
        for _ in range(8):
            assert not episode.step(asking).done
        answer = {"assistant_message": "好了。", "answer": {"done": True}}
        reward = episode.step(answer).info["reward"]
        assert (reward["turns"], reward["turn_budget"]) == (9, 9)
        assert reward["efficiency"] <= 0


def test_a_journey_brings_up_every_part(market: Market) -> None:
    for d in (0, 4, 8):
        for seed in range(3):
            key = EpisodeKey("JOURNEY", d, seed, overrides={"p_noise": 0})
            episode = played(Episode(market, key), oracle("JOURNEY"))
            messages = episode.observation()["conversation"]
            said = "".join(message["content"] for message in messages if message["role"] == "user")
            parts = episode.task._parts  # type: ignore[attr-defined]
            # Published: min(5, 2 + d // 4) tasks.
            assert len(parts) == min(5, 2 + d // 4)
            assert all(part.brief.request in said for part in parts)


def test_a_perfect_cart_leaves_level_0(market: Market) -> None:
    schedule = new_schedule(collection("C1"))
    for prompt in range(32):
        episode = played(Episode(market, EpisodeKey("CART", 0, prompt)), oracle("CART"))
        assert episode.reward is not None
        schedule, _ = schedule.after(Result(prompt, "CART", 0, int(episode.reward.success)))
    assert schedule.window("CART").high == 1


@pytest.mark.parametrize("depth", [334, 500])
def test_a_search_outside_an_episode_gives_as_many_hits_as_asked_for(market: Market, depth: int) -> None:
    """The sample has some 800 products; every third one and more are asked for."""
    words = " ".join(
        sorted({market.shelf.item(number).title for number in range(1, len(market.world) + 1, 20)})
    )
    assert len(market.shelf.release.search(words, depth).asins) == depth


def test_no_module_of_an_episode_reads_a_clock_or_global_draws() -> None:
    """So that a transcript is the same on any day; leases of the server, which expire, are no part of one."""
    for path in sorted((ROOT / "shopsim_env" / "rlve").rglob("*.py")):
        if path.name == "leases.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert not {alias.name for alias in node.names} & {"time", "random", "secrets", "uuid"}, path
            elif isinstance(node, ast.ImportFrom):
                assert node.module not in {"time", "random", "secrets", "uuid"}, path
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                assert node.func.attr not in {"today", "now", "utcnow"}, path
