"""Oracles: agents that solve every episode with the tools and the dialogue alone, one module per environment.

They prove that an episode can be solved. What they see is in `sight`; no goal, no task.
"""

from collections.abc import Callable, Mapping
from typing import Final

from shopsim_env.rlve.environments import environment
from shopsim_env.rlve.oracles.base import Agent
from shopsim_env.rlve.oracles.bundle import BundleOracle
from shopsim_env.rlve.oracles.cart import CartOracle
from shopsim_env.rlve.oracles.discovery import DiscoveryOracle
from shopsim_env.rlve.oracles.journey import JourneyOracle
from shopsim_env.rlve.oracles.policy import PolicyOracle
from shopsim_env.rlve.oracles.returns import ReturnOracle
from shopsim_env.rlve.oracles.status import StatusOracle
from shopsim_env.rlve.oracles.substitution import SubstitutionOracle

ORACLES: Final[Mapping[str, Callable[[], Agent]]] = {
    "PD": DiscoveryOracle,
    "SUB": SubstitutionOracle,
    "CART": CartOracle,
    "RETURN": ReturnOracle,
    "STATUS": StatusOracle,
    "POLICY": PolicyOracle,
    "BUNDLE": BundleOracle,
}


def oracle(env_id: str) -> Agent:
    """A fresh oracle for one episode.

    Raises:
        UsageError: `unknown_environment`.
    """
    environment(env_id)
    return JourneyOracle(ORACLES) if env_id == "JOURNEY" else ORACLES[env_id]()
