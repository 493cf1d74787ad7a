"""`ShopEnvironment`: a session as the package wants to see it.

Belongs here: names and types of the protocol. The package makes one for every socket and for every plain
HTTP call, so it is cheap and takes no slot before its first reset.
"""

from typing import Any

try:
    from openenv.core.env_server import Environment
except ImportError as error:
    raise ImportError("shopsim_env.adapters.openenv needs openenv: pip install 'shopsim[openenv]'") from error

from openenv.core.env_server.types import EnvironmentMetadata

from shopsim_env.adapters.openenv import tasks
from shopsim_env.adapters.openenv.asking import split_of
from shopsim_env.adapters.openenv.faults import WireError, clean
from shopsim_env.adapters.openenv.models import ShopAction, ShopObservation, ShopReset, ShopState
from shopsim_env.adapters.openenv.session import Played, Session, Shop
from shopsim_env.versions import ENVIRONMENT_VERSION


class ShopEnvironment(Environment[ShopAction, ShopObservation, ShopState]):
    """One session over the pool that all of them share.

    Args:
        shop: Release, pool and defaults.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, shop: Shop) -> None:
        super().__init__()
        self._shop = shop
        self._session = Session(shop)

    # `self` cannot be named by a client, nor can anything else that is not checked.
    def reset(self, /, seed: Any = None, episode_id: Any = None, **given: Any) -> ShopReset:  # type: ignore[override]
        """Starts an episode; `asking.RESET` lists the arguments. It may wait, therefore it has a thread.

        Raises:
            WireError: see `Session.reset`.
        """
        start, asked, schemas = self._session.reset({"seed": seed, "episode_id": episode_id, **given})
        return ShopReset(
            task_instruction=start.task_instruction,
            user_persona=start.user_persona,
            observation=start.observation,
            task_id=start.task_id,
            task_mode=start.task_mode,
            interaction_mode=start.interaction_mode,
            environment_version=start.environment_version,
            observation_state=start.observation_state if asked.structured else None,
            tools=schemas,
        )

    def step(self, action: ShopAction, timeout_s: float | None = None, **given: Any) -> ShopObservation:  # noqa: ARG002
        """Plays one action; an action takes microseconds, so a time-out means nothing.

        Raises:
            WireError: see `Session.step`; an argument that there is not.
        """
        if given:
            raise WireError(f"step: expected an action, found {sorted(given)[:5]} too", code="unknown_field")
        return _observation(self._session.step(action.action))

    async def step_async(
        self, action: ShopAction, timeout_s: float | None = None, **given: Any
    ) -> ShopObservation:
        """As `step`, inside the event loop: handing it to a thread would cost more than it takes."""
        return self.step(action, timeout_s, **given)

    @property
    def state(self) -> ShopState:
        """How far the episode is."""
        return ShopState(**self._session.state())

    def get_metadata(self) -> EnvironmentMetadata:
        """Name, version, and what is played: the Shop, and not RLVE."""
        return EnvironmentMetadata(
            name="shopsim",
            description=(
                "A Chinese web shop: find and buy what a shopper describes. Reward 0 to 1. "
                "The Shop alone; RLVE is played over HTTP on 'shopsim serve'."
            ),
            version=ENVIRONMENT_VERSION,
        )

    def list_splits(self) -> list[dict[str, str]]:
        """Names and types of the splits."""
        return tasks.list_splits(self._shop.release)

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """Every task of a split."""
        with clean():
            return tasks.tasks_in(self._shop.release, split)

    def num_tasks(self, split: str) -> int:
        """The number of tasks of a split."""
        with clean():
            return len(split_of(self._shop.release, split))

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """One task.

        Raises:
            WireError: unknown split.
            IndexError: no such place, as the package wants it.
        """
        with clean():
            split_of(self._shop.release, split)
        return tasks.task_at(self._shop.release, split, index)

    def get_task_range(
        self, split: str, start: int | None = None, stop: int | None = None
    ) -> list[dict[str, Any]]:
        """The tasks of a slice of a split."""
        with clean():
            return tasks.tasks_in(self._shop.release, split, start, stop)

    def close(self) -> None:
        """Gives the slot back."""
        self._session.close()


def _observation(played: Played) -> ShopObservation:
    step = played.step
    return ShopObservation(
        observation=step.observation,
        action_feedback=step.action_feedback,
        terminated=step.terminated,
        truncated=step.truncated,
        termination_reason=step.termination_reason,
        reward_detail=step.reward_detail,
        info=step.info,
        observation_state=step.observation_state if played.structured else None,
        done=step.done,
        reward=None if played.again else step.reward,
    )
