"""CART: grading of carts worked out by hand, what the customer says of them, and what a guess is worth."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction

import pytest
from rlve_world import sample_market

from shopsim_env.rlve.customer.needs import Remark
from shopsim_env.rlve.difficulty import axes, task_axes
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.envs.base import Heard, Setting, ToolRecord
from shopsim_env.rlve.envs.cart import CartBuilding
from shopsim_env.rlve.envs.cart_items import Item
from shopsim_env.rlve.envs.visits import Visited, Wanted, choose_visits
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.overlay import Order, OrderLine, Overlay, Variant
from shopsim_env.rlve.protocol import Answer, Call
from shopsim_env.rlve.tools import run_tool

COLORS = ("black", "white", "red")
DONE = Answer(done=True)
HEARD, UNHEARD = Heard(revised=True), Heard()


@pytest.fixture(scope="module")
def market() -> Iterator[Market]:
    with sample_market() as opened:
        yield opened


@pytest.fixture
def setting(market: Market) -> Setting:
    # No stock-outs and no omission at d = 0.
    level, draws = axes(0, {"p_missing": 0.0}), Draws("cart test")
    return Setting(Overlay(market.shelf, level, draws), market.pools, level, task_axes(0), draws, 0)


@pytest.fixture
def visited(setting: Setting) -> list[Visited]:
    return choose_visits(setting.pools, setting.draws, Wanted(3, 2, 6, 0.2), setting.overlay.stock)


def variants(setting: Setting, number: int) -> tuple[Variant, ...]:
    """Three colours with known ids; stock for five."""
    pool = {item.name: item.value for item in setting.families["color"].pool}
    made = tuple(Variant(f"v_{number}_{name}", "color", pool[name], name, 1000, 5) for name in COLORS)
    setting.overlay.variants[number] = made
    setting.overlay.stock.force(number, 9)
    return made


def goal(
    setting: Setting, visited: Sequence[Visited], wants: Sequence[tuple[int, int, int | None]]
) -> CartBuilding:
    """Items as (units, units before a change of mind, place of the variant)."""
    items = []
    for one, (units, before, at) in zip(visited, wants, strict=False):
        made = variants(setting, one.good.number)
        if at is None:
            setting.overlay.variants[one.good.number] = ()
        items.append(Item(one, None if at is None else made[at], units, before))
    setting.overlay.visits = tuple(good.number for one in visited for good in (one.good, *one.others))
    return CartBuilding(setting, items)


def put(setting: Setting, number: int, units: int, variant: Variant | None = None) -> ToolRecord:
    """Adds to the cart as the agent would."""
    args: dict[str, object] = {"product_id": setting.overlay.show(number, "history"), "quantity": units}
    if variant is not None:
        args["variant_id"] = variant.id
    return ToolRecord("cart.add", args, run_tool(setting.overlay, Call("cart.add", args)))


def said(task: CartBuilding, *records: ToolRecord) -> Remark:
    remark = task.remark(records)
    assert remark is not None
    return remark


def test_the_published_cart_of_d_4_is_exact(setting: Setting, visited: list[Visited]) -> None:
    # Two chargers with USB-C and one matte black case.
    task = goal(setting, visited[:2], [(2, 2, 0), (1, 1, 1)])
    charger, case = (one.good.number for one in visited[:2])
    put(setting, charger, 2, setting.overlay.variants[charger][0])
    put(setting, case, 1, setting.overlay.variants[case][1])
    score = task.grade(DONE, UNHEARD)
    assert (score.score, score.success, score.parts["first_try"]) == (1.0, True, 1.0)
    assert (score.parts["matched"], score.parts["held"], score.parts["required"]) == (3, 3, 3)


def test_the_published_cart_of_d_8_scores_exactly_0(setting: Setting, visited: list[Visited]) -> None:
    # Charger right, fryer in a wrong variant, three tops in a wrong size, two right: 3 of 7 held, 5 wanted.
    task = goal(setting, visited, [(1, 1, 0), (1, 1, 0), (3, 3, 0)])
    charger, fryer, top = (one.good.number for one in visited)
    put(setting, charger, 1, setting.overlay.variants[charger][0])
    put(setting, fryer, 1, setting.overlay.variants[fryer][1])
    put(setting, top, 3, setting.overlay.variants[top][1])
    put(setting, top, 2, setting.overlay.variants[top][0])
    score = task.grade(DONE, UNHEARD)
    assert (score.score, score.success) == (0.0, False)
    assert (score.parts["matched"], score.parts["held"], score.parts["required"]) == (3, 7, 5)


def test_without_an_answer_a_whole_cart_is_worth_nothing(setting: Setting, visited: list[Visited]) -> None:
    task = goal(setting, visited[:1], [(1, 1, None)])
    put(setting, visited[0].good.number, 1)
    assert task.grade(None, UNHEARD).score == -1
    assert task.grade(DONE, UNHEARD).success


def test_what_was_bought_counts_after_a_checkout(setting: Setting, visited: list[Visited]) -> None:
    task = goal(setting, visited[:2], [(2, 2, 2), (1, 1, None)])
    first, second = (one.good.number for one in visited[:2])
    put(setting, first, 2, setting.overlay.variants[first][2])
    put(setting, second, 1)
    account = setting.overlay.account
    args = {"shipping_address_id": account.address_id, "payment_method_id": account.payment_id}
    assert "error" not in run_tool(setting.overlay, Call("order.checkout", args))
    assert not setting.overlay.cart.lines
    assert task.grade(DONE, UNHEARD).success


def test_a_bought_line_of_a_wrong_variant_is_wrong(setting: Setting, visited: list[Visited]) -> None:
    task = goal(setting, visited[:1], [(1, 1, 0)])
    number = visited[0].good.number
    line = OrderLine("o_1", number, "t", "white", 1, 1000)
    setting.overlay.checkout.append(Order("o", date(2026, 1, 1), "CONFIRMED", None, None, (line,), "a", "p"))
    assert task.grade(DONE, UNHEARD).score == -1


def test_a_change_of_mind_counts_once_it_was_said(setting: Setting, visited: list[Visited]) -> None:
    task = goal(setting, visited[:1], [(3, 1, None)])
    revision = task.brief.revision
    assert revision is not None
    assert [need.data for need in task.brief.needs if need.kind == "quantity"] == [{"quantity": 1}]
    assert (revision.need.id, revision.need.data) == ("i0.units", {"quantity": 3})
    put(setting, visited[0].good.number, 3)
    assert task.grade(DONE, HEARD).success
    # One wanted, three held: F1 = 2·1 / (3 + 1) = 1/2, score 0.
    assert task.grade(DONE, UNHEARD).score == 0


def test_a_wrong_variant_is_the_first_thing_that_is_said(setting: Setting, visited: list[Visited]) -> None:
    task = goal(setting, visited, [(1, 1, 0), (2, 2, None), (1, 1, None)])
    first, second, _ = (one.good.number for one in visited)
    few = put(setting, second, 1)
    wrong = put(setting, first, 1, setting.overlay.variants[first][1])
    remark = said(task, few, wrong)
    assert (remark.act, remark.satisfaction) == ("correct", 0.0)
    assert "第1款" in remark.text
    assert "白色" in remark.text
    # The opening said black.
    assert "黑色" in remark.text
    assert task.grade(DONE, UNHEARD).parts["first_try"] == 0


def test_a_correction_does_not_name_what_was_left_out(setting: Setting, visited: list[Visited]) -> None:
    level = replace(setting.axes, p_missing=1.0)
    task = goal(replace(setting, axes=level), visited[:1], [(2, 2, 0)])
    number = visited[0].good.number
    assert "i0.variant" in task.brief.pending
    wrong = said(task, put(setting, number, 2, setting.overlay.variants[number][1]))
    assert "白色" in wrong.text
    assert "黑色" not in wrong.text
    setting.overlay.cart.clear()
    fewer = said(task, put(setting, number, 1, setting.overlay.variants[number][0]))
    assert "少了" in fewer.text
    assert "2" not in fewer.text


def test_too_few_come_before_too_many_and_these_before_what_should_not_be_there(
    setting: Setting, visited: list[Visited]
) -> None:
    task = goal(setting, visited[:2], [(1, 1, None), (2, 2, None)])
    first, second = (one.good.number for one in visited[:2])
    many, few = put(setting, first, 2), put(setting, second, 1)
    assert said(task, many, few).text.startswith("第2款的数量少了")
    assert said(task, put(setting, second, 1)).text.startswith("第1款的数量多了")
    setting.overlay.cart.set_quantity("line_001", 1)
    surplus = next(good for good in visited[0].others if setting.overlay.stock.in_stock(good.number))
    remark = said(task, put(setting, surplus.number, 1))
    assert "没有要" in remark.text
    # Both items are right by now.
    assert remark.satisfaction == 1.0


def test_half_a_cart_is_no_mistake_and_a_whole_one_is_confirmed(
    setting: Setting, visited: list[Visited]
) -> None:
    task = goal(setting, visited[:2], [(1, 1, None), (2, 2, None)])
    first, second = (one.good.number for one in visited[:2])
    assert task.remark([put(setting, first, 1)]) is None
    assert task.remark([ToolRecord("cart.view", {}, {})]) is None
    remark = said(task, put(setting, second, 2))
    assert (remark.act, remark.satisfaction) == ("confirm", 1.0)
    assert task.grade(DONE, UNHEARD).parts["first_try"] == 1


def test_a_refused_call_touches_nothing(setting: Setting, visited: list[Visited]) -> None:
    task = goal(setting, visited[:1], [(1, 1, None)])
    record = put(setting, visited[0].good.number, 900)
    assert "error" in record.result
    assert task.remark([record]) is None


def test_ids_that_were_named_to_the_cart_are_used(setting: Setting, visited: list[Visited]) -> None:
    task = goal(setting, visited[:1], [(1, 1, None)])
    run_tool(setting.overlay, Call("cart.add", {"product_id": "p_guessed"}))
    assert list(task.used(DONE).carted) == ["p_guessed"]


def test_the_chance_of_a_guess_is_that_of_unread_descriptions(
    setting: Setting, visited: list[Visited]
) -> None:
    """For each item any visited product of its category in stock, whatever its variants and units."""
    rows = [one.good for one in visited[:2]] + [good for one in visited[:2] for good in one.others]

    def offered(one: Visited) -> int:
        category = one.pool.category
        return sum(
            category.number <= good.category <= category.last and setting.overlay.stock.in_stock(good.number)
            for good in rows
        )

    alone = sum(setting.overlay.stock.in_stock(good.number) for good in (visited[0].good, *visited[0].others))
    assert goal(setting, visited[:1], [(1, 1, 0)]).forced_chance() == Fraction(1, alone)
    first, second = (offered(one) for one in visited[:2])
    both = goal(setting, visited[:2], [(1, 1, None), (2, 2, None)])
    assert both.forced_chance() == Fraction(1, first * second)


def test_a_product_that_was_not_asked_for_is_final(setting: Setting, visited: list[Visited]) -> None:
    """Trying one product after the other needs no description: what was corrected once is no success."""
    number, other = visited[0].good.number, visited[0].others[0].number
    task = goal(setting, visited[:1], [(1, 1, None)])
    assert said(task, put(setting, other, 1)).act == "correct"
    setting.overlay.cart.clear()
    said(task, put(setting, number, 1))
    score = task.grade(DONE, UNHEARD)
    assert (score.score, score.success) == (1.0, False)


def test_english_words(market: Market, visited: list[Visited]) -> None:
    level, draws = axes(0, {"p_missing": 0.0}), Draws("cart test")
    overlay = Overlay(market.shelf, level, draws, language="en")
    english = Setting(overlay, market.pools, level, task_axes(0), draws, 0)
    task = goal(english, visited[:1], [(2, 2, 0)])
    number = visited[0].good.number
    assert task.brief.request.startswith("please put one of the products that I looked at into the cart")
    wrong = said(task, put(english, number, 1, overlay.variants[number][1]))
    assert wrong.text == "the product is the wrong variant, this is the white one, I want the black one"
    overlay.cart.clear()
    fewer = said(task, put(english, number, 1, overlay.variants[number][0]))
    assert fewer.text == "there are too few of the product, I want 2"
