"""Topics that a question can be about: the words that ask, and the values that belong to each.

Belongs here: Chinese key words as data. `asks` finds the topic in a question, `holds` in a value or an axis
name. Matching runs on text as given by `ledger.plain` (lower case, blanks between Latin words only). The
words are ours; families follow the axis names and attributes that shops use.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Topic:
    """One family of questions. `kind` is the kind of fact that it asks for, `label` its name in a reply."""

    name: str
    kind: str
    label: str
    asks: re.Pattern[str]
    holds: re.Pattern[str] | None = None


def _topic(name: str, kind: str, label: str, asks: str, holds: str = "") -> Topic:
    return Topic(name, kind, label, re.compile(asks), re.compile(holds) if holds else None)


OPTION, ATTRIBUTE = "option", "attribute"
ANY_OPTION, ANY_ATTRIBUTE = "options", "features"
"""Topics that ask for every fact of their kind."""

_COUNTER = "(?:克|斤|公斤|千克|升|毫升|片|支|包|瓶|个|件|只|盒|袋|人|套|张|条|kg|g|ml|l)"

TOPICS = (
    _topic(
        "category",
        "category",
        "商品类别",
        r"什么(?:商品|产品|东西|物品|宝贝|类型)|哪[一]?[种类](?:商品|产品|东西|物品)|品类|类别|类目|种类"
        r"|(?:买|找|选购)(?:点|些)?(?:什么|啥|哪)(?:$|[呢呀啊吗？?，,。.!！商产东物])",
    ),
    _topic(
        "budget",
        "budget",
        "预算",
        r"预算|(?<!评)价|多少钱|多少元|几块钱|几元|花多少|花费|费用|上限|(?<!您)(?<!你)贵(?!姓|方|司|公司)"
        r"|便宜|[0-9](?:元|块|rmb|人民币)|[¥￥]|budget|price",
    ),
    _topic(
        "colour",
        OPTION,
        "颜色",
        r"颜色|(?<![特角景出情])色|colou?r",
        r"颜色|色|[红橙黄绿青蓝紫黑白灰粉棕银]$|^[红橙黄绿青蓝紫黑白灰粉棕]|[酒橄烟雾奶墨藏][红绿灰蓝白]",
    ),
    _topic(
        "size",
        OPTION,
        "尺寸",
        r"尺码|尺寸|大小|多[大高长宽厚深]|[鞋]码|几[码寸号]|[a-z0-9哪个]码|码数|长度|高度|宽度|直径|厚度"
        r"|身高|体重|圈口|周长|多少(?:厘米|公分|cm|寸|码|米)|size",
        r"尺|码|寸|大小|长度|高度|宽度|直径|厚度|身高|圈口|周长|cm|mm|厘米|[大中小]号|(?<![a-z])x*[sml](?![a-z])",
    ),
    _topic(
        "amount",
        OPTION,
        "数量和份量",
        rf"容量|净含量|重量|克重|多重|数量|件数|份量|分量|人数|(?:多少|几){_COUNTER}",
        rf"容量|含量|重量|克重|数量|件数|人数|[0-9一二两三四五六七八九十]{_COUNTER}(?![a-z])",
    ),
    _topic("flavour", OPTION, "口味", r"口味|味道|香味|香型|什么味|气味|flavou?r", r"味|香型|原香"),
    _topic(
        "pack",
        OPTION,
        "套餐",
        r"套餐|套装|组合|包装|几件套|配件|搭配|附带|带不带|赠品",
        r"套|组合|装|配|赠|送",
    ),
    _topic(
        "style",
        OPTION,
        "款式",
        r"款式|样式|版本|型号|图案|花型|造型|哪[一]?个?款|什么款|车型|车系|系列|轴体",
        r"款|样式|版|型号|图案|花型|车型|车系|轴|代$",
    ),
    _topic(ANY_OPTION, OPTION, "规格", r"规格|选项|参数|配置|sku|选哪[个种一]|怎么选"),
    _topic("brand", ATTRIBUTE, "品牌", r"品牌|牌子|厂家|大牌|brand"),
    _topic(
        "material",
        ATTRIBUTE,
        "材质",
        r"材质|材料|面料|质地|用料|原料|成分|配料|什么做的|material",
        r"[棉麻绒皮钢铝铜铁瓷陶竹]|木|合金|锦纶|涤纶|硅胶|玻璃|abs|真丝|足银|羊毛|牛肉",
    ),
    _topic(
        "people",
        ATTRIBUTE,
        "适用人群",
        r"人群|给谁|给[^，。？！,?!]{1,6}[用穿吃喝戴玩]|谁[用穿吃喝戴玩]|年龄|几岁|性别|男士|女士|男款|女款|自己用|送人|什么人|哪些人|使用者",
        r"学生|新手|老人|老师|师傅|[爸妈男女孕幼儿童]|宝宝|孩子|情侣|闺蜜|[族党肌皮主]$|小个子|单身|成猫|成犬",
    ),
    _topic(
        "scene",
        ATTRIBUTE,
        "使用场景",
        r"场景|场合|用途|用来|做什么用|干什么用|干嘛用|哪里用|在哪|什么地方|环境|季节|用在"
        r"|什么时候[^，。？！,?!]{0,4}[用穿吃喝戴玩]",
        r"[室厅房舍厨店吧台窗边]$|户外|办公|上班|上学|通勤|出差|旅行|露营|瑜伽|居家|日常|婚礼|约会|[春夏秋冬]|睡前"
        r"|早餐|车间|拍照|放学|课间|玄关",
    ),
    _topic(
        "look",
        ATTRIBUTE,
        "风格",
        r"风格|外观|设计|好看",
        r"风$|简约|复古|轻奢|百搭|显瘦|可爱|极简|刺绣|法式|日系|韩版",
    ),
    _topic(
        ANY_ATTRIBUTE,
        ATTRIBUTE,
        "功能和特点",
        r"功能|特点|特性|特征|特色|性能|属性|效果|功效|卖点|品质|质量|作用|用处|解决什么"
        r"|看重|在意|feature",
    ),
)

BY_NAME = {topic.name: topic for topic in TOPICS}
"""Topics by name."""


def topics_held(text: str, kind: str) -> frozenset[str]:
    """Topics of `kind` that `text` (a value or an axis name, as given by `plain`) belongs to."""
    return frozenset(
        topic.name
        for topic in TOPICS
        if topic.kind == kind and topic.holds is not None and topic.holds.search(text)
    )


def topics_asked(text: str) -> tuple[str, ...]:
    """Topics that `text` (as given by `plain`) asks about, in order of mention."""
    found = ((match.start(), topic.name) for topic in TOPICS if (match := topic.asks.search(text)))
    return tuple(name for _, name in sorted(found))
