"""What the customer tells in answer to what, and the act that it counts as."""

from dataclasses import replace

import pytest

from shopsim_env.errors import UsageError
from shopsim_env.rlve.customer.customer import Customer
from shopsim_env.rlve.customer.needs import EXEMPT_ACTS, Brief, Need, Remark, Revision
from shopsim_env.rlve.difficulty import axes
from shopsim_env.rlve.draws import Draws

PRICE = Need("price", "constraint", "价格不超过300元", frozenset({"price"}))
BRAND = Need("brand", "constraint", "品牌是屿岚", frozenset({"brand"}), keep=("屿岚",))
RATING = Need("rating", "constraint", "评分不低于4.5分", frozenset({"rating"}))
COLOR = Need("color", "constraint", "颜色是黑色", frozenset({"color"}))
SIZE = Need("size", "constraint", "尺码是XL", frozenset({"size"}))
CHEAPER = replace(PRICE, value="价格不超过200元")
REQUEST = "我想买一副耳机"
STATEMENT = "好的，我马上开始为您搜索合适的商品。"
OPEN_QUESTION = "请问还有什么要求吗？"


def customer(
    *needs: Need, pending: str = "", revision: Need | None = None, language: str = "zh", d: int = 0
) -> Customer:
    brief = Brief(
        "PD", REQUEST, needs, frozenset(pending.split()), None if revision is None else Revision(revision)
    )
    return Customer(brief, Draws("test", 1), axes(d), language)


def correction(satisfaction: float = 0.5) -> Remark:
    return Remark("correct", "购物车里的不是我要的", satisfaction)


def confirmation(text: str = "对，就是这个") -> Remark:
    return Remark("confirm", text, 1.0)


def test_the_opening_says_the_request_the_stated_needs_and_how_many_are_left() -> None:
    opening = customer(PRICE, BRAND, RATING, pending="brand rating").open()
    assert opening.act == "open"
    assert opening.told == (PRICE,)
    assert REQUEST in opening.text
    assert PRICE.value in opening.text
    assert "两" in opening.text
    assert "屿岚" not in opening.text
    assert "4.5" not in opening.text


def test_an_opening_without_pending_needs_announces_none() -> None:
    said = customer(PRICE)
    opening = said.open()
    assert opening.text.endswith(f"{PRICE.value}。")
    assert said.ledger.complete


def test_a_request_alone() -> None:
    assert customer().open().text.endswith(f"{REQUEST}。")


def test_asking_for_the_omitted_fact_gets_it() -> None:
    """Case user-omitted-revealed."""
    said = customer(BRAND, pending="brand")
    said.open()
    reply = said.answer("Which brand do you prefer?")
    assert (reply.act, reply.told) == ("clarify", (BRAND,))
    assert BRAND.value in reply.text
    assert said.ledger.hidden == ()


def test_an_answer_tells_two_needs_at_most_the_asked_ones_first() -> None:
    said = customer(PRICE, BRAND, RATING, COLOR, pending="price brand rating color")
    said.open()
    assert said.answer("颜色、评分和品牌有什么要求？").told == (COLOR, RATING)
    reply = said.answer(OPEN_QUESTION)
    assert reply.told == (PRICE, BRAND)
    assert said.ledger.complete


def test_an_open_question_tells_the_next_two_in_order() -> None:
    said = customer(PRICE, BRAND, RATING, COLOR, SIZE, pending="price rating color size")
    said.open()
    first = said.answer("Do you have any other requirements?")
    assert (first.act, first.told) == ("clarify", (PRICE, RATING))
    assert "两" in first.text
    assert said.answer("还有别的吗？").told == (COLOR, SIZE)


def test_asking_again_is_a_repeat_that_is_charged() -> None:
    said = customer(PRICE)
    said.open()
    reply = said.answer("您的预算是多少？")
    assert reply.act == "repeat"
    assert reply.act not in EXEMPT_ACTS
    assert PRICE.value in reply.text
    assert reply.told == ()


def test_a_pending_need_goes_before_a_repetition() -> None:
    said = customer(PRICE, BRAND, pending="brand")
    said.open()
    reply = said.answer("价格和品牌有要求吗？")
    assert (reply.act, reply.told) == ("clarify", (BRAND,))
    assert PRICE.value not in reply.text


def test_a_topic_without_a_need_has_nothing_to_it() -> None:
    said = customer(PRICE, SIZE, pending="size")
    said.open()
    reply = said.answer("喜欢什么颜色？")
    assert (reply.act, reply.told) == ("continue", ())
    assert "颜色" in reply.text


def test_an_open_question_after_everything_was_told() -> None:
    said = customer(PRICE)
    said.open()
    reply = said.answer(OPEN_QUESTION)
    assert (reply.act, reply.told) == ("continue", ())


@pytest.mark.parametrize("message", [STATEMENT, "需要我现在为您下单吗？", "", "\ud800"])
def test_anything_else_goes_on(message: str) -> None:
    said = customer(PRICE, BRAND, pending="brand")
    said.open()
    reply = said.answer(message)
    assert (reply.act, reply.told) == ("continue", ())
    assert reply.text


def test_a_change_of_mind_comes_with_the_first_answer_alone() -> None:
    said = customer(PRICE, BRAND, pending="brand", revision=CHEAPER)
    opening = said.open()
    assert PRICE.value in opening.text
    assert CHEAPER.value not in opening.text
    assert not said.revised
    reply = said.answer(STATEMENT)
    assert (reply.act, reply.told) == ("switch", (CHEAPER,))
    assert reply.act in EXEMPT_ACTS
    assert PRICE.value in reply.text
    assert CHEAPER.value in reply.text
    assert said.revised
    repeated = said.answer("预算多少？")
    assert CHEAPER.value in repeated.text
    assert PRICE.value not in repeated.text


def test_a_question_is_answered_beside_a_change_of_mind() -> None:
    said = customer(PRICE, BRAND, RATING, COLOR, pending="brand rating color", revision=CHEAPER)
    said.open()
    reply = said.answer(OPEN_QUESTION)
    assert (reply.act, reply.told) == ("switch", (CHEAPER, BRAND, RATING))


def test_a_question_about_what_changes_is_answered_by_the_change() -> None:
    said = customer(PRICE, revision=CHEAPER)
    said.open()
    reply = said.answer("您的预算是多少？")
    assert (reply.act, reply.told) == ("switch", (CHEAPER,))
    assert reply.text.count(CHEAPER.value) == 1


def test_a_question_hides_no_wrong_action() -> None:
    said = customer(PRICE, BRAND, pending="brand")
    said.open()
    reply = said.answer("品牌有要求吗？", correction())
    assert (reply.act, reply.told) == ("correct", (BRAND,))
    assert reply.act not in EXEMPT_ACTS
    assert "购物车里的不是我要的" in reply.text
    assert BRAND.value in reply.text


def test_a_needed_confirmation_is_free_and_its_repetition_is_not() -> None:
    said = customer(PRICE)
    said.open()
    assert said.answer(STATEMENT, confirmation()).act == "confirm"
    again = said.answer(STATEMENT, confirmation())
    assert again.act == "repeat"
    assert "对，就是这个" in again.text
    assert said.answer(STATEMENT, confirmation("对，这个也是")).act == "confirm"


def test_asking_goes_before_confirming() -> None:
    said = customer(PRICE, BRAND, pending="brand")
    said.open()
    reply = said.answer("品牌呢？", confirmation())
    assert reply.act == "clarify"
    assert "对，就是这个" in reply.text
    assert said.answer("预算多少来着？", confirmation("这件对")).act == "repeat"


def test_nothing_is_confirmed_in_the_turn_of_a_change_of_mind() -> None:
    said = customer(PRICE, revision=CHEAPER)
    said.open()
    reply = said.answer(STATEMENT, confirmation())
    assert reply.act == "switch"
    assert "对，就是这个" not in reply.text


def test_a_correction_is_said_beside_a_change_of_mind() -> None:
    said = customer(PRICE, revision=CHEAPER)
    said.open()
    reply = said.answer(STATEMENT, correction())
    assert reply.act == "switch"
    assert "购物车里的不是我要的" in reply.text


@pytest.mark.parametrize(
    ("satisfactions", "leaves"),
    [
        ([0.2, 0.1], True),
        ([0.2, 0.5, 0.2], False),
        ([0.3, 0.3], False),
        ([0.1], False),
        ([1.0, 0.0, 0.29], True),
    ],
)
def test_two_bad_turns_in_a_row_and_it_leaves(satisfactions: list[float], leaves: bool) -> None:
    """Cases user-quit-two-bad and user-quit-recovering."""
    said = customer(PRICE)
    said.open()
    acts = [said.answer(STATEMENT, correction(value)).act for value in satisfactions]
    assert (acts[-1] == "quit") is leaves
    assert said.left is leaves


def test_turns_without_a_remark_neither_help_nor_harm() -> None:
    said = customer(PRICE)
    said.open()
    said.answer(STATEMENT, correction(0.2))
    said.answer(STATEMENT)
    assert not said.left
    assert said.answer(STATEMENT, correction(0.2)).act == "quit"
    assert said.turns == 3
    with pytest.raises(UsageError, match="has left") as caught:
        said.answer(STATEMENT)
    assert caught.value.code == "customer_left"


def test_another_matter_is_brought_up_and_the_first_one_still_answered() -> None:
    said = customer(PRICE, BRAND, pending="brand")
    said.open()
    cart = Brief(
        "CART",
        "我还想买手机壳",
        (replace(COLOR, id="CART:color"), replace(SIZE, id="CART:size")),
        frozenset({"CART:size"}),
    )
    told = said.introduce(cart)
    assert told.act == "introduce"
    assert told.told == (cart.needs[0],)
    assert "我还想买手机壳" in told.text
    assert "一" in told.text
    assert said.answer(OPEN_QUESTION).told == (cart.needs[1], BRAND)


def test_coming_back_to_a_matter() -> None:
    said = customer(PRICE, BRAND, pending="brand")
    said.open()
    first = said._matters[0].brief
    said.introduce(Brief("CART", "我还想买手机壳"))
    reply = said.remind(first)
    assert (reply.act, reply.told) == ("introduce", ())
    assert REQUEST in reply.text
    assert said.answer(OPEN_QUESTION).told == (BRAND,)
    with pytest.raises(UsageError) as caught:
        said.remind(Brief("SUB", "别的"))
    assert caught.value.code == "unknown_brief"


def test_two_matters_have_needs_of_their_own() -> None:
    said = customer(PRICE)
    with pytest.raises(UsageError) as caught:
        said.introduce(Brief("CART", "我还想买手机壳", (PRICE,)))
    assert caught.value.code == "invalid_ledger"


def test_no_typing_errors_at_difficulty_0() -> None:
    """Case user-noise-d0: the words are those of a wording, letter by letter."""
    opening = customer(PRICE, language="zh").open().text
    assert f"{REQUEST}。" in opening


def test_draws_and_messages_decide_every_word() -> None:
    def played() -> list[str]:
        said = customer(PRICE, BRAND, RATING, pending="brand rating", revision=CHEAPER, d=9)
        return [
            said.open().text,
            *(said.answer(m).text for m in (OPEN_QUESTION, STATEMENT, "品牌？", "颜色呢？")),
        ]

    assert played() == played()
    other = Customer(Brief("PD", REQUEST, (PRICE,)), Draws("test", 2), axes(9), "zh")
    assert (
        other.open().text
        != Customer(Brief("PD", REQUEST, (PRICE,)), Draws("test", 4), axes(9), "zh").open().text
    )


def test_english() -> None:
    need = Need("p", "constraint", "a price of at most 30", frozenset({"price"}))
    color = Need("c", "constraint", "color: red", frozenset({"color"}))
    said = Customer(
        Brief("PD", "I need a phone case", (need, color), frozenset({"c"})), Draws("en"), axes(0), "en"
    )
    opening = said.open().text
    assert "I need a phone case. " in opening
    assert "a price of at most 30." in opening
    assert "one more detail" in opening
    assert "color: red." in said.answer("What color?").text
