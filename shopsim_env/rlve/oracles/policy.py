"""The oracle of POLICY: reads the rules of the subject and of the case's classes, and evaluates them.

Belongs here: its plan. The meaning of rules is `policy.evaluate`'s; the case is what the customer told.
"""

from collections.abc import Mapping
from typing import Any, Final

from shopsim_env.rlve.choosing.constraint import decimal_text
from shopsim_env.rlve.oracles.base import Agent, answer, ask_rest, call_tools, results_of
from shopsim_env.rlve.policy.evaluate import oracle_answer
from shopsim_env.rlve.policy.search import MAX_TOP_K
from shopsim_env.rlve.policy.vocabulary import DEFINING, FAMILIES, SOURCES
from shopsim_env.rlve.scores.policy import AMOUNT, NOT_COVERED, PolicyAnswer
from shopsim_env.rlve.sight import Sight

_DEFINED_BY: Final = {source: DEFINING[topic] for topic, source in SOURCES.items()}


class PolicyOracle(Agent):
    """Plays POLICY."""

    def __init__(self) -> None:
        self._snippets: list[Mapping[str, Any]] = []
        self._searched: set[str] = set()

    def act(self, sight: Sight) -> dict[str, Any]:
        """Asks, searches or answers."""
        self._snippets += [
            hit for found in results_of(sight.results, "policy.search") for hit in found["snippets"]
        ]
        if sight.open_needs:
            return ask_rest(sight)
        case = {need["topic"]: need["value"] for need in sight.needs.values()}
        subjects = [sight.request["family"], *(_DEFINED_BY[topic] for topic in case if topic in _DEFINED_BY)]
        missing = [subject for subject in subjects if subject not in self._searched][: sight.tool_budget]
        if missing:
            self._searched.update(missing)
            queries = [FAMILIES[subject].title(sight.language) for subject in missing]
            calls = [("policy.search", {"query": query, "top_k": MAX_TOP_K}) for query in queries]
            return call_tools(sight, *calls)
        found = oracle_answer(self._snippets, sight.request["family"], case)
        return answer(sight, policy_answer=answer_json(found.answer), policy_rule_id=found.rule)


def answer_json(found: PolicyAnswer) -> dict[str, Any]:
    """A typed answer as the agent writes it: amounts in units of the currency."""
    if found.kind == NOT_COVERED:
        return {"kind": found.kind}
    if found.kind == AMOUNT:
        return {"kind": found.kind, "value": decimal_text(int(found.value or 0)), "currency": found.currency}
    return {"kind": found.kind, "value": found.value}
