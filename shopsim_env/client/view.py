"""What every client's episode shows, whoever plays it: the start, the latest step, how far it has come.

Belongs here: facts that need no request.
"""

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from shopsim_env.shop.env import Reset, Step


class EpisodeView:
    """An episode as it stands.

    Attributes:
        reset: What the start showed.
        last: The latest step, None before the first.
        actions_played: Actions and forced ends so far, as the server counts them.
        private: The goal, for an external shopper that asked for it with the admin token.
    """

    def __init__(self, reset: Reset, private: dict[str, Any] | None) -> None:
        self.reset = reset
        self.last: Step | None = None
        self.actions_played = 0
        self.private = private
        self._released = False

    @property
    def done(self) -> bool:
        """Whether the episode has ended; the lease is kept until it is released."""
        return self.last is not None and self.last.done

    @property
    def released(self) -> bool:
        """Whether the lease was given back here."""
        return self._released

    def _note(self, step: Step) -> None:
        if step.valid:
            self.last = step
            self.actions_played += 1

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(task_id={self.reset.task_id}, actions_played={self.actions_played}, ...)"
        )


class _Left(Protocol):
    def leave(self) -> None: ...


Held = TypeVar("Held", bound=_Left)


@dataclass(frozen=True, slots=True)
class EpisodeGroup(Generic[Held]):
    """Episodes of one task with identical starts. Leaving its `with` block releases all of them."""

    group_id: str
    anchor: str
    episodes: tuple[Held, ...]

    def __enter__(self) -> "EpisodeGroup[Held]":
        return self

    def __exit__(self, *_: object) -> None:
        for episode in self.episodes:
            episode.leave()
