"""Which generator makes the goals of which environment."""

from collections.abc import Callable, Mapping
from typing import Final

from shopsim_env.rlve.envs import (
    bundle,
    cart,
    discovery,
    journey,
    policy,
    returns_making,
    status,
    substitution,
)
from shopsim_env.rlve.envs.base import Setting, Task

GENERATORS: Final[Mapping[str, Callable[[Setting], Task]]] = {
    "PD": discovery.make,
    "SUB": substitution.make,
    "CART": cart.make,
    "RETURN": returns_making.make,
    "STATUS": status.make,
    "POLICY": policy.make,
    "BUNDLE": bundle.make,
}


def make_task(env_id: str, setting: Setting) -> Task:
    """Draws a goal of this environment.

    Raises:
        UsageError: the catalogue offers no such goal (code `no_choice`).
    """
    if env_id == journey.Journey.env_id:
        return journey.make(setting, GENERATORS)
    return GENERATORS[env_id](setting)
