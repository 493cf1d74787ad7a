"""Planted faults between a task and the options of its product."""

import re

import pytest

from pipelines.stages.sample import faults
from pipelines.stages.sample.chance import seeded
from pipelines.stages.sample.option_faults import has_sibling, with_option_fault
from pipelines.stages.sample.options import AxisDraft, Value
from pipelines.stages.sample.plan import RecordPlan

EMOJI = ("🔥", "🌸", "🌙")


def _plan(fault, number=0):
    return RecordPlan(
        index=0,
        seed="t",
        facts_seed="t",
        asin="600000000001",
        tag="train",
        has_persona=False,
        domain=0,
        axes=1,
        varying=0,
        family="around",
        budget_place="both",
        fault=fault,
        fault_number=number,
    )


def _axis(*texts, gold=0, prices=None):
    values = tuple(Value(text, tuple(("spec", part) for part in text.split())) for text in texts)
    return AxisDraft("净含量", values, gold, prices)


@pytest.mark.parametrize("seed", range(12))
def test_a_lost_emoji_fits_one_value_even_beside_longer_numbers(seed):
    axis = _axis("5kg", "25kg", "10kg", gold=0)
    (found,) = with_option_fault(seeded(f"{seed}"), _plan(faults.GOLD_OPTION_LOST_EMOJI), [axis], EMOJI)
    pattern = re.compile("." + re.escape(found.target.raw[1:]))
    assert found.target.raw.startswith("?")
    assert [value.raw for value in found.values if pattern.fullmatch(value.raw)] == [
        found.values[found.gold].raw
    ]
    assert found.values[found.gold].raw[0] in EMOJI


def test_every_fourth_lost_emoji_has_a_sibling_at_the_same_price():
    plan = _plan(faults.GOLD_OPTION_LOST_EMOJI, number=3)
    assert has_sibling(plan)
    assert not has_sibling(_plan(faults.GOLD_OPTION_LOST_EMOJI, number=2))
    (found,) = with_option_fault(seeded("1"), plan, [_axis("红色", "蓝色", gold=1, prices=(10, 20))], EMOJI)
    assert len(found.values) == 3
    assert found.values[1].raw[1:] == found.values[2].raw[1:] == "蓝色"
    assert found.values[1].raw[0] != found.values[2].raw[0]
    assert found.prices == (10, 20, 20)


@pytest.mark.parametrize("seed", range(12))
def test_a_missing_gold_takes_every_value_with_it_that_says_more(seed):
    axis = _axis("红色", "红色 大号", "红色 小号", "蓝色 大号", "蓝色 小号")
    (found,) = with_option_fault(seeded(f"{seed}"), _plan(faults.GOLD_OPTION_MISSING), [axis], EMOJI)
    words = set(found.target.raw.split())
    assert found.values
    assert not [value.raw for value in found.values if words <= set(value.raw.split())]


def test_prices_still_vary_when_the_gold_value_is_gone():
    axis = _axis("一 甲", "二 乙", "三 丙", prices=(10, 10, 30))
    for seed in range(12):
        (found,) = with_option_fault(seeded(f"{seed}"), _plan(faults.GOLD_OPTION_MISSING), [axis], EMOJI)
        assert len(set(found.prices)) == 2


def test_other_plans_leave_the_axes_alone():
    axes = [_axis("红色", "蓝色")]
    assert with_option_fault(seeded("1"), _plan(""), axes, EMOJI) == axes
