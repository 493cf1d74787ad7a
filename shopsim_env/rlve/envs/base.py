"""What the environments share: the setting that a goal is made in, the task that comes out, omission.

Belongs here: the interface between generators and the episode, and the rules that hold for all of them
(what may be left out of an opening, when minds change). The rule of any one environment is in its module.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from shopsim_env.rlve.choosing.constraint import Constraint, value_words
from shopsim_env.rlve.choosing.pool import Pools
from shopsim_env.rlve.customer.needs import Brief, Need, Remark
from shopsim_env.rlve.difficulty import Axes, TaskAxes
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.fact_model import Category, Family
from shopsim_env.rlve.overlay import Overlay
from shopsim_env.rlve.protocol import Answer
from shopsim_env.rlve.reward import UsedIds
from shopsim_env.rlve.scores.common import TaskScore

TOLD_PER_ANSWER: Final = 2
_ANY_CATEGORY: Final = {"zh": "不限品类", "en": "any category"}


@dataclass(frozen=True, slots=True)
class Setting:
    """What a generator makes a goal from.

    `overlay` is the episode's shop, which generators prepare (stock, variants, orders, visits, policies);
    `draws` is the environment's own sequence. In a `shared` shop other tasks take goods too: no wish is
    about how many are in stock.
    """

    overlay: Overlay
    pools: Pools
    axes: Axes
    task_axes: TaskAxes
    draws: Draws
    difficulty: int
    shared: bool = False

    @property
    def language(self) -> str:
        """`zh` or `en`: what the customer speaks."""
        return self.overlay.language

    @property
    def families(self) -> Mapping[str, Family]:
        """Attribute families by name."""
        return self.overlay.world.families


@dataclass(frozen=True, slots=True)
class Heard:
    """What was said by the time of grading: whether the change of mind was told, which needs were."""

    revised: bool = False
    told: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """One executed call of the present turn: name, arguments, result (a refusal has the key `error`)."""

    name: str
    args: Mapping[str, Any]
    result: Mapping[str, Any]


class Task(ABC):
    """A goal: private. It says what the customer comes with, and grades what came of it.

    Attributes:
        env_id: Environment.
        brief: What the customer comes with.
        turn_budget: Turns of the agent.
        least_turns: Turns that suffice with tools and dialogue, clarifications and a change of mind included;
            never above the budget.
        least_charged: Of these, the turns that cost efficiency.
        best_score: Highest task score that a play can reach.
    """

    env_id: str
    brief: Brief
    turn_budget: int
    least_turns: int
    least_charged: int
    best_score: float

    @abstractmethod
    def grade(self, answer: Answer | None, heard: Heard) -> TaskScore:
        """Score and success of an answer, in the state that the episode's shop is in."""

    def used(self, answer: Answer | None) -> UsedIds:
        """Product ids that the agent used; those of the final list unless the environment has others."""
        return UsedIds(recommended=answer.recommended_product_ids if answer else ())

    def remark(self, results: Sequence[ToolRecord]) -> Remark | None:  # noqa: ARG002
        """What the customer says of this turn's calls; nothing unless the environment watches them."""
        return None

    @property
    def current(self) -> Brief:
        """The brief that was brought up last and is not answered; a journey has several."""
        return self.brief

    @property
    def open_parts(self) -> tuple[str, ...]:
        """Environments that an answer may be for now."""
        return (self.env_id,)

    @property
    def finished(self) -> bool:
        """Whether no answer is awaited any more, asked after `accept`."""
        return True

    def accept(self, answer: Answer, heard: Heard) -> Brief | None:  # noqa: ARG002
        """Takes a final answer; gives what the customer brings up next, None when there is nothing more."""
        return None

    def interruption(self) -> Brief | None:
        """What the customer brings up with its first reply, in the middle of what it asked for before."""
        return None

    @abstractmethod
    def forced_chance(self) -> Fraction:
        """Chance of success of a guess that uses neither the dialogue nor what the tools say."""

    @abstractmethod
    def goal(self) -> dict[str, Any]:
        """The goal as JSON, shown after the end."""


def category_words(category: Category, language: str) -> str:
    """A category as the customer names it: the last level with the whole path, or that any will do."""
    if not category.levels:
        return _ANY_CATEGORY[language]
    path = "›".join(category.levels)
    return path if len(category.levels) == 1 else f"{category.levels[-1]}（{path}）"


def category_filter(category: Category) -> dict[str, Any]:
    """The search tool's filter for a category; nothing for the root."""
    return {"category": "›".join(category.levels)} if category.levels else {}


def constraint_need(setting: Setting, id_: str, constraint: Constraint, prefix: str = "") -> Need:
    """The need that says a constraint. `prefix` goes before the phrase, such as the name of a slot."""
    families, language = setting.families, setting.language
    keep: tuple[str, ...] = ()
    if constraint.kind == "brand":
        keep = (str(constraint.value),)
    if constraint.kind == "value":
        keep = value_words(families[constraint.family], int(constraint.value), language)
    return Need(
        id=id_,
        kind="constraint",
        value=prefix + constraint.text(language, families),
        topics=frozenset({constraint.topic}),
        data={"filters": constraint.filters(families)},
        keep=keep,
    )


def left_out(setting: Setting, needs: Iterable[Need], other_turns: int) -> frozenset[str]:
    """Ids of the needs that the opening leaves out: each with chance `p_missing`, as many as fit.

    Args:
        setting: Axes and draws.
        needs: Those that may be left out.
        other_turns: Turns that the task takes apart from questions; the rest of the budget is for questions,
            each of which is answered with at most two needs.
    """
    draws = setting.draws.fork("left out")
    found = [need.id for need in needs if draws.chance(setting.axes.p_missing)]
    room = max(0, TOLD_PER_ANSWER * (setting.axes.T_max - other_turns))
    return frozenset(draws.shuffled(found)[:room])


def turns_for(calls: int, tool_budget: int) -> int:
    """Turns that it takes to make so many calls."""
    return -(-calls // tool_budget)


def questions_for(pending: int) -> int:
    """Questions that it takes to hear so many needs."""
    return -(-pending // TOLD_PER_ANSWER)
