"""Persona tasks with texts of our own for the annotation tests."""

from pipelines.stages.annotation.persona_tasks import PersonaTask

CANARY = "暗号四一七"


def persona_task(task_id: int, simple: str, full: str = "") -> PersonaTask:
    """A task; the full text is the simple one with a word more, unless given."""
    full = full or f"{simple}，要防水"
    return PersonaTask(
        task_id, f"shopsim-{task_id:024d}", task_id, str(7_000_000_000 + task_id), simple, full
    )


def persona_tasks_of(count: int) -> list[PersonaTask]:
    """Tasks 0 to count - 1. Every second has a ceiling in its simple text, every fourth in the full one."""
    return [_task(task_id) for task_id in range(count)]


def _task(task_id: int) -> PersonaTask:
    if task_id % 2 == 0:
        return persona_task(task_id, f"{CANARY}营地灯，预算{task_id + 1}元以内")
    full = f"{CANARY}营地灯，{task_id + 1}元左右" if task_id % 4 == 1 else ""
    return persona_task(task_id, f"{CANARY}营地灯{task_id}", full)
