"""Every topic is understood in several phrasings of both languages; statements ask nothing."""

import pytest

from shopsim_env.rlve.customer.customer import Customer
from shopsim_env.rlve.customer.needs import Brief, Need
from shopsim_env.rlve.customer.questions import asked, understand
from shopsim_env.rlve.customer.topics import BY_NAME, TOPICS
from shopsim_env.rlve.difficulty import axes
from shopsim_env.rlve.draws import Draws

# Three Chinese and three English phrasings for each topic.
_PHRASINGS = """
price: 您能接受什么价位？|价格上有什么想法吗？|最多花多少钱？
  What's your price range?|How much would you like to pay?|Is there a maximum price?
budget: 您的预算是多少？|总共打算花多少钱？|请告诉我预算
  What is your budget?|How much can you spend?|Please tell me your budget.
rating: 评分要多少？|最低要几星？|对口碑有要求吗？
  What minimum rating do you want?|How many stars should it have?|Should it be highly rated?
rating_count: 评价数量要多少条？|至少要有多少条评价？|对评论有要求吗？
  How many reviews should it have?|Do you care about the number of ratings?|Any minimum for reviews?
ship_days: 希望几天到？|对发货时间有要求吗？|着急用吗？
  How fast do you need it shipped?|When should it arrive?|Any delivery deadline?
brand: 您想要什么品牌？|有喜欢的牌子吗？|请说一下品牌
  Which brand do you prefer?|Do you have a favourite brand?|Please name the brand, could you?
connector_type: 要什么接口？|您需要哪种插头？|有线还是无线呢？
  Which connector do you need?|What kind of plug should it have?|Wired or wireless?
size: 要多大的？|您穿什么尺码？|请问尺寸要求？
  What size do you need?|How big should it be?|Which size, please?
shoe_size: 您穿多少码的鞋？|鞋码是多少？|脚长多少？
  What is your shoe size?|Which size do you wear?|How long are your feet?
color: 喜欢什么颜色？|要哪种色系？|颜色方面呢？
  What color would you like?|Which colour do you want?|Any particular shade?
material: 要什么材质的？|面料有讲究吗？|希望是什么做的？
  What material should it be?|Which fabric do you like?|What should it be made of?
flavor: 要什么口味？|喜欢哪种味道？|口味上呢？
  Which flavor do you want?|What flavour, please?|What should it taste like?
scent: 喜欢什么香味？|要哪种香型？|气味上有偏好吗？
  Which scent do you like?|What fragrance should it have?|How should it smell?
item_form: 要什么形态的？|液体还是粉末？|什么剂型好？
  Which form should it have?|Liquid or powder?|What texture do you like?
skin_type: 您是什么肤质？|皮肤是油性还是干性？|适合哪种肤型？
  What is your skin type?|Is your skin oily or dry?|What complexion is it for?
finish_type: 表面要什么工艺？|要哑光还是亮面？|喜欢什么质感？
  Which finish do you want?|Matte or glossy?|What should the surface be like?
edition: 要哪个版本？|精装还是平装？|什么版的书？
  Which edition do you want?|Hardcover or paperback?|What binding should it have?
wattage: 功率要多大？|多少瓦的？|瓦数有要求吗？
  What wattage do you need?|How many watts?|How powerful should it be?
net_weight: 净含量要多少？|要多少克的？|多重的合适？
  What net weight do you want?|How many grams?|How heavy should the pack be?
volume: 容量要多大？|多少毫升的？|要几升？
  What volume do you need?|How many ml should it hold?|What capacity?
screen_size: 屏幕要多大？|要几寸的？|多少英寸？
  What screen size do you want?|How many inches?|How large should the display be?
battery: 电池要多大？|多少毫安的？|续航有要求吗？
  What battery capacity do you need?|How many mAh?|How long should a charge last?
quantity: 要几件？|数量是多少？|您打算买多少个？
  How many do you need?|What quantity?|How many units should I add?
variant: 要哪个款式？|什么规格？|选哪一款？
  Which variant do you want?|Which version, please?|Which one of the options?
order: 是哪个订单？|订单号多少？|您说的是哪一单？
  Which order do you mean?|What is the order number?|When did you buy it?
reason: 为什么要退？|退货原因是什么？|出了什么问题？
  What is the reason?|Why do you want to return it?|What's wrong with it?
method: 想用什么方式退？|怎么寄回？|上门取件还是自己寄？
  Which method do you prefer?|How would you like to send it back?|Pickup or drop-off?
priorities: 您更看重什么？|怎么排序比较好？|哪方面最重要？
  What matters most to you?|How should I rank them?|What are your priorities?
replacement: 需要换货吗？|要换一个吗？|退款还是换新？
  Do you want a replacement?|Would you like to exchange it?|Refund or another one?
slot: 需要哪些品类？|每类各要什么？|清单里有哪些商品？
  Which categories do you need?|What items should be in it?|Which kinds of goods do you need?
item: 是哪件商品？|您说的是哪一件？|买的是什么？
  Which item is it?|Which product do you mean?|What did you buy?
amount: 金额是多少？|订单总额多少？|一共多少钱？
  What is the amount?|How much was it?|What was the order total?
order_amount: 订单金额多少？|这单总共多少？|实付多少？
  What is the order amount?|How much did you spend on it?|What is the order value?
spend: 过去消费了多少？|消费额是多少？|一共消费多少？
  How much have you spent?|What did you spend?|What is your total spending?
days: 几天了？|多久了？|过了多少天？
  How many days is it?|How long has it been?|When did it come?
days_since: 收货几天了？|什么时候签收的？|签收多久了？
  How many days since delivery?|When did you get it?|What date did you get it?
membership: 您是会员吗？|会员等级是什么？|什么级别的会员？
  Are you a member?|What is your membership?|Which tier are you?
tier: 您的等级是？|是什么会员？|vip几级？
  What tier are you in?|Which membership do you have?|What is your loyalty level?
region: 寄到哪里？|您在哪个省？|收货地址是哪里？
  Which region is it?|Where do you live?|What is the shipping address?
zone: 在哪个分区？|收货地是哪里？|属于偏远地区吗？
  Which delivery zone is it?|Where should it go?|Which country?
category: 是什么品类？|属于哪类商品？|商品类别是什么？
  Which category is it?|What kind of product?|What type of goods?
kind: 买的是什么？|什么商品？|哪种东西？
  What kind of goods?|What product is it?|What did you buy?
class: 属于哪一类？|什么类别？|商品类别是？
  Which class is it?|What category?|What sort of goods?
weight: 包裹多重？|重量是多少？|有几公斤？
  How heavy is the parcel?|What does it weigh?|How many kilos?
"""
PHRASINGS = {
    row.split(": ", 1)[0]: row.split(": ", 1)[1].split("|")
    for row in _PHRASINGS.strip().replace("\n  ", "|").splitlines()
}
CASES = [(topic, message) for topic, messages in PHRASINGS.items() for message in messages]
# Needs that an open question would tell first.
DECOYS = tuple(
    Need(f"decoy{at}", "decoy", f"其他事项{'甲乙丙'[at]}", frozenset({f"decoy{at}"})) for at in range(3)
)


def test_every_topic_has_phrasings() -> None:
    assert set(PHRASINGS) == set(BY_NAME) == {topic.name for topic in TOPICS}
    assert all(len(messages) == 6 for messages in PHRASINGS.values())


@pytest.mark.parametrize(("topic", "message"), CASES, ids=[f"{t}-{i % 6}" for i, (t, _) in enumerate(CASES)])
def test_a_question_about_a_topic_gets_its_need_first(topic: str, message: str) -> None:
    wanted = Need("wanted", "wish", "想要的那个值", frozenset({topic}))
    needs = (*DECOYS, wanted)
    brief = Brief("PD", "我想买东西", needs, frozenset(need.id for need in needs))
    customer = Customer(brief, Draws("topics", topic), axes(0), "zh")
    customer.open()
    reply = customer.answer(message)
    assert reply.act == "clarify"
    assert reply.told[0] == wanted


@pytest.mark.parametrize(
    "message",
    [
        "还有什么要求吗？",
        "请问还有什么要求吗？",
        "还有别的需要补充的吗？",
        "请告诉我剩下的两点。",
        "另外两个要求是什么？",
        "具体说说您的需求吧",
        "还有吗？",
        "Anything else?",
        "Do you have any other requirements?",
        "What else should I know?",
        "Please tell me the remaining details.",
        "Are there any other preferences I should keep in mind?",
        "Could you share the rest with me?",
    ],
)
def test_open_questions(message: str) -> None:
    assert understand(message).open


@pytest.mark.parametrize(
    "message",
    [
        "",
        "。。。",
        "???",
        "\ud800",
        "我已经按您的要求搜索了，下面是结果：耳机甲，价格299元，评分4.6，品牌某某，两天发货。",
        "I searched by price and brand. Here is the result: price 29.9, rating 4.5, ships in 2 days.",
        "I have added the black one to your cart, order total 29.",
        "正在为您查询订单和物流信息，马上就好，感谢您的耐心等待。",
    ],
)
def test_statements_ask_nothing(message: str) -> None:
    question = understand(message)
    assert question.topics == ()
    assert not question.open


def test_only_the_asking_sentence_counts() -> None:
    question = understand("耳机甲：价格299元，评分4.6，品牌某某。您喜欢什么颜色？")
    assert question.topics == ("color",)
    english = understand("Option A costs 29.9, rating 4.5, brand Foo. What color would you like?")
    assert english.topics == ("color",)


def test_topics_come_in_order_of_mention() -> None:
    assert understand("请问颜色、品牌和评分？").topics[:3] == ("color", "brand", "rating")
    assert understand("Could you tell me the brand and the color?").topics == ("brand", "color")


def test_languages_may_be_mixed() -> None:
    assert understand("请问您的budget和brand偏好？").topics == ("price", "budget", "brand")


def test_an_unknown_topic_is_asked_by_its_name_or_label() -> None:
    gift = Need("gift", "flag", "这是礼品订单", frozenset({"gift_order"}), label="礼品订单")
    other = Need("other", "flag", "没有发票", frozenset({"invoice"}), label="发票")
    assert asked(understand("请问是礼品订单吗？"), (other, gift)) == [gift]
    assert asked(understand("Is it a gift order, may I ask?"), (other, gift)) == [gift]
    assert asked(understand("Is there an invoice?"), (gift, other)) == [other]
    assert asked(understand("好的，礼品订单我已经看到了，正在为您处理当中。"), (gift, other)) == []


def test_the_named_thing_decides_among_needs_of_one_topic() -> None:
    """Which of two carts' items the color question is about."""
    case = Need("a", "v", "手机壳要黑色", frozenset({"color"}), label="手机壳")
    cable = Need("b", "v", "数据线要白色", frozenset({"color"}), label="数据线")
    assert asked(understand("数据线要什么颜色？"), (case, cable))[0] == cable
    assert asked(understand("要什么颜色？"), (case, cable)) == [case, cable]


def test_short_names_name_nothing() -> None:
    size = Need("s", "v", "尺码是S", frozenset({"own"}), label="S", names=("小",))
    assert asked(understand("What's the small one, please? S?"), (size,)) == []


def test_a_question_with_several_topics_takes_one_of_each_in_turn() -> None:
    low = Need("low", "c", "价格不低于10元", frozenset({"price"}))
    high = Need("high", "c", "价格不超过50元", frozenset({"price"}))
    color = Need("color", "c", "颜色是红色", frozenset({"color"}))
    assert asked(understand("价格和颜色呢？"), (low, high, color)) == [low, color, high]
