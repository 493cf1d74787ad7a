"""Examples for supervised fine-tuning: messages, tools, and which answers count in the loss.

Belongs here: the rows. `train` on an assistant message says whether it may be learned.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from shopsim_env.errors import UsageError
from shopsim_env.exports.recorded import Answer, Episode, Message, reward_of
from shopsim_env.runs.rows import table
from shopsim_env.runs.rows import text as text_of
from shopsim_env.runs.select import succeeded
from shopsim_env.shop.options import one_of
from shopsim_env.shop.tools import static_tools

BAD: Final = ("mask", "drop")
REASONING: Final = ("keep", "drop")
ROWS: Final = ("episode", "turn")
_REASONING_FIELDS: Final = ("reasoning_content", "reasoning")


@dataclass(frozen=True, slots=True)
class SftOptions:
    """What becomes an example.

    Args:
        bad: "mask" keeps protocol errors and refused actions in the conversation with `train` false; "drop"
            leaves out episodes that have one.
        reasoning: "keep" puts the reasoning into `reasoning_content`; "drop" leaves it out.
        rows: "episode" makes one row an episode; "turn" one row per answer to learn, with what came before it
            and the tools that the model had.
        min_reward: Lowest reward.
        reward: Which reward: "reward" or a component.

    Raises:
        UsageError: another word.
    """

    bad: str = "mask"
    reasoning: str = "drop"
    rows: str = "episode"
    min_reward: float = 0.0
    reward: str = "reward"

    def __post_init__(self) -> None:
        one_of("bad", self.bad, BAD)
        one_of("reasoning", self.reasoning, REASONING)
        one_of("rows", self.rows, ROWS)
        if self.min_reward != self.min_reward:
            raise UsageError("min_reward: expected a number, found none")


def sft_rows(
    episodes: Iterable[Episode], options: SftOptions, counts: Counter[str]
) -> Iterator[dict[str, Any]]:
    """The examples; counts what was left out (`low_reward`, `bad_dropped`, `nothing_to_learn`) or masked."""
    for episode in episodes:
        if reward_of(episode.row, options.reward) < options.min_reward:
            counts["low_reward"] += 1
            continue
        bad = sum(answer.bad for answer in episode.answers)
        if bad and options.bad == "drop":
            counts["bad_dropped"] += 1
            continue
        if bad == len(episode.answers):
            counts["nothing_to_learn"] += 1
            continue
        counts["exported"] += 1
        counts["masked"] += bad
        keep = options.reasoning == "keep"
        yield from (_turns if options.rows == "turn" else _whole)(episode, keep)


def _whole(episode: Episode, keep: bool) -> Iterator[dict[str, Any]]:
    messages: list[Message] = [clean(message) for message in episode.start]
    messages += continued(episode.answers, keep)
    offered = [answer.tools for answer in episode.answers]
    same = all(tools == offered[0] for tools in offered)
    tools = offered[0] if same else static_tools(any(_asks(one) for one in offered))
    yield {**_about(episode), "messages": messages, "tools": tools, "turn_tools": None if same else offered}


def _turns(episode: Episode, keep: bool) -> Iterator[dict[str, Any]]:
    """One row per answer to learn. Earlier answers stand as they went back to the model."""
    before: list[Message] = [dict(message) for message in episode.start]
    for number, answer in enumerate(episode.answers, start=1):
        if not answer.bad:
            last = {**spoken(answer, keep), "train": True}
            messages = [message if keep else clean(message) for message in before]
            about = {**_about(episode), "turn": number}
            yield {**about, "messages": [*messages, last], "tools": answer.tools}
        before += [{**answer.message, "train": False}, *answer.replies]


def continued(answers: list[Answer], keep: bool) -> list[Message]:
    """Answers with what came back, each marked; nothing after the last answer."""
    messages: list[Message] = []
    for answer in answers:
        messages += [{**spoken(answer, keep), "train": not answer.bad}, *answer.replies]
    return messages[: len(messages) - len(answers[-1].replies)]


def spoken(answer: Answer, keep: bool) -> Message:
    """The message of an answer, with its reasoning or without."""
    message = clean(answer.message)
    reasoning = text_of(table(answer.step.get("model")).get("reasoning"))
    return {**message, "reasoning_content": reasoning} if keep and reasoning else message


def clean(message: Message) -> Message:
    """A message without reasoning."""
    return {name: value for name, value in message.items() if name not in _REASONING_FIELDS}


def _asks(tools: list[Any]) -> bool:
    return any(table(table(tool).get("function")).get("name") == "ask_shopper" for tool in tools)


def _about(episode: Episode) -> dict[str, Any]:
    return {**episode.identity, "reward": episode.row.reward, "success": succeeded(episode.row)}
