"""No requirement can be added to a reworded sentence, in whatever words; our own sentences pass."""

from decimal import Decimal

from hypothesis import assume, given
from hypothesis import strategies as st

from shopsim_env.catalog.product import Axis, OptionValue
from shopsim_env.dialogue.check import Draft, wording_problem
from shopsim_env.dialogue.facts import shop_facts
from shopsim_env.dialogue.harmless import COMMON, KIND_WORDS, made_of, topic_words
from shopsim_env.dialogue.ledger import plain
from shopsim_env.dialogue.shopper import answer, open_talk
from shopsim_env.dialogue.topics import BY_NAME
from shopsim_env.dialogue.wording import Worded

OPTIONS = ("雾蓝", "XXL", "【香辣】3包", "单灯/支架", "5.5mm", "加厚款")
ATTRIBUTES = ("防水", "学生", "办公室", "北欧风", "纯棉", "静音")
AXES = [
    Axis("颜色分类", (OptionValue("雾蓝", "雾蓝", "雾蓝", None),)),
    Axis("尺码", (OptionValue("XXL", "xxl", "xxl", None),)),
]
QUESTIONS = ("规格？", "颜色？", "预算多少？", "功能？", "还有什么要求？", "尺码和预算？", "材质呢")
# Wishes that belong to no topic, and wishes in the words of one.
_INVENTED = """
不透明 耐脏 发顺丰 当天到 大一点 小一点 好一点 便宜点 加大 进口 国产 手工 轻便 红色 要新款 送礼 带灯 可折叠
有保修 不掉色 别太重 越贵越好 高端 低调 正品 包邮 现货 限量 旗舰店 结实 耐用 防摔 透气 大牌 原装 两件 一对
双人 儿童 老人 静音款 都行 也行 随便 或者别的 左右 以上 起 吗 ？ ? 必须 一定 不 没有 除了它 算了 换成XL ＸＬ
more 大红
"""
INVENTED = sorted(_INVENTED.split())
ALL_WORDS = COMMON.union(*KIND_WORDS.values(), topic_words(BY_NAME))
HARMLESS = st.sampled_from(sorted(COMMON - {"先不说"}))


class Keep:
    """Keeps the drafts that a talk words."""

    def __init__(self):
        self.drafts = []

    def word(self, draft):
        self.drafts.append(draft)
        return Worded(draft.text)


@st.composite
def drafts(draw):
    """A draft as the shopper makes it."""
    facts = shop_facts(
        "台灯",
        draw(st.lists(st.sampled_from(OPTIONS), max_size=3, unique=True)),
        draw(st.lists(st.sampled_from(ATTRIBUTES), max_size=3, unique=True)),
        draw(st.sampled_from([None, Decimal(40), Decimal("275.5")])),
        axes=AXES,
    )
    keep = Keep()
    talk = open_talk(facts, str(draw(st.integers(0, 50))))
    for question in draw(st.lists(st.sampled_from(QUESTIONS), min_size=1, max_size=4)):
        talk = answer(talk, question, keep)
    assume(keep.drafts)
    return keep.drafts[-1]


@given(drafts())
def test_our_own_sentences_pass(draft):
    assert wording_problem(draft.text, draft) == ""


@given(drafts(), st.sampled_from(["嗯，{}", "{}谢谢", "你好，{}麻烦帮我选", "那么，{}"]))
def test_politeness_around_them_passes(draft, frame):
    assert wording_problem(frame.format(draft.text), draft) == ""


@given(drafts(), st.sampled_from(INVENTED), st.data())
def test_an_invented_requirement_never_passes(draft, wish, data):
    place = data.draw(st.integers(0, len(draft.text)))
    comma = data.draw(st.sampled_from(["", "，", "，还要", "，最好是", "，并且"]))
    text = draft.text[:place] + comma + wish + draft.text[place:]
    assert wording_problem(text, draft) != "", text


@given(drafts(), st.text(min_size=1, max_size=8), st.data())
def test_any_other_text_never_passes_unless_it_is_made_of_harmless_words(draft, extra, data):
    place = data.draw(st.integers(0, len(draft.text)))
    text = draft.text[:place] + extra + draft.text[place:]
    if wording_problem(text, draft) == "":
        rest = plain(text)
        for fact in draft.told:
            rest = rest.replace(plain(fact.value), "，")
        for fact in draft.told:
            rest = rest.replace(plain(fact.label), "，") if fact.label else rest
        letters = "".join(letter if letter.isalnum() else "，" for letter in rest)
        assert all(made_of(piece, ALL_WORDS) for piece in letters.split("，")), text


@given(drafts(), st.lists(HARMLESS, max_size=6))
def test_every_value_has_to_be_there_once_the_words_are_harmless(draft, words):
    text = "".join(words) + "。"
    assert wording_problem(text, draft) in ("missing_fact", "too_long")


@given(st.integers(0, 50), st.permutations(["{0}", "{1}"]))
def test_values_do_not_change_places(seed, order):
    """Two labelled values, told in one answer: only the sentence with each at its own label passes."""
    facts = shop_facts("台灯", ("雾蓝", "XXL"), (), None, axes=AXES)
    keep = Keep()
    answer(open_talk(facts, str(seed)), "规格？", keep)
    (draft,) = keep.drafts
    frame = draft.text.replace("雾蓝", order[0]).replace("XXL", order[1])
    problem = wording_problem(frame.format("雾蓝", "XXL"), draft)
    assert (problem == "") == (order[0] == "{0}")


def test_a_draft_without_topics_may_still_be_polite():
    facts = shop_facts("台灯", ("雾蓝",), (), None)
    draft = Draft("规格要雾蓝。", (facts[1],))
    assert wording_problem("您好，就要雾蓝，谢谢", draft) == ""
