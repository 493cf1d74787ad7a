"""The public task: what the two task modes may show. Goals live in `shopsim_env.private`."""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Task:
    """One task of a release.

    `instruction` is None for persona tasks: their full text is private. `persona_json` is the projected
    persona (canonical JSON) or None; `user_persona` decodes a fresh copy.
    """

    task_id: int
    instruction: str | None
    instruction_simple: str | None
    persona_json: str | None = None
    labels: tuple[str, ...] = field(default=())

    @property
    def has_persona(self) -> bool:
        """Whether the persona mode has a persona to show."""
        return self.persona_json is not None

    @property
    def user_persona(self) -> dict[str, Any]:
        """A fresh copy of the persona; `{}` when the task has none."""
        return json.loads(self.persona_json) if self.persona_json else {}
