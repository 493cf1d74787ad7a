"""The panel: every agent that the self-check knows, what is expected of it, and where it plays.

Belongs here: names, kinds and makers. The agents are in the modules beside, verdicts in `verdicts`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.environments import ENVIRONMENTS
from shopsim_env.rlve.oracles import ORACLES, oracle
from shopsim_env.rlve.oracles.base import Agent
from shopsim_env.rlve.oracles.journey import JourneyOracle
from shopsim_env.rlve.panel.blind import BlindGuess
from shopsim_env.rlve.panel.cheaters import CHEATERS
from shopsim_env.rlve.panel.honest import HONEST
from shopsim_env.rlve.panel.saboteurs import SABOTEURS
from shopsim_env.rlve.panel.shortcuts import SHORTCUTS

ORACLE: Final = "oracle"
JOURNEY: Final = "JOURNEY"
ALL_SHORTCUTS: Final = "all shortcuts"
Maker = Callable[[Draws], Agent]


@dataclass(frozen=True, slots=True)
class Member:
    """One agent of the panel.

    Args:
        kind: `oracle`, `cheater`, `shortcut` (a cheater of one environment), `saboteur` or `honest`.
        makers: Makes a fresh one for an episode, by environment; it plays in no other.
    """

    kind: str
    makers: Mapping[str, Maker]


def agent(env_id: str, name: str, seed: int) -> Agent:
    """A fresh agent of the panel for one episode of an environment in which it plays."""
    return MEMBERS[name].makers[env_id](Draws("panel", name, seed))


def members_of(env_id: str) -> list[str]:
    """Names of the agents that play in an environment."""
    return [name for name, member in MEMBERS.items() if env_id in member.makers]


def _everywhere(make: Maker) -> dict[str, Maker]:
    """One agent for all environments; it plays each part of a journey by itself."""
    return {
        **dict.fromkeys(ORACLES, make),
        JOURNEY: lambda draws: _parts(dict.fromkeys(ORACLES, make), draws),
    }


def _parts(makers: Mapping[str, Maker], draws: Draws) -> Agent:
    return JourneyOracle({part: _bound(make, draws) for part, make in makers.items()})


def _bound(make: Maker, draws: Draws) -> Callable[[], Agent]:
    return lambda: make(draws)


def _without_draws(make: Callable[[], Agent]) -> Maker:
    return lambda _: make()


def _oracles() -> dict[str, Maker]:
    return {env_id: _without_draws(_oracle(env_id)) for env_id in ENVIRONMENTS}


def _oracle(env_id: str) -> Callable[[], Agent]:
    return lambda: oracle(env_id)


def _honest(make: Callable[[str, Draws], Agent]) -> dict[str, Maker]:
    def bound(env_id: str) -> Maker:
        return lambda draws: make(env_id, draws)

    return {env_id: bound(env_id) for env_id in ENVIRONMENTS}


def _all_shortcuts() -> dict[str, Maker]:
    """A journey by the first shortcut of each environment; by blind guesses where there is none."""
    makers: dict[str, Maker] = dict.fromkeys(ORACLES, BlindGuess)
    for env_id, make in reversed(tuple(SHORTCUTS.values())):
        makers[env_id] = _without_draws(make)
    return {JOURNEY: lambda draws: _parts(makers, draws)}


def _of_one(kind: str, agents: Mapping[str, tuple[str, Callable[[], Agent]]]) -> dict[str, Member]:
    return {name: Member(kind, {env_id: _without_draws(make)}) for name, (env_id, make) in agents.items()}


MEMBERS: Final[Mapping[str, Member]] = {
    ORACLE: Member(ORACLE, _oracles()),
    **{name: Member("cheater", _everywhere(make)) for name, make in CHEATERS.items()},
    **_of_one("shortcut", SHORTCUTS),
    ALL_SHORTCUTS: Member("shortcut", _all_shortcuts()),
    **_of_one("saboteur", SABOTEURS),
    **{name: Member("honest", _honest(make)) for name, make in HONEST.items()},
}
