"""Phrases of the policy in Chinese and English.

Belongs here: fixed pieces of sentences. How they are put together is in `wording`.
"""

from shopsim_env.rlve.policy.rules import DECIDES, DEFINITION, EXCEPTION, SUPPLEMENT
from shopsim_env.rlve.policy.vocabulary import (
    CLASS,
    DAYS_SINCE,
    KIND,
    ORDER_AMOUNT,
    QUANTITY,
    REGION,
    SPEND,
    TIER,
    WEIGHT,
    ZONE,
)
from shopsim_env.rlve.scores.policy import AMOUNT, DAYS, PERCENT, YES_NO

# How rules are read; the description of `policy.search` says it to the agent.
READING = {
    "zh": (
        "同一主题下，所有条件都成立且无例外的裁定规则中，优先级数字最大的一条作出裁定，答案引用它的编号；"
        "成立的补充规则在其结果上累加；成立的排除规则使其所指规则失效；定义规则说明类别、等级和分区。"
        "顾客没有的类别、等级、分区和订单情形视为不存在。没有规则裁定时，答案为“未覆盖”，不引用编号。"
    ),
    "en": (
        "Of the deciding rules of a subject whose conditions all hold and that no exception stops, the one "
        "with the greatest precedence decides; cite its id. Supplements that apply are added to its value; "
        "an exception that applies sets the rule it names aside; definitions say what class, tier and zone "
        "are. A class, tier, zone or circumstance that the customer does not have counts as absent. If no "
        "rule decides, the answer is 'not covered' and no id is cited."
    ),
}
CLOSING = {"zh": "其他没有特别的情况。", "en": "Nothing else about it is special."}

QUESTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "zh": {
        DAYS: (
            "请问{0}是多少天？", "我这种情况，{0}有几天？", "帮我查一下{0}，一共多少天？",
            "想了解{0}，按规定是几天？",
        ),
        AMOUNT: (
            "请问{0}是多少钱？", "我这种情况，{0}要多少钱？", "帮我查一下{0}，一共多少钱？",
            "想了解{0}，按规定是多少？",
        ),
        PERCENT: (
            "请问{0}是百分之多少？", "我这种情况，{0}是百分之几？", "帮我查一下{0}，是百分之几？",
            "想了解{0}，按规定是百分之多少？",
        ),
        YES_NO: (
            "请问可以享受{0}吗？", "我这种情况，能不能享受{0}？", "帮我查一下，{0}适用吗？",
            "想了解{0}，按规定能享受吗？",
        ),
    },
    "en": {
        DAYS: (
            "How many days is the {0}?",
            "In my case, how long is the {0}, in days?",
            "Please look up the {0}: how many days is it?",
            "What is the {0} by your rules, in days?",
        ),
        AMOUNT: (
            "How much is the {0}?",
            "In my case, what is the {0}?",
            "Please look up the {0}: how much is it?",
            "What does the {0} come to by your rules?",
        ),
        PERCENT: (
            "How many percent is the {0}?",
            "In my case, what is the {0}, in percent?",
            "Please look up the {0}: how many percent is it?",
            "What is the {0} by your rules, in percent?",
        ),
        YES_NO: (
            "Do I get the {0}?",
            "In my case, does the {0} apply?",
            "Please look up the {0}: can I have it?",
            "Am I entitled to the {0} by your rules?",
        ),
    },
}  # fmt: skip
# Phrasings of each question, and of each fact.
CORES = 4
SAID = {
    "zh": {
        QUANTITY: ("一共买了 {} 件", "数量是 {} 件"),
        ORDER_AMOUNT: ("订单金额是 {}", "这一单总共 {}"),
        DAYS_SINCE: ("收货已经 {} 天", "收货后过了 {} 天"),
        WEIGHT: ("包裹重 {} 公斤", "重量是 {} 公斤"),
        SPEND: ("过去 12 个月我一共消费了 {}", "我最近 12 个月的消费额是 {}"),
        KIND: ("买的是{}", "商品是{}"),
        REGION: ("收货地在{}", "要寄到{}"),
        CLASS: ("商品类别是{}", "这件商品属于{}"),
        TIER: ("我是{}会员", "我的会员等级是{}"),
        ZONE: ("收货分区是{}", "收货地属于{}"),
    },
    "en": {
        QUANTITY: ("I bought {} items", "the quantity is {} items"),
        ORDER_AMOUNT: ("the order amount is {}", "the order comes to {}"),
        DAYS_SINCE: ("{} days have passed since delivery", "it is {} days since delivery"),
        WEIGHT: ("the parcel weighs {} kg", "the weight is {} kg"),
        SPEND: ("I spent {} in the past 12 months", "my spending of the past 12 months is {}"),
        KIND: ("the product is: {}", "the product I mean is: {}"),
        REGION: ("the delivery address is in {}", "it goes to {}"),
        CLASS: ("the goods class is {}", "the goods belong to {}"),
        TIER: ("my tier of membership is {}", "my membership tier is {}"),
        ZONE: ("the delivery zone is {}", "the address lies in {}"),
    },
}
STYLES = 2
# A number's or name's label in both languages, and its unit in both.
LABELS = {
    QUANTITY: ("购买件数", "the number of items", " 件", ""),
    ORDER_AMOUNT: ("订单金额", "the order amount", "", ""),
    DAYS_SINCE: ("收货后天数", "the number of days since delivery", " 天", ""),
    WEIGHT: ("包裹重量", "the parcel weight", " 公斤", " kg"),
    SPEND: ("过去 12 个月消费额", "spending of the past 12 months", "", ""),
    KIND: ("商品", "the product", "", ""),
    REGION: ("收货地", "the delivery address", "", ""),
    CLASS: ("商品类别", "the goods class", "", ""),
    TIER: ("会员等级", "the membership tier", "", ""),
    ZONE: ("收货分区", "the delivery zone", "", ""),
}
ABSENT = {
    CLASS: ("商品不属于任何特别类别", "the goods belong to no class"),
    TIER: ("我没有会员等级", "I have no membership tier"),
    ZONE: ("收货地不在任何分区", "the address lies in no delivery zone"),
}
EFFECTS = {
    DECIDES: ("裁定规则", "deciding rule"),
    SUPPLEMENT: ("补充规则", "supplement"),
    EXCEPTION: ("排除规则", "exception"),
    DEFINITION: ("定义规则", "definition"),
}
