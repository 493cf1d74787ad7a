"""The shortcut in policy questions: which facts were told, not what they say.

Belongs here: guessing the deciding rule by its topics.
"""

from collections.abc import Sequence
from typing import Any

from shopsim_env.rlve.oracles.base import Agent, answer, ask_rest, call_tools, results_of
from shopsim_env.rlve.oracles.policy import answer_json
from shopsim_env.rlve.policy.evaluate import decide
from shopsim_env.rlve.policy.rules import Rule, rule_from_dict
from shopsim_env.rlve.policy.vocabulary import FAMILIES, SOURCES
from shopsim_env.rlve.sight import Sight


class Topics(Agent):
    """POLICY: the rule with the most conditions whose topics were named; no value of the case is read."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []

    def act(self, sight: Sight) -> dict[str, Any]:
        """Asks, searches once, answers."""
        snippets = [hit for found in results_of(sight.results, "policy.search") for hit in found["snippets"]]
        self._rules += [rule_from_dict(hit["rule"]) for hit in snippets]
        if sight.open_needs:
            return ask_rest(sight)
        if not self._rules:
            title = FAMILIES[sight.request["family"]].title(sight.language)
            return call_tools(sight, ("policy.search", {"query": title, "top_k": 20}))
        told = {need["topic"] for need in sight.needs.values()}
        named = told | {topic for topic, source in SOURCES.items() if source in told}
        own = [rule for rule in self._rules if rule.family == sight.request["family"]]
        found = self._guess(own, named)
        return answer(sight, policy_answer=answer_json(found.answer), policy_rule_id=found.rule)

    def _guess(self, rules: Sequence[Rule], named: set[str]) -> Any:
        def seems(rule: Rule) -> bool:
            return all(item.topic in named for item in rule.conditions) and not any(
                item.topic in named for item in rule.exceptions
            )

        aside = {rule.suspends for rule in rules if rule.suspends and seems(rule)}
        left = [rule for rule in rules if rule.id not in aside and seems(rule)]
        deciding = [rule for rule in left if rule.effect == "decides"]
        best = max(
            deciding, key=lambda rule: (sum(bool(item.values) for item in rule.conditions), rule.precedence)
        )
        kept = [best, *(rule for rule in left if rule.effect == "supplement")]
        # A case in which just these apply: every condition is given what it asks for.
        case = {
            item.topic: item.values[0] if item.values else item.low or 0
            for rule in kept
            for item in rule.conditions
        }
        return decide(kept, case)
