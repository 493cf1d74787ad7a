import pytest

from shopsim_env.dialogue.facts import shop_facts
from shopsim_env.dialogue.questions import Question, understand

FACTS = shop_facts("台灯", ("雾蓝", "【250g两袋装】香辣", "红", "XL"), ("防水", "铝合金"), None)


def topics(message):
    return understand(message, FACTS).topics


@pytest.mark.parametrize(
    ("message", "topic"),
    [
        ("您想买什么商品？", "category"),
        ("是哪一类产品", "category"),
        ("预算是多少？", "budget"),
        ("价格大概多少", "budget"),
        ("最多花多少钱呢", "budget"),
        ("300元可以接受吗", "budget"),
        ("￥50 行吗", "budget"),
        ("喜欢什么颜色", "colour"),
        ("什么色的", "colour"),
        ("要多大的", "size"),
        ("尺码呢", "size"),
        ("穿多少码", "size"),
        ("要L码吗", "size"),
        ("净含量要多少", "amount"),
        ("要几瓶", "amount"),
        ("什么口味", "flavour"),
        ("要哪个套餐", "pack"),
        ("款式有要求吗", "style"),
        ("要哪个版本", "style"),
        ("规格选哪个", "options"),
        ("对品牌有要求吗", "brand"),
        ("什么材质的", "material"),
        ("给谁用的", "people"),
        ("在什么场景使用", "scene"),
        ("喜欢什么风格", "look"),
        ("需要什么功能", "features"),
        ("有哪些特点要求", "features"),
    ],
)
def test_key_words_of_each_topic(message, topic):
    assert topic in topics(message)


@pytest.mark.parametrize(
    ("message", "topic"),
    [
        ("这个的评价很好", "budget"),
        ("您贵姓", "budget"),
        ("有什么特色", "colour"),
        ("要哪种颜色", "category"),
        ("什么时候需要发货", "scene"),
        ("你想要什么颜色", "category"),
    ],
)
def test_words_that_only_look_like_a_topic(message, topic):
    assert topic not in topics(message)


def test_topics_come_in_order_of_mention():
    assert topics("功能、预算和颜色有什么要求？") == ("features", "budget", "colour")


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ("要雾蓝的吗", ("option:0",)),
        ("是防水的对吧", ("attribute:0",)),
        ("香辣味的可以吗", ("option:1",)),
        ("要250Ｇ 两袋装吗", ("option:1",)),
        ("红色的好吗", ("option:2",)),
        ("红的吗", ("option:2",)),
        ("网红店的", ()),
        ("要 xl 吗", ("option:3",)),
        ("XXL 呢", ()),
        ("A. XL B. L", ("option:3",)),
        ("雾蓝、防水、铝合金，对吗", ("option:0", "attribute:0", "attribute:1")),
    ],
)
def test_naming_a_value_counts_as_asking(message, named):
    assert understand(message, FACTS).named == named


def test_naming_the_axis_counts_as_asking():
    from shopsim_env.catalog.product import read_axes

    found = shop_facts("魔方", ("三阶",), (), None, axes=read_axes({"难度等级": ["三阶"]}))
    assert understand("难度等级呢", found).named == ("option:0",)


@pytest.mark.parametrize(
    "message",
    [
        "可以下单吗？",
        "现在购买吗",
        "就买这个？",
        "这款可以吗",
        "这个怎么样？",
        "我买下它了",
        "您觉得合适吗",
        "帮您买了",
        "它符合您的要求吗",
        "那我去结算",
    ],
)
def test_questions_about_buying(message):
    assert understand(message, FACTS).buying


@pytest.mark.parametrize("message", ["您想买什么", "买哪种颜色好", "预算多少", "这款有什么颜色", "你好"])
def test_other_questions_are_not_about_buying(message):
    assert not understand(message, FACTS).buying


@pytest.mark.parametrize(
    "message",
    [
        "还有别的要求吗",
        "请详细说说您的需求",
        "您有什么要求？",
        "有没有什么特别的需求",
        "还有吗",
        "其他要求",
        "其它呢",
        "还有其他方面吗",
        "您想要什么样的台灯？",
        "对台灯有什么要求",
        "您对这款商品有要求吗",
        "需求？",
        "可以说得具体一点吗",
    ],
)
def test_open_questions(message):
    assert understand(message, FACTS) == Question(open=True)


@pytest.mark.parametrize(
    "message", ["对店铺有要求吗", "对物流有什么要求", "对商家有讲究吗", "有包邮要求吗", "缺货可以换别的吗"]
)
def test_wishes_about_something_else_ask_for_nothing(message):
    assert understand(message, FACTS) == Question()


@pytest.mark.parametrize(
    ("message", "topic"),
    [
        ("三百块以内行不行", "budget"),
        ("两百块左右可以吗", "budget"),
        ("How much is your budget?", "budget"),
        ("what colour", "colour"),
        ("给孩子用还是大人用", "people"),
        ("主要在什么时候使用", "scene"),
        ("您主要想解决什么问题", "features"),
        ("您更看重哪些功效", "features"),
    ],
)
def test_other_ways_to_ask_for_a_topic(message, topic):
    assert understand(message, FACTS).topics == (topic,)


def test_a_long_message_of_a_shop_assistant():
    message = (
        "您好！我是您的购物助手。为了帮您找到合适的台灯，我想了解：\n1. 预算大概是多少？\n"
        "2. 您的房间多大？\n3. 有没有偏好的品牌？"
    )
    assert topics(message) == ("budget", "size", "brand")


@pytest.mark.parametrize("message", ["你好", "", "hello", "？？？", "今天天气不错", "\ud800", "x" * 5_000])
def test_what_asks_nothing_is_not_recognised(message):
    assert understand(message, FACTS) == Question()
    assert not understand(message, FACTS).recognised
