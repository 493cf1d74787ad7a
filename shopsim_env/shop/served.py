"""`ServedEnv`: a `ShopEnv` whose steps carry their page as JSON bytes, for servers.

Belongs here: the bytes of a page, put together from parts that were made when an equal page was first
shown. Same page, same bytes as the ordinary encoding of an ordinary step; a property test holds the two
together. No goals.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from json.encoder import encode_basestring
from typing import Any, NamedTuple

from shopsim_env.dialogue.shopper import Talk
from shopsim_env.reward.total import RewardDetail
from shopsim_env.shop.env import ShopEnv, Step
from shopsim_env.shop.episode import ReleaseLike, Reset
from shopsim_env.shop.feedback import Feedback
from shopsim_env.shop.observation import observe
from shopsim_env.shop.pages import Page
from shopsim_env.shop.render import BLANK_LINE, last_action_block, render_observation_state
from shopsim_env.shop.session import Turn
from shopsim_env.shop.tools import tools_for
from shopsim_env.tasks.model import Task

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_KEY = "json"
_KEPT_ACTION = 200
"""Longest action in characters whose outcome is remembered."""


def encode(value: Any) -> bytes:
    """JSON in UTF-8, without blanks."""
    return _ENCODER.encode(value).encode("utf-8")


@dataclass(frozen=True, slots=True)
class PageBytes:
    """What a page alone puts into an answer: state without its last brace, text before and after the result
    of the last action (JSON without quotes), tools.
    """

    state: bytes
    before: bytes
    after: bytes
    tools: bytes


@dataclass(frozen=True, slots=True)
class ServedStep(Step):
    """A step with its page as bytes. `observation` and `observation_state` are empty: the bytes hold them.

    `pieces` make up `"observation":…,"observation_state":…`; `feedback`, `tools` and `detail` are the JSON of
    the action feedback, of the dynamic tool schemas and of the reward detail.
    """

    pieces: tuple[bytes, ...] = ()
    feedback: bytes = b"null"
    tools: bytes = b""
    detail: bytes = b"{}"

    @property
    def page(self) -> bytes:
        """The pieces, joined."""
        return b"".join(self.pieces)


class ServedEnv(ShopEnv):
    """A `ShopEnv` that returns `ServedStep`."""

    def __init__(self, release: ReleaseLike, **options: Any) -> None:
        super().__init__(release, **options)
        # Other texts are no sum of parts; they are made and encoded anew each time.
        self._in_parts = self._options.observation_style == "full"
        self._details, self._turns = self._caches.details, self._caches.turns

    def _begin(self, task: Task, seed: object) -> tuple[Any, Reset]:
        """As `ShopEnv`, but starts are shared: nobody changes what a server sends."""
        if self._options.interaction_mode == "multi_turn":
            return super()._begin(task, seed)  # the seed words what the shopper says
        key = (task.task_id, self._options)
        kept: tuple[Any, Reset] | None = self._caches.starts.get(key)
        if kept is None:
            kept = super()._begin(task, seed)
            self._caches.starts.put(key, kept)
        return kept

    def _turn(self, episode: Any, action: object) -> tuple[Turn, Talk | None]:
        """As `ShopEnv`; remembered, because rollouts of one task do the same on the same pages.

        Keyed by the very page, which the memory hands out again and keeps alive: comparing pages by value
        would cost as much as the turn.
        """
        page = episode.page
        if episode.talk is not None or type(action) is not str or len(action) > _KEPT_ACTION:
            return super()._turn(episode, action)
        key = (id(page), action, self._options.page_size)
        kept = self._turns.get(key)
        if kept is None or kept[0] is not page:
            kept = (page, super()._turn(episode, action))
            self._turns.put(key, kept)
        found: tuple[Turn, Talk | None] = kept[1]
        return found

    def _shown(self, episode: Any, outcome: dict[str, Any], detail: RewardDetail | None) -> ServedStep:
        told = _NOTHING if episode.feedback is None else _told(episode.feedback)
        encoded = b"{}" if detail is None else self._detail(detail, outcome["reward_detail"])
        if episode.talk is not None or not self._in_parts:
            step = ShopEnv._shown(self, episode, outcome, detail)
            tools = encode(tools_for(step.observation_state))
            return ServedStep(
                "", {}, **outcome, pieces=(page_bytes(step),), feedback=told.json, tools=tools, detail=encoded
            )
        parts = self._parts(episode.page)
        pieces = (
            b'"observation":"',
            parts.before,
            told.text,
            parts.after,
            b'","observation_state":',
            parts.state,
            told.last,
            b"}",
        )
        return ServedStep(
            "", {}, **outcome, pieces=pieces, feedback=told.json, tools=parts.tools, detail=encoded
        )

    def _detail(self, detail: RewardDetail, form: dict[str, Any]) -> bytes:
        """JSON of a detail. Kept with the very object, because `ShopEnv` keeps that for equal purchases."""
        kept = self._details.get(id(detail))
        if kept is None or kept[0] is not detail:
            kept = (detail, encode(form))
            self._details.put(id(detail), kept)
        return kept[1]

    def _parts(self, page: Page) -> PageBytes:
        view = self._shelf.view(page)
        if view is not None and _KEY in view.encoded:
            known: PageBytes = view.encoded[_KEY]
            return known
        state, text = observe(page, None, self._shelf)
        whole = render_observation_state(state, text)
        before = text.page + BLANK_LINE
        parts = PageBytes(
            state=encode(state)[:-1],
            before=_quoted(before),
            after=_quoted(whole[len(before) :]),
            tools=encode(tools_for(state)),
        )
        view = self._shelf.view(page)
        if view is not None:
            view.encoded[_KEY] = parts
        return parts


def page_bytes(shown: Step | Reset) -> bytes:
    """The page of an ordinary step or start, in the ordinary encoding."""
    return encode({"observation": shown.observation, "observation_state": shown.observation_state})[1:-1]


class _Told(NamedTuple):
    """What an action feedback puts into an answer: its block of the text (JSON without quotes), its member of
    the state, and itself.
    """

    text: bytes
    last: bytes
    json: bytes


_NOTHING = _Told(b"", b"", b"null")


@lru_cache(maxsize=4_096)
def _told(feedback: Feedback) -> _Told:
    """Kept, because rollouts of one task click and search the same few texts."""
    form = feedback.as_dict()
    encoded = encode(form)
    return _Told(_quoted(last_action_block(form) + BLANK_LINE), b',"last_action":' + encoded, encoded)


def _quoted(text: str) -> bytes:
    """`text` as the inside of a JSON string."""
    return encode_basestring(text)[1:-1].encode("utf-8")
