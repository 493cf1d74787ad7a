"""Anchor keys: equal for equal situations, whatever action led there.

Belongs here: the keys alone. Trainers that compare rollouts at equal states (step-level groups) use them.
"""

from collections.abc import Mapping
from typing import Any

from shopsim_env.canonical import compact_json, sha256_text


def anchor_key(state: Mapping[str, Any]) -> str:
    """Hex SHA-256 of the canonical JSON of a state without `last_action`.

    The last action says how the page was reached, not where the episode stands. Actions left are not part of
    a state, so two visits of one page have one key.
    """
    return sha256_text(compact_json({name: value for name, value in state.items() if name != "last_action"}))


def start_key(instruction: str, persona: Mapping[str, Any], state: Mapping[str, Any]) -> str:
    """Hex SHA-256 of all that an agent sees at the start; the first state alone is the same for all tasks."""
    return sha256_text(compact_json([instruction, persona, state]))
