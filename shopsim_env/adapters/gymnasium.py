"""The Shop world as a Gymnasium environment: text in, text out (extra `gym`).

Belongs here: spaces, registration, and the translation of calls and results. Rules of the shop are in
`shopsim_env.shop`. Importing this module registers `shopsim/Shop-v9`; Gymnasium also imports it by itself for
`gymnasium.make("shopsim_env.adapters.gymnasium:shopsim/Shop-v9")`.
"""

import json
from pathlib import Path
from typing import Any

try:
    import gymnasium
except ImportError as error:
    raise ImportError("shopsim_env.adapters.gymnasium needs gymnasium: pip install 'shopsim[gym]'") from error

from shopsim_env.canonical import compact_json
from shopsim_env.errors import EpisodeError
from shopsim_env.release import Release, load_release
from shopsim_env.shop.actions import MAX_ARGUMENT
from shopsim_env.shop.anchor import anchor_key
from shopsim_env.shop.env import Reset, ShopEnv, Step

__all__ = ["ENV_ID", "ShopGymEnv", "UnicodeText", "register_envs"]

ENV_ID = "shopsim/Shop-v9"
LONGEST_TEXT = 1 << 22
LONGEST_ACTION = MAX_ARGUMENT + len("ask_shopper[]")
_SAMPLE_CHARACTERS = "收纳盒雾蓝单灯 abc019[]=<>|杯帐篷户外"


class UnicodeText(gymnasium.Space[str]):
    """Any text up to a length. Gymnasium's own text space knows an alphabet, and Chinese has none."""

    def __init__(self, max_length: int, seed: Any = None) -> None:
        super().__init__(shape=None, dtype=str, seed=seed)
        self.max_length = max_length

    @property
    def is_np_flattenable(self) -> bool:
        """Texts have no array form."""
        return False

    def contains(self, x: Any) -> bool:
        """Whether `x` is a text of at most `max_length` characters."""
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A short random text; it is no sensible action.

        Raises:
            EpisodeError: a mask or probabilities, which texts cannot have.
        """
        if mask is not None or probability is not None:
            raise EpisodeError("UnicodeText.sample: expected no mask and no probability")
        length = int(self.np_random.integers(1, 24))
        picks = self.np_random.integers(len(_SAMPLE_CHARACTERS), size=length)
        return "".join(_SAMPLE_CHARACTERS[int(pick)] for pick in picks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnicodeText) and self.max_length == other.max_length

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_length})"


class ShopGymEnv(gymnasium.Env[dict[str, str], str]):
    """`ShopEnv` behind `gymnasium.Env`.

    An observation is a dict of three texts: `instruction`, `persona` (JSON, "{}" without one) and `page`. An
    action is canonical text or the JSON of a tool call. `info` is flat, with values of fixed types, so that
    vector environments can stack it: `task_id`, `anchor` (key of the state for step-level groups), `won`,
    `is_action_valid`, `reason`, `termination_reason` ("" while running), `action_count`,
    `consecutive_invalid`, and the numbers `r_*` (0 until the end).

    Args:
        release: A folder, None for the sample, or an opened release, which stays open after `close`.
        render_mode: None or "ansi".
        options: Keywords of `ShopEnv`; `split` is needed for resets without a `task_id`, default
            "project/train".
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - the name and type are Gymnasium's

    def __init__(
        self,
        release: Release | str | Path | None = None,
        *,
        render_mode: str | None = None,
        **options: Any,
    ) -> None:
        self._own = not isinstance(release, Release)
        self._release = release if isinstance(release, Release) else load_release(release)
        self._env = ShopEnv(self._release, **{"split": "project/train", **options})
        self._start: Reset | None = None
        self._step: Step | None = None
        self.render_mode = render_mode
        text = UnicodeText(LONGEST_TEXT)
        self.observation_space = gymnasium.spaces.Dict({"instruction": text, "persona": text, "page": text})  # type: ignore[assignment]
        self.action_space = UnicodeText(LONGEST_ACTION)

    @property
    def observation_state(self) -> dict[str, Any]:
        """The structured state of the current page.

        Raises:
            EpisodeError: before the first reset.
        """
        if self._start is None:
            raise EpisodeError("observation_state before reset; call reset first", code="not_started")
        return self._start.observation_state if self._step is None else self._step.observation_state

    def tools(self, dynamic: bool = True) -> list[dict[str, Any]]:
        """Tool schemas, as `ShopEnv.tools`."""
        return self._env.tools(dynamic)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, str], dict[str, Any]]:
        """Starts an episode; `options={"task_id": …}` names the task, else one is drawn from the split.

        A seed gives the same episode as `ShopEnv.reset` with that seed.
        """
        super().reset(seed=seed)
        task_id = (options or {}).get("task_id")
        drawn = int(self.np_random.integers(1 << 31)) if seed is None else seed
        self._start, self._step = self._env.reset(task_id, seed=drawn), None
        return self._observation(self._start.observation), self._info()

    def step(self, action: str) -> tuple[dict[str, str], float, bool, bool, dict[str, Any]]:
        """Plays one action.

        Raises:
            EpisodeError: no episode is running, or the infrastructure failed (code `invalid_step`): such a
                step has no reward, and Gymnasium has no way to say so.
        """
        step = self._env.step(_decoded(action))
        if not step.valid or step.reward is None:
            raise EpisodeError(f"the step is not valid: {step.failure_kind}", code="invalid_step")
        self._step = step
        observation = self._observation(step.observation)
        return observation, step.reward, step.terminated, step.truncated, self._info()

    def render(self) -> str | None:  # type: ignore[override]
        """The text of the page in mode "ansi"."""
        if self.render_mode != "ansi" or self._start is None:
            return None
        return self._start.observation if self._step is None else self._step.observation

    def close(self) -> None:
        """Closes the episode, and the release if it was opened here."""
        self._env.close()
        if self._own:
            self._release.close()

    def _observation(self, page: str) -> dict[str, str]:
        start = self._start
        if start is None:  # both callers run after a reset
            raise EpisodeError("no episode; call reset first", code="not_started")
        persona = compact_json(start.user_persona)
        return {"instruction": start.task_instruction, "persona": persona, "page": page}

    def _info(self) -> dict[str, Any]:
        step, start = self._step, self._start
        detail = {} if step is None else step.reward_detail
        feedback = (step.action_feedback if step else None) or {"valid": True, "reason": ""}
        rewards = ("r_type", "r_att", "r_option", "r_price", "r_loose", "r_strict")
        return {
            "task_id": -1 if start is None else start.task_id,
            "anchor": anchor_key(self.observation_state),
            "won": detail.get("r_success") == 1,
            "is_action_valid": bool(feedback["valid"]),
            "reason": str(feedback["reason"]),
            "termination_reason": (step.termination_reason if step else None) or "",
            "action_count": step.info["action_count"] if step else 0,
            "consecutive_invalid": step.info["consecutive_invalid"] if step else 0,
            **{name: float(detail.get(name, 0.0)) for name in rewards},
        }


def _decoded(action: str) -> object:
    """A tool call from its JSON; any other text is canonical text."""
    if action.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(action)
        except ValueError:
            return action
    return action


def register_envs() -> None:
    """Registers `shopsim/Shop-v9`; a second call does nothing."""
    if ENV_ID not in gymnasium.registry:
        gymnasium.register(id=ENV_ID, entry_point="shopsim_env.adapters.gymnasium:ShopGymEnv")


register_envs()
