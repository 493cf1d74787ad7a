"""What rules are about: families, topics, and the names of their values in Chinese and English.

Belongs here: fixed words and ranges. Which of them an episode uses is drawn in `tables` and `questions`; how
sentences are made of them is said in `wording`.
"""

from dataclasses import dataclass

from shopsim_env.errors import UsageError
from shopsim_env.rlve.scores.policy import AMOUNT, DAYS, PERCENT, YES_NO

LANGUAGES = ("zh", "en")
CLASS, TIER, ZONE = "class", "tier", "zone"
KIND, SPEND, REGION = "kind", "spend", "region"
QUANTITY, ORDER_AMOUNT, DAYS_SINCE, WEIGHT = "quantity", "order_amount", "days_since", "weight"
# A definition turns the right topic into the left one.
SOURCES = {CLASS: KIND, TIER: SPEND, ZONE: REGION}
NUMBERS = (QUANTITY, ORDER_AMOUNT, DAYS_SINCE, WEIGHT)
MONEY = (ORDER_AMOUNT, SPEND)


@dataclass(frozen=True, slots=True)
class Family:
    """One subject of the shop's rules; all its deciding rules answer the same question.

    Args:
        code: Name in data.
        zh, en: Title; it stands in every rule and every question of the family.
        kind: Kind of its answers, see `PolicyAnswer`; empty for families of definitions.
        ranged: Topic of its ranges.
        limited: Topic of the one rule that holds from a limit on.
        values: What its rules may state: whole days, percent or cents.
        changes: What its supplements add.
    """

    code: str
    zh: str
    en: str
    kind: str = ""
    ranged: str = ""
    limited: str = ""
    values: tuple[int, ...] = ()
    changes: tuple[int, ...] = ()

    def title(self, language: str) -> str:
        """The title in `zh` or `en`."""
        return self.zh if language == "zh" else self.en


def _around(most: int, step: int = 1) -> tuple[int, ...]:
    return tuple(size for size in range(-most, most + 1, step) if size)


# The least value is above what supplements can take away, so that no answer is zero or negative.
_ASKED = (
    Family(
        "return_window", "退货期限", "return period", DAYS, ORDER_AMOUNT, QUANTITY,
        tuple(range(21, 91)), _around(4),
    ),
    Family(
        "return_fee", "退货手续费", "return charge", AMOUNT, WEIGHT, DAYS_SINCE,
        tuple(range(1500, 6001, 50)), _around(300, 50),
    ),
    Family(
        "shipping_fee", "配送运费", "shipping cost", AMOUNT, WEIGHT, ORDER_AMOUNT,
        tuple(range(1500, 8001, 50)), _around(300, 50),
    ),
    Family(
        "delivery_time", "送达时间", "delivery time", DAYS, QUANTITY, WEIGHT, tuple(range(18, 61)), _around(4)
    ),
    Family(
        "bulk_discount", "批量折扣", "bulk discount", PERCENT, QUANTITY, ORDER_AMOUNT,
        tuple(range(16, 51)), _around(4),
    ),
    Family("price_match", "价格保护", "price match", YES_NO, DAYS_SINCE, ORDER_AMOUNT),
    Family(
        "member_discount", "复购优惠", "repeat-purchase rebate", PERCENT, ORDER_AMOUNT, QUANTITY,
        tuple(range(16, 56)), _around(4),
    ),
    Family(
        "points_validity", "积分有效期", "points validity", DAYS, ORDER_AMOUNT, QUANTITY,
        tuple(range(90, 541, 3)), _around(9),
    ),
    Family(
        "warranty", "质保时长", "warranty term", DAYS, ORDER_AMOUNT, WEIGHT,
        tuple(range(120, 1096, 5)), _around(20),
    ),
    Family(
        "extended_cover", "延保价格", "extended cover price", AMOUNT, ORDER_AMOUNT, DAYS_SINCE,
        tuple(range(3000, 19001, 50)), _around(500, 50),
    ),
    Family(
        "refund_time", "退款到账用时", "refund processing duration", DAYS, ORDER_AMOUNT, DAYS_SINCE,
        tuple(range(18, 61)), _around(4),
    ),
    Family(
        "refund_share", "旧货折价比例", "trade-in rate", PERCENT, DAYS_SINCE, ORDER_AMOUNT,
        tuple(range(30, 80)), _around(4),
    ),
)  # fmt: skip
_DEFINING = (
    Family("goods", "商品类别", "goods class"),
    Family("membership", "会员等级", "membership tier"),
    Family("regions", "收货分区", "delivery zone"),
)
FAMILIES = {family.code: family for family in (*_ASKED, *_DEFINING)}
ASKED = tuple(family.code for family in _ASKED)
DEFINING = {CLASS: "goods", TIER: "membership", ZONE: "regions"}

# Where limits may lie: pieces, cents, whole days, kilograms.
LIMITS = {
    QUANTITY: tuple(range(4, 160)),
    ORDER_AMOUNT: tuple(range(5000, 300001, 2500)),
    DAYS_SINCE: tuple(range(4, 90)),
    WEIGHT: tuple(range(3, 70)),
    SPEND: tuple(range(50000, 2000001, 25000)),
}

NAMES = {
    CLASS: {
        "a": ("甲类", "class A"), "b": ("乙类", "class B"),
        "c": ("丙类", "class C"), "d": ("丁类", "class D"),
        "e": ("戊类", "class E"), "f": ("己类", "class F"),
        "g": ("庚类", "class G"), "h": ("辛类", "class H"),
    },
    TIER: {
        "silver": ("银卡", "silver"), "gold": ("金卡", "gold"), "jade": ("翡翠", "jade"),
        "coral": ("珊瑚", "coral"), "amber": ("琥珀", "amber"), "pearl": ("珍珠", "pearl"),
    },
    ZONE: {
        "1": ("一区", "zone 1"), "2": ("二区", "zone 2"), "3": ("三区", "zone 3"), "4": ("四区", "zone 4"),
        "5": ("五区", "zone 5"), "6": ("六区", "zone 6"), "7": ("七区", "zone 7"), "8": ("八区", "zone 8"),
    },
    KIND: {
        "headphones": ("耳机", "headphones"), "kettle": ("电水壶", "kettle"), "lamp": ("台灯", "desk lamp"),
        "camera": ("相机", "camera"), "suitcase": ("行李箱", "suitcase"), "tent": ("帐篷", "tent"),
        "sofa": ("沙发", "sofa"), "bicycle": ("自行车", "bicycle"), "jacket": ("夹克", "jacket"),
        "shoes": ("运动鞋", "running shoes"), "watch": ("手表", "watch"), "blender": ("榨汁机", "blender"),
        "keyboard": ("键盘", "keyboard"), "printer": ("打印机", "printer"), "mattress": ("床垫", "mattress"),
        "guitar": ("吉他", "guitar"), "racket": ("球拍", "racket"), "perfume": ("香水", "perfume"),
        "teapot": ("茶壶", "teapot"), "curtain": ("窗帘", "curtain"), "drill": ("电钻", "power drill"),
        "stroller": ("婴儿车", "stroller"), "notebook": ("笔记本", "notebook"),
        "puzzle": ("拼图", "jigsaw puzzle"),
    },
    REGION: {
        "hainan": ("海南", "Hainan"), "tibet": ("西藏", "Tibet"), "xinjiang": ("新疆", "Xinjiang"),
        "qinghai": ("青海", "Qinghai"), "gansu": ("甘肃", "Gansu"), "yunnan": ("云南", "Yunnan"),
        "guizhou": ("贵州", "Guizhou"), "sichuan": ("四川", "Sichuan"), "hunan": ("湖南", "Hunan"),
        "hubei": ("湖北", "Hubei"), "henan": ("河南", "Henan"), "hebei": ("河北", "Hebei"),
        "shandong": ("山东", "Shandong"), "jiangsu": ("江苏", "Jiangsu"), "zhejiang": ("浙江", "Zhejiang"),
        "fujian": ("福建", "Fujian"), "jiangxi": ("江西", "Jiangxi"), "anhui": ("安徽", "Anhui"),
        "jilin": ("吉林", "Jilin"), "liaoning": ("辽宁", "Liaoning"), "ningxia": ("宁夏", "Ningxia"),
        "guangxi": ("广西", "Guangxi"), "shaanxi": ("陕西", "Shaanxi"), "guangdong": ("广东", "Guangdong"),
    },
}  # fmt: skip

# Circumstances of an order: true, or not so.
FLAGS = {
    "gift": ("礼品订单", "a gift order"),
    "presale": ("预售订单", "a pre-sale order"),
    "custom": ("定制订单", "a custom-made order"),
    "livestream": ("直播订单", "a livestream order"),
    "clearance": ("清仓订单", "a clearance order"),
    "instalment": ("分期订单", "an instalment order"),
    "company": ("企业订单", "a company order"),
    "partner": ("合作商家订单", "a partner-shop order"),
    "voucher": ("用券订单", "a voucher order"),
    "refurbished": ("翻新品订单", "a refurbished-goods order"),
    "pickup": ("自提订单", "a self-collection order"),
    "phone": ("电话订单", "a telephone order"),
    "group": ("拼团订单", "a group-buying order"),
    "trial": ("试用订单", "a trial order"),
    "cross_border": ("跨境订单", "a cross-border order"),
    "night": ("夜间订单", "a night order"),
}


def check_language(language: str) -> None:
    """Refuses any other language.

    Raises:
        UsageError: `policy_language`.
    """
    if language not in LANGUAGES:
        raise UsageError(f"language: expected zh or en, found {language!r}", code="policy_language")
