"""Sentences of rules and facts, written out by hand."""

import pytest

from shopsim_env.rlve.policy.rules import DECIDES, DEFINITION, EXCEPTION, SUPPLEMENT, Condition, Rule
from shopsim_env.rlve.policy.wording import absent, answer_text, clause, money, rule_text, sentence
from shopsim_env.rlve.scores.policy import PolicyAnswer


@pytest.mark.parametrize(
    ("cents", "currency", "language", "said"),
    [
        (1250, "CNY", "zh", "12.50 元"),
        (1205, "CNY", "en", "12.05 CNY"),
        (5, "USD", "zh", "0.05 USD"),
        (-300, "USD", "en", "-3.00 USD"),
    ],
)
def test_money(cents: int, currency: str, language: str, said: str) -> None:
    assert money(cents, currency, language) == said


GIFT = Condition("gift", (True,))
QUANTITY = Condition("quantity", (), 10, 24)
PLACES = Condition("region", ("hainan", "tibet", "jilin"))
MEMBERS = (Condition("tier", ("gold",)), Condition("zone", ("1",)))
SPEND = Condition("spend", (), 200000)
AMOUNT = PolicyAnswer("amount", 250, "CNY")
NO = PolicyAnswer("yes_no", False)
RULES = {
    "exception": Rule("R", "bulk_discount", DECIDES, 7, (QUANTITY,), (GIFT,), PolicyAnswer("percent", 5)),
    "no": Rule("R", "price_match", DECIDES, 1, (Condition("days_since", (), None, 9),), outcome=NO),
    "less": Rule("R", "bulk_discount", SUPPLEMENT, 2, (GIFT,), outcome=PolicyAnswer("percent", -3)),
    "more": Rule("R", "shipping_fee", SUPPLEMENT, 2, (GIFT,), outcome=AMOUNT),
    "aside": Rule("R", "warranty", EXCEPTION, 3, (GIFT,), suspends="R-9"),
    "zone": Rule("R", "regions", DEFINITION, 4, (PLACES,), defines=("zone", "3")),
    "tier": Rule("R", "membership", DEFINITION, 5, (SPEND,), defines=("tier", "gold")),
    "two": Rule("R", "warranty", DECIDES, 6, MEMBERS, outcome=PolicyAnswer("days", 90)),
}
ZH = {
    "exception": "【批量折扣】如果购买件数从 10 件到 24 件（含两端），则批量折扣为 5%。"
    "例外：这是礼品订单时本条不适用。优先级 7。",
    "no": "【价格保护】如果收货后天数不超过 9 天，则不可以享受价格保护。优先级 1。",
    "less": "【批量折扣】如果这是礼品订单，则裁定的批量折扣再减少 3 个百分点。优先级 2。",
    "more": "【配送运费】如果这是礼品订单，则裁定的配送运费再增加 2.50 元。优先级 2。",
    "aside": "【质保时长】如果这是礼品订单，则规则 R-9 不适用。优先级 3。",
    "zone": "【收货分区】如果收货地是海南、西藏、吉林，则收货分区为三区。优先级 4。",
    "tier": "【会员等级】如果过去 12 个月消费额达到 2000.00 元或以上，则会员等级为金卡。优先级 5。",
    "two": "【质保时长】如果会员等级是金卡，且收货分区是一区，则质保时长为 90 天。优先级 6。",
}
EN = {
    "exception": "[bulk discount] If the number of items is from 10 to 24 (both included), then the bulk "
    "discount is 5%. Except: it does not apply if it is a gift order. Precedence 7.",
    "no": "[price match] If the number of days since delivery is 9 or less, then the price match does not "
    "apply. Precedence 1.",
    "less": "[bulk discount] If it is a gift order, then 3 percentage points are taken off the bulk discount "
    "decided. Precedence 2.",
    "more": "[shipping cost] If it is a gift order, then 2.50 CNY are added to the shipping cost decided. "
    "Precedence 2.",
    "aside": "[warranty term] If it is a gift order, then rule R-9 does not apply. Precedence 3.",
    "zone": "[delivery zone] If the delivery address is Hainan, Tibet or Jilin, then the delivery zone is "
    "zone 3. Precedence 4.",
    "tier": "[membership tier] If spending of the past 12 months is 2000.00 CNY or more, then the membership "
    "tier is gold. Precedence 5.",
    "two": "[warranty term] If the membership tier is gold and the delivery zone is zone 1, then the "
    "warranty term is 90 days. Precedence 6.",
}


@pytest.mark.parametrize("name", RULES)
def test_rules(name: str) -> None:
    assert rule_text(RULES[name], "zh", "CNY") == ZH[name]
    assert rule_text(RULES[name], "en", "CNY") == EN[name]


def test_facts_and_what_is_not_so() -> None:
    assert clause("order_amount", 12000, "zh", "CNY", 0) == "订单金额是 120.00 元"
    assert clause("quantity", 25, "en", "CNY", 1) == "the quantity is 25 items"
    assert clause("gift", False, "zh", "CNY", 0) == "这不是礼品订单"
    assert clause("gift", True, "en", "CNY", 1) == "it is a gift order"
    assert absent("gift", "en") == "it is not a gift order"
    assert absent("kind", "zh") == absent("class", "zh") == "商品不属于任何特别类别"
    assert absent("spend", "en") == "I have no membership tier"
    assert sentence([], "zh") == ""
    assert sentence(["甲", "乙"], "zh") == "甲，乙。"
    assert sentence(["it is a", "it is b"], "en") == "It is a, it is b."


def test_answers_with_their_unit() -> None:
    answers = [PolicyAnswer("amount", 1250, "CNY"), PolicyAnswer("days", 30), PolicyAnswer("percent", 7)]
    answers += [PolicyAnswer("yes_no", True), PolicyAnswer("not_covered")]
    assert [answer_text(item, "zh") for item in answers] == ["12.50 元", "30 天", "7%", "可以", "未覆盖"]
    assert [answer_text(item, "en") for item in answers] == [
        "12.50 CNY",
        "30 days",
        "7%",
        "yes",
        "not covered",
    ]
