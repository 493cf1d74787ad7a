"""Reason codes, family by family: what has a code, and what looks like it and has none."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from audit_cases import TASK_ID, axis, case, codes_of, only, record, values
from raw_records import instruction, product

from pipelines.stages.annotation.protocol import Annotation
from pipelines.stages.audit.codes import CODES, QUARANTINE
from pipelines.stages.audit.duplicates import instruction_findings, product_findings
from pipelines.stages.audit.findings import Finding, quarantine_codes, read_findings, write_findings
from pipelines.stages.audit.labels import TaskLabels
from pipelines.stages.audit.money import listing_findings, money_findings
from pipelines.stages.audit.options import axis_prices, is_no_goods, option_findings
from pipelines.stages.audit.personas import persona_findings
from pipelines.stages.audit.public import public_marks
from pipelines.stages.audit.run import counts_by_split, run_audit
from pipelines.stages.audit.targets import target_findings
from pipelines.stages.human_exclusions import Exclusion
from shopsim_env.catalog.product import Product


def item(**changes: Any) -> Product:
    return Product.from_record(product(**changes))


def on_options(**axes: Any) -> list[str]:
    return codes_of(option_findings(item(customization_options=axes)))


def test_the_table_of_codes_is_closed_and_says_what_each_means() -> None:
    assert all(code.name == name and len(code.meaning) > 10 for name, code in CODES.items())
    assert {code.subject for code in CODES.values()} == {"product", "task", "either"}
    assert {code.severity for code in CODES.values()} == {"quarantine", "note"}
    public = {name for name, code in CODES.items() if code.public}
    # Codes about texts alone; a code about the gold product would narrow it down.
    assert public == {
        "unit_price", "deposit", "budget_ambiguous", "budget_conflict", "near_duplicate_instruction",
        "human_exclusion",
    }  # fmt: skip


def test_a_sound_product_and_task_have_no_code() -> None:
    given = record()
    assert run_audit([given], [given], {}) == []


def test_two_price_axes_with_their_prices() -> None:
    axes = {"颜色": axis(("红", 1.5), ("蓝", 2)), "尺码": axis(("大", 9), ("小", 3), ("中", 9))}
    found = only(option_findings(item(customization_options=axes)))
    assert (found.code, found.task_id, found.asin) == ("multi_price_axes", None, "700000000021")
    assert found.evidence["found"] == [
        {"axis": "颜色", "values": 2, "distinct_prices": 2, "prices": [1.5, 2.0]},
        {"axis": "尺码", "values": 3, "distinct_prices": 2, "prices": [3.0, 9.0]},
    ]
    assert on_options(颜色=axis(("红", 1), ("蓝", 2)), 尺码=axis(("大", 9), ("小", 9))) == []


def test_values_that_a_buyer_cannot_tell_apart() -> None:
    assert on_options(颜色=axis(("红/A", 5), ("红｜a", 5))) == ["value_collision"]
    assert on_options(颜色=axis(("红", 5), ("红", 6), ("蓝", 5))) == ["value_collision"]
    assert on_options(颜色=axis(("红", 5), ("红", 5))) == [], "the same entry twice harms nobody"
    assert on_options(颜色=axis(("红", 5)), 尺码=axis(("红", 5))) == [], "on two axes"


def test_axes_and_values_without_text() -> None:
    assert on_options(颜色=[]) == ["empty_axis"]
    assert on_options(**{" ": axis(("红", 5))}) == ["empty_axis"]
    assert on_options(颜色=axis(("红", 5), (" ", 5))) == ["empty_value"]
    assert on_options(颜色=axis((" ", 5))) == ["empty_axis", "empty_value"]


@pytest.mark.parametrize(
    "value",
    [
        "其他尺寸请咨询客服",
        "补差价专用链接",
        "————————",
        "一一一一一一",
        "定制请联系我们",
        "此项勿拍",
        "下单前请看好接口",
        "色差介意慎拍",
    ],
)
def test_notices_are_no_goods(value: str) -> None:
    assert is_no_goods(value)


@pytest.mark.parametrize(
    "value",
    [
        "雾蓝",
        "送运费险",
        "自拍杆 黑色",
        "客厅款",
        "三号【介意勿拍】",
        "图案款（备注图案）",
        "60°以上",
        "定制款",
        "A++",
        "XXXL",
        "",
    ],
)
def test_goods_are_goods(value: str) -> None:
    assert not is_no_goods(value)


@pytest.mark.parametrize(
    ("pricing", "prices", "code"),
    [
        ([0.0, 26.0], (10, 26), True),
        ([10.0, 26.0], (1, 26), True),
        ([10.0, 59999.0], (10, 12), False),
        ([10.0, 99999.0], (10, 12), True),
        ([999.0], (999, 999), False),
        ([10.0, 26.0], (10, 26), False),
    ],
)
def test_prices_that_nobody_pays(pricing: list[float], prices: tuple[int, int], code: bool) -> None:
    axes = {"颜色": axis(("暖光", prices[0]), ("冷光", prices[1]))}
    found = codes_of(listing_findings(item(pricing=pricing, customization_options=axes)))
    assert found == (["placeholder_listing"] if code else [])


def test_prices_per_axis_are_distinct_ascending_and_at_most_twenty() -> None:
    axes = {"颜色": axis(*((f"色{n}", 100 - n) for n in range(30)), ("白", None))}
    (shown,) = axis_prices(item(customization_options=axes))
    assert (shown["values"], shown["distinct_prices"], len(shown["prices"])) == (31, 30, 20)
    assert shown["prices"][:2] == [71.0, 72.0]


def test_targets_that_the_product_has_not() -> None:
    assert codes_of(target_findings(case(options=["烛光"]))) == ["gold_option_missing"]
    assert codes_of(target_findings(case(attributes=["遥控"]))) == ["gold_attribute_missing"]
    assert codes_of(target_findings(case(attributes=["营地灯"]))) == [], "the title shows it"


def test_lost_symbols() -> None:
    one = {"颜色": values("🌸奶白", "沙色")}
    assert codes_of(target_findings(case(options=["?奶白"], axes=one))) == ["gold_option_lost_emoji"]
    two = {"颜色": values("🌸奶白", "⭐奶白")}
    found = list(target_findings(case(options=["?奶白"], axes=two)))
    assert codes_of(found) == ["gold_option_lost_emoji", "gold_option_ambiguous"]
    assert found[1].evidence["values"] == ["⭐奶白", "🌸奶白"]
    none = {"颜色": values("奶黄", "沙色")}
    assert codes_of(target_findings(case(options=["?奶白"], axes=none))) == ["gold_option_missing"]
    own = {"颜色": values("奶白?", "沙色")}
    assert codes_of(target_findings(case(options=["奶白?"], axes=own))) == [], "the value has the mark itself"


def test_targets_that_cannot_be_chosen_together() -> None:
    axes = {"颜色": values("雾蓝", "沙色"), "尺码": values("大号", "小号")}
    both = case(options=["雾蓝", "沙色"], axes=axes)
    assert codes_of(target_findings(both)) == ["gold_options_collide"]
    assert codes_of(target_findings(case(options=["雾蓝", "大号"], axes=axes))) == []


def test_a_wanted_notice() -> None:
    axes = {"颜色": values("暖光", "补差价专用链接")}
    found = only(target_findings(case(options=["补差价专用链接"], axes=axes)))
    assert (found.code, found.task_id) == ("option_is_no_goods", TASK_ID)


def test_blank_and_empty_targets() -> None:
    assert codes_of(target_findings(case(attributes=[" "]))) == ["blank_attributes"]
    assert codes_of(target_findings(case(attributes=["防水", ""]))) == ["blank_attributes"]
    assert codes_of(target_findings(case(attributes=[]))) == ["attributes_empty"]
    assert codes_of(target_findings(case(options=["暖光", ""]))) == ["blank_options"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("单价在20块钱左右", "unit_price"),
        ("每平方米价格一千元上下", "unit_price"),
        ("可以给500元定金", "deposit"),
        ("首付500元", "deposit"),
        ("预算几百块", "budget_ambiguous"),
        ("预算15元以内", ""),
        ("价格不低于5元", ""),
        ("随便", ""),
    ],
)
def test_budgets_that_are_no_ceiling_for_the_purchase(text: str, code: str) -> None:
    found = list(money_findings(case(text), None))
    assert codes_of(found) == ([code] if code else [])
    if found:
        assert found[0].evidence["parser"] in text


def test_what_an_annotator_said_counts_too() -> None:
    said = Annotation("non_total_price", None, "每盏20元", "instruction", None)
    found = only(money_findings(case("随便"), said))
    assert (found.code, found.evidence) == ("unit_price", {"annotation": "每盏20元"})
    fallback = Annotation("runtime_regex_fallback", None, "", "runtime_regex", None, "instruction")
    assert list(money_findings(case("随便"), fallback)) == []


def test_texts_that_name_different_ceilings() -> None:
    found = only(money_findings(case("预算30元以内", "预算20元以内", persona={"城市": "远城"}), None))
    assert (found.code, found.evidence) == ("budget_conflict", {"simple": 20.0, "full": 30.0})
    # 20 around is 22, and so is 22 within.
    same = case("预算22元以内", "预算20元左右", persona={"城市": "远城"})
    assert list(money_findings(same, None)) == []
    assert list(money_findings(case("预算30元以内", "要灯", persona={"城市": "远城"}), None)) == []


def test_prices_that_miss_the_ceiling() -> None:
    above = only(money_findings(case("预算8元以内"), None))
    assert (above.code, above.evidence["price"], above.evidence["ceiling"]) == (
        "gold_above_budget",
        10.0,
        8.0,
    )
    zero = {"颜色": axis(("暖光", 0), ("冷光", 12))}
    assert codes_of(money_findings(case(axes=zero), None)) == ["placeholder_price"]
    unknown = {"颜色": axis(("暖光", None), ("冷光", None))}
    assert codes_of(money_findings(case(axes=unknown), None)) == ["unverifiable_price"]
    assert list(money_findings(case("什么价都行", axes=unknown), None)) == [], "nobody asks for the price"


def test_a_missing_option_has_no_price_code() -> None:
    assert list(money_findings(case("预算8元以内", options=["烛光"]), None)) == []


OPTION = {"颜色": values("雾蓝色磨砂款", "沙色")}


@pytest.mark.parametrize(
    ("keywords", "simple", "code"),
    [
        (["雾蓝色磨砂款的灯"], "要灯", "persona_leak_option"),
        (["雾蓝色磨"], "要灯", "persona_leak_short"),
        (["雾蓝色"], "要灯", ""),
        (["雾蓝色磨"], "要雾蓝色磨砂款", ""),  # the simple text says it
        (["星野牌可充电露营灯推荐"], "要灯", "persona_leak_long"),
        (["星野牌可", "充电露营"], "要灯", "persona_leak_short"),
    ],
)
def test_what_the_persona_gives_away_is_graded_by_its_span(
    keywords: list[str], simple: str, code: str
) -> None:
    found = list(
        persona_findings(
            case(
                "雾蓝色磨砂款",
                simple,
                options=["雾蓝色磨砂款"],
                axes=OPTION,
                persona={"最近14天搜索关键词": keywords},
                title="星野牌可充电露营灯",
            )
        )
    )
    assert codes_of(found) == ([code] if code else [])


def test_the_length_of_the_longest_span() -> None:
    found = only(
        persona_findings(case("灯", "灯", persona={"词": ["买星野牌可充电露营"]}, title="星野牌可充电露营灯"))
    )
    assert found.evidence == {"span": "星野牌可充电露营", "characters": 8}


def test_a_user_id_with_the_gold_id() -> None:
    own = case("灯", "灯", persona={"用户ID": "U700000000021, "})
    assert codes_of(persona_findings(own)) == ["persona_id_is_gold"]
    assert codes_of(persona_findings(case("灯", "灯", persona={"用户ID": "U8"}))) == []
    assert codes_of(persona_findings(case())) == [], "no persona"


def test_near_duplicate_titles_and_categories() -> None:
    titles = {
        "1": ("星野牌可充电露营灯户外照明灯具", "户外›照明›营地灯"),
        "2": ("星野牌可充电露营灯户外照明灯具", "户外›照明›头灯"),
        "3": ("星野牌可充电露营灯户外照明灯", "家居›灯具›台灯"),
        "4": ("竹制杯垫四只装隔热垫", "家居›餐具"),
    }
    found = list(product_findings(titles))
    assert [(one.code, one.asin) for one in found] == [("near_duplicate_product", n) for n in "123"]
    # 15 and 14 characters: 13 and 12 triples, 12 of them shared.
    assert found[0].evidence["products"] == [
        {"asin": "2", "likeness": 1.0},
        {"asin": "3", "likeness": round(12 / 13, 4)},
    ]
    titles["2"] = (titles["2"][0], "家居›灯具›台灯")
    conflicts = [one for one in product_findings(titles) if one.code == "category_conflict"]
    assert [one.asin for one in conflicts] == ["1", "2"]


def test_near_duplicate_instructions() -> None:
    text = "想买一盏防水的营地灯要暖光预算一百元以内最好轻便"
    cases = []
    for number, words in enumerate((text, text[:-2] + "好用", "竹制杯垫四只")):
        given = record(asin=f"70000000000{number}", instructions=[instruction(words)])
        given["instructions"][0]["task_id"] = number
        from pipelines.stages.audit.cases import iter_cases

        cases += iter_cases([given])
    found = list(instruction_findings(cases))
    # 24 characters: 22 triples each; the last two differ, so 20 are shared of 24.
    assert [(one.task_id, one.evidence) for one in found] == [
        (0, {"tasks": [{"task_id": 1, "likeness": round(20 / 24, 4)}]}),
        (1, {"tasks": [{"task_id": 0, "likeness": round(20 / 24, 4)}]}),
    ]


def test_a_human_list_quarantines_products_and_tasks() -> None:
    given = record()
    human = [
        ("700000000021", Exclusion(asin="700000000021", reason="recalled", author="a person")),
        ("700000000021", Exclusion(task=TASK_ID, reason="wrong text", author="a person")),
    ]
    found = run_audit([given], [given], {}, human)
    assert [(one.code, one.task_id, one.evidence["reason"]) for one in found] == [
        ("human_exclusion", None, "recalled"),
        ("human_exclusion", TASK_ID, "wrong text"),
    ]
    assert quarantine_codes(found, {TASK_ID: "700000000021", 8: "1"}) == {TASK_ID: ("human_exclusion",)}


FOUND = [
    Finding("value_collision", "1", None, {}),
    Finding("empty_value", "2", None, {}),
    Finding("unit_price", "2", 20, {"parser": "每盏5元"}),
    Finding("blank_attributes", "3", 30, {}),
]
GOLD = {10: "1", 20: "2", 30: "3", 40: "4"}


def test_quarantine_follows_from_own_codes_and_those_of_the_product() -> None:
    assert quarantine_codes(FOUND, GOLD) == {10: ("value_collision",), 20: ("unit_price",)}
    assert {one.code for one in FOUND if one.quarantines} == {"value_collision", "unit_price"}
    assert CODES["value_collision"].severity == QUARANTINE


def test_counts_by_split_count_tasks() -> None:
    counts = counts_by_split(FOUND, {"a": [10, 20], "b": [30, 40], "c": []}, GOLD)
    assert counts == {
        "a": {"value_collision": 1, "empty_value": 1, "unit_price": 1},
        "b": {"blank_attributes": 1},
        "c": {},
    }


def test_public_marks_of_a_persona_task_rest_on_no_private_text() -> None:
    """Its full text is private: nothing of standard mode, no code that reads it; what a person said stays."""
    found = [
        Finding("budget_conflict", "1", 10, {}),
        Finding("near_duplicate_instruction", "1", 10, {}),
        Finding("human_exclusion", "1", 10, {}),
        Finding("budget_conflict", "1", 11, {}),
    ]
    rows = [
        TaskLabels(10, "standard", ("stated",), ("stated",), "stated"),
        TaskLabels(10, "persona", ("underivable",), (), "only_choice"),
    ]
    assert public_marks(found, rows, [10]) == {
        10: [
            "quarantined",
            "code:human_exclusion",
            "persona/options=underivable",
            "persona/attributes=not_graded",
            "persona/budget=only_choice",
        ],
        11: ["code:budget_conflict"],
    }


def test_public_marks_hold_no_code_about_product_or_persona() -> None:
    labels = [TaskLabels(20, "standard", ("stated", "only_choice"), (), "stated")]
    assert public_marks(FOUND, labels, [10, 20]) == {
        10: ["quarantined"],
        20: [
            "quarantined",
            "code:unit_price",
            "standard/options=only_choice",
            "standard/attributes=not_graded",
            "standard/budget=stated",
        ],
    }


def test_findings_come_back_in_the_order_of_the_table(tmp_path: Path) -> None:
    assert write_findings(tmp_path / "audit.parquet", FOUND[::-1]) == 4
    assert [(one.code, one.asin, one.task_id) for one in read_findings(tmp_path / "audit.parquet")] == [
        ("value_collision", "1", None),
        ("empty_value", "2", None),
        ("unit_price", "2", 20),
        ("blank_attributes", "3", 30),
    ]


def test_neither_cases_nor_findings_print_what_they_hold() -> None:
    own = case("暖光的暗号")
    assert "暗号" not in repr(own)
    assert "每盏" not in repr(FOUND[2])
    assert own.goal.budget_upper is None
    assert case("预算20元左右").goal.budget_upper == Decimal("22")
