"""Evidence agrees with the score, and every flip flips its component when it is carried out."""

from dataclasses import replace
from decimal import Decimal
from itertools import product as all_of

from hypothesis import given
from hypothesis import strategies as st

from shopsim_env.catalog.product import Product
from shopsim_env.private import Goal
from shopsim_env.reward.evidence import explain_purchase
from shopsim_env.reward.total import score_purchase

REWARDS = {"type": "r_type", "attributes": "r_att", "options": "r_option", "price": "r_price"}
COLOURS = ("雾蓝", "沙色", "墨绿", "雾蓝+单灯", "XL", "XXL")
SETS = ("单灯", "双灯", "单灯 XL")
LEVELS = ("家居", "照明", "台灯", "户外")
TERMS = ("星野", "台灯", "便携", "夜读", "暖光", "触控", "折叠")
ATTRIBUTES = ("可充电", "防水5级", "防水6级", "折叠", "夜读")
PRICES = st.one_of(st.none(), st.sampled_from([0, 20, 35, 50]))


def value_list(texts):
    return st.lists(
        st.tuples(st.sampled_from(texts), PRICES), min_size=1, max_size=3, unique_by=lambda v: v[0]
    )


@st.composite
def products(draw):
    axes = {"颜色": draw(value_list(COLOURS))}
    if draw(st.booleans()):
        axes["套装"] = [(value, None) for value, _ in draw(value_list(SETS))]
    record = {
        "asin": str(draw(st.integers(1, 2))),
        "title": "灯",
        "category": "›".join(draw(st.lists(st.sampled_from(LEVELS), max_size=3))),
        "attribute": draw(st.lists(st.sampled_from(ATTRIBUTES), max_size=3)),
        "customization_options": {
            axis: [
                {"value": text} if price is None else {"value": text, "price": price} for text, price in row
            ]
            for axis, row in axes.items()
        },
        "pricing": draw(st.sampled_from([[], [20], [20, 50]])),
    }
    return Product.from_record(record, tuple(draw(st.lists(st.sampled_from(TERMS), unique=True))))


@st.composite
def purchases(draw):
    bought, gold = draw(products()), draw(products())
    goal = Goal(
        task_id=1,
        task_uid="u",
        product=gold,
        instruction="",
        instruction_simple="",
        attributes=tuple(draw(st.lists(st.sampled_from(ATTRIBUTES), max_size=3))),
        options=tuple(draw(st.lists(st.sampled_from(COLOURS + SETS), max_size=3))),
        budget_kind="",
        budget_upper=draw(st.sampled_from([None, Decimal(10), Decimal(30), Decimal(40)])),
        has_persona=False,
    )
    selected = {axis.name: draw(st.sampled_from(axis.values)).public for axis in bought.axes}
    return bought, selected, goal, draw(st.sampled_from(["anchored", "paper"]))


@given(purchases())
def test_every_flip_flips_its_component_alone_where_a_buyer_can_do_it(purchase):
    bought, selected, goal, rule = purchase
    detail = score_purchase(bought, selected, goal, option_match=rule)
    for component in explain_purchase(bought, selected, goal, option_match=rule).components:
        assert component.reward == getattr(detail, REWARDS[component.name])
        if component.flip is not None:
            changed = carry_out(bought, selected, goal, component.flip, rule)
            assert (changed[REWARDS[component.name]] == 1) != component.met


@given(purchases())
def test_option_flips_are_the_smallest(purchase):
    bought, selected, goal, rule = purchase
    options = explain_purchase(bought, selected, goal, option_match=rule).components[2]
    names = [axis.name for axis in bought.axes]
    fewest = None
    for values in all_of(*([value.public for value in axis.values] for axis in bought.axes)):
        chosen = dict(zip(names, values, strict=True))
        score = score_purchase(bought, chosen, goal, option_match=rule)
        if (score.r_option == 1) != options.met:
            size = sum(chosen[name] != selected[name] for name in names)
            fewest = size if fewest is None else min(fewest, size)
    assert (None if options.flip is None else len(options.flip)) == fewest


def carry_out(bought, selected, goal, flip, rule):
    """The rewards after the changes."""
    for change in flip:
        if change.action == "choose":
            selected = {**selected, change.where: change.text}
        elif change.action == "ceiling_below":
            ceiling = Decimal(1) if change.amount is None else change.amount - 1
            goal = replace(goal, budget_upper=ceiling)
        else:
            bought = CHANGES[change.action](bought, change)
    return score_purchase(bought, selected, goal, option_match=rule).as_dict()


def add_attribute(product, change):
    return replace(product, attributes=(*product.attributes, change.text))


def remove_attribute(product, change):
    kind, number = change.where.split()
    assert kind == "attribute"  # these products have no other texts
    kept = [text if place != int(number) else "" for place, text in enumerate(product.attributes)]
    return replace(product, attributes=tuple(kept))


def add_level(product, change):
    return replace(product, category=f"{product.category}›{change.text}")


def remove_level(product, change):
    levels = [text for text in product.category.split("›") if text != change.text]
    return replace(product, category="›".join(levels))


def toggle_term(product, change):
    return replace(product, title_nouns=tuple(sorted({*product.title_nouns} ^ {change.text})))


def at_price(product, price):
    return replace(product, axes=(), listing=(price,))


CHANGES = {
    "add_attribute": add_attribute,
    "remove_attribute": remove_attribute,
    "add_level": add_level,
    "remove_level": remove_level,
    "add_term": toggle_term,
    "remove_term": toggle_term,
    "price_up_to": lambda product, change: at_price(product, change.amount),
    "price_above": lambda product, change: at_price(product, change.amount + 1),
}
