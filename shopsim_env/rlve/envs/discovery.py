"""PD, product discovery: a ranked list of products that meet all constraints, best for this customer first.

Belongs here: the goal of PD and its grading. The score is `scores.ranking`, the draw of constraints
`choosing.choice`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from math import perm, prod
from typing import Any, Final, NamedTuple

from shopsim_env.rlve.choosing.choice import Choice, choose
from shopsim_env.rlve.choosing.preferences import (
    TOLD_DIMENSIONS,
    concentration,
    draw_weights,
    features,
    utilities,
    weigh,
)
from shopsim_env.rlve.customer.needs import Brief, Need, Revision
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.envs.base import (
    Heard,
    Setting,
    Task,
    category_filter,
    category_words,
    constraint_need,
    left_out,
    questions_for,
)
from shopsim_env.rlve.envs.goods import changed, loosened, wish_limits
from shopsim_env.rlve.fact_model import Good
from shopsim_env.rlve.protocol import Answer
from shopsim_env.rlve.scores.common import TaskScore
from shopsim_env.rlve.scores.ranking import PLACE_TOLERANCE, Candidate, is_ideal, score_discovery

# A search with all constraints, and the answer.
_OTHER_TURNS: Final = 2
_WEIGHT_DRAWS: Final = 24
_LEFT_OVER: Final = 2
# In a larger category the best products by the weights alone hardly ever meet a wish that a few meet.
_MOST_UNREAD: Final = 200
_CHOICE_DRAWS: Final = 3
# Weights that an agent would take first which did not hear those that are told; other ones, in fifths.
_LIKELY: Final = ((1, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), *permutations((5, 3, 2)))
_FIFTHS: Final = tuple((one, two, 5 - one - two) for one in range(6) for two in range(6 - one))
# So many lists by other weights in fifths may pass: those near the told ones always do.
_NEAR: Final = 3
_REQUEST: Final = {
    "zh": "我想买东西，品类：{category}。请推荐最多{k}款，最合适的排在最前面；"
    "都要有货、有标价；"
    "符合要求的不到{k}款，就有几款推荐几款。排序按价格、评分、发货的加权总分：在这些符合要求的商品里，"
    "每一项最好的得1分，最差的得0分，中间的按比例，再乘以我说的比重",
    "en": "I want to buy something; category: {category}. Please recommend up to {k} products, the best one "
    "first, all in stock and with a price; if fewer than {k} meet my requirements, all that do. Rank them "
    "by a weighted sum of price, rating and shipping: of all products that meet my requirements the best one "
    "in each gets 1, the worst one 0, those between in proportion, times the weight that I give it",
}
_PRIORITIES: Final = {
    "zh": "排序时价格低占{price}%、评分高占{rating}%、发货快占{shipping}%",
    "en": "when you rank them, a low price counts {price}%, a high rating {rating}%, fast shipping "
    "{shipping}%",
}


class Discovery(Task):
    """A goal of product discovery."""

    env_id = "PD"
    least_charged = _OTHER_TURNS
    # Rank and constraints at their best, and a term for stock that can only lose: 0.55 + 0.35.
    best_score = 0.90

    def __init__(
        self, setting: Setting, choice: Choice, weights: Mapping[str, int], before: Choice | None
    ) -> None:
        self._setting = setting
        self._choice = choice
        self._before = before
        self._weights = weights
        self.turn_budget = setting.axes.T_max
        self.brief = self._brief()
        self.least_turns = (
            _OTHER_TURNS + questions_for(len(self.brief.pending)) + (self.brief.revision is not None)
        )

    def grade(self, answer: Answer | None, heard: Heard) -> TaskScore:
        """The score of the list by the constraints that were in force."""
        choice = self._in_force(heard)
        worth = utilities(choice.feasible, self._weights)
        ids, asked = self._setting.overlay.ids, len(choice.constraints)
        candidates = {
            ids.product_id(number): Candidate(value, asked, asked, True) for number, value in worth.items()
        }
        listed = answer.recommended_product_ids if answer else ()
        for name in listed:
            number = ids.number(name)
            if number is not None and name not in candidates:
                candidates[name] = self._violating(number, choice)
        return score_discovery(
            listed, candidates, k=self._setting.axes.k_rec, alpha=self._setting.task_axes.pd_alpha
        )

    def forced_chance(self) -> Fraction:
        """Chance that products drawn from the category come out as an ideal list, as `is_ideal` says.

        For each place the products that are worth as much as the ideal one, up to the tolerance; one that
        fits two places counts at both, so the chance is never told too low.
        """
        worth = sorted(utilities(self._choice.feasible, self._weights).values(), reverse=True)
        ideal = worth[: self._setting.axes.k_rec]
        lists = prod(sum(abs(one - best) <= PLACE_TOLERANCE for one in worth) for best in ideal)
        return min(Fraction(1), Fraction(lists, perm(len(self._choice.pool), len(ideal))))

    def goal(self) -> dict[str, Any]:
        """Category, constraints, weights and the best list."""
        best = _best(utilities(self._choice.feasible, self._weights), self._setting.axes.k_rec)
        families, language = self._setting.families, self._setting.language
        return {
            "category": list(self._choice.pool.category.levels),
            "constraints": [item.text(language, families) for item in self._choice.constraints],
            "weights": dict(self._weights),
            "best": [self._setting.overlay.ids.product_id(number) for number in best],
            "feasible": len(self._choice.feasible),
        }

    def _in_force(self, heard: Heard) -> Choice:
        return self._choice if self._before is None or heard.revised else self._before

    def _violating(self, number: int, choice: Choice) -> Candidate:
        """A product outside the feasible ones: what it meets, and whether it can be bought for a price."""
        overlay = self._setting.overlay
        facts = overlay.shelf.item(number).facts
        met = sum(item.met(facts) for item in choice.constraints)
        offered = facts.price_low is not None and overlay.stock.in_stock(number)
        return Candidate(0.0, met, len(choice.constraints), offered)

    def _brief(self) -> Brief:
        setting, choice = self._setting, self._before or self._choice
        needs = [constraint_need(setting, f"c{at}", item) for at, item in enumerate(choice.constraints)]
        needs.append(_priorities(setting, self._weights))
        revision = None
        if self._before:
            at = changed(self._before, self._choice)
            revision = Revision(constraint_need(setting, f"c{at}", self._choice.constraints[at]))
        kept = {revision.need.id} if revision else set()
        category = category_words(choice.pool.category, setting.language)
        return Brief(
            env_id=self.env_id,
            request=_REQUEST[setting.language].format(category=category, k=setting.axes.k_rec),
            needs=tuple(needs),
            pending=left_out(
                setting, [need for need in needs if need.id not in kept], _OTHER_TURNS + bool(kept)
            ),
            revision=revision,
            data={"filters": category_filter(choice.pool.category), "k": setting.axes.k_rec},
            keep=(category,),
        )


def make(setting: Setting) -> Task:
    """Draws a goal of product discovery.

    Raises:
        UsageError: the catalogue has no category in which constraints bind (code `no_choice`).
    """
    limits = wish_limits(setting)
    # More than the list holds, or the wishes alone would say what is in it.
    limits = replace(limits, fewest=min(limits.most, setting.axes.k_rec + _LEFT_OVER))
    best: _Drawn | None = None
    for attempt in range(_CHOICE_DRAWS):
        draws = setting.draws.fork("goal", attempt)
        choice = choose(setting.pools, draws, limits, setting.overlay.stock.remains)
        drawn = _telling_weights(choice, draws, setting.axes.k_rec, _unread(setting, choice))
        if best is None or drawn.passed < best.passed:
            best = drawn
        if best.tells:
            break
    assert best is not None  # noqa: S101 - there is at least one attempt
    draws = setting.draws.fork("revision")
    before = loosened(setting, best.choice, limits, draws) if draws.chance(setting.axes.p_switch) else None
    return Discovery(setting, best.choice, best.weights, before)


class _Drawn(NamedTuple):
    """A drawn goal; `passed` counts the lists that pass though they do without the told weights.

    First those by likely weights or by no wish, of which there should be none, then the others.
    """

    passed: tuple[int, int]
    choice: Choice
    weights: dict[str, int]

    @property
    def tells(self) -> bool:
        """Whether the told weights are needed."""
        return self.passed <= (0, _NEAR)


def _unread(setting: Setting, choice: Choice) -> Sequence[Good]:
    """The category's products in stock, which an agent ranks that does not read a single wish."""
    if len(choice.constraints) > 1 or len(choice.pool) > _MOST_UNREAD:
        return ()
    remains = setting.overlay.stock.remains
    return [good for good in choice.pool.members(choice.pool.offered) if remains(good.number)]


def _telling_weights(choice: Choice, draws: Draws, k: int, unread: Sequence[Good]) -> _Drawn:
    """Weights by which a list that passes is found by them alone, as far as a few draws give such.

    Neither the mean of the weights that are drawn for such constraints, nor `_LIKELY` ones, give one; nor do
    the right weights among `unread` products. Of those in fifths few do.
    """
    topics = [item.topic for item in choice.constraints]
    found, others = features(choice.feasible), features(unread)
    # Places instead of numbers: this is the inner loop of a reset.
    rows = list(found.values())
    likely = _lists(rows, (concentration(topics)[: len(TOLD_DIMENSIONS)], *_LIKELY), k)
    fifths = _lists(rows, _FIFTHS, k) - likely
    best: _Drawn | None = None
    for _ in range(_WEIGHT_DRAWS):
        weights = draw_weights(draws, topics)
        worth = _sums(rows, [weights[name] / 100 for name in TOLD_DIMENSIONS])
        ideal = sorted(worth, reverse=True)[:k]
        first, second = _passing(likely, worth, ideal), _passing(fifths, worth, ideal)
        if others and not first:
            among = dict(zip(found, worth, strict=True))
            taken = _best(weigh(others, weights), k)
            first = int(is_ideal([among.get(number, 0.0) for number in taken], ideal))
        if best is None or (first, second) < best.passed:
            best = _Drawn((first, second), choice, weights)
        if best.tells:
            break
    assert best is not None  # noqa: S101 - there is at least one draw
    return best


def _lists(
    rows: Sequence[tuple[float, float, float]], guesses: Sequence[Sequence[float]], k: int
) -> set[tuple[int, ...]]:
    """The different lists of places to which these weights lead."""
    return {tuple(_order(_sums(rows, shares))[:k]) for shares in guesses}


def _passing(lists: set[tuple[int, ...]], worth: Sequence[float], ideal: Sequence[float]) -> int:
    """How many lists are ideal ones; most fail at their first place, which is quickly seen."""
    least = ideal[0] - PLACE_TOLERANCE
    near = [places for places in lists if worth[places[0]] >= least]
    return sum(is_ideal([worth[place] for place in places], ideal) for places in near)


def _sums(rows: Sequence[tuple[float, float, float]], shares: Sequence[float]) -> list[float]:
    one, two, three = shares
    return [one * price + two * rating + three * shipping for price, rating, shipping in rows]


def _order(worth: Sequence[float]) -> list[int]:
    """Places, those that are worth most first."""
    return sorted(range(len(worth)), key=worth.__getitem__, reverse=True)


def _best(worth: Mapping[int, float], k: int) -> list[int]:
    return sorted(worth, key=worth.__getitem__, reverse=True)[:k]


def _priorities(setting: Setting, weights: Mapping[str, int]) -> Need:
    return Need(
        id="priorities",
        kind="priorities",
        value=_PRIORITIES[setting.language].format(**weights),
        topics=frozenset({"priorities"}),
        data={"weights": dict(weights)},
    )
