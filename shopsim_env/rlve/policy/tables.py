"""The rule tables of one episode: every name, limit, value, exception and precedence is drawn.

Belongs here: families, ids, definitions. What rules mean is in `evaluate`. A family is drawn when it is first
read, from its own sequence, so that an episode pays for what it uses.
"""

from collections.abc import Sequence

from shopsim_env.errors import UsageError
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.policy.evaluate import Decision, complete, decide
from shopsim_env.rlve.policy.plan import FamilyPlan, parts, precedences, ranges
from shopsim_env.rlve.policy.rules import (
    DEFINITION,
    Condition,
    Rule,
    Value,
)
from shopsim_env.rlve.policy.vocabulary import (
    CLASS,
    DEFINING,
    FAMILIES,
    KIND,
    NAMES,
    REGION,
    SPEND,
    TIER,
    ZONE,
    Family,
)

# Without letters and digits that are read as others.
_LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"
NAMED = 4
MAX_FAMILY = 20
_KINDS_PER_CLASS = 5
_REGIONS_PER_ZONE = 4


class PolicyBase:
    """The rules of a shop in one episode.

    Args:
        draws: The episode's draws; a sequence of their own is forked, none is used up.
        currency: Code of the amounts, such as CNY.
    """

    def __init__(self, draws: Draws, currency: str) -> None:
        self.currency = currency
        self._draws = draws.fork("policy base")
        self._letters = dict(zip(FAMILIES, self._draws.sample(_LETTERS, len(FAMILIES)), strict=True))
        #: Names in use, by topic, in drawn order.
        self.names = {topic: self._draws.sample(list(NAMES[topic]), NAMED) for topic in (CLASS, TIER, ZONE)}
        self._families: dict[str, tuple[Rule, ...]] = {}
        self._plans: dict[str, FamilyPlan] = {}

    def family(self, code: str) -> tuple[Rule, ...]:
        """The rules of one family, in the order in which search shows them.

        Raises:
            UsageError: `unknown_policy_family`.
        """
        if code not in self._families:
            if code not in FAMILIES:
                raise UsageError(
                    f"policy family: expected one of {', '.join(FAMILIES)}, found {code!r}",
                    code="unknown_policy_family",
                )
            self._families[code] = self._drawn(FAMILIES[code])
        return self._families[code]

    def plan(self, code: str) -> FamilyPlan:
        """The rules of an asked family by their part in it.

        Raises:
            UsageError: `unknown_policy_family`, also for a family of definitions.
        """
        self.family(code)
        if code not in self._plans:
            raise UsageError(
                f"policy family {code}: expected one that is asked about, not definitions",
                code="unknown_policy_family",
            )
        return self._plans[code]

    def definitions(self) -> tuple[Rule, ...]:
        """All definitions."""
        return sum((self.family(code) for code in DEFINING.values()), ())

    def rules(self) -> tuple[Rule, ...]:
        """All rules, family by family."""
        return sum((self.family(code) for code in FAMILIES), ())

    def evaluate(self, family: str, context: dict[str, Value]) -> Decision:
        """What the base decides; reads only the definitions that the context needs."""
        needed = (rule for topic, source in _SOURCES if source in context for rule in self.family(topic))
        return decide(self.family(family), complete(needed, context))

    def _drawn(self, family: Family) -> tuple[Rule, ...]:
        draws = self._draws.fork(family.code)
        if family.kind:
            plan = FamilyPlan(
                family, self.currency, self.names, self._new_ids(family.code, MAX_FAMILY, draws), draws
            )
            self._plans[family.code] = plan
            return _in_order(plan.all())
        return _in_order(self._defined(family.code, draws))

    def _new_ids(self, family: str, count: int, draws: Draws) -> list[str]:
        """Different ids; the last letter is the family's own, so that families never clash."""
        found: dict[str, None] = {}
        last = self._letters[family]
        while len(found) < count:
            letters = [_LETTERS[part] for part in parts(draws, 5, 12)]
            for at in range(0, 12, 3):
                found[f"R-{letters[at]}{letters[at + 1]}{letters[at + 2]}{last}"] = None
        return list(found)[:count]

    def _defined(self, code: str, draws: Draws) -> list[Rule]:
        topic = next(topic for topic, family in DEFINING.items() if family == code)
        if topic == TIER:
            conditions = ranges(SPEND, draws, NAMED)
        elif topic == CLASS:
            conditions = _groups(KIND, draws, _KINDS_PER_CLASS)
        else:
            conditions = _groups(REGION, draws, _REGIONS_PER_ZONE)
        ids, ranks = self._new_ids(code, NAMED, draws), precedences(draws, NAMED)
        return [
            Rule(ids[at], code, DEFINITION, ranks[at], (conditions[at],), defines=(topic, name))
            for at, name in enumerate(self.names[topic])
        ]


_SOURCES = tuple(
    (DEFINING[topic], source) for topic, source in ((CLASS, KIND), (TIER, SPEND), (ZONE, REGION))
)


def _in_order(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """By id: a drawn order that tells nothing about the rules' parts."""
    return tuple(sorted(rules, key=lambda rule: rule.id))


def _groups(topic: str, draws: Draws, size: int) -> list[Condition]:
    names = draws.sample(list(NAMES[topic]), NAMED * size)
    return [Condition(topic, tuple(names[at : at + size])) for at in range(0, NAMED * size, size)]
