"""An agent that knows the goal, for demos, witnesses and tests; it acts through `ShopEnv.step` alone.

Belongs here: the plan (which options, in which order to click) and the reason when a task cannot be won. What
it finds out says something about the task, not about agents. Only programs that may read goals may use it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain, islice, product
from typing import Any

from shopsim_env.catalog.prices import resolve_price
from shopsim_env.catalog.product import Product, option_key
from shopsim_env.errors import UsageError
from shopsim_env.private import Goal
from shopsim_env.reward.option import match_option
from shopsim_env.shop.actions import Action, Click, Search, canonical_text
from shopsim_env.shop.display import one_line
from shopsim_env.shop.env import ShopEnv, Step
from shopsim_env.shop.episode import ReleaseLike
from shopsim_env.shop.pages import BUY, NEXT, OfferedAxis, offered_axes

QUERIES = ("simple", "full", "title")
# Reasons that another query may mend.
QUERY_FAULTS = (
    "empty_argument",
    "empty_query",
    "too_long",
    "multiple_actions_not_allowed",
    "not_found_in_top_150",
    "action_limit",
)
# Combinations of free axes that are tried for a price within the ceiling; real products stay far below.
_MAX_COMBINATIONS = 4_096


@dataclass(frozen=True, slots=True)
class OracleResult:
    """How far the oracle came.

    `steps` pairs canonical action text and step; `reached` is r_success = 1. `reason` is "" then, else one of
    `empty_argument`, `empty_query`, `too_long`, `multiple_actions_not_allowed` (of the query),
    `not_found_in_top_150`, `action_limit`, `option_missing`, `over_budget`, `price_unverifiable`,
    `type_mismatch`, `attribute_mismatch`, `option_mismatch`, `price_mismatch`.
    """

    task_id: int
    query: str
    steps: tuple[tuple[str, Step], ...]
    reached: bool
    reason: str

    @property
    def actions(self) -> tuple[str, ...]:
        """The canonical texts of what was played."""
        return tuple(text for text, _ in self.steps)


@dataclass(frozen=True, slots=True)
class Plan:
    """Values to choose (one index per offered axis) and why they cannot win ("" when they can)."""

    chosen: tuple[int, ...]
    reason: str


def solve(release: ReleaseLike, env: ShopEnv, task_id: int, query: str = "simple") -> OracleResult:
    """Resets `env` to `task_id`, searches, pages until the gold product is shown, chooses, buys.

    Args:
        release: The release that `env` plays.
        env: Its episode is replaced.
        task_id: Task to play.
        query: "simple" (full text where a task has no simple one), "full" or "title" (of the gold product).

    A product whose options or price cannot win is bought all the same: every component can be reported then.
    """
    if query not in QUERIES:
        raise UsageError(f"query: expected one of {list(QUERIES)}, found {query!r}")
    goal = release.private().goal(task_id)
    return attempt(env, goal, _query_text(goal, query), query)


def attempt(env: ShopEnv, goal: Goal, text: str, query: str) -> OracleResult:
    """`solve` with any text: what it searches, on one line, and the name of it for the result.

    Every action is played as canonical text, so that a list of them can be written down and played again.
    """
    env.reset(goal.task_id)
    player = _Player(env)
    reason = player.find(goal.product.asin, one_line(text))
    if not reason:
        plan = plan_options(goal, rule=env.option_match)
        reason = player.buy(offered_axes(goal.product), plan)
    reached = player.last.done and player.last.reward_detail.get("r_success") == 1
    return OracleResult(goal.task_id, query, tuple(player.steps), reached, "" if reached else reason)


def solve_any(
    release: ReleaseLike, env: ShopEnv, task_id: int, queries: Sequence[str] = QUERIES
) -> OracleResult:
    """`solve` with each query in turn, until one does not fail at finding the product."""
    result = solve(release, env, task_id, queries[0])
    for query in queries[1:]:
        if result.reason not in QUERY_FAULTS:
            break
        result = solve(release, env, task_id, query)
    return result


def plan_options(goal: Goal, rule: str = "anchored") -> Plan:
    """Chooses a value on every offered axis of the gold product.

    Each required value takes an axis of its own where that is possible, free axes any; the first combination
    whose resolved price keeps the ceiling is taken. Without one the plan is the first and says why.
    """
    axes = offered_axes(goal.product)
    assignments, missing = _assignments(goal.options, axes, rule)
    tried = (chosen for assignment in assignments for chosen in _combinations(axes, assignment))
    first: tuple[int, ...] = ()
    reasons: set[str] = set()
    for chosen in islice(tried, _MAX_COMBINATIONS):
        reason = _price_reason(goal.product, axes, chosen, goal.budget_upper)
        if not reason:
            return Plan(chosen, "option_missing" if missing else "")
        first = first if reasons else chosen
        reasons.add(reason)
    if missing:
        return Plan(first, "option_missing")
    return Plan(first, "over_budget" if "over_budget" in reasons else "price_unverifiable")


def _query_text(goal: Goal, query: str) -> str:
    texts = {
        "simple": goal.instruction_simple or goal.instruction,
        "full": goal.instruction,
        "title": goal.product.title,
    }
    return texts[query]


def option_candidates(required: str, axes: tuple[OfferedAxis, ...], rule: str) -> list[tuple[int, int]]:
    """(axis, value) pairs of offered axes that meet a requirement, spelling-equal ones first."""
    own = [value for axis in axes for value in axis.public]
    pairs = [(axis, index) for axis, offered in enumerate(axes) for index in range(len(offered.public))]
    equal = [pair for pair in pairs if option_key(axes[pair[0]].public[pair[1]]) == option_key(required)]
    matched = [
        pair
        for pair in pairs
        if pair not in equal and match_option(required, axes[pair[0]].public[pair[1]], own, rule=rule).match
    ]
    return equal + matched


def _assignments(
    options: tuple[str, ...], axes: tuple[OfferedAxis, ...], rule: str
) -> tuple[Iterator[dict[int, int]], bool]:
    """Ways to meet the requirements, each axis -> value, and whether one of them cannot be met.

    There is always one way: then the requirements that can be met, or the first of them.
    """
    choices = [option_candidates(required, axes, rule) for required in options]
    found = [pairs for pairs in choices if pairs]
    for shared in (False, True):
        assignments = _distinct(found, {}, shared=shared)
        first = next(assignments, None)
        if first is not None:
            return chain((first,), assignments), len(found) < len(choices)
    return _distinct(found[:1], {}, shared=False), True


def _distinct(
    choices: list[list[tuple[int, int]]], taken: dict[int, int], *, shared: bool
) -> Iterator[dict[int, int]]:
    """One pair per requirement, axes used once; with `shared`, one value may serve several requirements."""
    if not choices:
        yield taken
        return
    for axis, index in choices[0]:
        if axis not in taken or (shared and taken[axis] == index):
            yield from _distinct(choices[1:], {**taken, axis: index}, shared=shared)


def _combinations(axes: tuple[OfferedAxis, ...], assignment: dict[int, int]) -> Iterator[tuple[int, ...]]:
    ranges = [
        (assignment[position],) if position in assignment else tuple(range(len(axis.public)))
        for position, axis in enumerate(axes)
    ]
    return product(*ranges)


def _price_reason(
    item: Product, axes: tuple[OfferedAxis, ...], chosen: tuple[int, ...], ceiling: Decimal | None
) -> str:
    if ceiling is None:
        return ""
    selected = {axis.name: axis.public[index] for axis, index in zip(axes, chosen, strict=True)}
    price = resolve_price(item, selected).price
    if price is None:
        return "price_unverifiable"
    return "" if price <= ceiling else "over_budget"


def _mismatch(detail: dict[str, Any]) -> str:
    names = {"r_type": "type", "r_att": "attribute", "r_option": "option", "r_price": "price"}
    return next((f"{names[key]}_mismatch" for key in names if detail[key] != 1), "")


class _Player:
    """Plays actions and remembers them."""

    def __init__(self, env: ShopEnv) -> None:
        self._env = env
        self.steps: list[tuple[str, Step]] = []

    @property
    def last(self) -> Step:
        return self.steps[-1][1]

    def play(self, action: Action) -> Step:
        text = canonical_text(action)
        step = self._env.step(text)
        self.steps.append((text, step))
        return step

    def find(self, asin: str, query: str) -> str:
        """Opens the product; returns why that failed, or ""."""
        step = self.play(Search(query))
        while not step.done and asin not in step.observation_state["actions"]:
            if step.observation_state["page_type"] == "search_home":
                return str(step.observation_state["last_action"]["reason"])
            if NEXT not in step.observation_state["actions"]:
                return "not_found_in_top_150"
            step = self.play(Click(NEXT))
        if not step.done:
            step = self.play(Click(asin))
        return "action_limit" if step.done else ""

    def buy(self, axes: tuple[OfferedAxis, ...], plan: Plan) -> str:
        """Chooses and buys on the open product page; returns what the result or the plan lacks, or ""."""
        labels = [axis.labels[index] for axis, index in zip(axes, plan.chosen, strict=True)]
        for text in (*labels, BUY):
            if self.play(Click(text)).done:
                break
        if self.last.termination_reason != "purchase":
            return "action_limit"
        return plan.reason or _mismatch(self.last.reward_detail)
