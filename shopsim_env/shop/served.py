"""`ServedEnv`: a `ShopEnv` whose steps carry their page as JSON bytes, for servers.

Belongs here: the bytes of a page, put together from parts that were made when an equal page was first
shown. Same page, same bytes as the ordinary encoding of an ordinary step; a property test holds the two
together. No goals.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any

from shopsim_env.shop.env import ShopEnv, Step
from shopsim_env.shop.episode import ReleaseLike, Reset
from shopsim_env.shop.observation import observe
from shopsim_env.shop.pages import Page
from shopsim_env.shop.render import BLANK_LINE, last_action_block, render_observation_state
from shopsim_env.shop.tools import tools_for

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_KEY = "json"


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

    `page` is `"observation":…,"observation_state":…`, `feedback` and `tools` are the JSON of the action
    feedback and of the dynamic tool schemas.
    """

    page: bytes = b""
    feedback: bytes = b"null"
    tools: bytes = b""


class ServedEnv(ShopEnv):
    """A `ShopEnv` that returns `ServedStep`."""

    def __init__(self, release: ReleaseLike, **options: Any) -> None:
        super().__init__(release, **options)
        # Other texts are no sum of parts; they are made and encoded anew each time.
        self._in_parts = self.options["observation_style"] == "full"

    def _shown(self, episode: Any, outcome: dict[str, Any]) -> ServedStep:
        feedback = outcome["action_feedback"]
        encoded = feedback_bytes(feedback)
        if episode.talk is not None or not self._in_parts:
            step = ShopEnv._shown(self, episode, outcome)
            tools = encode(tools_for(step.observation_state))
            return ServedStep("", {}, **outcome, page=page_bytes(step), feedback=encoded, tools=tools)
        parts = self._parts(episode.page)
        if feedback is None:
            text, last = b"", b""
        else:
            text = _quoted(last_action_block(feedback) + BLANK_LINE)
            last = b',"last_action":' + encoded
        page = b"".join(
            (
                b'"observation":"',
                parts.before,
                text,
                parts.after,
                b'","observation_state":',
                parts.state,
                last,
                b"}",
            )
        )
        return ServedStep("", {}, **outcome, page=page, feedback=encoded, tools=parts.tools)

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


def feedback_bytes(feedback: Mapping[str, Any] | None) -> bytes:
    """JSON of an action feedback. Written out, because the encoder takes longer to start than this takes."""
    if feedback is None:
        return b"null"
    if "missing_option_axes" in feedback:
        return encode(feedback)
    valid = "true" if feedback["valid"] else "false"
    action, message = encode_basestring(feedback["action"]), encode_basestring(feedback["message"])
    return (
        f'{{"action":{action},"valid":{valid},"reason":"{feedback["reason"]}","message":{message}}}'
    ).encode()


def _quoted(text: str) -> bytes:
    """`text` as the inside of a JSON string."""
    return encode_basestring(text)[1:-1].encode("utf-8")
