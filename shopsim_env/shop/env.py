"""The episode: `ShopEnv`, the only part of the Shop world that knows goals.

Belongs here: tasks and modes, action counting and limits, the end of an episode, the reward. Pages are in
`session`. A call either succeeds whole or raises and leaves the episode as it was; what a model wrote never
raises and is never an invalid step (contract 3, 7.11).
"""

import random
import sqlite3
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, NamedTuple

from shopsim_env.dialogue.shopper import Talk
from shopsim_env.dialogue.wording import TemplateWording, Wording
from shopsim_env.errors import (
    EpisodeError,
    SearchIndexError,
    SimulatorError,
    UsageError,
)
from shopsim_env.reward.total import RewardDetail, score_purchase, unpurchased_detail
from shopsim_env.shop.actions import parse_action
from shopsim_env.shop.asking import shopper_block, take_turn, talk_info
from shopsim_env.shop.briefing import brief, find_task
from shopsim_env.shop.episode import ReleaseLike, Reset, Step
from shopsim_env.shop.feedback import Feedback
from shopsim_env.shop.observation import observe
from shopsim_env.shop.options import TASK_MODES, action_limit, integer, one_of, options_of, split_ids
from shopsim_env.shop.pages import Page, ProductDetail, SearchHome, Terminal, clickable
from shopsim_env.shop.render import PageText
from shopsim_env.shop.session import Turn
from shopsim_env.shop.shelf import Shelf, caches_of
from shopsim_env.shop.styles import RENDERERS
from shopsim_env.shop.tools import static_tools, tools_for
from shopsim_env.tasks.model import Task
from shopsim_env.versions import ENVIRONMENT_VERSION, PAGE_SIZE

__all__ = ["FORCED_ENDS", "TASK_MODES", "Reset", "ShopEnv", "Step"]

FORCED_ENDS = ("action_limit", "generation_length")


class _Episode(NamedTuple):
    """A whole episode as one value; committing a step replaces it."""

    task_id: int
    page: Page = SearchHome()
    talk: Talk | None = None
    actions: int = 0
    feedback: Feedback | None = None
    invalid: int = 0
    invalid_run: int = 0

    def after(self, turn: Turn, talk: Talk | None) -> "_Episode":
        """The episode with one more action counted, refused ones also by themselves and in a row."""
        valid = turn.feedback.valid
        return _Episode(
            self.task_id,
            turn.page,
            talk,
            self.actions + 1,
            turn.feedback,
            self.invalid if valid else self.invalid + 1,
            0 if valid else self.invalid_run + 1,
        )


class ShopEnv:
    """One episode at a time over a release that it shares.

    Args:
        release: An opened release; a public copy is refused, because it cannot be scored.
        task_mode: "persona" shows the simple text and the persona where a task has them, else the full text
            and `{}`; "standard" shows the full text of every task.
        interaction_mode: "single_turn" (30 actions) or "multi_turn" (40), where the request is vague and a
            shopper answers `ask_shopper` on every page.
        option_match: "anchored" or "paper" (contract 7.3).
        split: Split that `reset` without an id draws from.
        max_actions: Limit instead of the mode's own.
        page_size: Products on a results page, 1 to 20.
        observation_style: "full" is the text of `render_observation_state`, "compact" a shorter one for small
            contexts; the state is the same.
        max_invalid: Ends the episode with `action_limit` after so many refused actions in a row.
        persona_view: "default" shows the persona as published, "without_searches" leaves out recent searches,
            which often repeat the goal (contract 7.8).
        shopper_wording: Who words the shopper's facts, multi-turn only; templates by default.

    Raises:
        UsageError: unknown mode, option match, style or persona view; limit or page size out of range; a
            wording without a shopper.
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
        page_size: int = PAGE_SIZE,
        observation_style: str = "full",
        max_invalid: int | None = None,
        persona_view: str = "default",
        shopper_wording: Wording | None = None,
    ) -> None:
        self._options = options_of(
            task_mode=task_mode,
            interaction_mode=interaction_mode,
            option_match=option_match,
            max_actions=action_limit(interaction_mode, max_actions),
            page_size=page_size,
            observation_style=observation_style,
            max_invalid=max_invalid,
            persona_view=persona_view,
        )
        if shopper_wording is not None and interaction_mode != "multi_turn":
            raise UsageError("shopper_wording: expected none in single_turn mode, which has no shopper")
        self._wording = shopper_wording or TemplateWording()
        self._render = RENDERERS[observation_style]
        self._split = None if split is None else split_ids(release.splits, split)
        self._release = release
        self._caches = caches_of(release)
        self._shelf = Shelf(release, self._caches)
        self._scores = self._caches.scores
        self._goals = release.private()
        self._random: random.Random | int | None = None
        self._episode: _Episode | None = None
        self._closed = False

    @property
    def option_match(self) -> str:
        """The rule that compares options: "anchored" or "paper"."""
        return self._options.option_match

    @property
    def options(self) -> dict[str, Any]:
        """Keywords that make a `ShopEnv` which plays the same: what a trace has to record."""
        return self._options.as_dict()

    def reset(self, task_id: int | None = None, *, seed: int | None = None) -> Reset:
        """Starts an episode; a running one is dropped only when this succeeds.

        Args:
            task_id: Task to play; without it, one is drawn from `split`.
            seed: Restarts the generator of draws. Without it, draws go on where the last one ended, as in
                Gymnasium; the first draw needs a seed. In multi-turn it also picks the shopper's wordings
                (those of 0 without it). Nothing else of an episode is random.

        Raises:
            TaskError: unknown or excluded task.
            UsageError: no id and no split, first draw without a seed, seed not an integer.
            EpisodeError: the environment is closed.
        """
        if self._closed:
            raise EpisodeError("reset after close; build a new ShopEnv", code="closed")
        generator = self._random if seed is None else integer("seed", seed)
        if task_id is None:
            generator = self._generator(generator)
            task_id = generator.choice(self._drawable())
        task = find_task(self._release.tasks, task_id)
        episode, start = self._begin(task, 0 if seed is None else seed)
        self._random, self._episode = generator, episode
        return start

    def step(self, action: object) -> Step:
        """Plays one action: a typed action, an OpenAI tool call or canonical text.

        Every action counts, refused ones too. The action that reaches the limit without a purchase ends the
        episode with `action_limit` and reward 0; a purchase on the last action is scored. When the endpoint
        behind the shopper's wording fails, the step is not valid (`simulator_fault`, reward None), nothing
        counted or changed, and the same action may be tried again.

        Raises:
            EpisodeError: before reset, after the end or after close.
            SearchIndexError: the catalogue file cannot be read; the episode is unchanged.
        """
        episode = self._live("step")
        try:
            return self._play(episode, action)
        except sqlite3.Error as error:
            # Never a reward, never a counted action.
            message = f"the release cannot be read: {error}; the action did not count"
            raise SearchIndexError(message) from error

    def terminate(self, reason: str) -> Step:
        """Ends the episode from outside with reward 0; `reason` is "action_limit" or "generation_length".

        Raises:
            EpisodeError: no episode is running.
            UsageError: another reason.
        """
        episode = self._live("terminate")
        step = self._force_end(episode, one_of("reason", reason, FORCED_ENDS))
        return replace(step, action_feedback=None)

    def tools(self, dynamic: bool = True) -> list[dict[str, Any]]:
        """Tool schemas: of the current page (none after the end), or the static ones of every page.

        Raises:
            EpisodeError: dynamic tools before reset or after close.
        """
        if not dynamic:
            return static_tools(self._options.interaction_mode == "multi_turn")
        episode = self._started("tools")
        page = episode.page
        return tools_for(
            {
                "search_available": isinstance(page, SearchHome),
                "actions": clickable(page),
                "ask_available": episode.talk is not None and not isinstance(page, Terminal),
            }
        )

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

    def _drawable(self) -> tuple[int, ...]:
        if self._split is None:
            raise UsageError("reset needs a task_id, or ShopEnv a split to draw from", code="no_task")
        return self._split

    def _generator(self, generator: random.Random | int | None) -> random.Random:
        """The generator of draws; a seed becomes one only here, because most resets draw nothing."""
        self._drawable()
        if generator is None:
            raise UsageError("the first draw from a split needs reset(seed=...)", code="no_seed")
        return random.Random(generator) if isinstance(generator, int) else generator  # noqa: S311

    def _play(self, episode: _Episode, action: object) -> Step:
        try:
            turn, talk = self._turn(episode, action)
        except SimulatorError:
            return self._fault(episode)
        following = episode.after(turn, talk)
        if turn.bought is not None:
            return self._buy(following, turn.bought)
        if (
            following.actions >= self._options.max_actions
            or following.invalid_run == self._options.max_invalid
        ):
            return self._force_end(following, "action_limit")
        return self._commit(following)

    def _begin(self, task: Task, seed: object) -> tuple[_Episode, Reset]:
        """A new episode and what its start shows; a server remembers it."""
        told = brief(task, self._goals, self._options, seed)
        episode = _Episode(task.task_id, talk=told.talk)
        state, text = self._state(episode)
        start = Reset(
            task_instruction=told.instruction,
            observation=self._render(state, text),
            observation_state=state,
            user_persona=told.persona,
            task_id=task.task_id,
            task_mode=self._options.task_mode,
            interaction_mode=self._options.interaction_mode,
            environment_version=ENVIRONMENT_VERSION,
        )
        return episode, start

    def _turn(self, episode: _Episode, action: object) -> tuple[Turn, Talk | None]:
        """What the pages, or the shopper, make of an action; a server remembers it."""
        return take_turn(
            episode.page,
            parse_action(action),
            self._shelf,
            self._options.page_size,
            episode.talk,
            self._wording,
        )

    def _fault(self, episode: _Episode) -> Step:
        step = self._commit(episode)
        return replace(step, reward=None, action_feedback=None, valid=False, failure_kind="simulator_fault")

    def _state(self, episode: _Episode) -> tuple[dict[str, Any], PageText]:
        shopper = None if episode.talk is None else shopper_block(episode.talk)
        return observe(episode.page, episode.feedback, self._shelf, shopper)

    def _buy(self, episode: _Episode, bought: ProductDetail) -> Step:
        detail, price = self._score(episode.task_id, bought)
        purchase = {
            "asin": bought.product.asin,
            "selected_options": bought.shown_selection,
            "price": None if price is None else float(price),
        }
        return self._commit(episode, "purchase", detail, {"purchase": purchase})

    def _score(self, task_id: int, bought: ProductDetail) -> tuple[RewardDetail, Decimal | None]:
        """Reward and price of a purchase, kept for a while: rollouts of one task buy the same few things."""
        rule = self._options.option_match
        key = (task_id, bought.product.asin, bought.chosen, rule)
        kept: tuple[RewardDetail, Decimal | None] | None = self._scores.get(key)
        if kept is None:
            goal = self._goals.goal(task_id)
            detail = score_purchase(bought.product, bought.selected, goal, option_match=rule)
            kept = (detail, bought.price.price)
            self._scores.put(key, kept)
        return kept

    def _force_end(self, episode: _Episode, reason: str) -> Step:
        detail = unpurchased_detail(reason, self._options.option_match)
        return self._commit(episode._replace(page=Terminal()), reason, detail)

    def _commit(
        self,
        episode: _Episode,
        reason: str | None = None,
        detail: RewardDetail | None = None,
        info: Mapping[str, Any] | None = None,
    ) -> Step:
        """Builds everything that is returned, then makes `episode` the current one."""
        counts: dict[str, Any] = {
            "action_count": episode.actions,
            "max_actions": self._options.max_actions,
            "invalid_actions": episode.invalid,
            "consecutive_invalid": episode.invalid_run,
        }
        if episode.talk is not None:
            counts["shopper"] = talk_info(episode.talk, ended=reason is not None)
        step = self._shown(
            episode,
            {
                "reward": 0.0 if detail is None else float(detail.r_strict),
                "terminated": reason == "purchase",
                "truncated": reason in FORCED_ENDS,
                "done": reason is not None,
                "termination_reason": reason,
                "action_feedback": None if episode.feedback is None else episode.feedback.as_dict(),
                "reward_detail": {} if detail is None else detail.as_dict(),
                "info": counts if info is None else {**counts, **info},
            },
            detail,
        )
        self._episode = episode
        return step

    def _shown(self, episode: _Episode, outcome: dict[str, Any], _: RewardDetail | None) -> Step:
        """The step with its page; a server overrides this, because it sends pages as bytes."""
        state, text = self._state(episode)
        return Step(self._render(state, text), state, **outcome)
