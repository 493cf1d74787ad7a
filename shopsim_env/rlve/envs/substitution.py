"""SUB, substitution: products that take the place of one that is out of stock.

Belongs here: the goal of SUB and its grading. The score is `scores.ranking`, likeness `choosing.likeness`,
the draw of constraints `choosing.choice`.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import reduce
from itertools import islice
from operator import or_
from typing import Any, Final, NamedTuple

from shopsim_env.rlve.choosing.choice import Choice, InStock, Limits, choose
from shopsim_env.rlve.choosing.likeness import points
from shopsim_env.rlve.choosing.pool import Pool
from shopsim_env.rlve.customer.needs import Brief, Revision
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
from shopsim_env.rlve.scores.ranking import Substitute, score_substitution

# A search with all constraints, and the answer; where one call a turn is allowed, opening the original first.
_OTHER_TURNS: Final = 2
_CHOICE_DRAWS, _ORIGINAL_DRAWS = 4, 8
# Of the products that violate one constraint, so many are compared with the original.
_MOST_NEAR: Final = 5
# In hundredths of a star.
_HARDLY_LESS_RATING: Final = 20
_REQUEST: Final = {
    "zh": "商品{id}缺货了，请帮我找替代品，品类：{category}，最多推荐{k}款，都要有货，而且是最像它的。"
    "相似度这样算：类目相同2分，品牌相同1分，每有一种属性（颜色、材质等）与它有相同的取值1分，"
    "价格相差不超过10%的2分，不超过30%的1分；只要符合要求的商品里分数最高的",
    "en": "product {id} is out of stock, please find a substitute; category: {category}. Recommend up to {k} "
    "products, in stock and as similar as possible. Similarity counts 2 points for the same category, 1 for "
    "the same brand, 1 for each attribute (color, material …) with a value in common, 2 for a price within "
    "10% of its price or 1 within 30%; of the products that meet my requirements only those with the most "
    "points will do",
}


class Original:
    """The product to replace, and how like it others are.

    Args:
        pool: The category in which a substitute is wanted.
        good: One of its products.
    """

    def __init__(self, pool: Pool, good: Good) -> None:
        self.good = good
        self._pool = pool
        self._traits = pool.traits(good)
        self._points: dict[int, int] = {}

    def points(self, good: Good) -> int:
        """Points of a product of the category."""
        found = self._points.get(good.number)
        if found is None:
            found = self._points[good.number] = points(self._traits, self._pool.traits(good))
        return found

    def best(self, choice: Choice) -> list[int]:
        """Numbers of the feasible products with the most points."""
        top = max(map(self.points, choice.feasible))
        return [good.number for good in choice.feasible if self.points(good) == top]


class Substitution(Task):
    """A goal of substitution; making one takes the original out of stock and shows its id."""

    env_id = "SUB"
    # The term for stock can only lose.
    best_score = 0.80

    def __init__(self, setting: Setting, choice: Choice, original: Original, before: Choice | None) -> None:
        self._setting = setting
        self._choice = choice
        self._before = before
        self._original = original
        self._id = setting.overlay.show(original.good.number, "customer")
        self.turn_budget = setting.axes.T_max
        self.brief = self._brief()
        first = max(questions_for(len(self.brief.pending)), int(before is not None))
        # With one call a turn the original is opened in a turn of its own, unless a question takes one.
        opened = int(setting.axes.B_tool == 1 and not first)
        self.least_turns = first + opened + _OTHER_TURNS
        self.least_charged = opened + _OTHER_TURNS

    def grade(self, answer: Answer | None, heard: Heard) -> TaskScore:
        """The score of the list by the constraints that were in force."""
        choice = self._in_force(heard)
        overlay = self._setting.overlay
        listed = answer.recommended_product_ids if answer else ()
        candidates = {
            overlay.ids.product_id(good.number): self._candidate(good, choice) for good in choice.feasible
        }
        for name in listed:
            number = overlay.ids.number(name)
            good = None if number is None else choice.pool.find(number)
            if good is not None:
                candidates[name] = self._candidate(good, choice)
        return score_substitution(
            listed,
            candidates,
            original=self._id,
            k=self._setting.axes.k_rec,
            similarity_weight=self._setting.task_axes.sub_lambda,
        )

    def forced_chance(self) -> Fraction:
        """Chance that one product drawn from the category is among the best substitutes."""
        others = len(self._choice.pool) - 1  # it was told that the original is out of stock
        return Fraction(len(self._original.best(self._choice)), others)

    def goal(self) -> dict[str, Any]:
        """Original, category, constraints and the best substitutes."""
        families, language = self._setting.families, self._setting.language
        best = self._original.best(self._choice)
        return {
            "original": self._id,
            "category": list(self._choice.pool.category.levels),
            "constraints": [item.text(language, families) for item in self._choice.constraints],
            "best": [self._setting.overlay.ids.product_id(number) for number in best],
            "points": max(map(self._original.points, self._choice.feasible)),
            "feasible": len(self._choice.feasible),
        }

    def _in_force(self, heard: Heard) -> Choice:
        return self._choice if self._before is None or heard.revised else self._before

    def _candidate(self, good: Good, choice: Choice) -> Substitute:
        facts = self._setting.overlay.shelf.item(good.number).facts
        met = sum(item.met(facts) for item in choice.constraints)
        in_stock = self._setting.overlay.stock.in_stock(good.number)
        return Substitute(self._original.points(good), met, len(choice.constraints), in_stock)

    def _brief(self) -> Brief:
        setting, choice = self._setting, self._before or self._choice
        needs = [constraint_need(setting, f"c{at}", item) for at, item in enumerate(choice.constraints)]
        revision = None
        if self._before:
            at = changed(self._before, self._choice)
            revision = Revision(constraint_need(setting, f"c{at}", self._choice.constraints[at]))
        kept = {revision.need.id} if revision else set()
        category = category_words(choice.pool.category, setting.language)
        request = _REQUEST[setting.language].format(id=self._id, category=category, k=setting.axes.k_rec)
        return Brief(
            env_id=self.env_id,
            request=request,
            needs=tuple(needs),
            pending=left_out(setting, [need for need in needs if need.id not in kept], _OTHER_TURNS),
            revision=revision,
            data={
                "filters": category_filter(choice.pool.category),
                "k": setting.axes.k_rec,
                "original": self._id,
            },
            keep=(category, self._id),
        )


def make(setting: Setting) -> Task:
    """Draws a goal of substitution.

    Raises:
        UsageError: the catalogue has no category in which constraints bind (code `no_choice`).
    """
    limits = wish_limits(setting)
    best: _Drawn | None = None
    for attempt in range(_CHOICE_DRAWS):
        drawn = _drawn(setting, limits, setting.draws.fork("goal", attempt))
        if best is None or drawn.faults < best.faults:
            best = drawn
        if best.faults <= (0, setting.axes.m * 2 // 3):
            break
    assert best is not None  # noqa: S101 - there is at least one attempt
    setting.overlay.stock.force(best.original.good.number, 0)
    draws = setting.draws.fork("revision")
    before = loosened(setting, best.choice, limits, draws) if draws.chance(setting.axes.p_switch) else None
    return Substitution(setting, best.choice, best.original, before)


class _Drawn(NamedTuple):
    """A drawn goal; `faults` counts the shortcuts by which a best substitute is found.

    First those that read no wish or not the original, then those that neglect one wish.
    """

    faults: tuple[int, int]
    choice: Choice
    original: Original


def _drawn(setting: Setting, limits: Limits, draws: Draws) -> _Drawn:
    """A choice and the product that its feasible ones are to replace."""
    remains = setting.overlay.stock.remains
    choice = choose(setting.pools, draws, limits, remains)
    pool, sets = choice.pool, choice.near_sets(choice.pool.priced)
    near = [_some(pool, bits & pool.offered, remains) for bits in sets]
    found: list[_Drawn] = []
    for good in _replaceable(pool, sets, remains, draws):
        found.append(_judged(choice, Original(choice.pool, good), near))
        if found[-1].faults == (0, 0):
            break
    return min(found, key=lambda one: one.faults)


def _judged(choice: Choice, original: Original, near: Sequence[Sequence[Good]]) -> _Drawn:
    """A goal with its faults; the constraints whose neglect misleads most are told first.

    Faults: the cheapest feasible product is a best one; more than half of the feasible ones are; a best one
    is hardly worse than the original in anything; a constraint whose neglect brings up no product that is
    likelier than the best.
    """
    best = set(original.best(choice))
    top = max(map(original.points, choice.feasible))
    cheapest = min(choice.feasible, key=lambda good: (good.price_low or 0, good.number))
    others = [[good for good in goods if good != original.good] for goods in near]
    likest = [max(map(original.points, goods), default=0) for goods in others]
    harmless = sum(one <= top for one in likest)
    # These find a best one without any wish, or without the original.
    no_worse = any(_hardly_worse(good, original.good) for good in choice.feasible if good.number in best)
    whole = (cheapest.number in best) + (2 * len(best) > len(choice.feasible)) + no_worse
    faults = (whole + (harmless == len(near)), harmless)
    order = sorted(range(len(likest)), key=lambda place: -likest[place])
    return _Drawn(faults, choice.ordered(order), original)


def _hardly_worse(good: Good, original: Good) -> bool:
    """Whether a product would be taken by an agent that wants no worse one, instead of reading the wishes."""
    return (
        (good.price_low or 0) * 10 <= (original.price_low or 0) * 11
        and good.rating >= original.rating - _HARDLY_LESS_RATING
        and good.ship_days <= original.ship_days + 1
    )


def _some(pool: Pool, bits: int, test: Callable[[int], bool]) -> list[Good]:
    """The first few products of a set that pass a test."""
    return list(islice((good for good in pool.members(bits) if test(good.number)), _MOST_NEAR))


def _replaceable(pool: Pool, sets: Sequence[int], remains: InStock, draws: Draws) -> list[Good]:
    """Products that may be the original: each violates one constraint, so that to be no worse says nothing.

    They are out of stock as it is, if there are such: the goals of a journey's other parts may rely on the
    others.
    """
    bits = reduce(or_, sets)
    goods = list(pool.members(bits & ~pool.in_stock))
    goods += _some(pool, bits & pool.in_stock, lambda number: not remains(number))
    goods = goods or list(pool.members(bits))
    return draws.sample(goods, min(_ORIGINAL_DRAWS, len(goods)))
