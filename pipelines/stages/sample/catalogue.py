"""Options of the sample products: which axes, which values, what each costs, and the placeholder prices.

Values and SKU rows are built by `options`; planted faults between a task and its options by `option_faults`.
"""

import random
from dataclasses import replace
from typing import Any

from pipelines.stages.sample import faults
from pipelines.stages.sample.chance import seeded
from pipelines.stages.sample.goods import Facts
from pipelines.stages.sample.option_faults import with_option_fault
from pipelines.stages.sample.options import (
    MOST_VALUES,
    AxisDraft,
    OptionsDraft,
    Value,
    decorate,
    goods_values,
    plain_axis,
    retail,
    unique_values,
    value_count,
    varying_prices,
)
from pipelines.stages.sample.plan import RecordPlan
from pipelines.stages.sample.vocabulary import AxisWords, Kind, Vocabulary

# Names under which shops put the main axis when it is not 颜色分类 (454 of 529 real products use that).
_OTHER_MAIN_NAMES = ("款式", "分类", "颜色", "规格类型", "型号", "种类")
_MAIN_LIKE = ("颜色分类", "款式", "分类", "颜色", "口味", "品名", "种类", "型号")
_EXTRA_AXES = ("套餐类型", "组合形式", "规格描述")


def make_options(plan: RecordPlan, facts: Facts, words: Vocabulary) -> OptionsDraft:
    """Axes, prices, gold values and planted option faults of one product."""
    rng = seeded(f"{plan.seed}:options")
    base = usual = _base_price(rng, facts.kind)
    axes = _axes(rng, plan, facts, words)
    axes = _with_no_goods(rng, plan, axes, words.common)
    axes = _with_prices(rng, plan, axes, base)
    axes, base = _with_placeholders(rng, plan, axes, base, words.common)
    axes = with_option_fault(rng, plan, axes, words.common["decoration"]["emoji"])
    anchor = tuple(_anchor(rng, plan, axis) for axis in axes)
    return OptionsDraft(
        axes=tuple(axes),
        base_price=base,
        usual_price=usual,
        anchor=anchor,
        first_sku=rng.randrange(5_000_000_000_000, 6_400_000_000_000),
        unpriced=plan.fault == faults.UNPRICED_OPTIONS,
        listing=(float(base), float(base + retail(rng, base * 0.7)))
        if plan.fault == faults.UNPRICED_OPTIONS
        else (),
    )


def _base_price(rng: random.Random, kind: Kind) -> int:
    low, high = kind.price
    return retail(rng, low * (high / low) ** rng.random())


def _axes(rng: random.Random, plan: RecordPlan, facts: Facts, words: Vocabulary) -> list[AxisDraft]:
    names, main = _axis_names(rng, plan, facts.kind)
    axes = []
    for name in names:
        count = value_count(rng, _at_least(plan, is_main=name == main))
        if name == main:
            values = _main_values(rng, plan, facts.kind, count, words)
        else:
            values = plain_axis(rng, _second_words(name, facts.kind, words), min(count, 12))
        axes.append(AxisDraft(name, values, rng.randrange(len(values))))
    return axes


def _axis_names(rng: random.Random, plan: RecordPlan, kind: Kind) -> tuple[tuple[str, ...], str]:
    """Names of the axes in source order, and which of them holds the goods themselves."""
    if plan.axis_names:
        return plan.axis_names, next(
            (name for name in plan.axis_names if name in _MAIN_LIKE), plan.axis_names[0]
        )
    main = rng.choice(kind.main_names) if rng.random() < 0.86 else rng.choice(_OTHER_MAIN_NAMES)
    names: list[str] = [main]
    for name in (kind.second.name, *_EXTRA_AXES):
        if name not in names and len(names) < plan.axes:
            names.append(name)
    rng.shuffle(names)
    return tuple(names), main


def _second_words(name: str, kind: Kind, words: Vocabulary) -> AxisWords:
    return kind.second if kind.second.name == name else words.axes[name]


def _at_least(plan: RecordPlan, *, is_main: bool) -> int:
    """Fewest values of an axis: enough for its prices to vary and for a planted fault to show."""
    if plan.fault == faults.GOLD_OPTION_MISSING and is_main:
        return 4
    return 2 if plan.varying > 1 or (plan.varying and is_main) else 1


def _main_values(
    rng: random.Random, plan: RecordPlan, kind: Kind, count: int, words: Vocabulary
) -> tuple[Value, ...]:
    decoration = words.common["decoration"]
    if not plan.varying and plan.fault != faults.GOLD_OPTION_MISSING and rng.random() < 0.35:
        count = 1
    return unique_values(decorate(rng, goods_values(rng, kind, count, decoration["gifts"]), decoration))


def _with_no_goods(
    rng: random.Random, plan: RecordPlan, axes: list[AxisDraft], common: Any
) -> list[AxisDraft]:
    """Adds a value that is not goods: by fault as the gold one, else to every sixth product."""
    wanted = plan.fault == faults.OPTION_IS_NO_GOODS
    place = max(range(len(axes)), key=lambda index: len(axes[index].values))
    axis = axes[place]
    if not wanted and (rng.random() > 0.16 or len(axis.values) == MOST_VALUES):
        return axes
    junk = Value(rng.choice(common["not_goods"]["values"]), (), goods=False)
    values = (*axis.values, junk)
    gold = len(values) - 1 if wanted else axis.gold
    return [*axes[:place], replace(axis, values=values, gold=gold), *axes[place + 1 :]]


def _with_prices(rng: random.Random, plan: RecordPlan, axes: list[AxisDraft], base: int) -> list[AxisDraft]:
    """Gives prices to as many axes as the plan says, the main one first in three of four cases."""
    order = sorted(range(len(axes)), key=lambda place: (axes[place].name not in _MAIN_LIKE, place))
    if plan.varying == 1 and len(order) > 1 and rng.random() < 0.25:
        order.reverse()
    chosen = [place for place in order if len(axes[place].values) > 1][: plan.varying]
    return [
        replace(axis, prices=varying_prices(rng, axis.values, base)) if place in chosen else axis
        for place, axis in enumerate(axes)
    ]


def _with_placeholders(
    rng: random.Random, plan: RecordPlan, axes: list[AxisDraft], base: int, common: Any
) -> tuple[list[AxisDraft], int]:
    """Placeholder prices: on values that are no goods, on a few others, and 0 on the gold one by fault."""
    zero = plan.fault == faults.PLACEHOLDER_PRICE
    out = []
    for axis in axes:
        prices = list(axis.prices or ())
        for place, value in enumerate(axis.values if prices else ()):
            odd = not value.goods or rng.random() < 0.004
            if odd and place != axis.gold and plan.fault != faults.MULTI_PRICE_AXES:
                prices[place] = rng.choice(common["not_goods"]["prices"]) if rng.random() < 0.9 else 0
        if prices and zero:
            prices[axis.gold] = 0
        if prices and len(set(prices)) < 2:
            prices[0 if axis.gold else -1] += 5
        out.append(replace(axis, prices=tuple(prices) if prices else None))
    moves = any(axis.prices for axis in out)
    return out, 0 if zero and not moves else base


def _anchor(rng: random.Random, plan: RecordPlan, axis: AxisDraft) -> int:
    """Value of the SKU that stands on the other axes: any, so that a constant axis may look dearer.

    Never a placeholder row, and the first one where every axis moves the price.
    """
    if plan.fault == faults.MULTI_PRICE_AXES or not axis.prices:
        return 0 if axis.prices else rng.randrange(len(axis.values))
    real = [place for place, value in enumerate(axis.values) if value.goods and axis.prices[place]]
    return rng.choice(real or [0])
