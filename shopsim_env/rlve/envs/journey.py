"""JOURNEY: several tasks in one conversation and one shop, at times one in the middle of another.

Belongs here: which tasks a journey has, in which order the customer brings them up, and the score over all.
Each part is a task of its environment and is graded at the moment when it is answered.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import prod
from typing import Any, Final

from shopsim_env.rlve.customer.needs import Brief, Remark
from shopsim_env.rlve.difficulty import journey_turns
from shopsim_env.rlve.envs.base import Heard, Setting, Task, ToolRecord
from shopsim_env.rlve.protocol import Answer
from shopsim_env.rlve.reward import UsedIds
from shopsim_env.rlve.scores.common import TaskScore
from shopsim_env.rlve.scores.orders import score_journey

Generators = Mapping[str, Callable[[Setting], Task]]
# Both describe one order among those of the book: two books in one would make a description fit twice.
_ONE_OF: Final[tuple[str, ...]] = ("RETURN", "STATUS")
# Those that put goods out of stock or reserve them first: the goods that the others find are chosen
# afterwards.
_MAKING_ORDER: Final[tuple[str, ...]] = ("SUB", "CART", "RETURN", "STATUS", "PD", "BUNDLE", "POLICY")


class Journey(Task):
    """A goal of several parts. `parts` are in the order in which the customer brings them up."""

    env_id = "JOURNEY"

    def __init__(self, setting: Setting, parts: Sequence[Task], *, interrupted: bool) -> None:
        self._parts = tuple(parts)
        self._interrupted = interrupted
        self._scores: dict[str, TaskScore] = {}
        self._used: list[UsedIds] = []
        self._raised = 1
        self.turn_budget = journey_turns([setting.axes] * len(parts))
        self.least_turns = sum(part.least_turns for part in parts)
        # The reply to an answered part brings up the next one: that turn is free.
        self.least_charged = max(1, sum(part.least_charged - 1 for part in parts) + 1)
        self.best_score = sum(part.best_score for part in parts) / len(parts)
        self.brief = parts[0].brief

    @property
    def current(self) -> Brief:
        """The part that was brought up last and is not answered."""
        return self._open()[-1].brief

    @property
    def open_parts(self) -> tuple[str, ...]:
        """Parts that were brought up and are not answered."""
        return tuple(part.env_id for part in self._open())

    @property
    def finished(self) -> bool:
        """Whether every part was answered."""
        return len(self._scores) == len(self._parts)

    def accept(self, answer: Answer, heard: Heard) -> Brief | None:
        """Grades the part that the answer is for, by default the last open one; brings up the next one."""
        name = answer.env or self._open()[-1].env_id
        part = next(part for part in self._open() if part.env_id == name)
        told = frozenset(id_.rpartition(":")[2] for id_ in heard.told if id_.startswith(f"{name}:"))
        self._scores[name] = part.grade(answer, Heard(revised=False, told=told))
        self._used.append(part.used(answer))
        if self._open() or self._raised == len(self._parts):
            return None
        return self._raise()

    def interruption(self) -> Brief | None:
        """The second part, if this journey has the customer change the subject in the middle of the first."""
        return self._raise() if self._interrupted and self._raised == 1 else None

    def remark(self, results: Sequence[ToolRecord]) -> Remark | None:
        """What an open part has to say of the calls."""
        said = (part.remark(results) for part in self._open())
        return next((remark for remark in said if remark is not None), None)

    def grade(self, answer: Answer | None, heard: Heard) -> TaskScore:  # noqa: ARG002
        """The mean over all parts; those that were not answered count -1."""
        in_order = [self._scores[part.env_id] for part in self._parts if part.env_id in self._scores]
        return score_journey(in_order, len(self._parts))

    def used(self, answer: Answer | None) -> UsedIds:  # noqa: ARG002
        """Ids of every part's answer."""
        return UsedIds(
            recommended=[name for used in self._used for name in used.recommended],
            carted=sorted({name for used in self._used for name in used.carted}),
            exchanged=sorted({name for used in self._used for name in used.exchanged}),
        )

    def forced_chance(self) -> Fraction:
        """All parts guessed right."""
        return prod((part.forced_chance() for part in self._parts), start=Fraction(1))

    def goal(self) -> dict[str, Any]:
        """The parts' goals in order, and what each came to."""
        return {
            "parts": [
                {
                    "env_id": part.env_id,
                    "goal": part.goal(),
                    "success": self._scores[part.env_id].success if part.env_id in self._scores else None,
                }
                for part in self._parts
            ]
        }

    def _open(self) -> list[Task]:
        return [part for part in self._parts[: self._raised] if part.env_id not in self._scores]

    def _raise(self) -> Brief:
        self._raised += 1
        return self._parts[self._raised - 1].brief


def make(setting: Setting, generators: Generators) -> Task:
    """Draws a journey: different environments, made in one shop.

    Raises:
        UsageError: the catalogue offers no such goal.
    """
    draws = setting.draws.fork("journey")
    left = draws.pick(_ONE_OF)
    choice = [name for name in _MAKING_ORDER if name != left]
    order = draws.sample(choice, min(setting.task_axes.journey_intents, len(choice)))
    made = {name: _part(name, setting, generators) for name in _MAKING_ORDER if name in order}
    return Journey(setting, [made[name] for name in order], interrupted=draws.chance(setting.axes.p_switch))


def _part(name: str, setting: Setting, generators: Generators) -> Task:
    """A task of its environment without a change of mind of its own, its needs under its name."""
    axes, draws = replace(setting.axes, p_switch=0.0), setting.draws.fork("part", name)
    quiet = replace(setting, axes=axes, draws=draws, shared=True)
    part = generators[name](quiet)
    needs = tuple(replace(need, id=f"{name}:{need.id}") for need in part.brief.needs)
    pending = frozenset(f"{name}:{id_}" for id_ in part.brief.pending)
    part.brief = replace(part.brief, needs=needs, pending=pending)
    return part
