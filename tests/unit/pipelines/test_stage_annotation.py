"""Annotation protocol, two-stage resolution and the recorded audit file."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from raw_records import axis, instruction, persona_product, product, raw_rows

from pipelines.errors import ArtifactError
from pipelines.stages.annotation.audit_file import audit_json, check_audit, read_audit
from pipelines.stages.annotation.persona_tasks import PersonaTask, persona_tasks
from pipelines.stages.annotation.protocol import (
    Annotation,
    AnnotationError,
    AnnotationRequest,
    fallback_annotation,
    validate_answer,
)
from pipelines.stages.annotation.resolution import AuditRecord, missing_field, resolve, resolve_all
from pipelines.stages.task_ids import assign_task_ids

SIMPLE, FULL = "instruction_simple", "instruction"


def answer(text: str, kind: str, amount: Any, evidence: Any, task_id: Any = 5) -> Annotation:
    request = AnnotationRequest(5, SIMPLE, text)
    return validate_answer(
        {"task_id": task_id, "kind": kind, "amount": amount, "evidence": evidence}, request
    )


def task(task_id: int = 9, simple: str = "营地灯", full: str = "营地灯，预算200元以内") -> PersonaTask:
    return PersonaTask(task_id, f"shopsim-{task_id}", task_id, str(700 + task_id), simple, full)


def made(kind: str, upper: int | None = None, field: str = SIMPLE) -> Annotation:
    amount = None if upper is None else Decimal(upper)
    return Annotation(kind, amount, "x", field, amount)


# --- one answer ---


@pytest.mark.parametrize(
    ("text", "kind", "amount", "evidence", "upper", "multiplier"),
    [
        ("预算150元左右", "approximate_upper", 150, "预算150元左右", 165.0, 1.1),
        ("预算150元以内", "hard_upper", 150, "预算150元以内", 150.0, None),
        ("预算99元左右", "approximate_upper", 99, "99元左右", 108.9, 1.1),
        ("预算60-75元左右", "hard_upper", 75, "预算60-75元左右", 75.0, None),
        ("大概0.123456789元", "approximate_upper", 0.123456789, "大概0.123456789元", 0.13580247, 1.1),
        ("预算150元以内", "hard_upper", "150", "150元", 150.0, None),
        ("想买个灯", "no_budget", None, "", None, None),
        ("单价不超过15元", "non_total_price", None, "单价不超过15元", None, None),
        ("至少10元", "lower_only", None, "至少10元", None, None),
        ("十元或百元", "ambiguous", None, "十元或百元", None, None),
    ],
)
def test_valid_answers_get_their_ceiling_from_code(
    text: str, kind: str, amount: Any, evidence: str, upper: float | None, multiplier: float | None
) -> None:
    record = answer(text, kind, amount, evidence).as_record()
    assert record == {
        "kind": kind,
        "amount": None if amount is None else float(amount),
        "evidence": evidence,
        "source_field": SIMPLE,
        "price_upper": upper,
        "annotation_version": "qwen-persona-price-upper-v3",
        "approximate_upper_multiplier": multiplier,
    }


def test_money_is_decimal_inside() -> None:
    assert answer("预算99元左右", "approximate_upper", 99, "99元").price_upper == Decimal("108.9")


@pytest.mark.parametrize(
    ("text", "kind", "amount", "evidence", "task_id", "code"),
    [
        ("预算150元以内", "hard_upper", 150, "预算 150元", 5, "bad_evidence"),
        ("预算150元以内", "hard_upper", 150, "", 5, "bad_evidence"),
        ("预算 150元", "hard_upper", 150, " ", 5, "bad_evidence"),
        ("预算150元以内", "hard_upper", 150, None, 5, "bad_evidence"),
        ("预算150元以内", "hard_upper", 150, "预算150元以内", 6, "wrong_task"),
        ("预算150元以内", "hard_upper", 150, "预算150元以内", True, "wrong_task"),
        ("预算150元以内", "hard_upper", 150, "预算150元以内", "five", "wrong_task"),
        ("预算150元以内", "hard_upper", 150, "预算150元以内", 5.5, "wrong_task"),
        ("预算150元以内", "hard_upper", 150, "预算150元以内", None, "wrong_task"),
        ("预算150元以内", "ceiling", 150, "预算150元以内", 5, "unknown_kind"),
        ("预算150元以内", "runtime_regex_fallback", None, "", 5, "unknown_kind"),
        ("预算150元以内", "hard_upper", None, "预算150元以内", 5, "bad_amount"),
        ("预算150元以内", "hard_upper", 0, "预算150元以内", 5, "bad_amount"),
        ("预算150元以内", "hard_upper", -1, "预算150元以内", 5, "bad_amount"),
        ("预算150元以内", "hard_upper", float("nan"), "预算150元以内", 5, "bad_amount"),
        ("预算150元以内", "hard_upper", float("inf"), "预算150元以内", 5, "bad_amount"),
        ("预算150元以内", "hard_upper", "1e999", "预算150元以内", 5, "bad_amount"),
        ("预算150元以内", "hard_upper", True, "预算150元以内", 5, "bad_amount"),
        # 1.1 times it is beyond the greatest double, 1.797e308; and rounded to eight decimals it is 0.
        ("150元左右", "approximate_upper", 1.7e308, "150元左右", 5, "bad_amount"),
        ("150元左右", "approximate_upper", 1e-9, "150元左右", 5, "bad_amount"),
        ("预算150元以内", "hard_upper", "一百五", "预算150元以内", 5, "bad_amount"),
        ("预算150元以内", "hard_upper", [150], "预算150元以内", 5, "bad_amount"),
        ("想买个灯", "no_budget", None, "灯", 5, "bad_evidence"),
        ("想买个灯", "no_budget", 20, "", 5, "bad_amount"),
        ("单价不超过15元", "non_total_price", None, "", 5, "bad_evidence"),
        ("单价不超过15元", "non_total_price", 15, "单价不超过15元", 5, "bad_amount"),
    ],
)
def test_answers_that_break_the_protocol_are_refused(
    text: str, kind: str, amount: Any, evidence: Any, task_id: Any, code: str
) -> None:
    with pytest.raises(AnnotationError, match="task 5") as caught:
        answer(text, kind, amount, evidence, task_id)
    assert caught.value.code == code
    assert text not in str(caught.value)


@pytest.mark.parametrize("task_id", [5, "5", 5.0])
def test_ids_are_compared_as_integers(task_id: Any) -> None:
    assert answer("想买个灯", "no_budget", None, "", task_id).kind == "no_budget"


@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        "text",
        {"task_id": 5, "kind": "no_budget", "amount": None},
        {"task_id": 5, "kind": "no_budget", "amount": None, "evidence": "", "note": ""},
    ],
)
def test_the_answer_has_exactly_four_keys(payload: Any) -> None:
    with pytest.raises(AnnotationError) as caught:
        validate_answer(payload, AnnotationRequest(5, SIMPLE, "想买个灯"))
    assert caught.value.code == "wrong_keys"


def test_the_fallback_record_makes_nothing_up() -> None:
    assert fallback_annotation(SIMPLE).as_record() == {
        "kind": "runtime_regex_fallback",
        "amount": None,
        "evidence": "",
        "source_field": "runtime_regex",
        "price_upper": None,
        "annotation_version": "runtime-regex-fallback-v1",
        "approximate_upper_multiplier": None,
        "fallback_reason": "explicitly_ignored_llm_failure",
        "missing_source_field": "instruction_simple",
    }


# --- two stages ---


def test_a_ceiling_in_the_simple_text_is_final() -> None:
    answers = {(9, SIMPLE): made("hard_upper", 150), (9, FULL): made("hard_upper", 200, FULL)}
    assert missing_field(task(), {(9, SIMPLE): answers[9, SIMPLE]}) == ""
    assert resolve(task(), answers).price_upper == 150


def test_the_full_text_is_asked_only_without_a_ceiling() -> None:
    simple = {(9, SIMPLE): made("no_budget")}
    assert missing_field(task(), {}) == SIMPLE
    assert missing_field(task(), simple) == FULL
    resolved = resolve(task(), simple | {(9, FULL): made("hard_upper", 200, FULL)})
    assert (resolved.price_upper, resolved.source_field) == (Decimal(200), FULL)


def test_the_full_answer_counts_even_without_a_ceiling() -> None:
    answers = {(9, SIMPLE): made("lower_only"), (9, FULL): made("no_budget", field=FULL)}
    resolved = resolve(task(), answers)
    assert (resolved.kind, resolved.source_field) == ("no_budget", FULL)


def test_identical_texts_keep_the_first_answer() -> None:
    same = task(simple="营地灯", full="营地灯")
    answers = {(9, SIMPLE): made("no_budget")}
    assert missing_field(same, answers) == ""
    assert resolve(same, answers).source_field == SIMPLE


def test_missing_answers_stop_with_ten_examples() -> None:
    tasks = [task(n) for n in range(20)]
    answers = {(n, SIMPLE): made("no_budget") for n in range(8)}
    with pytest.raises(AnnotationError) as caught:
        resolve_all(tasks, answers)
    assert caught.value.code == "annotations_missing"
    examples = [f"{n}:instruction" for n in range(8)] + ["8:instruction_simple", "9:instruction_simple"]
    assert f"missing for 20: task {', '.join(examples)}, ...." in str(caught.value)


def test_listed_tasks_fall_back_and_name_the_missing_text() -> None:
    answers = {(1, SIMPLE): made("no_budget"), (2, SIMPLE): made("hard_upper", 10)}
    audit = resolve_all([task(3), task(2), task(1)], answers, frozenset({1, 2, 3}))
    assert [(record.task.task_id, record.annotation.kind) for record in audit] == [
        (1, "runtime_regex_fallback"),
        (2, "hard_upper"),
        (3, "runtime_regex_fallback"),
    ]
    assert audit[0].annotation.missing_field == FULL
    assert audit[2].annotation.missing_field == SIMPLE


def test_the_fallback_list_may_name_eligible_tasks_only() -> None:
    with pytest.raises(AnnotationError, match="4, 7") as caught:
        resolve_all([task(1)], {}, frozenset({7, 1, 4}))
    assert caught.value.code == "unknown_fallback"


# --- eligible tasks ---


def test_active_persona_tasks_are_eligible(tmp_path: Path) -> None:
    varying = {"颜色": axis(("a", 1), ("b", 2)), "尺码": axis(("s", 1), ("m", 2))}
    rows = raw_rows(
        tmp_path,
        [
            product("1"),
            persona_product("2", "灯，预算10元"),
            persona_product("3", customization_options=varying),
            persona_product("4") | {"instructions": [instruction("甲", "")]},
            persona_product("5", "包") | {"instructions": [instruction("甲", "包"), instruction("乙", "袋")]},
        ],
        lenient=True,
    )
    found = persona_tasks(rows, assign_task_ids(rows), frozenset({2}))
    assert [(item.task_id, item.asin, item.instruction_simple, item.instruction) for item in found] == [
        (1, "2", "灯，预算10元", "灯，预算10元，要防水"),
        (4, "5", "包", "甲"),
        (5, "5", "袋", "乙"),
    ]
    assert "预算" not in repr(found)
    assert found[0].request(SIMPLE) == AnnotationRequest(1, SIMPLE, "灯，预算10元")
    assert found[0].request(FULL) == AnnotationRequest(1, FULL, "灯，预算10元，要防水")


# --- the recorded file ---

BUDGET = task(3, "灯，预算100元左右", "灯，预算100元左右，防水")


def recorded(**changes: Any) -> dict[str, Any]:
    return {
        "task_id": 3,
        "task_uid": "shopsim-3",
        "source_product_index": 3,
        "asin": "703",
        "kind": "approximate_upper",
        "amount": 100,
        "evidence": "预算100元左右",
        "source_field": SIMPLE,
        "price_upper": 110,
        "annotation_version": "qwen-persona-price-upper-v3",
        "approximate_upper_multiplier": 1.1,
    } | changes


def test_a_recorded_file_is_read_and_written_in_task_order(tmp_path: Path) -> None:
    first = task(1)
    fallback = {"task_id": 1, "task_uid": "shopsim-1", "source_product_index": 1, "asin": "701"}
    fallback |= fallback_annotation(SIMPLE).as_record()
    path = tmp_path / "audit.json"
    path.write_text(json.dumps([recorded(), fallback]), encoding="utf-8")
    audit = read_audit(path, [BUDGET, first])
    assert [record.task.task_id for record in audit] == [1, 3]
    assert audit[1].annotation.price_upper == Decimal(110)
    text = audit_json(reversed(audit)).text
    assert json.loads(text) == [fallback, recorded(amount=100.0, price_upper=110.0)]
    assert text.startswith('[\n  {\n    "amount": null,\n')
    assert text.endswith("\n]\n")


@pytest.mark.parametrize(
    ("changes", "field", "code"),
    [
        ({"task_uid": "shopsim-4"}, "task_uid", "record_mismatch"),
        ({"asin": "704"}, "asin", "record_mismatch"),
        ({"source_product_index": 4}, "source_product_index", "record_mismatch"),
        ({"price_upper": 100}, "price_upper", "record_mismatch"),
        ({"price_upper": True}, "price_upper", "record_mismatch"),
        ({"approximate_upper_multiplier": None}, "approximate_upper_multiplier", "record_mismatch"),
        ({"annotation_version": "v0"}, "annotation_version", "record_mismatch"),
        ({"note": "checked"}, "note", "record_mismatch"),
        ({"source_field": "title"}, "source_field", "record_mismatch"),
        ({"source_field": FULL, "evidence": "预算100"}, "", ""),
        ({"evidence": "预算99元"}, "evidence", "bad_evidence"),
        ({"amount": -1}, "amount", "bad_amount"),
        ({"kind": "runtime_regex_fallback"}, "missing_source_field", "record_mismatch"),
        ({"kind": "runtime_regex_fallback", "missing_source_field": SIMPLE}, "amount", "record_mismatch"),
    ],
)
def test_recorded_values_are_checked_against_the_task(changes: dict[str, Any], field: str, code: str) -> None:
    if not code:
        assert check_audit([recorded(**changes)], [BUDGET])[0].annotation.source_field == FULL
        return
    with pytest.raises(AnnotationError, match="task 3") as caught:
        check_audit([recorded(**changes)], [BUDGET])
    assert (caught.value.field, caught.value.code) == (field, code)
    assert "预算" not in str(caught.value)


@pytest.mark.parametrize("name", ["amount", "evidence", "kind", "price_upper", "task_uid", "source_field"])
def test_records_must_be_complete(name: str) -> None:
    record = recorded()
    del record[name]
    with pytest.raises(AnnotationError):
        check_audit([record], [BUDGET])


@pytest.mark.parametrize("record", [None, [], {}, {"task_id": "3"}, {"task_id": True}])
def test_records_must_name_a_task(record: Any) -> None:
    with pytest.raises(AnnotationError, match="integer task_id") as caught:
        check_audit([recorded(), record], [BUDGET])
    assert caught.value.record == 1


def test_a_file_is_an_array_with_each_task_once(tmp_path: Path) -> None:
    with pytest.raises(AnnotationError, match="array"):
        check_audit({"3": recorded()}, [BUDGET])
    with pytest.raises(AnnotationError, match="task 3 once"):
        check_audit([recorded(), recorded()], [BUDGET])
    with pytest.raises(ArtifactError, match="found none"):
        read_audit(tmp_path / "none.json", [BUDGET])


def test_missing_and_extra_tasks_are_listed() -> None:
    tasks = [task(n) for n in range(30, 42)]
    with pytest.raises(AnnotationError) as missing:
        check_audit([recorded()], [BUDGET, *tasks])
    assert missing.value.code == "annotations_missing"
    assert "missing for 12: task 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, ...." in str(missing.value)
    with pytest.raises(AnnotationError, match="1 are extra: 3;") as extra:
        check_audit([recorded()], [])
    assert extra.value.code == "annotations_extra"


def test_explicitly_listed_tasks_may_be_missing() -> None:
    audit = check_audit([recorded()], [BUDGET, task(4)], frozenset({4}))
    assert audit[1] == AuditRecord(task(4), fallback_annotation(SIMPLE))
    with pytest.raises(AnnotationError, match="no active persona tasks: 5"):
        check_audit([recorded()], [BUDGET], frozenset({5}))
