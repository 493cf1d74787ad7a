"""The plan that the rules of every asked family follow, filled by draws.

Belongs here: how many rules of which effect there are, what they read, what they state. Which families a shop
has, and ids, are in `tables`.
"""

from collections.abc import Mapping, Sequence

from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.policy.rules import DECIDES, EXCEPTION, SUPPLEMENT, Condition, Rule
from shopsim_env.rlve.policy.vocabulary import CLASS, FLAGS, LIMITS, TIER, ZONE, Family
from shopsim_env.rlve.scores.policy import AMOUNT, YES_NO, PolicyAnswer

_RANGES = 3
# Names by place that special rules ask for. No two share a name, so two of them apply together only where
# their topics differ; the last one has the limit instead.
SPECIALS: tuple[dict[str, int], ...] = (
    {CLASS: 0},
    {TIER: 0},
    {ZONE: 0},
    {CLASS: 1, TIER: 1},
    {CLASS: 2, ZONE: 1},
    {TIER: 2, ZONE: 2},
    {CLASS: 3, TIER: 3, ZONE: 3},
    {},
)
_SUPPLEMENTS = 6
# Special rules that one exception each may set aside: those that can apply together. Without supplements all
# of them have one.
_SUSPENDABLE = (0, 1, 2, 7)
_EXCEPTIONS = 3
_INNER = 2


class FamilyPlan:
    """The rules of one asked family by their part.

    Attributes:
        code, ranged, limited: As in `Family`.
        ranges: Deciding rules whose ranges of one number meet without a gap; nothing below the first.
        specials: Deciding rules by place in `SPECIALS`; every one outranks the ranges.
        supplements: Rules that add to the value; none for yes and no.
        exceptions: Id of the rule set aside, to the exception that does it.
        idle: Circumstances that no rule of the family reads.
        limit: Number from which the last special rule applies.
    """

    def __init__(
        self,
        family: Family,
        currency: str,
        names: Mapping[str, Sequence[str]],
        ids: Sequence[str],
        draws: Draws,
    ) -> None:
        added = _SUPPLEMENTS if family.changes else 0
        excepted = _EXCEPTIONS if family.changes else len(_SUSPENDABLE)
        decided = _RANGES + len(SPECIALS)
        self._ids = iter(ids)
        self._ranks = iter(precedences(draws, decided + added + excepted))
        flags = draws.sample(tuple(FLAGS), added + excepted + _INNER)
        self._flags = iter(flags)
        self._family, self._names = family, names
        self.code, self.ranged, self.limited = family.code, family.ranged, family.limited
        unit = currency if family.kind == AMOUNT else None
        answers = _answers(family, unit, draws, decided)
        self.ranges = [
            self._rule(DECIDES, condition, answer)
            for condition, answer in zip(ranges(family.ranged, draws, _RANGES), answers, strict=False)
        ]
        self.limit = draws.pick(LIMITS[family.limited])
        self.specials = self._specials(draws, answers[_RANGES:])
        self.supplements = [
            self._rule(SUPPLEMENT, self._flag(), PolicyAnswer(family.kind, change, unit))
            for change in (draws.sample(family.changes, added) if added else ())
        ]
        self.exceptions = {target.id: self._exception(target) for target in self._targets(draws)}
        self.idle = [flag for flag in FLAGS if flag not in flags]

    @property
    def deciding(self) -> list[Rule]:
        """Ranges and special rules."""
        return self.ranges + self.specials

    def all(self) -> list[Rule]:
        """All rules of the family."""
        return [*self.ranges, *self.specials, *self.supplements, *self.exceptions.values()]

    def _specials(self, draws: Draws, answers: Sequence[PolicyAnswer]) -> list[Rule]:
        # Ranks come in rising order: the ranges took the lowest, these are shuffled among each other.
        ranks = draws.shuffled([next(self._ranks) for _ in SPECIALS])
        guarded = draws.sample(range(len(SPECIALS)), _INNER)
        found = []
        for place, (wanted, answer, rank) in enumerate(zip(SPECIALS, answers, ranks, strict=True)):
            conditions = tuple(
                Condition(topic, (self._names[topic][at],)) for topic, at in wanted.items()
            ) or (Condition(self._family.limited, low=self.limit),)
            inner = (self._flag(),) if place in guarded else ()
            found.append(Rule(next(self._ids), self._family.code, DECIDES, rank, conditions, inner, answer))
        return found

    def _targets(self, draws: Draws) -> list[Rule]:
        """What exceptions set aside: the rule of the limit, another special one, a supplement."""
        specials = [self.specials[place] for place in _SUSPENDABLE]
        if not self.supplements:
            return specials
        first, *others = reversed(specials)
        return [first, draws.pick(others), draws.pick(self.supplements)]

    def _exception(self, target: Rule) -> Rule:
        code = self._family.code
        return Rule(next(self._ids), code, EXCEPTION, next(self._ranks), (self._flag(),), suspends=target.id)

    def _rule(self, effect: str, condition: Condition, outcome: PolicyAnswer) -> Rule:
        return Rule(
            next(self._ids), self._family.code, effect, next(self._ranks), (condition,), outcome=outcome
        )

    def _flag(self) -> Condition:
        return Condition(next(self._flags), (True,))


def _answers(family: Family, unit: str | None, draws: Draws, count: int) -> list[PolicyAnswer]:
    """Different values; those of the ranges rise. Yes and no are drawn, at least two of each."""
    if family.kind == YES_NO:
        words = draws.shuffled([True, True, False, False] + [draws.chance(0.5) for _ in range(count - 4)])
        return [PolicyAnswer(YES_NO, word) for word in words]
    values = draws.sample(family.values, count)
    values[:_RANGES] = sorted(values[:_RANGES])
    return [PolicyAnswer(family.kind, value, unit) for value in values]


def precedences(draws: Draws, count: int) -> list[int]:
    """Rising numbers with drawn gaps."""
    rank, found = 0, []
    for gap in parts(draws, 3, count):
        rank += 1 + gap
        found.append(rank)
    return found


def parts(draws: Draws, bits: int, count: int) -> list[int]:
    """`count` numbers of so many bits each out of one draw, which has 60 that can be used."""
    whole, mask = draws.below(1 << 60), (1 << bits) - 1
    return [whole >> bits * place & mask for place in range(count)]


def ranges(topic: str, draws: Draws, count: int) -> list[Condition]:
    """Ranges that meet: the last one is open, below the first there is none."""
    lows = sorted(draws.sample(LIMITS[topic], count))
    highs = [low - 1 for low in lows[1:]] + [None]
    return [Condition(topic, (), low, high) for low, high in zip(lows, highs, strict=True)]
