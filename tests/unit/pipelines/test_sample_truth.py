"""What the side files of the sample say is what the archive holds: faults, budgets, annotations, winnability.

Prices, options and ceilings are worked out here again, from the contract, without the generator's code.
"""

import gzip
import hashlib
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from shopsim_env.catalog.price_axes import price_axes
from shopsim_env.tasks.budget import task_budget

FOLDER = Path(__file__).resolve().parents[3] / "data" / "samples"
EXPECTED_FAULTS = {
    "multi_price_axes": 24,
    "unit_price": 6,
    "deposit": 3,
    "budget_ambiguous": 3,
    "budget_conflict": 4,
    "gold_option_missing": 4,
    "gold_option_lost_emoji": 8,
    "gold_above_budget": 5,
    "placeholder_price": 4,
    "blank_attributes": 9,
    "attributes_empty": 4,
    "option_is_no_goods": 4,
    "unpriced_options": 4,
}


@pytest.fixture(scope="module")
def records():
    return json.loads(gzip.decompress((FOLDER / "sample.raw.json.gz").read_bytes()))


@pytest.fixture(scope="module")
def truth():
    return json.loads((FOLDER / "sample.truth.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def annotations():
    return json.loads((FOLDER / "sample.annotations.json").read_text("utf-8"))


def _task(record):
    return record["instructions"][0]


def _planted(truth, records, code):
    return [records[entry["task_id"]] for entry in truth["faults"][code]]


def _picks(record):
    """Axis -> entry that the task asks for; None where no entry of any axis fits a wanted value."""
    picks = {}
    for wanted in _task(record)["instruction_options"]:
        pattern = re.compile("".join("." if char == "?" else re.escape(char) for char in wanted))
        exact, loose = [], []
        for name, entries in record["customization_options"].items():
            exact += [(name, entry) for entry in entries if entry["value"] == wanted]
            loose += [(name, entry) for entry in entries if pattern.fullmatch(entry["value"])]
        found = exact or loose
        if len(found) != 1:
            return None
        picks[found[0][0]] = found[0][1]
    return picks


def _prices(record, name):
    return {e["price"] for e in record["customization_options"][name] if e["price"] is not None}


def _gold_price(record, picks):
    """Price by contract 7.2 for what the sample holds; None when it cannot be verified."""
    varying = [name for name in record["customization_options"] if len(_prices(record, name)) > 1]
    if len(varying) == 1:
        price = picks[varying[0]]["price"]
    else:
        everywhere = set().union(*(_prices(record, name) for name in record["customization_options"]))
        price = everywhere.pop() if len(everywhere) == 1 and not varying else None
    return price or None


def _wins(record, budget):
    picks = _picks(record)
    if picks is None or set(picks) != set(record["customization_options"]):
        return False
    if not set(filter(str.strip, _task(record)["attributes"])) <= set(record["attribute"]):
        return False
    if budget["upper"] is None:
        return True
    price = _gold_price(record, picks)
    return price is not None and price <= budget["upper"]


def test_every_fault_is_planted_as_often_as_said(truth):
    assert {code: len(entries) for code, entries in truth["faults"].items()} == EXPECTED_FAULTS
    planted = [entry["task_id"] for entries in truth["faults"].values() for entry in entries]
    assert len(planted) == len(set(planted))


def test_fault_entries_name_task_and_asin(truth, records):
    for entries in truth["faults"].values():
        for entry in entries:
            assert records[entry["task_id"]]["asin"] == entry["asin"]
            assert entry["winnable"] == (entry["task_id"] not in truth["unwinnable"])


def test_excluded_products_are_exactly_those_with_two_varying_axes(truth, records):
    excluded = {entry["task_id"] for entry in truth["faults"]["multi_price_axes"]}
    for index, record in enumerate(records):
        varying = [name for name in record["customization_options"] if len(_prices(record, name)) > 1]
        assert (len(varying) >= 2) == (index in excluded)
        assert tuple(varying) == price_axes(record)


def test_unwinnable_tasks_are_exactly_the_listed_ones(truth, records):
    excluded = {entry["task_id"] for entry in truth["faults"]["multi_price_axes"]}
    lost = [
        index
        for index, record in enumerate(records)
        if index not in excluded and not _wins(record, truth["budgets"][str(index)])
    ]
    assert lost == truth["unwinnable"]
    # 4 missing options + 5 above budget + 4 placeholders + 4 unpriced + 2 lost emoji that fit two values
    assert len(lost) == 19


def test_missing_gold_options_are_no_option_of_the_product(truth, records):
    for record in _planted(truth, records, "gold_option_missing"):
        values = {e["value"] for axis in record["customization_options"].values() for e in axis}
        assert len(set(_task(record)["instruction_options"]) - values) == 1


def test_lost_emoji_stand_as_question_marks(truth, records):
    fits = Counter()
    for record in _planted(truth, records, "gold_option_lost_emoji"):
        (wanted,) = [text for text in _task(record)["instruction_options"] if text.startswith("?")]
        same = [
            entry["value"]
            for axis in record["customization_options"].values()
            for entry in axis
            if entry["value"][1:] == wanted[1:]
        ]
        assert all(not value[0].isalnum() for value in same)
        fits[len(same)] += 1
    assert fits == {1: 6, 2: 2}


def test_gold_above_budget_by_more_than_the_tolerance(truth, records):
    for entry in truth["faults"]["gold_above_budget"]:
        record = records[entry["task_id"]]
        price = _gold_price(record, _picks(record))
        assert price > 1.1 * truth["budgets"][str(entry["task_id"])]["upper"]


def test_placeholder_prices_are_zero_and_have_a_budget(truth, records):
    for entry in truth["faults"]["placeholder_price"]:
        record = records[entry["task_id"]]
        assert record["pricing"][0] == 0.0
        assert any(pick["price"] == 0 for pick in _picks(record).values())
        assert truth["budgets"][str(entry["task_id"])]["upper"] > 0


def test_unpriced_options_have_a_listing_range_and_a_budget(truth, records):
    for entry in truth["faults"]["unpriced_options"]:
        record = records[entry["task_id"]]
        assert all(e["price"] is None for axis in record["customization_options"].values() for e in axis)
        assert record["pricing"][0] < record["pricing"][1]
        assert truth["budgets"][str(entry["task_id"])]["upper"] >= record["pricing"][0]


def test_blank_and_empty_attributes(truth, records):
    blanks = [_task(record)["attributes"] for record in _planted(truth, records, "blank_attributes")]
    assert sorted(blanks) == [[""]] * 4 + [[" "]] * 5
    empty = _planted(truth, records, "attributes_empty")
    assert all(_task(record)["attributes"] == [] for record in empty)
    assert sum(record["attribute"] == [] for record in empty) == 2


def test_values_that_are_no_goods_are_asked_for(truth, records):
    words = ("咨询", "专用", "拍", "售", "备注", "——", "报价")
    for record in _planted(truth, records, "option_is_no_goods"):
        wanted = _task(record)["instruction_options"]
        assert any(word in text for text in wanted for word in words)


def test_conflicting_budgets_name_two_amounts(truth, records):
    for entry in truth["faults"]["budget_conflict"]:
        task = _task(records[entry["task_id"]])
        simple, full = task_budget("", task["instruction_simple"]), task_budget("", task["instruction"])
        assert simple.upper != full.upper
        assert float(simple.upper) == truth["budgets"][str(entry["task_id"])]["upper"]
        assert truth["budgets"][str(entry["task_id"])]["source_field"] == "instruction_simple"


def test_budget_families_have_the_real_shares(truth):
    families = Counter(budget["family"] for budget in truth["budgets"].values())
    # 1322, 349, 297, 106, 94, 87, 71 of 2,473 real clauses, on 800 tasks
    for family, expected in (
        ("around", 428), ("within", 113), ("not_over", 96), ("bare", 34), ("range", 30), ("odd", 28),
        ("about", 23),
    ):  # fmt: skip
        assert abs(families[family] - expected) <= max(3, 0.1 * expected), family
    assert set(families) == {
        "around", "within", "not_over", "bare", "range", "odd", "about", "none", "hidden", "unit_price",
        "lower_only", "deposit", "ambiguous",
    }  # fmt: skip


def test_ceilings_follow_from_kind_and_amount(truth):
    for budget in truth["budgets"].values():
        if budget["kind"] == "hard_upper":
            assert budget["upper"] == budget["amount"]
        elif budget["kind"] == "approximate_upper":
            assert budget["upper"] == round(budget["amount"] * 1.1, 8)
        else:
            assert budget["upper"] is None
            assert budget["amount"] is None


def test_plainly_written_amounts_are_the_true_ones(truth, records):
    """Reads the plainest spellings with three patterns of its own and compares amount and ceiling."""
    plain = {
        "around": re.compile(r"(?<![\d万])(\d+)(?:元|块钱|块)?(?:左右|上下)"),
        "within": re.compile(r"(?<![\d万])(\d+)(?:元|块钱|块)?(?:以内|以下|之内)"),
        "not_over": re.compile(r"(?:不超过|不要超过|别超过|不能超过|不高于)(\d+)(?:元|块|，|。)"),
    }
    read = 0
    for index, budget in truth["budgets"].items():
        pattern = plain.get(budget["family"])
        found = pattern and pattern.findall(_task(records[int(index)])[budget["source_field"]])
        if found:
            assert budget["amount"] in [float(number) for number in found], (index, budget)
            read += 1
    assert read > 400


def test_the_runtime_parser_reads_every_budget_as_the_truth_says(truth, records):
    wrong = []
    for index, budget in truth["budgets"].items():
        task = _task(records[int(index)])
        parsed = task_budget(task["instruction_simple"] or "", task["instruction"])
        upper = None if parsed.upper is None else float(parsed.upper)
        if (parsed.kind, upper) != (budget["kind"], budget["upper"]):
            wrong.append((index, budget, parsed.kind, upper))
    assert wrong == []


def test_annotations_cover_every_active_persona_task_in_order(truth, records, annotations):
    excluded = {entry["task_id"] for entry in truth["faults"]["multi_price_axes"]}
    expected = [i for i, record in enumerate(records) if "user_persona" in record and i not in excluded]
    assert [entry["task_id"] for entry in annotations] == expected


def test_annotations_have_the_published_format(records, annotations):
    for entry in annotations:
        record = records[entry["task_id"]]
        text = json.dumps(
            [record["asin"], 0, _task(record)["instruction"]], ensure_ascii=False, separators=(",", ":")
        )
        assert entry["task_uid"] == f"shopsim-{hashlib.sha256(text.encode()).hexdigest()[:24]}"
        assert entry["source_product_index"] == entry["task_id"]
        assert entry["asin"] == record["asin"]
        if entry["kind"] == "runtime_regex_fallback":
            continue
        assert entry["annotation_version"] == "qwen-persona-price-upper-v3"
        assert set(entry) == {
            "task_id", "task_uid", "source_product_index", "asin", "kind", "amount", "evidence",
            "source_field", "price_upper", "annotation_version", "approximate_upper_multiplier",
        }  # fmt: skip


def test_annotation_evidence_is_verbatim_and_amounts_are_the_truth(truth, records, annotations):
    for entry in annotations:
        if entry["kind"] == "runtime_regex_fallback":
            continue
        budget = truth["budgets"][str(entry["task_id"])]
        text = _task(records[entry["task_id"]])[entry["source_field"]]
        assert entry["evidence"] in text
        assert bool(entry["evidence"]) == (entry["kind"] != "no_budget")
        assert (entry["kind"], entry["amount"], entry["price_upper"]) == (
            budget["kind"],
            budget["amount"],
            budget["upper"],
        )
        assert entry["source_field"] == budget["source_field"]
        multiplier = 1.1 if entry["kind"] == "approximate_upper" else None
        assert entry["approximate_upper_multiplier"] == multiplier


def test_a_ceiling_in_the_simple_text_is_final_and_else_the_full_text_decides(records, annotations):
    fields = Counter()
    for entry in annotations:
        if entry["source_field"] == "instruction_simple":
            assert entry["price_upper"] is not None
        elif entry["source_field"] == "instruction" and entry["price_upper"] is not None:
            simple = task_budget("", _task(records[entry["task_id"]])["instruction_simple"])
            assert simple.upper is None
        fields[entry["source_field"]] += 1
    assert fields["runtime_regex"] == 2
    assert fields["instruction"] >= 10


def test_two_tasks_are_left_to_the_runtime_parser(truth, annotations):
    left = [entry for entry in annotations if entry["kind"] == "runtime_regex_fallback"]
    assert len(left) == 2
    for entry in left:
        assert truth["budgets"][str(entry["task_id"])]["kind"] == "approximate_upper"
        assert entry["amount"] is entry["price_upper"] is entry["approximate_upper_multiplier"] is None
        assert entry["evidence"] == ""
        assert entry["source_field"] == "runtime_regex"
        assert entry["annotation_version"] == "runtime-regex-fallback-v1"
        assert entry["fallback_reason"] == "explicitly_ignored_llm_failure"
        assert entry["missing_source_field"] == "instruction_simple"


def test_quirk_counts_are_those_of_the_archive(truth, records):
    quirks = truth["quirks"]
    assert quirks["sub_title_null"] == sum(record["sub_title"] is None for record in records)
    assert quirks["title_double_blank"] == sum("  " in record["title"] for record in records)
    titles = Counter(record["title"] for record in records)
    assert quirks["title_repeated"] == sum(titles[record["title"]] > 1 for record in records)
    zero = sum(e["price"] == 0 for r in records for axis in r["customization_options"].values() for e in axis)
    assert quirks["option_price_zero"] == zero
    assert quirks["asin_digits_12"] == 791
