"""Faults between a task and the options of its product: the gold value is gone, or its emoji was lost."""

import random
from collections.abc import Sequence
from dataclasses import replace

from pipelines.stages.sample import faults
from pipelines.stages.sample.options import AxisDraft, Value
from pipelines.stages.sample.plan import RecordPlan

# Every fourth lost emoji is planted beside a sibling that differs in the emoji alone: then two own values fit
# and the requirement cannot be met.
_SIBLING_EVERY = 4


def has_sibling(plan: RecordPlan) -> bool:
    """Whether a lost emoji of this plan fits two values of the product."""
    return plan.fault == faults.GOLD_OPTION_LOST_EMOJI and plan.fault_number % _SIBLING_EVERY == 3


def with_option_fault(
    rng: random.Random, plan: RecordPlan, axes: list[AxisDraft], emoji: Sequence[str]
) -> list[AxisDraft]:
    """`axes` with the planted option fault of `plan`, on the axis with the most values."""
    place = max(range(len(axes)), key=lambda index: len(axes[index].values))
    if plan.fault == faults.GOLD_OPTION_MISSING:
        axis = _without_gold(rng, axes[place])
    elif plan.fault == faults.GOLD_OPTION_LOST_EMOJI:
        axis = _with_lost_emoji(rng, axes[place], emoji, sibling=has_sibling(plan))
    else:
        return axes
    return [*axes[:place], axis, *axes[place + 1 :]]


def _without_gold(rng: random.Random, axis: AxisDraft) -> AxisDraft:
    """Takes a gold value out of the product, with every value that says the same and more.

    The task still asks for it, and nothing that is left can meet the requirement.
    """
    parts = [{text for _, text in value.says} for value in axis.values]
    covers = {
        place: [other for other, words in enumerate(parts) if parts[place] <= words]
        for place, value in enumerate(axis.values)
        if value.goods
    }
    fewest = min(map(len, covers.values()))
    gone = rng.choice([place for place, others in covers.items() if len(others) == fewest])
    left = [place for place in range(len(axis.values)) if place not in covers[gone]]
    prices = [axis.prices[place] for place in left] if axis.prices else []
    if prices and len(set(prices)) < 2:
        prices[0] += 10
    return replace(
        axis,
        values=tuple(axis.values[place] for place in left),
        gold=rng.randrange(len(left)),
        prices=tuple(prices) or None,
        wanted=axis.values[gone],
    )


def _with_lost_emoji(
    rng: random.Random, axis: AxisDraft, emoji: Sequence[str], *, sibling: bool
) -> AxisDraft:
    """Puts an emoji before the gold value and `?` in its place into what the task asks for."""
    plain = [value.raw.lstrip("".join(emoji)) for value in axis.values]
    # `?` stands for any one character: 5kg behind it would fit 25kg too.
    tails = {value.raw[1:] for value in axis.values if value.raw in plain}
    clear = [place for place, value in enumerate(axis.values) if value.goods and plain[place] not in tails]
    gold = axis.gold if axis.gold in clear else rng.choice(clear)
    marks = rng.sample(emoji, 2)
    says = axis.values[gold].says
    values = list(axis.values)
    values[gold] = Value(f"{marks[0]}{plain[gold]}", says)
    prices = axis.prices
    if sibling:
        values.append(Value(f"{marks[1]}{plain[gold]}", says))
        prices = (*prices, prices[gold]) if prices else None
    wanted = Value(f"?{plain[gold]}", says)
    return replace(axis, values=tuple(values), gold=gold, prices=prices, wanted=wanted)
