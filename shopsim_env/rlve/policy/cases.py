"""A case for a question: values of topics that make exactly so many rules take part.

Belongs here: which rule decides, which others take part, and what only looks as if it did. A rule counts if
taking it away alone changes the outcome; what does not is a trap. Every case names the same topics, whatever
decides it: class, tier, zone, the two numbers, and as many circumstances; only the values tell.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.policy.plan import SPECIALS, FamilyPlan
from shopsim_env.rlve.policy.rules import DECIDES, SUPPLEMENT, Condition, Rule, Value
from shopsim_env.rlve.policy.tables import PolicyBase
from shopsim_env.rlve.policy.vocabulary import DEFINING, SOURCES

_TRAP_SHARE = 0.5
# Of so many things on average those are drawn that take part beside the decider: supplements, topics, rivals.
_MEAN_OPTIONS = 8
_MOST_IDLE = 1
# Circumstances that are named as not being so: supplements up to this many more than rules, others up to two.
_SUPPLEMENTS_MORE, _GUARDS = 1, 2


@dataclass(slots=True)
class Case:
    """Values of topics, and the ids of the rules that take part."""

    context: dict[str, Value] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)
    # Class, tier and zone, whether said directly or through a definition.
    names: dict[str, Value] = field(default_factory=dict)
    # Whether the number with the one limit has to reach it.
    reaches_limit: bool = False


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
    decider, defined = None, frozenset[str]()
    if uncovered:
        _set_aside(plan, draws.sample(_aside(plan, plan.specials), branch), case)
    else:
        decider = draws.pick([rule for rule in plan.deciding if can_bring(plan, rule, branch)])
        defined = _take_part(plan, decider, branch, case, draws)
    if decider and branch > 1:
        _distract(plan, decider, case, draws)
    _fill_names(base, plan, decider, case, draws)
    _numbers(plan, decider, case, draws)
    if branch > 1:
        _deny(plan, branch, case, draws)
    hidden = {topic for topic in case.names if draws.chance((branch - 1) / _MEAN_OPTIONS)}
    hidden -= set(_topics(decider) if decider else ())
    _say_names(base, defined, hidden, case, draws)
    return case


def _take_part(plan: FamilyPlan, decider: Rule, branch: int, case: Case, draws: Draws) -> frozenset[str]:
    """Has the decider apply, and others take part; gives the topics that definitions shall give."""
    case.rules.append(decider.id)
    _hold(plan, decider, case)
    options: list[Rule | str] = [*_topics(decider), *plan.supplements, *_rivals(plan, decider)]
    chosen = draws.sample(options, branch - 1)
    rules = [item for item in chosen if not isinstance(item, str)]
    _set_aside(plan, [rule for rule in rules if rule.effect == DECIDES], case)
    _supplement(plan, [rule for rule in rules if rule.effect == SUPPLEMENT], case, draws)
    return frozenset(item for item in chosen if isinstance(item, str))


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


def _hold(plan: FamilyPlan, rule: Rule, case: Case) -> None:
    """Makes the conditions on class, tier and zone hold, and that on the limit."""
    for condition in rule.conditions:
        if condition.topic in DEFINING:
            case.names[condition.topic] = condition.values[0]
        elif condition.topic == plan.limited:
            case.reaches_limit = True


def _set_aside(plan: FamilyPlan, rules: Iterable[Rule], case: Case) -> None:
    for rule in rules:
        exception = plan.exceptions[rule.id]
        _hold(plan, rule, case)
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


def _distract(plan: FamilyPlan, decider: Rule, case: Case, draws: Draws) -> None:
    """Adds a rule that seems to decide, and circumstances that no rule of the family reads."""
    for topic in draws.sample(plan.idle, draws.between(0, _MOST_IDLE)):
        case.context[topic] = True
    if not draws.chance(_TRAP_SHARE):
        return
    traps = [rule for rule in plan.specials if _is_trap(rule, decider, case)]
    if traps:
        trap = draws.pick(traps)
        _hold(plan, trap, case)
        if trap.precedence > decider.precedence:
            case.context[trap.exceptions[0].topic] = True


def _is_trap(rule: Rule, decider: Rule, case: Case) -> bool:
    """Whether a rule can apply beside the decider without deciding: outranked, or stopped from within."""
    conditions = rule.conditions
    if any(item.topic in case.names or item.topic not in DEFINING for item in conditions):
        return False
    return rule.precedence < decider.precedence or bool(rule.exceptions)


def _fill_names(base: PolicyBase, plan: FamilyPlan, decider: Rule | None, case: Case, draws: Draws) -> None:
    """Names a class, a tier and a zone where none is named yet, such that nothing else decides for them.

    There always are such: of the four names of a topic no more than three can be ruled out by the others.
    """
    aside = {target for target, exception in plan.exceptions.items() if exception.applies(case.context)}
    above = [
        rule
        for rule in plan.specials
        if rule.id not in aside
        and (decider is None or rule.precedence > decider.precedence)
        and all(item.topic in DEFINING for item in rule.conditions)
        and not any(item.holds(case.context) for item in rule.exceptions)
    ]
    for topic in draws.shuffled([topic for topic in DEFINING if topic not in case.names]):
        for name in draws.shuffled(base.names[topic]):
            case.names[topic] = name
            if not any(all(item.holds(case.names) for item in rule.conditions) for rule in above):
                break


def _say_names(
    base: PolicyBase, defined: Collection[str], hidden: Collection[str], case: Case, draws: Draws
) -> None:
    """Says class, tier and zone; of those that are defined or hidden, what a definition reads instead.

    The decider's own are `defined`, and these definitions count. Others are `hidden` about as often.
    """
    for topic, name in case.names.items():
        if topic not in defined and topic not in hidden:
            case.context[topic] = name
            continue
        rule = next(item for item in base.family(DEFINING[topic]) if item.defines == (topic, name))
        condition = rule.conditions[0]
        case.context[SOURCES[topic]] = (
            draws.pick(condition.values) if condition.values else number_in(condition, draws)
        )
        if topic in defined:
            case.rules.append(rule.id)


def _deny(plan: FamilyPlan, branch: int, case: Case, draws: Draws) -> None:
    """Names circumstances that are not so: how many are named tells nothing, nor which."""
    added = [rule.conditions[0].topic for rule in plan.supplements]
    guards = [rule.conditions[0].topic for rule in plan.exceptions.values()]
    guards += [item.topic for rule in plan.specials for item in rule.exceptions]
    for topics, most in ((added, branch + _SUPPLEMENTS_MORE), (guards, _GUARDS)):
        rest = [topic for topic in topics if topic not in case.context]
        missing = min(len(rest), most - (len(topics) - len(rest)))
        case.context.update(dict.fromkeys(draws.sample(rest, max(0, missing)), False))


def _numbers(plan: FamilyPlan, decider: Rule | None, case: Case, draws: Draws) -> None:
    """The two numbers of the family: always part of the case, since nothing stands for them if untold."""
    if decider is None:
        case.context[plan.ranged] = _below(_low(plan.ranges[0]), draws)
        _limited(plan, case, draws, False)
        return
    ranged = decider.conditions[0].topic == plan.ranged
    within = decider if ranged else draws.pick(plan.ranges)
    case.context[plan.ranged] = number_in(within.conditions[0], draws)
    outranked = plan.specials[len(SPECIALS) - 1].precedence < decider.precedence
    _limited(plan, case, draws, outranked and draws.chance(0.5))


def _limited(plan: FamilyPlan, case: Case, draws: Draws, above: bool) -> None:
    if above or case.reaches_limit:
        case.context[plan.limited] = number_in(Condition(plan.limited, low=plan.limit), draws)
    else:
        case.context[plan.limited] = _below(plan.limit, draws)


def _low(rule: Rule) -> int:
    return rule.conditions[0].low or 0


def _below(limit: int, draws: Draws) -> int:
    """A number below a limit, every second time the next one."""
    return limit - 1 if draws.chance(0.5) else draws.between(max(1, limit // 2), limit - 1)
