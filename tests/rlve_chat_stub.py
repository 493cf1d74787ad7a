"""A chat endpoint on a socket that plays RLVE: scripted answers by the seed of the model and the step.

    python tests/rlve_chat_stub.py SCRIPT      (a process of its own; prints its base URL first)

Belongs here: turns of an agent as assistant messages, and serving them. The server is that of `chat_stub`.
"""

import json
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chat_stub import ChatStub

from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.oracles import oracle
from shopsim_env.rlve.tools import ALIASES
from shopsim_env.runner.plan import episode_seed

DOTTED = {dotted: alias for alias, dotted in ALIASES.items()}
MALFORMED = {"content": "", "tool_calls": [{"function": {"name": "catalog_search", "arguments": '{"query"'}}]}
UNKNOWN = {"content": "", "tool_calls": [{"function": {"name": "buy_all", "arguments": "{}"}}]}
EMPTY = {"content": "", "tool_calls": []}


@dataclass
class RlveChatStub(ChatStub):
    """`script`: model seed -> (kind of faults, assistant messages); the last message is said again."""

    def answer(self, key: tuple[int, int]) -> dict[str, Any]:
        """The choice at this step."""
        messages = self.script[key[0]][1]
        message: Any = messages[min(key[1], len(messages)) - 1]
        reason = "tool_calls" if message["tool_calls"] else "stop"
        return {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}


def assistant(turn: dict[str, Any]) -> dict[str, Any]:
    """A turn of docs/rlve-tools.md as an assistant message with function calls."""
    calls = [(DOTTED[call["name"]], call["args"]) for call in turn.get("tool_calls") or ()]
    if turn.get("answer") is not None:
        calls.append(("final_answer", turn["answer"]))
    listed = [
        {
            "id": f"c{place}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
        }
        for place, (name, arguments) in enumerate(calls)
    ]
    return {"content": turn["assistant_message"], "tool_calls": listed}


def oracle_messages(market: Market, key: EpisodeKey) -> list[dict[str, Any]]:
    """What the oracle of an episode says, as assistant messages."""
    episode, agent, said = Episode(market, key), oracle(key.env_id), []
    while not episode.done:
        turn = agent.act(episode.sight())
        said.append(assistant(turn))
        episode.step(turn)
    return said


def model_seed(key: EpisodeKey, sample_id: int = 0, seed: int = 7) -> int:
    """The seed with which a run asks for the first step of an episode."""
    return episode_seed(seed, f"{key.env_id}:{key.difficulty}:{key.seed}", sample_id)


def config(
    folder: Path, url: str, server: str | None = None, name: str = "played", concurrency: int = 4, **rlve: Any
) -> Path:
    """A configuration file of RLVE; `rlve` replaces values of its table."""
    keys = {"environments": ["PD", "CART", "POLICY"], "difficulties": [0, 3], "seeds": 2, "first_seed": 1}
    tables: dict[str, dict[str, Any]] = {
        "run": {"name": name, "seed": 7, "concurrency": concurrency},
        "rlve": {**keys, "repeats": 2, **rlve},
        "environment": {"server": server},
        "model": {"name": "scripted", "base_url": url, "send_seed": True, "give_up_s": 20.0},
    }
    lines = []
    for title, values in tables.items():
        lines.append(f"[{title}]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items() if value is not None]
    path = folder / f"{name}.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def main() -> None:
    """Serves the script in a file until the process is ended."""
    script = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    with RlveChatStub({int(seed): tuple(play) for seed, play in script.items()}, keep=False) as stub:
        print(stub.base_url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
