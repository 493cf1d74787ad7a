"""What an agent is told of a task before the first action: request, persona, and who answers questions.

Belongs here: the choice among the texts of a task by mode. It reads goals, because the full text of a persona
task is private, and gives out nothing else of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shopsim_env.dialogue.shopper import Talk
from shopsim_env.errors import TaskError, UnknownTaskError
from shopsim_env.shop.asking import start_talk
from shopsim_env.shop.episode import Goals
from shopsim_env.shop.options import EnvOptions, integer
from shopsim_env.tasks.model import Task
from shopsim_env.tasks.persona import shown_persona


@dataclass(frozen=True, slots=True)
class Briefing:
    """The visible request, a fresh copy of the persona, and the shopper of a multi-turn episode."""

    instruction: str
    persona: dict[str, Any]
    talk: Talk | None


def find_task(tasks: Mapping[int, Task], task_id: object) -> Task:
    """The task with this id.

    Raises:
        TaskError: no integer, or unknown or excluded (code `unknown_task`).
    """
    number = integer("task_id", task_id, TaskError)
    try:
        return tasks[number]
    except KeyError as error:
        if isinstance(error, TaskError):
            raise
        raise UnknownTaskError(f"task {number} is not in this release; see release.tasks") from error


def brief(task: Task, goals: Goals, options: EnvOptions, seed: object) -> Briefing:
    """What `task` shows under these options; the seed picks the shopper's wordings.

    Raises:
        UsageError: multi-turn and a seed that is no integer.
    """
    persona: dict[str, Any] = {}
    if options.task_mode == "persona":
        persona = shown_persona(task.persona_json, options.persona_view)
    if options.interaction_mode == "multi_turn":
        talk = start_talk(goals.goal(task.task_id), integer("seed", seed))
        return Briefing(talk.opening, persona, talk)
    return Briefing(_visible_text(task, goals, options.task_mode), persona, None)


def _visible_text(task: Task, goals: Goals, task_mode: str) -> str:
    if task_mode == "persona" and task.has_persona and task.instruction_simple:
        return task.instruction_simple
    return task.instruction or goals.goal(task.task_id).instruction
