"""`RlveStep`: what a turn leads to. Apart from the episode, so that clients need nothing of what plays it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RlveStep:
    """What one turn of the agent led to.

    Args:
        observation: What the agent sees next, JSON.
        reward: The episode's total at its end, else 0.
        done: Whether the episode ended.
        info: `reason` and `reward` with all parts at the end; `fault` where a turn was refused.
    """

    observation: dict[str, Any]
    reward: float
    done: bool
    info: dict[str, Any]
