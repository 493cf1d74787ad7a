"""What leaves the machine, what a run would ask, and what moved since the last release."""

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from persona_texts import CANARY, persona_task, persona_tasks_of
from places import ROOT

from pipelines.errors import ConfigError
from pipelines.settings import AnnotationSettings, load_annotation
from pipelines.stages.annotation.cache import Answers
from pipelines.stages.annotation.drift import annotation_drift, parser_agreement
from pipelines.stages.annotation.plan import make_plan, pending
from pipelines.stages.annotation.prompt import (
    ANSWER_SCHEMA,
    PROMPT_SHA256,
    SYSTEM_PROMPT,
    messages,
    read_answer,
)
from pipelines.stages.annotation.protocol import (
    Annotation,
    AnnotationError,
    AnnotationRequest,
    fallback_annotation,
    validate_answer,
)
from pipelines.stages.annotation.resolution import AuditRecord

SIMPLE, FULL = "instruction_simple", "instruction"
SETTINGS = AnnotationSettings()


def made(kind: str, upper: int | None = None, field: str = SIMPLE) -> Annotation:
    amount = None if upper is None else Decimal(upper)
    return Annotation(kind, amount, "", field, amount)


# --- settings and prompt ---


def test_committed_settings_are_the_defaults_of_the_seed() -> None:
    assert load_annotation(ROOT / "configs" / "annotation.toml") == SETTINGS
    assert (SETTINGS.workers, SETTINGS.requests_per_minute, SETTINGS.cooldown_s) == (32, 32, 65)
    assert (SETTINGS.rate_limit_retries, SETTINGS.retries) == (20, 5)
    assert (SETTINGS.model, SETTINGS.api_key_env) == ("Qwen/Qwen3.5-27B", "SILICONFLOW_API_KEY")
    assert SETTINGS.api_url == "https://api.siliconflow.cn/v1/chat/completions"
    assert not SETTINGS.reannotation.confirm_paid_api


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("api_key = 'secret'", "api_key"),
        ("workers = 0", "workers"),
        ("base_url = 'ftp://x'", "base_url"),
        ("base_url = 'https://user:secret@host/v1'", "base_url"),
        ("[reannotation]\nmax_requests = 0", "max_requests"),
    ],
)
def test_settings_that_do_not_fit_are_named(tmp_path: Any, text: str, named: str) -> None:
    path = tmp_path / "annotation.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=named):
        load_annotation(path)


def test_a_request_holds_one_text_and_our_prompt() -> None:
    system, user = messages(AnnotationRequest(7, SIMPLE, "灯，“50”元\n以内"))
    assert system == {"role": "system", "content": SYSTEM_PROMPT}
    assert user["content"] == '{"task_id":7,"text":"灯，“50”元\\n以内"}'
    assert len(PROMPT_SHA256) == 64


def test_prompt_and_schema_name_the_same_answers() -> None:
    assert set(ANSWER_SCHEMA["required"]) == set(ANSWER_SCHEMA["properties"])
    assert not ANSWER_SCHEMA["additionalProperties"]
    for word in (*ANSWER_SCHEMA["required"], *ANSWER_SCHEMA["properties"]["kind"]["enum"]):
        assert word in SYSTEM_PROMPT


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (None, "empty_answer"),
        (" \n", "empty_answer"),
        ("about 50", "not_json"),
        ('{"task_id": 7, "ki', "not_json"),
        ("[" * 100_000, "not_json"),
        ("[]", "wrong_keys"),
        ('{"task_id": 8, "kind": "no_budget", "amount": null, "evidence": ""}', "wrong_task"),
        ('{"task_id": 7, "kind": [], "amount": null, "evidence": ""}', "unknown_kind"),
        ('{"task_id": 7, "kind": "hard_upper", "amount": Infinity, "evidence": "灯"}', "bad_amount"),
        ('{"task_id": 7, "kind": "hard_upper", "amount": 9, "evidence": "台灯"}', "bad_evidence"),
    ],
)
def test_answers_that_break_the_protocol_have_a_code_and_show_no_text(text: str | None, code: str) -> None:
    with pytest.raises(AnnotationError) as caught:
        read_answer(text, AnnotationRequest(7, SIMPLE, f"灯{CANARY}"))
    assert caught.value.code == code
    assert CANARY not in str(caught.value)


def test_a_valid_answer_is_read() -> None:
    text = '{"task_id": "7", "kind": "approximate_upper", "amount": 50, "evidence": "50左右"}'
    assert read_answer(text, AnnotationRequest(7, SIMPLE, "灯50左右")).price_upper == Decimal(55)


# --- plan ---


def test_a_first_plan_asks_every_simple_text() -> None:
    tasks = persona_tasks_of(8)
    plan = make_plan(tasks, Answers(), SETTINGS)
    assert (plan.tasks, plan.resolved, plan.pending_simple, plan.pending_full) == (8, 0, 8, 0)
    assert (plan.requests, plan.full_possible, plan.cost) == (8, 8, None)
    texts = sum(len(task.instruction_simple) for task in tasks)
    assert plan.input_tokens == texts + 8 * (len(SYSTEM_PROMPT) + 30)
    assert plan.minutes == 0.2, "8 of 32 a minute: a quarter, to one decimal"


def test_the_full_text_is_asked_only_without_a_simple_ceiling() -> None:
    tasks = [persona_task(1, "甲"), persona_task(2, "乙"), persona_task(3, "丙", "丙"), persona_task(4, "丁")]
    answers = {
        (1, SIMPLE): made("hard_upper", 5),
        (2, SIMPLE): made("lower_only"),
        (3, SIMPLE): made("no_budget"),
        (4, FULL): made("no_budget", field=FULL),
    }
    assert [task.task_id for task in pending(tasks, answers, FULL)] == [2]
    assert pending(tasks, answers, SIMPLE) == [], "a final answer on the full text stands alone"
    assert pending(tasks, answers, FULL, frozenset({2})) == []


def test_cap_prices_and_fallbacks_show_in_the_plan() -> None:
    settings = SETTINGS.model_copy(update={"input_price": 2.0, "output_price": 10.0})
    plan = make_plan(persona_tasks_of(8), Answers(), settings, skip=frozenset({0}), max_requests=2)
    assert (plan.pending_simple, plan.fallback, plan.requests, plan.capped_at) == (7, 1, 2, 2)
    assert plan.cost == pytest.approx((plan.input_tokens * 2 + 120 * 10) / 1e6, abs=1e-4)


def test_expired_answers_are_planned_again_and_still_resolve() -> None:
    answers = Answers(valid={(0, SIMPLE): made("hard_upper", 1)}, expired={(0, SIMPLE)})
    plan = make_plan(persona_tasks_of(1), answers, SETTINGS)
    assert (plan.resolved, plan.expired, plan.pending_simple) == (1, 1, 1)


def test_a_plan_with_an_unknown_fallback_is_refused() -> None:
    with pytest.raises(AnnotationError) as caught:
        make_plan(persona_tasks_of(2), Answers(), SETTINGS, skip=frozenset({99}))
    assert caught.value.code == "unknown_fallback"


# --- drift ---


def audit(task_id: int, simple: str, annotation: Annotation, full: str = "") -> AuditRecord:
    return AuditRecord(persona_task(task_id, simple, full), annotation)


def test_drift_names_what_changed_and_no_text() -> None:
    before = [
        audit(1, f"{CANARY}，预算50元以内", made("hard_upper", 50)).as_record(),
        audit(2, f"{CANARY}，60元左右", made("hard_upper", 60)).as_record(),
        audit(3, f"{CANARY}甲", made("no_budget")).as_record(),
        audit(4, "丁", made("no_budget")).as_record(),
        audit(5, "戊", made("no_budget")).as_record() | {"task_uid": "shopsim-before"},
    ]
    about = Annotation("approximate_upper", Decimal(60), "60元", SIMPLE, Decimal(66))
    now = [
        audit(1, f"{CANARY}，预算50元以内", made("hard_upper", 50)),
        audit(2, f"{CANARY}，60元左右", about),
        audit(3, f"{CANARY}甲", made("ambiguous")),
        audit(5, "戊", made("no_budget")),
        audit(6, "己", made("no_budget")),
    ]
    drift = annotation_drift(now, before)
    assert drift["changes"] == {
        "added": [6],
        "removed": [4],
        "instruction_changed": [5],
        "evidence_changed": 1,
        "kinds": {"hard_upper > approximate_upper": 1, "no_budget > ambiguous": 1},
        "ceilings_moved": [
            {
                "task_id": 2,
                "kind_before": "hard_upper",
                "kind": "approximate_upper",
                "price_upper_before": 60.0,
                "price_upper": 66.0,
            }
        ],
    }
    assert CANARY not in json.dumps(drift, ensure_ascii=False)


def test_parser_agreement_is_counted_by_kind() -> None:
    about = Annotation("approximate_upper", Decimal(60), "60元左右", FULL, Decimal(66))
    drift = annotation_drift(
        [
            audit(1, "灯，预算50元以内", made("hard_upper", 50)),
            audit(2, "灯，预算80元以内", made("hard_upper", 70)),
            audit(3, "灯", about, "灯，60元左右"),
            audit(4, "灯", fallback_annotation(SIMPLE)),
        ],
        None,
    )
    assert drift["changes"] is None
    assert drift["parser_agreement"] == {
        "approximate_upper": {"tasks": 1, "same_kind": 1, "same_ceiling": 1, "same_at_run_time": 1},
        "hard_upper": {"tasks": 2, "same_kind": 2, "same_ceiling": 1, "same_at_run_time": 1},
    }


@pytest.mark.published
def test_the_parser_agrees_with_the_published_ceilings(shared_data: Path) -> None:
    """Of 282 published annotations 271 have a ceiling (`approximate_upper` 161, `hard_upper` 110)."""
    with gzip.open(shared_data / "real" / "budget_annotations.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    found = parser_agreement([_published(record) for record in records])
    for kind, tasks in (("approximate_upper", 161), ("hard_upper", 110)):
        assert found[kind]["tasks"] == tasks
        assert found[kind]["same_ceiling"] == tasks
    assert sum(row["tasks"] for row in found.values()) == 281, "the run-time fallback agrees with nothing"


def _published(record: dict[str, Any]) -> AuditRecord:
    """The annotation with its evidence in place of the text, which is not published."""
    if record["kind"] == "runtime_regex_fallback":
        return audit(record["task_id"], "-", fallback_annotation(SIMPLE))
    task = persona_task(record["task_id"], record["evidence"] or "无", record["evidence"] or "无")
    answer = {name: record[name] for name in ("task_id", "kind", "amount", "evidence")}
    return AuditRecord(task, validate_answer(answer, task.request(record["source_field"])))
