"""Task files for trainers: the messages that a rollout starts with, and what it takes to start it.

Belongs here: rows. A row shows what an agent sees at the start and names the task; goals and answers are in
none of its columns, because rewards come from the environment.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from shopsim_env.canonical import ordered_json
from shopsim_env.client.local import LocalClient
from shopsim_env.errors import TaskError
from shopsim_env.release import Release
from shopsim_env.runner.rollout import Rollout
from shopsim_env.shop.env import ShopEnv

DATA_SOURCE, ABILITY, AGENT = "shopsim", "shopping", "shop_agent"


def chosen_tasks(release: Release, splits: Sequence[str]) -> list[tuple[str, int]]:
    """Split and task id of each row, in the order of the splits.

    Raises:
        TaskError: unknown or empty split, or a task in two of them (code `duplicate_task`).
    """
    chosen: list[tuple[str, int]] = []
    for name in splits:
        if name not in release.splits:
            expected = sorted(release.splits)
            raise TaskError(f"split: expected one of {expected}, found {name!r}", code="unknown_split")
        if not release.splits[name]:
            raise TaskError(f"split {name!r} has no tasks in this release", code="empty_split")
        chosen += [(name, task_id) for task_id in release.splits[name]]
    if len({task_id for _, task_id in chosen}) < len(chosen):
        raise TaskError(f"splits {list(splits)} share tasks; export them one by one", code="duplicate_task")
    return chosen


def task_rows(
    release: Release,
    chosen: Iterable[tuple[str, int]],
    *,
    prompt: str = "zh-v1",
    seed: int = 0,
    agent: str = AGENT,
    **environment: Any,
) -> Iterator[dict[str, Any]]:
    """One row per task.

    Args:
        release: What is played. It needs goals for texts that are private in a public copy.
        chosen: Splits and task ids, as `chosen_tasks` gives them.
        prompt: System prompt of the runner.
        seed: Seed of the episodes: wordings of the shopper in multi-turn mode.
        agent: Name of the agent loop that is to play the rows.
        environment: Keywords of `ShopEnv`.

    Yields:
        `prompt` (chat messages), `task_id`, `split`, `data_source`, `ability`, `agent_name`, `tools` (static
        schemas as JSON text) and `extra_info`, which starts the same episode again.
    """
    options = ShopEnv(release, **environment).options
    with LocalClient(release, slots=1) as client:
        for index, (split, task_id) in enumerate(chosen):
            with Rollout.open(
                client, task_id, seed=seed, prompt=prompt, tools="static", **environment
            ) as rollout:
                messages, tools = rollout.messages, ordered_json(rollout.tools)
            yield {
                "prompt": messages,
                "task_id": task_id,
                "split": split,
                "data_source": DATA_SOURCE,
                "ability": ABILITY,
                "agent_name": agent,
                "tools": tools,
                "extra_info": {
                    "index": index,
                    "task_id": task_id,
                    "split": split,
                    "release": release.id,
                    "seed": seed,
                    "prompt": prompt,
                    "environment": options,
                },
            }
