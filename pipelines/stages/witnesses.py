"""Witnesses: for every task and mode, an action list that was played to r_success = 1, or why there is none.

Belongs here: which texts are searched, the three grades, playing, and the file. The player is the runtime's
own (`shopsim_env.shop.oracle` through `ShopEnv`); the plan concerns the task's own product, so a reason says
that this product cannot be bought to full reward, and no more. Counting is in `witness_report`. Goals go in,
so what comes out is private. Source: contract 7.7.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from pipelines.stages.processes import ALONE, Workers, in_processes
from shopsim_env.private import Goal, Witness
from shopsim_env.release import Release
from shopsim_env.release.opening import open_staged
from shopsim_env.shop.baselines import search_keywords
from shopsim_env.shop.env import ShopEnv
from shopsim_env.shop.episode import Reset
from shopsim_env.shop.oracle import QUERY_FAULTS, attempt
from shopsim_env.versions import TOP_K

REPLAYED: Final = 200
_SEED: Final = 20261130
_NOT_FOUND: Final = "not_found_in_top_150"
_CHUNK = 64
# Below so many tasks a second process costs more than it saves.
_TASKS_FOR_PROCESSES = 4_000

Query = tuple[str, str]
"""Name for `Witness.found_by`, and the text."""
Derivable = Mapping[tuple[int, str], bool]
"""Task id and mode to whether every graded fact follows from what the mode shows (W3)."""


def modes_of(*, has_persona: bool) -> tuple[str, ...]:
    """The modes that show a task differently; persona mode shows standard tasks as standard mode does."""
    return ("persona", "standard") if has_persona else ("standard",)


def visible_queries(start: Reset) -> Iterator[Query]:
    """Texts that an agent can search with what it was shown: the request, then the persona's searches.

    The searches come together first and then one by one, as a persona lists them.
    """
    yield "text", start.task_instruction
    searches = search_keywords(start.user_persona)
    yield from (("searches", text) for text in dict.fromkeys((" ".join(searches), *searches)) if text)


def hidden_queries(goal: Goal) -> Iterator[Query]:
    """Texts that only somebody who knows the goal can search: the full request and the gold title."""
    yield "full", goal.instruction
    yield "title", goal.product.title


def find_witness(release: Release, env: ShopEnv, task_id: int) -> Witness:
    """Plays one task with the first text that finds its product; W3 is left open.

    Args:
        release: The release that `env` plays, staged or whole.
        env: Its mode decides what is visible; its episode is replaced.
        task_id: Task to play.
    """
    goal = release.private().goal(task_id)
    start = env.reset(task_id)
    visible = [query for query in visible_queries(start) if _finds(release, goal, query)]
    grades = ("W2",) if visible else ()
    witness = Witness(task_id, start.task_mode, grades, "", _NOT_FOUND, ())
    hidden = (query for query in hidden_queries(goal) if _finds(release, goal, query))
    for name, text in chain(visible, hidden):
        result = attempt(env, goal, text, name)
        if result.reached:
            return replace(witness, grades=("W1", *grades), found_by=name, reason="", actions=result.actions)
        witness = replace(witness, reason=result.reason)
        if result.reason not in QUERY_FAULTS:
            break
    return witness


def _finds(release: Release, goal: Goal, query: Query) -> bool:
    return goal.product.asin in release.search(query[1], TOP_K).asins


def make_witnesses(
    root: Path,
    derivable: Derivable,
    *,
    workers: Workers = ALONE,
    on_progress: Callable[[int, int], None] | None = None,
) -> Iterator[Witness]:
    """Witnesses of all tasks in ascending id, persona before standard mode.

    Args:
        root: Staged parts of a release.
        derivable: W3 of every task and mode.
        workers: Processes that play where there are many tasks; the result is the same.
        on_progress: Called with tasks done and all tasks.
    """
    release = open_staged(root)
    try:
        ids = list(release.tasks)
        workers = workers.for_work(len(ids), _TASKS_FOR_PROCESSES)
        for done, found in enumerate(_play_all(release, root, ids, workers), start=1):
            yield from (_with_w3(witness, derivable) for witness in found)
            if on_progress is not None:
                on_progress(done, len(ids))
    finally:
        release.close()


def _with_w3(witness: Witness, derivable: Derivable) -> Witness:
    if not derivable[(witness.task_id, witness.mode)]:
        return witness
    return replace(witness, grades=(*witness.grades, "W3"))


def _play_all(release: Release, root: Path, ids: Sequence[int], workers: Workers) -> Iterator[list[Witness]]:
    if not workers.apart:
        player = _Player(release)
        yield from map(player.play, ids)
        return
    with in_processes(workers, chunk=_CHUNK, prepare=partial(_open_in_worker, root)) as each:
        yield from each(_play_in_worker, ids)


class _Player:
    """One environment for each mode over one release."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self._envs = {mode: ShopEnv(release, task_mode=mode) for mode in modes_of(has_persona=True)}

    def play(self, task_id: int) -> list[Witness]:
        modes = modes_of(has_persona=self._release.tasks[task_id].has_persona)
        return [find_witness(self._release, self._envs[mode], task_id) for mode in modes]


_players: list[_Player] = []


def _open_in_worker(root: Path) -> None:
    _players.append(_Player(open_staged(root)))


def _play_in_worker(task_id: int) -> list[Witness]:
    return _players[0].play(task_id)


def write_witnesses(path: Path, witnesses: Iterable[Witness]) -> int:
    """Writes JSON lines as they come; returns their number."""
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for witness in witnesses:
            stream.write(witness.as_line() + "\n")
            count += 1
    return count


def read_witnesses(path: Path) -> Iterator[Witness]:
    """Witnesses of a file that `write_witnesses` wrote."""
    with path.open("rb") as lines:
        yield from map(Witness.from_line, lines)


def replayed(witnesses: Iterable[Witness], count: int = REPLAYED, seed: int = _SEED) -> list[Witness]:
    """A seeded choice of `count` witnesses with an action list, or all when there are fewer."""
    won = [witness for witness in witnesses if "W1" in witness.grades]
    return won if len(won) <= count else random.Random(seed).sample(won, count)  # noqa: S311 - not secret


def replay(release: Release, witness: Witness) -> str:
    """Plays an action list again; returns "" when it reaches r_success = 1, else what happened instead."""
    env = ShopEnv(release, task_mode=witness.mode)
    env.reset(witness.task_id)
    for number, action in enumerate(witness.actions, start=1):
        step = env.step(action)
        if step.done:
            if number < len(witness.actions):
                return f"ended with action {number} of {len(witness.actions)}"
            return "" if step.reward_detail["r_success"] == 1 else str(step.termination_reason)
    return "did not end"
