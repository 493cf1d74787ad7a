"""Words for the budgets of `budgets`: a phrase for every family, in the usual spellings.

A phrase says exactly what its `Budget` holds; it never decides amounts.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass

from pipelines.stages.sample.budgets import Budget, round_up
from pipelines.stages.sample.numerals import chinese_number, write_amount

# Words that sound like money and are no budget.
_DECOYS = ("便宜一点更好", "预算有限，性价比高的优先", "价格合适就行", "价格不是问题", "别太贵就好")
_SINGLE_UNITS = "个件条袋瓶支颗把团本卷"


@dataclass(frozen=True, slots=True)
class Phrase:
    """A budget in words. `text` stands in the sentence, `evidence` is the part that proves the reading."""

    text: str
    evidence: str


def phrase(rng: random.Random, budget: Budget, unit: str) -> Phrase:
    """Words for `budget`; `unit` is the measure word of the goods (for prices per piece).

    Returns an empty phrase, or a decoy without an amount, when there is no budget.
    """
    return _PHRASES[budget.family](rng, budget, unit)


# {W} is a money word, {A} an amount, {U} an amount that carries its unit, {P} 预算 or 价位 behind an amount.

_FORMS: dict[str, tuple[tuple[str, int], ...]] = {
    "around": (
        ("{W}在{A}左右", 40),
        ("{W}{A}左右", 26),
        ("{W}控制在{A}左右", 8),
        ("{W}在{A}上下", 8),
        ("{A}左右的{P}", 5),
        ("{W}{A}上下", 4),
        ("我的预算在{A}左右", 5),
        ("{U}左右", 4),
    ),
    "within": (
        ("{W}在{A}以内", 40),
        ("{W}{A}以内", 16),
        ("{W}控制在{A}以内", 16),
        ("{W}要在{A}以下", 5),
        ("{W}{A}之内", 5),
        ("{A}以内的{P}", 6),
        ("{U}以内", 5),
        ("预算{A}内", 5),
        ("预算大概{A}以内", 2),
    ),
    "not_over": (
        ("{W}不超过{A}", 45),
        ("{W}不要超过{A}", 12),
        ("{W}别超过{A}", 8),
        ("{W}不能超过{A}", 10),
        ("最多{U}", 5),
        ("{W}不高于{A}", 6),
        ("最高{U}", 2),
        ("{W}上限是{A}", 2),
        ("{W}低于{A}", 4),
        ("{W}不到{A}", 2),
        ("只能给到{U}", 2),
        ("{U}都不到", 2),
    ),
    "bare": (
        ("预算{A}", 40),
        ("{W}是{A}", 12),
        ("我的预算只有{A}", 12),
        ("准备了{U}", 10),
        ("打算花{U}", 10),
        ("{U}能拿下", 8),
        ("{U}就能搞定", 8),
    ),
    "about": (
        ("{W}约{A}", 22),
        ("{W}大概{A}", 22),
        ("{W}大约{A}", 14),
        ("{W}差不多{A}", 10),
        ("{W}接近{A}", 8),
        ("{W}在{A}附近", 8),
        ("{W}{A}差不多", 6),
        ("大概{U}", 5),
        ("约{U}", 5),
    ),
}
_WORDS = ("价格", "预算", "价位", "售价", "总价", "价钱")
_WORD_WEIGHTS = (60, 29, 4, 3, 2, 2)


def _money_word(rng: random.Random) -> str:
    return rng.choices(_WORDS, _WORD_WEIGHTS)[0]


def _fill(rng: random.Random, form: str, amount: int) -> str:
    return form.format(
        W=_money_word(rng),
        A=write_amount(rng, amount),
        U=write_amount(rng, amount, need_unit=True),
        P=rng.choice(("预算", "价位")),
    )


def _amount(budget: Budget) -> int:
    if budget.amount is None:
        raise ValueError(f"{budget.family} needs an amount")
    return budget.amount


def _whole(text: str) -> Phrase:
    return Phrase(text, text)


def _say_form(rng: random.Random, budget: Budget, _unit: str) -> Phrase:
    amount = _amount(budget)
    if budget.form == "hundred":
        return _whole(f"{_money_word(rng)}在百元内")
    if budget.form == "deposit_and_total":
        return _whole(f"定金{budget.low}元，总价不超过{amount}元")
    forms, weights = zip(*_FORMS[budget.family], strict=True)
    return _whole(_fill(rng, rng.choices(forms, weights)[0], amount))


def _say_range(rng: random.Random, budget: Budget, _unit: str) -> Phrase:
    low, high = budget.low or 1, _amount(budget)
    word = _money_word(rng)
    if budget.form == "floor":
        return _whole(f"{word}不低于{low}元，不超过{high}元")
    if low >= 1000 and low % 100 == 0 and high % 100 == 0 and rng.random() < 0.3:
        return _whole(f"{word}大概{low / 1000:g}k到{high / 1000:g}k")
    if high < 100 and rng.random() < 0.15:
        return _whole(f"{word}{chinese_number(low)}到{chinese_number(high)}块之间")
    forms = (
        f"{word}在{low}-{high}元之间",
        f"{word}在{low}到{high}元之间",
        f"{word}{low}元至{high}元之间",
        f"{word}{low}~{high}元左右",
        f"{word}在{low}元和{high}元之间",
        f"预算{low}-{high}",
    )
    return _whole(rng.choices(forms, (40, 20, 12, 10, 8, 10))[0])


def _say_odd(rng: random.Random, budget: Budget, _unit: str) -> Phrase:
    amount = _amount(budget)
    word = _money_word(rng)
    if budget.form == "teens":
        tens = amount // 10
        head = "十" if tens == 1 else chinese_number(tens * 10)
        return _whole(f"{word}{head}几块{rng.choice(('', '钱'))}")
    if budget.form == "more":
        number = rng.choice((str(amount), chinese_number(amount)))
        middle = "来" if amount < 1000 and rng.random() < 0.2 else "多"
        return _whole(f"{word}{number}{middle}{rng.choice(('元', '块', '块钱'))}")
    form = rng.choices(("{W}{A}出头", "{W}在{A}出头", "{U}出头的{P}"), (45, 40, 15))[0]
    return _whole(_fill(rng, form, amount))


def _say_hidden(_rng: random.Random, budget: Budget, _unit: str) -> Phrase:
    amount = _amount(budget)
    spoken = chinese_number(amount, short=True) + ("块" if amount < 20 else "")
    return _whole(
        {
            "around_post": f"{spoken}左右包邮",
            "around_done": f"{spoken}左右能拿下",
            "just_over": f"{spoken}出头的样子",
            "done": f"{spoken}能搞定",
            "within_post": f"{spoken}以内包邮",
        }[budget.form]
    )


def _say_none(rng: random.Random, budget: Budget, _unit: str) -> Phrase:
    return Phrase(rng.choice(_DECOYS) if budget.form == "decoy" else "", "")


def _say_unit_price(rng: random.Random, budget: Budget, unit: str) -> Phrase:
    amount = f"{budget.low}{rng.choice(('元', '元', '块', '块钱'))}"
    if budget.form == "piece" and unit in _SINGLE_UNITS:
        forms = (
            f"每{unit}的价格在{amount}左右",
            f"平均每{unit}{amount}以内",
            f"一{unit}的价格在{amount}上下",
        )
        return _whole(rng.choice(forms))
    return _whole(rng.choice((f"单价在{amount}左右", f"单价不超过{amount}", f"单价控制在{amount}以内")))


def _say_lower(rng: random.Random, budget: Budget, _unit: str) -> Phrase:
    low = budget.low or 1
    word = _money_word(rng)
    forms = [
        f"{word}在{low}元以上",
        f"{word}不低于{low}元",
        f"{word}{low}元起",
        f"{word}至少{low}元",
        f"{word}要高于{low}元",
    ]
    if low >= 1000 and low % 100 == 0:
        forms.append(f"预算{low / 1000:g}k+")
    return _whole(rng.choice(forms))


def _say_deposit(rng: random.Random, budget: Budget, _unit: str) -> Phrase:
    amount = f"{budget.low}元"
    forms = {
        "d": (f"定金在{amount}以内", f"可以先付{amount}定金"),
        "i": (f"首付不超过{amount}", f"首付在{amount}左右"),
        "m": (f"月供{amount}左右", f"分期每月{amount}以内"),
    }
    return _whole(rng.choice(forms[budget.form]))


def _say_ambiguous(rng: random.Random, budget: Budget, _unit: str) -> Phrase:
    if budget.form == "two_totals":
        low = budget.low or 1
        return _whole(f"预算{low}元以内，价格不要超过{round_up(low * 2)}元")
    return _whole(f"{rng.choice(('价格', '预算'))}{budget.form}")


_PHRASES: dict[str, Callable[[random.Random, Budget, str], Phrase]] = {
    "around": _say_form,
    "within": _say_form,
    "not_over": _say_form,
    "bare": _say_form,
    "about": _say_form,
    "range": _say_range,
    "odd": _say_odd,
    "hidden": _say_hidden,
    "none": _say_none,
    "unit_price": _say_unit_price,
    "lower_only": _say_lower,
    "deposit": _say_deposit,
    "ambiguous": _say_ambiguous,
}
