"""A case for a question: values of topics that make exactly so many rules take part.

Belongs here: which rule decides, which others take part, and what only looks as if it did. A rule counts if
taking it away alone changes the outcome; what does not is a trap.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.policy.plan import SPECIALS, FamilyPlan
from shopsim_env.rlve.policy.rules import DECIDES, SUPPLEMENT, Condition, Rule, Value
from shopsim_env.rlve.policy.tables import PolicyBase
from shopsim_env.rlve.policy.vocabulary import DEFINING, SOURCES

_TRAP_SHARE = 0.5
_MOST_IDLE = 2


@dataclass(slots=True)
class Case:
    """Values of topics, and the ids of the rules that take part."""

    context: dict[str, Value] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)
    # Topics that are decided, whether said directly or through a definition.
    taken: set[str] = field(default_factory=set)


def compose(base: PolicyBase, plan: FamilyPlan, branch: int, draws: Draws, uncovered: bool) -> Case:
    """Draws a case.

    Args:
        base: The rules.
        plan: Those of the family.
        branch: Number of rules that take part.
        draws: The sequence to use.
        uncovered: Whether no rule shall decide; `branch` exceptions set aside all that apply then.
    """
    case = Case()
    if uncovered:
        _set_aside(base, plan, draws.sample(_aside(plan, plan.specials), branch), case)
        case.context[plan.ranged] = _below(_low(plan.ranges[0]), draws)
        _limited(plan, case, draws, False)
        _fill(base, plan, case, draws)
        return case
    decider = draws.pick([rule for rule in plan.deciding if can_bring(plan, rule, branch)])
    case.rules.append(decider.id)
    _hold(base, plan, decider, case)
    options: list[Rule | str] = [*_topics(decider), *plan.supplements, *_rivals(plan, decider)]
    chosen = draws.sample(options, branch - 1)
    _define(base, [item for item in chosen if isinstance(item, str)], case, draws)
    rules = [item for item in chosen if not isinstance(item, str)]
    _set_aside(base, plan, [rule for rule in rules if rule.effect == DECIDES], case)
    _supplement(plan, [rule for rule in rules if rule.effect == SUPPLEMENT], case, draws)
    if branch > 1:
        _distract(base, plan, decider, case, draws)
    _numbers(plan, decider, case, draws)
    _fill(base, plan, case, draws)
    return case


def can_bring(plan: FamilyPlan, decider: Rule, branch: int) -> bool:
    """Whether some case in which this rule decides brings so many rules together."""
    most = 1 + len(plan.supplements)
    return branch <= most or branch <= most + len(_topics(decider)) + len(_rivals(plan, decider))


def number_in(condition: Condition, draws: Draws) -> int:
    """A number in a range, every second time at an end; an open range ends at twice its beginning."""
    low = condition.low or 0
    high = 2 * low if condition.high is None else condition.high
    if draws.chance(0.5):
        return low if draws.chance(0.5) or condition.high is None else high
    return draws.between(low, high)


def _topics(rule: Rule) -> list[str]:
    """Topics of a deciding rule that a definition can give."""
    return [item.topic for item in rule.conditions if item.topic in DEFINING]


def _aside(plan: FamilyPlan, rules: Iterable[Rule]) -> list[Rule]:
    return [rule for rule in rules if rule.id in plan.exceptions]


def _rivals(plan: FamilyPlan, decider: Rule) -> list[Rule]:
    """Rules that would decide instead and that an exception can set aside."""
    return [
        rule
        for rule in _aside(plan, plan.specials)
        if rule.precedence > decider.precedence and _apart(rule, decider)
    ]


def _apart(one: Rule, other: Rule) -> bool:
    """Whether two deciding rules read different topics, so that both can apply."""
    topics = {item.topic for item in one.conditions}
    return all(item.topic not in topics for item in other.conditions)


def _hold(base: PolicyBase, plan: FamilyPlan, rule: Rule, case: Case) -> None:
    """Makes the conditions on class, tier and zone hold, said directly."""
    for condition in rule.conditions:
        if condition.topic in base.names:
            case.context[condition.topic] = condition.values[0]
            case.taken.add(condition.topic)
        elif condition.topic == plan.limited:
            case.taken.add(plan.limited)


def _define(base: PolicyBase, topics: Iterable[str], case: Case, draws: Draws) -> None:
    """Says what a definition reads in the place of what it gives."""
    for topic in topics:
        name = case.context.pop(topic)
        rule = next(item for item in base.family(DEFINING[topic]) if item.defines == (topic, name))
        condition = rule.conditions[0]
        case.context[SOURCES[topic]] = (
            draws.pick(condition.values) if condition.values else number_in(condition, draws)
        )
        case.rules.append(rule.id)


def _set_aside(base: PolicyBase, plan: FamilyPlan, rules: Iterable[Rule], case: Case) -> None:
    for rule in rules:
        exception = plan.exceptions[rule.id]
        _hold(base, plan, rule, case)
        _mark(exception, case)
        case.rules.append(exception.id)


def _supplement(plan: FamilyPlan, rules: Iterable[Rule], case: Case, draws: Draws) -> None:
    """Supplements take part by being added, or by an exception that keeps them from it."""
    for rule in rules:
        _mark(rule, case)
        exception = plan.exceptions.get(rule.id)
        if exception and draws.chance(0.5):
            _mark(exception, case)
            rule = exception
        case.rules.append(rule.id)


def _mark(rule: Rule, case: Case) -> None:
    case.context[rule.conditions[0].topic] = True


def _distract(base: PolicyBase, plan: FamilyPlan, decider: Rule, case: Case, draws: Draws) -> None:
    """Adds a rule that seems to decide, and circumstances that no rule of the family reads."""
    for topic in draws.sample(plan.idle, draws.between(0, _MOST_IDLE)):
        case.context[topic] = True
    if not draws.chance(_TRAP_SHARE):
        return
    traps = [rule for rule in plan.specials if _is_trap(rule, decider, case)]
    if traps:
        trap = draws.pick(traps)
        _hold(base, plan, trap, case)
        if trap.precedence > decider.precedence:
            case.context[trap.exceptions[0].topic] = True


def _fill(base: PolicyBase, plan: FamilyPlan, case: Case, draws: Draws) -> None:
    """Says class, tier and zone too where they decide nothing: what is named must not tell what decides."""
    truth = base.evaluate(plan.code, case.context)
    for topic in DEFINING:
        if topic in case.context or SOURCES[topic] in case.context:
            continue
        for name in draws.shuffled(base.names[topic]):
            if base.evaluate(plan.code, {**case.context, topic: name}) == truth:
                case.context[topic] = name
                break


def _is_trap(rule: Rule, decider: Rule, case: Case) -> bool:
    """Whether a rule can apply beside the decider without deciding: outranked, or stopped from within."""
    conditions = rule.conditions
    if any(item.topic in case.taken or item.topic not in DEFINING for item in conditions):
        return False
    return rule.precedence < decider.precedence or bool(rule.exceptions)


def _numbers(plan: FamilyPlan, decider: Rule, case: Case, draws: Draws) -> None:
    """The two numbers of the family: always part of the case, since nothing stands for them if untold."""
    ranged = decider.conditions[0].topic == plan.ranged
    within = decider if ranged else draws.pick(plan.ranges)
    case.context[plan.ranged] = number_in(within.conditions[0], draws)
    outranked = plan.specials[len(SPECIALS) - 1].precedence < decider.precedence
    _limited(plan, case, draws, outranked and draws.chance(0.5))


def _limited(plan: FamilyPlan, case: Case, draws: Draws, above: bool) -> None:
    if above or plan.limited in case.taken:
        case.context[plan.limited] = number_in(Condition(plan.limited, low=plan.limit), draws)
    else:
        case.context[plan.limited] = _below(plan.limit, draws)


def _low(rule: Rule) -> int:
    return rule.conditions[0].low or 0


def _below(limit: int, draws: Draws) -> int:
    """A number below a limit, every second time the next one."""
    return limit - 1 if draws.chance(0.5) else draws.between(max(1, limit // 2), limit - 1)
