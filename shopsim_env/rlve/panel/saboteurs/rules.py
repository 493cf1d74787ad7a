"""Saboteurs of policy questions: another value, or another rule.

Belongs here: answers that are nearly right.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from shopsim_env.rlve.oracles.base import results_of
from shopsim_env.rlve.oracles.policy import PolicyOracle
from shopsim_env.rlve.panel.saboteurs.base import Saboteur, Turn, with_answer
from shopsim_env.rlve.scores.policy import AMOUNT, DAYS, NOT_COVERED, PERCENT, YES_NO
from shopsim_env.rlve.sight import Sight

# A code that is none of a release's.
_OTHER_CURRENCY: Final = "XTS"


class OtherValue(Saboteur):
    """POLICY: the rule that decides, with a value that is one too many."""

    def __init__(self) -> None:
        super().__init__(PolicyOracle())

    def _spoil(self, sight: Sight, turn: Turn) -> Turn | None:
        del sight
        return with_answer(turn, policy_answer=_other(turn["answer"]["policy_answer"]))


class OtherUnit(Saboteur):
    """POLICY: the right number in another unit or currency; no answer where it is no number."""

    def __init__(self) -> None:
        super().__init__(PolicyOracle())

    def _spoil(self, sight: Sight, turn: Turn) -> Turn | None:
        del sight
        right = turn["answer"]["policy_answer"]
        others = {DAYS: {"kind": PERCENT}, PERCENT: {"kind": DAYS}, AMOUNT: {"currency": _OTHER_CURRENCY}}
        other = others.get(right["kind"])
        return with_answer(turn, policy_answer={**right, **other}) if other else None


class OtherRule(Saboteur):
    """POLICY: the right value, with another rule that the search brought up."""

    def __init__(self) -> None:
        super().__init__(PolicyOracle())

    def _spoil(self, sight: Sight, turn: Turn) -> Turn | None:
        del sight
        right = turn["answer"]["policy_rule_id"]
        found = [hit for result in results_of(self._records, "policy.search") for hit in result["snippets"]]
        others = [hit["snippet_id"] for hit in found if hit["snippet_id"] != right]
        return with_answer(turn, policy_rule_id=others[0]) if others else None


def _other(right: Mapping[str, Any]) -> dict[str, Any]:
    if right["kind"] == NOT_COVERED:
        return {"kind": YES_NO, "value": False}
    if right["kind"] == YES_NO:
        return {**right, "value": not right["value"]}
    if right["kind"] == AMOUNT:
        return {**right, "value": str(Decimal(right["value"]) + 1)}
    return {**right, "value": right["value"] + 1}
