"""Graders, generators, chances and customers that are broken on purpose: the panel notices each of them.

Belongs here: the breaks, and who must notice. That nobody complains without a break is seen on the same
episodes.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest
from rlve_world import ENVIRONMENTS, sample_market

from shopsim_env.rlve import episode
from shopsim_env.rlve.customer.customer import Customer
from shopsim_env.rlve.customer.needs import Utterance
from shopsim_env.rlve.envs import bundle, cart, discovery, journey, policy, returns, status, substitution
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.panel.check import check
from shopsim_env.rlve.panel.verdicts import problems
from shopsim_env.rlve.scores.common import TaskScore

Score = Callable[..., TaskScore]


@pytest.fixture(scope="module")
def market() -> Iterator[Market]:
    with sample_market() as found:
        yield found


def flagged(found: TaskScore, success: bool) -> TaskScore:
    return replace(found, success=success)


def any_replacement(right: Score) -> Score:
    def score(outcome: Any, goal: Any) -> TaskScore:
        accepted = outcome.replacement and flagged(outcome.replacement, True)
        return right(replace(outcome, replacement=accepted), goal)

    return score


def any_line(right: Score) -> Score:
    def score(outcome: Any, goal: Any) -> TaskScore:
        return right(outcome, replace(goal, line=outcome.named))

    return score


def any_terms(right: Score) -> Score:
    return lambda outcome, goal: right(replace(outcome, as_asked=True), goal)


def any_refusal(right: Score) -> Score:
    def score(outcome: Any, goal: Any) -> TaskScore:
        return right(outcome if goal.reason is None else replace(outcome, reason=goal.reason), goal)

    return score


def any_variant(right: Score) -> Score:
    def score(lines: Any, required: Mapping[tuple[str, str | None], int]) -> TaskScore:
        return right(lines, {(product, None): units for (product, _), units in required.items()})

    return score


def any_product(right: Score) -> Score:
    def score(lines: Any, required: Mapping[tuple[str, str | None], int]) -> TaskScore:
        held = sum(line.quantity for line in lines)
        return flagged(right(lines, required), held == sum(required.values()))

    return score


def any_units(right: Score) -> Score:
    def score(lines: Any, required: Mapping[tuple[str, str | None], int]) -> TaskScore:
        return right([replace(line, quantity=1) for line in lines], dict.fromkeys(required, 1))

    return score


def any_value(right: Score) -> Score:
    def score(answer: Any, truth: Any, *, cited: Any, rule: Any) -> TaskScore:
        return flagged(right(answer, truth, cited=cited, rule=rule), cited == rule)

    return score


def any_rule(right: Score) -> Score:
    return lambda answer, truth, **sources: right(answer, truth, **{**sources, "cited": sources["rule"]})


def any_tier(right: Score) -> Score:
    def score(listed: Any, candidates: Any, **rest: Any) -> TaskScore:
        return right(listed, {name: replace(one, tier=1) for name, one in candidates.items()}, **rest)

    return score


def any_substitute(right: Score) -> Score:
    def score(listed: Any, candidates: Any, **rest: Any) -> TaskScore:
        met = {name: replace(one, met=one.stated) for name, one in candidates.items()}
        return right(listed, met, **rest)

    return score


def violators_gain(right: Score) -> Score:
    """What does not meet the wishes counts as the product in whose place it stands."""

    def score(listed: Any, candidates: Any, **rest: Any) -> TaskScore:
        worth = sorted((one.utility for one in candidates.values() if one.feasible), reverse=True)
        met = dict(candidates)
        for name, utility in zip(listed, worth, strict=False):
            if name in met and not met[name].feasible:
                met[name] = replace(met[name], utility=utility, met=met[name].stated, in_stock=True)
        return right(listed, met, **rest)

    return score


def any_list(right: Score) -> Score:
    return lambda listed, candidates, **rest: flagged(right(listed, candidates, **rest), len(set(listed)) > 1)


def any_order(right: Score) -> Score:
    def score(listed: Any, candidates: Any, **rest: Any) -> TaskScore:
        feasible = [name in candidates and candidates[name].feasible for name in listed]
        return flagged(right(listed, candidates, **rest), bool(listed) and all(feasible))

    return score


def any_cost(right: Score) -> Score:
    return lambda picks, categories, _: right(picks, categories, None)


def any_pick(right: Score) -> Score:
    def score(picks: Any, categories: Any, budget: int) -> TaskScore:
        return right([replace(pick, fits=True) for pick in picks], categories, budget)

    return score


def any_status(right: Score) -> Score:
    return lambda named, _, *, order, status: right(named, status, order=order, status=status)


def any_listed_order(right: Score) -> Score:
    return lambda _, given, *, order, status: right(order, given, order=order, status=status)


def any_part(right: Score) -> Score:
    def score(parts: Any, planned: int) -> TaskScore:
        return flagged(right(parts, planned), any(part.success for part in parts))

    return score


def more_lines(right: Score) -> Score:
    def score(outcome: Any, goal: Any) -> TaskScore:
        return right(replace(outcome, started=outcome.started & {goal.line}, as_asked=True), goal)

    return score


def no_check(right: Score) -> Score:
    return lambda outcome, goal: right(replace(outcome, checked=frozenset({goal.line})), goal)


def more_products(right: Score) -> Score:
    def score(lines: Any, required: Mapping[tuple[str, str | None], int]) -> TaskScore:
        wanted = {product for product, _ in required}
        return right([line for line in lines if line.product in wanted], required)

    return score


def longer_list(right: Score) -> Score:
    return lambda listed, candidates, **rest: right(listed[: rest["k"]], candidates, **rest)


def more_picks(right: Score) -> Score:
    return lambda picks, categories, budget: right(picks[: len(categories)], categories, budget)


def any_unit(right: Score) -> Score:
    def score(answer: Any, truth: Any, **sources: Any) -> TaskScore:
        if answer is not None and type(answer.value) is type(truth.value):
            answer = replace(answer, kind=truth.kind, currency=truth.currency)
        return right(answer, truth, **sources)

    return score


@dataclass(frozen=True)
class Break:
    """A grader of a module in the place of the right one, and the agent that must notice."""

    env_id: str
    module: Any
    grader: str
    wrong: Callable[[Score], Score]
    noticed_by: str
    level: int = 5
    seeds: int = 4


BREAKS = (
    Break("RETURN", returns, "score_return", any_replacement, "other replacement", seeds=10),
    Break("RETURN", returns, "score_return", any_line, "other line", seeds=10),
    Break("RETURN", returns, "score_return", any_terms, "other reason", seeds=10),
    Break("RETURN", returns, "score_return", any_refusal, "other refusal", seeds=20),
    Break("RETURN", returns, "score_return", more_lines, "one line more", seeds=10),
    Break("RETURN", returns, "score_return", no_check, "refusal without a check", seeds=20),
    Break("CART", cart, "score_cart", more_products, "one product more"),
    Break("CART", cart, "score_cart", any_variant, "other variant"),
    Break("CART", cart, "score_cart", any_product, "other product", level=0),
    Break("CART", cart, "score_cart", any_units, "other units"),
    Break("POLICY", policy, "score_policy", any_value, "other value"),
    Break("POLICY", policy, "score_policy", any_unit, "other unit"),
    Break("POLICY", policy, "score_policy", any_rule, "other rule"),
    Break("SUB", substitution, "score_substitution", any_tier, "less like"),
    Break("SUB", substitution, "score_substitution", any_substitute, "violating substitute"),
    Break("PD", discovery, "score_discovery", violators_gain, "one violator"),
    Break("PD", discovery, "score_discovery", any_list, "one violator"),
    Break("PD", discovery, "score_discovery", longer_list, "one product too many"),
    Break("PD", discovery, "score_discovery", any_order, "worst first"),
    Break("BUNDLE", bundle, "score_bundle", any_cost, "above the budget"),
    Break("BUNDLE", bundle, "score_bundle", any_pick, "violator in a bundle"),
    Break("BUNDLE", bundle, "score_bundle", more_picks, "one pick more"),
    Break("STATUS", status, "score_status", any_status, "other status"),
    Break("STATUS", status, "score_status", any_listed_order, "other order"),
    Break("JOURNEY", journey, "score_journey", any_part, "one part less"),
)


TASKS = {
    "PD": discovery.Discovery,
    "SUB": substitution.Substitution,
    "CART": cart.CartBuilding,
    "RETURN": returns.GoodsReturn,
    "STATUS": status.OrderStatus,
    "POLICY": policy.PolicyQuestion,
    "BUNDLE": bundle.Bundle,
    "JOURNEY": journey.Journey,
}


def judged(market: Market, env_id: str, level: int, seeds: int, name: str) -> list[str]:
    return problems(check(market, [env_id], [level], range(seeds), names=[name]))


@pytest.mark.parametrize("broken", BREAKS, ids=lambda one: f"{one.env_id}-{one.wrong.__name__}")
def test_a_broken_grader_is_noticed(market: Market, broken: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    played = (market, broken.env_id, broken.level, broken.seeds, broken.noticed_by)
    assert judged(*played) == []
    wrong = broken.wrong(getattr(broken.module, broken.grader))
    monkeypatch.setattr(broken.module, broken.grader, wrong)
    (found,) = judged(*played)
    assert f"{broken.noticed_by} succeeds in" in found


def test_a_status_that_is_always_of_the_newest_order_is_noticed(
    market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert judged(market, "STATUS", 5, 12, "first hit") == []
    right = status._asked

    def newest(setting: Any, draws: Any, candidates: Any, meant: Any, *rest: Any) -> Any:
        del meant
        return right(setting, draws, candidates, max(candidates, key=lambda one: one.order.date), *rest)

    monkeypatch.setattr(status, "_asked", newest)
    (found,) = judged(market, "STATUS", 5, 12, "first hit")
    assert "first hit succeeds in" in found


def test_a_goal_that_nobody_can_reach_is_noticed(market: Market, monkeypatch: pytest.MonkeyPatch) -> None:
    """A budget of half of what the cheapest products cost."""
    right = bundle.budget_for
    monkeypatch.setattr(bundle, "budget_for", lambda optimum, slack: right(optimum // 2, slack))
    (found,) = judged(market, "BUNDLE", 5, 4, "oracle")
    assert "oracle succeeds in 0 of 4" in found


def test_priorities_that_are_not_those_that_are_graded_are_noticed(
    market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = discovery._priorities

    def turned_round(setting: Any, weights: Mapping[str, int]) -> Any:
        return right(setting, dict(zip(weights, [100 - value for value in weights.values()], strict=True)))

    monkeypatch.setattr(discovery, "_priorities", turned_round)
    assert any("oracle succeeds in" in found for found in judged(market, "PD", 5, 20, "oracle"))


def test_a_difficulty_that_is_turned_round_is_noticed(
    market: Market, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels, seeds, names = [0, 12], range(12), ["hasty"]
    assert problems(check(market, ["POLICY"], levels, seeds, names=names)) == []
    right, right_of_task = episode.axes, episode.task_axes
    monkeypatch.setattr(episode, "axes", lambda d, overrides: right(12 - d, overrides))
    monkeypatch.setattr(episode, "task_axes", lambda d: right_of_task(12 - d))
    wrong = problems(check(market, ["POLICY"], levels, seeds, names=names))
    assert any("hasty gains from difficulty" in found for found in wrong)


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
@pytest.mark.parametrize("level", [0, 12])
def test_a_chance_that_hides_cheaters_is_noticed(
    market: Market, env_id: str, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert judged(market, env_id, level, 10, "no-op") == []
    monkeypatch.setattr(TASKS[env_id], "forced_chance", lambda _: Fraction(1))
    (found,) = judged(market, env_id, level, 10, "no-op")
    assert "forced chance 1.0000 is above" in found


@pytest.mark.parametrize("env_id", ENVIRONMENTS)
def test_a_customer_who_says_nothing_is_noticed(
    market: Market, env_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was told stays a value for scripted agents: their success alone would not show it."""
    assert judged(market, env_id, 6, 2, "oracle") == []
    monkeypatch.setattr(Customer, "_say", lambda *given: Utterance("……", given[2], given[3]))
    assert any("not in the customer's words" in found for found in judged(market, env_id, 6, 2, "oracle"))


@pytest.mark.parametrize("env_id", ["PD", "CART", "BUNDLE"])
def test_a_customer_who_forgets_to_say_one_thing_is_noticed(
    market: Market, env_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Customer._listed
    monkeypatch.setattr(Customer, "_listed", lambda self, needs: said(self, needs[:-1] or needs))
    assert any("not in the customer's words" in found for found in judged(market, env_id, 3, 4, "oracle"))
