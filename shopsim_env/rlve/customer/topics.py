"""Topics that an agent's question can be about: their names in both languages and the cues that ask for them.

Belongs here: data. A cue in Latin letters matches at the beginning of a word, and up to its end where it has
`_`; a Chinese one matches anywhere. Looking them up in messages is in `questions`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Topic:
    """One family of questions; `zh` and `en` name it in a reply, `cues` are given with `|` between them."""

    name: str
    zh: str
    en: str
    cues: str

    def label(self, language: str) -> str:
        """Its name in `zh` or `en`."""
        return self.zh if language == "zh" else self.en


def _topic(name: str, zh: str, en: str, *cues: str) -> Topic:
    return Topic(name, zh, en, "|".join(cues))


_MONEY = (
    "价格|价位|价钱|预算|多少钱|什么价|几块钱|几元|多少元|多少块|花多少|花费|多贵|太贵|便宜|价格上限|总价|最高价",
    "price|pricing|budget|cost|spend|how much_|how expensive|expensive|cheap|afford|dollar|yuan",
)
_PLACE = (
    "地区|哪个省|哪个城市|什么地方|寄到哪|寄往|送到哪|收货地|收货分区|分区|地址|偏远|哪里收|所在地",
    "region|where_|address|location|destination|zone|country|city_|province|shipped to|deliver to",
)
_DAYS = (
    "几天|多少天|天数|多久|什么时候|何时|哪天|日期|收货时间|签收",
    "how many days|how long|days_|when_|date_|since delivery|received",
)
_GOODS = (
    "品类|类别|类目|种类|哪类|哪一类|什么类型|哪种商品|什么商品|什么产品|买的是什么|买了什么|哪种东西",
    "category|categories|kind of|type of|sort of|what product|which product|what item|class_"
    "|what did you buy",
)
_MEMBER = ("会员|等级|vip|级别", "member|tier|vip|level_|loyalty")
_METHOD = (
    "方式|哪种方法|什么方法|怎么寄|怎么退|如何退|渠道|上门|自提|取件|快递",
    "method|how would you like|how do you want|channel|pickup|pick up|drop off|drop - off|courier",
)
_AMOUNT = (
    "金额|订单总额|总共多少|一共多少|多少钱|总价|消费|实付",
    "amount|how much_|order total|total_|spent|spend|order value|value of",
)

TOPICS = (
    _topic("price", "价格", "the price", *_MONEY),
    _topic("budget", "预算", "the budget", *_MONEY),
    _topic(
        "rating",
        "评分",
        "the rating",
        "评分|星级|几星|几分|多少分|口碑|好评|打分|评级",
        "rating|rated|stars|star_|score",
    ),
    _topic(
        "rating_count",
        "评价数量",
        "the number of reviews",
        "评价数|评价的数|评论数|评价数量|多少条评|几条评|多少评|多少个评|多少人评|评价人数|销量|评论|评价",
        "reviews|number of ratings|how many ratings|rating count|reviewed",
    ),
    _topic(
        "ship_days",
        "发货时间",
        "shipping time",
        "发货|几天到|几天送|配送|物流|到货|送达|时效|快递|多久能到|多快|几天内|急用|着急",
        "ship|deliver|arriv|how fast|how soon|how quickly|dispatch|urgent",
    ),
    _topic(
        "stock",
        "库存",
        "the stock",
        "库存|存货|现货|备货|有多少货",
        "stock|inventory|in store|how many left",
    ),
    _topic(
        "brand",
        "品牌",
        "the brand",
        "品牌|牌子|厂家|大牌|哪个牌|店铺|哪家",
        "brand|maker|manufacturer|what make|which make|label_",
    ),
    _topic(
        "connector_type",
        "接口",
        "the connector",
        "接口|插头|插口|接头|连接方式|怎么连接|端口|充电口|有线|无线|蓝牙",
        "connector|connection|plug|port_|ports|interface|cable type|usb|wired|wireless|bluetooth|jack",
    ),
    _topic(
        "size",
        "尺码",
        "the size",
        "尺码|尺寸|大小|码数|几码|什么码|哪个码|多大|型号|号码|多大码",
        "size|sizing|how big|how large|dimension|fit_",
    ),
    _topic(
        "shoe_size",
        "鞋码",
        "the shoe size",
        "鞋码|鞋号|脚多长|脚长|几码|多少码|尺码|多大码|什么码",
        "shoe size|size|foot|feet|footwear",
    ),
    _topic(
        "color", "颜色", "the color", "颜色|什么色|哪种色|色系|哪个色|配色|色彩", "color|colour|shade|hue"
    ),
    _topic(
        "material",
        "材质",
        "the material",
        "材质|材料|面料|质地|用料|什么做的|原料|料子",
        "material|fabric|made of|made out of|made from|textile",
    ),
    _topic("flavor", "口味", "the flavor", "口味|味道|什么味|哪种味|风味|哪个味", "flavor|flavour|taste"),
    _topic(
        "scent",
        "香味",
        "the scent",
        "香味|香型|气味|什么香|哪种香|味道|什么味",
        "scent|fragrance|smell|aroma|perfume",
    ),
    _topic(
        "item_form",
        "形态",
        "the form",
        "形态|剂型|质地|什么形式|哪种形式|什么状|形状|液体还是|粉末还是|什么类型",
        "form_|item form|forms|consistency|texture|format|liquid|powder",
    ),
    _topic(
        "skin_type",
        "肤质",
        "the skin type",
        "肤质|皮肤|肤型|什么肌|油皮|干皮|敏感肌",
        "skin|complexion",
    ),
    _topic(
        "finish_type",
        "表面工艺",
        "the finish",
        "表面|工艺|光泽|哑光|亮面|质感|饰面",
        "finish|surface|matte|glossy|coating|sheen",
    ),
    _topic(
        "edition",
        "版本",
        "the edition",
        "版本|哪个版|哪一版|什么版|装帧|精装|平装",
        "edition|hardcover|paperback|binding|version",
    ),
    _topic(
        "wattage",
        "功率",
        "the wattage",
        "功率|多少瓦|几瓦|瓦数|多大瓦",
        "wattage|watt|how powerful|how much power|power rating|power output|output power|what power"
        "|power should|power do",
    ),
    _topic(
        "net_weight",
        "净重",
        "the net weight",
        "净重|净含量|重量|多重|克重|多少克|几克|多少斤|几斤|多少公斤|份量|分量|含量",
        "net weight|weight|weigh|how heavy|heavy|gram|how many g_|kilogram|net content",
    ),
    _topic(
        "volume",
        "容量",
        "the volume",
        "容量|多少毫升|几毫升|多少升|几升|体积|毫升",
        "volume|capacity|how many ml|ml_|milliliter|millilitre|liter|litre|how big|fluid",
    ),
    _topic(
        "screen_size",
        "屏幕尺寸",
        "the screen size",
        "屏幕|多少寸|几寸|英寸|多大屏|尺寸|显示屏",
        "screen|display|inch|diagonal|monitor size",
    ),
    _topic(
        "battery",
        "电池容量",
        "the battery capacity",
        "电池|毫安|续航|电量|容量|多大电",
        "battery|mah|capacity|charge_|run time|runtime",
    ),
    _topic(
        "quantity",
        "数量",
        "the quantity",
        "数量|几件|多少件|几个|多少个|几份|多少份|几双|几盒|几瓶|几包|几台|件数|买多少|要多少|几套|多少套|几只",
        "quantity|quantities|how many_|number of|units|count_",
    ),
    _topic(
        "variant",
        "款式规格",
        "the variant",
        "规格|款式|哪款|哪一款|哪种款|变体|选项|配置|哪个版本|型号|样式|什么款",
        "variant|version|option|model|style|configuration|specification|which one",
    ),
    _topic(
        "order",
        "订单",
        "the order",
        "订单|单号|哪一单|哪单|哪笔|哪个单|什么时候买|什么时候下单|哪次",
        "which order|what order|order number|order id|order no|order date|your order number|when did you buy"
        "|when did you order|when was it ordered|reference",
    ),
    _topic(
        "reason",
        "原因",
        "the reason",
        "原因|为什么|为何|为啥|理由|怎么了|什么问题|哪里不满意|出了什么|咋了",
        "reason|why_|what's wrong|what is wrong|what was wrong|what went wrong|what happened|problem"
        "|issue|defect",
    ),
    _topic("method", "方式", "the method", *_METHOD),
    _topic(
        "priorities",
        "看重什么",
        "priorities",
        "看重|优先|重视|在意|最重要|更重要|侧重|关注什么|权重|怎么排|如何排|排序|取舍|最关心|更关心",
        "priorit|important|matter|care about|care most|weigh|rank|trade - off|tradeoff|value most|focus",
    ),
    _topic(
        "replacement",
        "换货",
        "a replacement",
        "换货|替换|更换|换一|换成|换新|替代|退款还是|换个|换别的|补发|替代品",
        "replac|exchange|instead|another one|new one|swap|substitut|refund or",
    ),
    _topic(
        "slot",
        "各类商品",
        "the kinds of goods",
        "哪些类|哪几类|哪些品类|哪些种|哪几种|每类|每个品类|每种|各类|清单|哪些商品|需要哪些|套装里",
        "slot|which categories|what categories|kinds of|each category|each item|components|which items"
        "|what items",
    ),
    _topic(
        "item",
        "哪件商品",
        "the item",
        "哪件|哪一件|哪个商品|哪些商品|哪样|什么商品|哪个产品|哪几件|哪个东西|什么东西|买的是什么|商品名|买了什么",
        "which item|what item|which product|what product|which article|which of them|what did you buy"
        "|what have you bought|which one|what thing",
    ),
    _topic("amount", "金额", "the amount", *_AMOUNT),
    _topic("order_amount", "订单金额", "the order amount", *_AMOUNT),
    _topic("spend", "消费额", "past spending", *_AMOUNT),
    _topic("days", "天数", "the number of days", *_DAYS),
    _topic("days_since", "收货后天数", "the days since delivery", *_DAYS),
    _topic("membership", "会员等级", "the membership", *_MEMBER),
    _topic("tier", "会员等级", "the membership tier", *_MEMBER),
    _topic("region", "地区", "the region", *_PLACE),
    _topic("zone", "收货分区", "the delivery zone", *_PLACE),
    _topic("category", "商品类别", "the category", *_GOODS),
    _topic("kind", "商品种类", "the kind of goods", *_GOODS),
    _topic("class", "商品类别", "the goods class", *_GOODS),
    _topic(
        "weight",
        "重量",
        "the weight",
        "重量|多重|多少公斤|几公斤|多少斤|几斤|千克|kg",
        "weigh|how heavy|heavy|kg_|kilo|pounds",
    ),
)

BY_NAME = {topic.name: topic for topic in TOPICS}
"""Topics by name."""
