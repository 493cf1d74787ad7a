"""The agent runtime: what a model is told, what its answers become, one trajectory from start to end.

Belongs here: everything between a chat model or a trainer and a client of the environment. It knows no goal,
and the rules of pages and rewards are in `shop`. Trainers need `Rollout` alone.
"""

from shopsim_env.runner.core import RolloutResult, Turn
from shopsim_env.runner.prompts import PROMPTS, Prompt
from shopsim_env.runner.protocol import PROTOCOL_CODES
from shopsim_env.runner.rollout import AsyncRollout, Rollout, open_many, open_many_async

__all__ = [
    "PROMPTS",
    "PROTOCOL_CODES",
    "AsyncRollout",
    "Prompt",
    "Rollout",
    "RolloutResult",
    "Turn",
    "open_many",
    "open_many_async",
]
