"""The episode: `ShopEnv`, the only part of the Shop world that knows goals.

Belongs here: tasks and modes, action counting and limits, the end of an episode, the reward. Pages are in
`session`. A call either succeeds whole or raises and leaves the episode as it was; what a model wrote never
raises and is never an invalid step (contract 3, 7.11).
"""

import random
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from shopsim_env.errors import EpisodeError, SearchIndexError, TaskError, UnknownTaskError, UsageError
from shopsim_env.reward.option import OPTION_RULES
from shopsim_env.reward.total import RewardDetail, score_purchase, unpurchased_detail
from shopsim_env.shop.actions import parse_action
from shopsim_env.shop.episode import ReleaseLike, Reset, Step
from shopsim_env.shop.feedback import Feedback
from shopsim_env.shop.observation import build_state
from shopsim_env.shop.pages import Page, ProductDetail, SearchHome, Terminal, clickable
from shopsim_env.shop.render import render_observation_state
from shopsim_env.shop.session import play
from shopsim_env.shop.tools import static_tools, tools_for
from shopsim_env.tasks.model import Task
from shopsim_env.versions import ACTION_LIMITS, ENVIRONMENT_VERSION

__all__ = ["FORCED_ENDS", "TASK_MODES", "Reset", "ShopEnv", "Step"]

TASK_MODES = ("persona", "standard")
FORCED_ENDS = ("action_limit", "generation_length")


@dataclass(frozen=True, slots=True)
class _Episode:
    """A whole episode as one value; committing a step replaces it."""

    task_id: int
    page: Page = field(default_factory=SearchHome)
    count: int = 0
    feedback: Feedback | None = None


class ShopEnv:
    """One episode at a time over a release that it shares.

    Args:
        release: An opened release; a public copy is refused, because it cannot be scored.
        task_mode: "persona" shows the simple text and the persona where a task has them, else the full text
            and `{}`; "standard" shows the full text of every task.
        interaction_mode: "single_turn" (30 actions) or "multi_turn" (40). There is no shopper:
            `ask_shopper` is answered with `unavailable_action` in both.
        option_match: "anchored" or "paper" (contract 7.3).
        split: Split that `reset` without an id draws from.
        max_actions: Limit instead of the mode's own.

    Raises:
        UsageError: unknown mode or option match, limit below 1.
        TaskError: unknown split.
    """

    def __init__(
        self,
        release: ReleaseLike,
        *,
        task_mode: str = "persona",
        interaction_mode: str = "single_turn",
        option_match: str = "anchored",
        split: str | None = None,
        max_actions: int | None = None,
    ) -> None:
        self._task_mode = _one_of("task_mode", task_mode, TASK_MODES)
        self._interaction_mode = _one_of("interaction_mode", interaction_mode, tuple(ACTION_LIMITS))
        self._option_match = _one_of("option_match", option_match, OPTION_RULES)
        self._limit = _limit(max_actions, ACTION_LIMITS[interaction_mode])
        self._split = None if split is None else _split(release.splits, split)
        self._release = release
        self._goals = release.private()
        self._random: random.Random | None = None
        self._episode: _Episode | None = None
        self._closed = False

    @property
    def option_match(self) -> str:
        """The rule that compares options: "anchored" or "paper"."""
        return self._option_match

    def reset(self, task_id: int | None = None, *, seed: int | None = None) -> Reset:
        """Starts an episode; a running one is dropped only when this succeeds.

        Args:
            task_id: Task to play; without it, one is drawn from `split`.
            seed: Restarts the generator of draws. Without it, draws go on where the last one ended, as in
                Gymnasium; the first draw needs a seed. Nothing else of an episode is random.

        Raises:
            TaskError: unknown or excluded task.
            UsageError: no id and no split, first draw without a seed, seed not an integer.
            EpisodeError: the environment is closed.
        """
        if self._closed:
            raise EpisodeError("reset after close; build a new ShopEnv", code="closed")
        generator = self._random if seed is None else random.Random(_integer("seed", seed))  # noqa: S311
        task = self._task(self._draw(generator) if task_id is None else task_id)
        episode = _Episode(task.task_id)
        persona = task.user_persona if self._task_mode == "persona" else {}
        instruction = self._visible_text(task)
        state = build_state(episode.page, None, self._release)
        self._random, self._episode = generator, episode
        return Reset(
            task_instruction=instruction,
            observation=render_observation_state(state),
            observation_state=state,
            user_persona=persona,
            task_id=task.task_id,
            task_mode=self._task_mode,
            interaction_mode=self._interaction_mode,
            environment_version=ENVIRONMENT_VERSION,
        )

    def step(self, action: object) -> Step:
        """Plays one action: a typed action, an OpenAI tool call or canonical text.

        Every action counts, refused ones too. The action that reaches the limit without a purchase ends the
        episode with `action_limit` and reward 0; a purchase on the last action is scored.

        Raises:
            EpisodeError: before reset, after the end or after close.
            SearchIndexError: the catalogue file cannot be read; the episode is unchanged.
        """
        episode = self._live("step")
        with _reading():
            turn = play(episode.page, parse_action(action), self._release)
            following = replace(episode, page=turn.page, count=episode.count + 1, feedback=turn.feedback)
            if turn.bought is not None:
                return self._buy(following, turn.bought)
            if following.count >= self._limit:
                return self._force_end(following, "action_limit")
            return self._commit(following)

    def terminate(self, reason: str) -> Step:
        """Ends the episode from outside with reward 0; `reason` is "action_limit" or "generation_length".

        Raises:
            EpisodeError: no episode is running.
            UsageError: another reason.
        """
        episode = self._live("terminate")
        step = self._force_end(episode, _one_of("reason", reason, FORCED_ENDS))
        return replace(step, action_feedback=None)

    def tools(self, dynamic: bool = True) -> list[dict[str, Any]]:
        """Tool schemas: of the current page (none after the end), or the static ones of every page.

        Raises:
            EpisodeError: dynamic tools before reset or after close.
        """
        if not dynamic:
            return static_tools()
        page = self._started("tools").page
        return tools_for({"search_available": isinstance(page, SearchHome), "actions": clickable(page)})

    def close(self) -> None:
        """Drops the episode. The release stays open, others may use it. Closing twice is fine."""
        self._closed = True
        self._episode = None

    def _started(self, call: str) -> _Episode:
        if self._closed:
            raise EpisodeError(f"{call} after close; build a new ShopEnv", code="closed")
        if self._episode is None:
            raise EpisodeError(f"{call} before reset; call reset first", code="not_started")
        return self._episode

    def _live(self, call: str) -> _Episode:
        episode = self._started(call)
        if isinstance(episode.page, Terminal):
            raise EpisodeError(f"{call} after the end of the episode; call reset first", code="ended")
        return episode

    def _draw(self, generator: random.Random | None) -> int:
        if self._split is None:
            raise UsageError("reset needs a task_id, or ShopEnv a split to draw from", code="no_task")
        if generator is None:
            raise UsageError("the first draw from a split needs reset(seed=...)", code="no_seed")
        return generator.choice(self._split)

    def _task(self, task_id: int) -> Task:
        number = _integer("task_id", task_id, TaskError)
        try:
            return self._release.tasks[number]
        except KeyError as error:
            if isinstance(error, TaskError):
                raise
            raise UnknownTaskError(f"task {number} is not in this release; see release.tasks") from error

    def _visible_text(self, task: Task) -> str:
        if self._task_mode == "persona" and task.has_persona and task.instruction_simple:
            return task.instruction_simple
        return task.instruction or self._goals.goal(task.task_id).instruction

    def _buy(self, episode: _Episode, bought: ProductDetail) -> Step:
        goal = self._goals.goal(episode.task_id)
        detail = score_purchase(bought.product, bought.selected, goal, option_match=self._option_match)
        price = bought.price.price
        purchase = {
            "asin": bought.product.asin,
            "selected_options": bought.shown_selection,
            "price": None if price is None else float(price),
        }
        return self._commit(episode, "purchase", detail, {"purchase": purchase})

    def _force_end(self, episode: _Episode, reason: str) -> Step:
        detail = unpurchased_detail(reason, self._option_match)
        return self._commit(replace(episode, page=Terminal()), reason, detail)

    def _commit(
        self,
        episode: _Episode,
        reason: str | None = None,
        detail: RewardDetail | None = None,
        info: Mapping[str, Any] | None = None,
    ) -> Step:
        """Builds everything that is returned, then makes `episode` the current one."""
        state = build_state(episode.page, episode.feedback, self._release)
        step = Step(
            observation=render_observation_state(state),
            observation_state=state,
            reward=0.0 if detail is None else float(detail.r_strict),
            terminated=reason == "purchase",
            truncated=reason in FORCED_ENDS,
            done=reason is not None,
            termination_reason=reason,
            action_feedback=None if episode.feedback is None else episode.feedback.as_dict(),
            reward_detail={} if detail is None else detail.as_dict(),
            info={"action_count": episode.count, "max_actions": self._limit, **(info or {})},
        )
        self._episode = episode
        return step


@contextmanager
def _reading() -> Iterator[None]:
    """Turns a failing catalogue file into a typed error: never a reward, never a counted action."""
    try:
        yield
    except sqlite3.Error as error:
        raise SearchIndexError(f"the release cannot be read: {error}; the action did not count") from error


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise UsageError(f"{name}: expected one of {list(allowed)}, found {value!r}")
    return value


def _integer(name: str, value: object, error: type[TaskError] | type[UsageError] = UsageError) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise error(f"{name}: expected an integer, found {value!r}")
    return int(value.__index__())


def _limit(value: int | None, default: int) -> int:
    limit = default if value is None else _integer("max_actions", value)
    if limit < 1:
        raise UsageError(f"max_actions: expected at least 1, found {limit}")
    return limit


def _split(splits: Mapping[str, tuple[int, ...]], name: str) -> tuple[int, ...]:
    if name not in splits:
        raise TaskError(f"split: expected one of {sorted(splits)}, found {name!r}", code="unknown_split")
    if not splits[name]:
        raise TaskError(f"split {name!r} has no tasks in this release", code="empty_split")
    return tuple(splits[name])
