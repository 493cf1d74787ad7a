"""Labels: what a text says of the facts that its task grades. Every expectation is read off the text."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from audit_cases import TASK_ID, axis, case, values

from pipelines.stages.annotation.protocol import Annotation
from pipelines.stages.audit.coverage import covered, said, size
from pipelines.stages.audit.labels import TaskLabels, label_case, read_labels, worst, write_labels

PERSONA = {"用户ID": "U1", "兴趣偏好": {"颜色": ["雾蓝"], "尺码": "XL"}}


def labels(mode: str = "standard", *args: Any, **fields: Any) -> TaskLabels:
    return next(row for row in label_case(case(*args, **fields)) if row.mode == mode)


@pytest.mark.parametrize(
    ("value", "text", "characters"),
    [
        ("雾蓝", "颜色要雾蓝", 2),
        ("雾蓝", "雾里的蓝", 0),  # no run of two
        ("雾蓝色", "要雾蓝的", 2),
        ("黑", "要黑色的", 1),  # a segment of one character
        ("5kg", "买15kg的", 0),
        ("5kg", "买5KG的", 3),
        ("20片装", "20片的", 2),  # the number with its unit; 片装 is not said
        ("20片装", "20元以内", 0),
        ("40*40cm", "40×40cm的", 7),
        ("两件装", "选2件装", 3),
        ("XL【送收纳袋】", "平时穿xl码", 2),
        ("————", "选“————”那一项", 4),
        ("————", "选那一项", 0),
        ("黑色", "不要黑色的，要白色", 0),
        ("黑色", "不要太花哨张扬的黑色", 2),  # what is refused ends before the colour
        ("", "什么都行", 0),
    ],
)
def test_characters_of_a_value_that_a_text_says(value: str, text: str, characters: int) -> None:
    assert covered(value, said([text])) == characters


def test_the_size_of_a_value_counts_words_and_numbers() -> None:
    assert size("20片装 (黑)") == 5
    assert size("————") == 4
    assert size("") == 0


@pytest.mark.parametrize(
    ("text", "option", "siblings", "label"),
    [
        ("要雾蓝的灯", "雾蓝", ("沙色",), "stated"),
        ("要一盏灯", "雾蓝", ("沙色",), "underivable"),
        ("要一盏灯", "雾蓝", (), "only_choice"),
        ("要雾蓝的灯", "雾蓝", (), "stated"),
        # The plain value says all of the text and adds nothing.
        ("要雾蓝的灯", "雾蓝", ("雾蓝 大号",), "stated"),
        ("要雾蓝的灯", "雾蓝 大号", ("雾蓝",), "underivable"),
        ("雾蓝，要大号", "雾蓝 大号", ("雾蓝", "沙色 大号"), "stated"),
        # What all values share decides nothing.
        ("要雾蓝的", "雾蓝【送运费险】", ("沙色【送运费险】",), "stated"),
        ("要送运费险的", "雾蓝【送运费险】", ("沙色【送运费险】",), "underivable"),
        ("要大号", "雾蓝 大号", ("沙色 大号",), "underivable"),
        # Said in one piece beats said in two.
        ("去屑也止痒，选丰盈蓬松", "丰盈蓬松", ("去屑止痒",), "stated"),
        ("要2XL", "2xl", ("xl", "3xl"), "stated"),
        ("要XL", "2xl", ("xl", "3xl"), "underivable"),
        ("雾蓝的", "不存在的", ("雾蓝",), "underivable"),
    ],
)
def test_an_option_is_stated_where_the_words_pick_it(
    text: str, option: str, siblings: tuple[str, ...], label: str
) -> None:
    own = siblings if option == "不存在的" else (option, *siblings)
    found = labels(text=text, options=[option], axes={"颜色": values(*own)})
    assert found.option_labels == (label,)


def test_labels_stand_in_the_order_of_the_goal() -> None:
    found = labels(
        text="要大号、防水的",
        options=["大号", "雾蓝"],
        attributes=["轻便", "防水"],
        axes={"颜色": values("雾蓝", "沙色"), "尺码": values("大号", "小号")},
    )
    assert found == TaskLabels(
        TASK_ID, "standard", ("stated", "underivable"), ("underivable", "stated"), "not_graded"
    )
    assert not found.derivable


def test_the_persona_decides_between_what_the_simple_text_leaves_open() -> None:
    fields: dict[str, Any] = {"options": ["雾蓝"], "axes": {"颜色": values("雾蓝", "沙色")}}
    assert labels("persona", "要雾蓝的灯", "要灯", persona=PERSONA, **fields).option_labels == (
        "persona_derivable",
    )
    assert labels("standard", "要雾蓝的灯", "要灯", persona=PERSONA, **fields).option_labels == ("stated",)
    both = {"颜色": ["雾蓝", "沙色"]}
    assert labels("persona", "要雾蓝的灯", "要灯", persona=both, **fields).option_labels == ("underivable",)
    # The text comes first: it asks for the other colour.
    assert labels("persona", "要雾蓝的灯", "要沙色的灯", persona=PERSONA, **fields).option_labels == (
        "underivable",
    )


def test_the_user_id_derives_nothing() -> None:
    """The projection takes it out, so what it says is not shown."""
    own = {"用户ID": "U1 雾蓝"}
    found = labels(
        "persona", "雾蓝的灯", "要灯", persona=own, options=["雾蓝"], axes={"颜色": values("雾蓝", "沙色")}
    )
    assert found.option_labels == ("underivable",)


def test_a_lost_symbol_is_labelled_by_the_value_that_it_stands_for() -> None:
    found = labels(text="要奶白的", options=["?奶白"], axes={"颜色": values("🌸奶白", "沙色")})
    assert found.option_labels == ("stated",)


def test_attributes_must_be_said_whole() -> None:
    fields: dict[str, Any] = {"attributes": ["防水", "客厅卧室", "加厚款"], "persona": {"功能": ["防水"]}}
    found = labels("persona", "都要", "客厅用，也放卧室，要加厚", **fields)
    assert found.attribute_labels == ("persona_derivable", "stated", "underivable")


@pytest.mark.parametrize(
    ("text", "upper", "label"),
    [
        ("预算15元以内", None, "stated"),
        ("预算15元以内", 15, "stated"),
        ("预算12元以内", 15, "stated"),  # who obeys 12 stays within 15
        ("预算30元以内", 15, "only_choice"),  # every choice costs 10 or 12
        ("预算30元以内", 11, "underivable"),  # 冷光 costs 12
        ("什么价都行", 11, "underivable"),
        ("什么价都行", None, "not_graded"),
    ],
)
def test_a_ceiling_is_stated_where_the_text_names_it_or_less(
    text: str, upper: float | None, label: str
) -> None:
    assert labels(text=text, price_upper=upper).budget_label == label


EVIDENCE = [
    # What was read, its kind, the simple text, the label of persona mode. 冷光 costs more than the ceiling.
    ("不出11个大洋", "hard_upper", "要灯，不出11个大洋", "stated"),
    ("不出10个大洋", "approximate_upper", "要灯，不出10个大洋左右", "stated"),
    ("不出11个大洋", "hard_upper", "要灯，便宜点", "underivable"),
    ("11", "hard_upper", "要110的灯", "underivable"),
    ("11", "hard_upper", "要11.5瓦的灯", "underivable"),
    ("11", "hard_upper", "要0.11瓦的灯", "underivable"),
    ("11", "hard_upper", "灯 11", "stated"),
    ("", "runtime_regex_fallback", "要灯", "underivable"),
]


@pytest.mark.parametrize(("evidence", "kind", "simple", "label"), EVIDENCE)
def test_what_the_annotation_read_is_stated_where_it_stands(
    evidence: str, kind: str, simple: str, label: str
) -> None:
    """Contract 7.7: derivable from what the mode shows. The full text says nothing here."""
    given = case("要灯，便宜点", simple, persona=PERSONA, price_upper=11)
    upper = None if kind == "runtime_regex_fallback" else Decimal(11)
    read = Annotation(kind, upper, evidence, "instruction_simple", upper)
    found = {row.mode: row.budget_label for row in label_case(given, read)}
    assert found == {"standard": "underivable", "persona": label}


def test_evidence_of_the_full_text_says_nothing_to_who_sees_the_simple_one() -> None:
    given = case("要灯，不出11个大洋", "要灯", persona=PERSONA, price_upper=11)
    read = Annotation("hard_upper", Decimal(11), "不出11个大洋", "instruction", Decimal(11))
    assert {row.mode: row.budget_label for row in label_case(given, read)} == {
        "standard": "stated",
        "persona": "underivable",
    }
    assert {row.budget_label for row in label_case(given)} == {"underivable"}


def test_a_ceiling_over_an_unknown_price_is_underivable() -> None:
    unknown = {"axes": {"颜色": axis(("暖光", None), ("冷光", None))}, "pricing": [10.0, 12.0]}
    assert labels(text="什么价都行", price_upper=20, **unknown).budget_label == "underivable"


def test_a_standard_task_has_no_labels_for_persona_mode() -> None:
    assert [row.mode for row in label_case(case())] == ["standard"]
    assert [row.mode for row in label_case(case("要灯", "要灯", persona={"城市": "远城"}))] == [
        "standard",
        "persona",
    ]


def test_the_worst_label() -> None:
    assert worst(["stated", "only_choice", "persona_derivable"]) == "only_choice"
    assert worst(["underivable", "stated"]) == "underivable"
    assert worst(["not_graded", "stated"]) == "stated"
    assert worst([]) == "not_graded"


def test_only_an_underivable_fact_spoils_a_task() -> None:
    assert TaskLabels(1, "standard", ("stated", "only_choice"), (), "not_graded").derivable
    assert TaskLabels(1, "persona", ("persona_derivable",), ("stated",), "stated").derivable
    assert not TaskLabels(1, "standard", (), ("underivable",), "stated").derivable
    assert not TaskLabels(1, "standard", (), (), "underivable").derivable


def test_the_table_comes_back_as_it_was_written(tmp_path: Path) -> None:
    rows = [
        TaskLabels(0, "standard", (), ("stated",), "not_graded"),
        TaskLabels(0, "persona", ("only_choice", "stated"), (), "underivable"),
    ]
    assert write_labels(tmp_path / "one.parquet", rows) == 2
    assert list(read_labels(tmp_path / "one.parquet")) == rows
    write_labels(tmp_path / "two.parquet", rows)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
