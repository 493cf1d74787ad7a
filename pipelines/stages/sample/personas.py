"""Invented buyers in the raw persona schema, junk included.

The junk is what the real documents show: trailing commas, placeholder values, a block nested in the wrong
place, user ids that repeat the gold asin, search keywords that repeat the goal. Readers must cope with it.
"""

import random
from collections.abc import Sequence
from typing import Any

from pipelines.stages.sample.chance import seeded
from pipelines.stages.sample.clauses import option_phrases
from pipelines.stages.sample.goods import Facts
from pipelines.stages.sample.options import AxisDraft
from pipelines.stages.sample.plan import RecordPlan
from pipelines.stages.sample.vocabulary import Vocabulary

_JUNK = ", "
_NESTED_TRANSACTIONS = 248 / 4666
_MISSING_STYLE = 1 / 66
_REASONING = 0.02
_CLOTHES_SIZES = ("上衣", "裤子", "裙装", "内衣")


def make_persona(
    plan: RecordPlan, facts: Facts, axes: Sequence[AxisDraft], price: int, words: Vocabulary
) -> dict[str, Any]:
    """The persona of one record, in the key order of the archive."""
    rng = seeded(f"{plan.seed}:persona")
    people = words.persona
    transactions = _transactions(rng, price, people)
    behaviour = _behaviour(rng, facts, axes, people)
    nested = rng.random() < _NESTED_TRANSACTIONS
    if nested:
        behaviour = {"交易特征": transactions, **behaviour}
    persona: dict[str, Any] = {
        "用户ID": _user_id(rng, plan),
        "注册时间": _moment(rng, 2019, 2022),
        "注册渠道": rng.choice(people["channels"]),
        "地区信息": _region(rng, people),
        "人口属性": {
            "性别": rng.choice(("女", "男")),
            "年龄段": f"{rng.choice(people['ages'])}{_JUNK if rng.random() < 0.8 else ''}",
            "消费等级": rng.choices(people["levels"], (2, 6, 2))[0],
            "会员等级": rng.choice(people["members"]),
        },
        "行为特征": behaviour,
        "兴趣偏好": _interests(rng, facts, axes, price, words),
        "用户标签": rng.sample(people["tags"], rng.randint(3, 5)),
        "最后更新时间": _moment(rng, 2023, 2024),
    }
    if not nested:
        persona["交易特征"] = transactions
    if rng.random() < _REASONING:
        persona["兴趣偏好"]["__reasoning__"] = f"该用户近期在找{facts.kind.noun}，偏好由搜索记录推断"
    return persona


def copied_persona(rng: random.Random, persona: dict[str, Any]) -> dict[str, Any]:
    """The same buyer on a second product; equal but for the reasoning note."""
    return {**persona, "__reasoning__": rng.choice(("与上一单为同一用户", "复用画像"))}


def _user_id(rng: random.Random, plan: RecordPlan) -> str:
    if plan.user == "placeholder":
        return _JUNK
    if plan.user == "gold":
        text = f"U{plan.asin}"
    elif plan.user.startswith("shared:"):
        # The same text for every member, so no draw of its own: the group number makes it.
        seed, _, _ = plan.seed.rpartition(":")
        own = seeded(f"{seed}:{plan.user}")
        return f"U{own.randrange(10**7, 10**8)}{_JUNK}"
    else:
        text = (
            f"U{rng.randrange(16**9, 16**10):X}" if rng.random() < 0.5 else f"U{rng.randrange(10**8, 10**9)}"
        )
    return text + (_JUNK if rng.random() < 0.97 else "")


def _moment(rng: random.Random, first: int, last: int) -> str:
    return (
        f"{rng.randint(first, last)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}"
        f"T{rng.randint(7, 23):02d}:{rng.choice((0, 5, 12, 22, 30, 45)):02d}:00Z"
    )


def _region(rng: random.Random, people: Any) -> dict[str, str]:
    province = rng.choice(list(people["places"]))
    city, district = rng.choice(people["places"][province])
    return {
        "省份": province,
        "城市": city,
        "区县": district,
        "时区": rng.choices(people["timezones"], (85, 10, 5))[0],
    }


def _transactions(rng: random.Random, price: int, people: Any) -> dict[str, Any]:
    orders = rng.randint(3, 28)
    mean = max(1, price) * rng.uniform(0.5, 1.6)
    average: float = round(mean, 2) if rng.random() < 0.4 else round(mean)
    return {
        "近30天消费金额": round(average * orders / 3),
        "近90天订单数": orders,
        "平均客单价": average,
        "支付方式偏好": rng.choice(people["payments"]),
        "优惠券使用率": rng.choice((0.2, 0.3, 0.35, 0.42, 0.6, 0.8)),
        "复购率": rng.choice((0.25, 0.3, 0.45, 0.6, 0.65, 0.85)),
        "是否促销敏感": rng.random() < 0.4,
    }


def _behaviour(rng: random.Random, facts: Facts, axes: Sequence[AxisDraft], people: Any) -> dict[str, Any]:
    return {
        "活跃时间段": sorted(rng.sample((8, 9, 12, 13, 18, 19, 20, 21, 22, 23), rng.randint(3, 4))),
        "日均浏览时长": rng.choice((900, 1200, 1800, 2100, 2700, 4200)),
        "近7天访问次数": rng.randint(4, 21),
        "常用设备": rng.choice(people["devices"]),
        "最近14天搜索关键词": _keywords(rng, facts, axes),
        "最近14天加购商品": [],
        "最近14天收藏商品": [],
        "最近14天关注店铺": [],
    }


def _keywords(rng: random.Random, facts: Facts, axes: Sequence[AxisDraft]) -> list[str]:
    """Two or three searches that repeat the goal in the shopper's words."""
    noun = facts.kind.noun
    parts = [tag.text for tag in facts.tags if tag.kind == "trait"] + option_phrases(axes)
    rng.shuffle(parts)
    found = [f"{part}的{noun}" for part in parts[: rng.choice((2, 2, 3))]]
    return found or [noun, f"{rng.choice(facts.kind.alias)}推荐"]


def _interests(
    rng: random.Random, facts: Facts, axes: Sequence[AxisDraft], price: int, words: Vocabulary
) -> dict[str, Any]:
    people = words.persona
    others = [name for name in people["other_interests"] if name not in facts.domain.interest]
    names = rng.sample(facts.domain.interest, 2) + rng.sample(others, rng.randint(1, 2))
    return {
        "品牌偏好": [
            {
                "品牌名称": "".join(rng.sample(words.common["brand_chars"], 3)),
                "偏好程度": rng.choice(("高", "中", "低")),
            }
            for _ in range(rng.randint(2, 4))
        ],
        "类目偏好": dict(zip(names, ("高", "中", "中", "低"), strict=False)),
        "商品属性偏好": _preferences(rng, facts, axes, price, people),
    }


def _preferences(
    rng: random.Random, facts: Facts, axes: Sequence[AxisDraft], price: int, people: Any
) -> dict[str, Any]:
    traits = [tag.text for tag in facts.tags if tag.kind == "trait"][:2]
    wanted = [text for axis in axes for name, text in axis.target.says if name == "colour"]
    preferences: dict[str, Any] = {
        "价格区间": {"最小值": max(1, price // 3), "最大值": max(2, price * 2)},
        "颜色": [*wanted[:1], *rng.sample(people["colours"], rng.randint(1, 2))],
        "材质": rng.sample(people["materials"], 2) if rng.random() < 0.4 else [_JUNK],
        "功能": [*traits, *rng.sample(people["functions"], 1)],
        "风格": rng.sample(people["styles"], rng.randint(1, 3)),
        "尺码偏好": _sizes(rng, facts, axes, people),
    }
    if rng.random() < _MISSING_STYLE:
        del preferences["风格"]
    return preferences


def _sizes(rng: random.Random, facts: Facts, axes: Sequence[AxisDraft], people: Any) -> dict[str, str]:
    """Sizes: the wanted one for clothes and shoes, mostly junk elsewhere."""
    sizes = dict.fromkeys((*_CLOTHES_SIZES, "鞋码"), _JUNK)
    for axis in axes:
        for name, text in axis.target.says:
            if name.startswith("letter"):
                sizes["上衣"] = text
            elif name.startswith("shoe"):
                sizes["鞋码"] = text
            elif name.startswith("waist"):
                sizes["裤子"] = text
    if facts.domain.short == "Sports" and rng.random() < 0.3:
        sizes["上衣"] = rng.choice(people["tops"])
        sizes["鞋码"] = rng.choice(people["shoes"]) if sizes["鞋码"] == _JUNK else sizes["鞋码"]
    return sizes
