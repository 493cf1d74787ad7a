"""Every case of cases/rlve.json that a function answers; and that no case is without a test.

The numbers are those of the cases, which are not in the project. Cases about whole episodes, processes and
dialogues are in the tests that `rlve_case_homes` names.
"""

import ast
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from rlve_case_homes import DIFFERENT, ELSEWHERE

from shopsim_env.errors import UsageError
from shopsim_env.rlve.choosing.preferences import concentration, lowness
from shopsim_env.rlve.difficulty import axes, task_axes
from shopsim_env.rlve.environments import collection
from shopsim_env.rlve.overlay.returns import WINDOWS, group_of
from shopsim_env.rlve.protocol import FormatFault, read_turn
from shopsim_env.rlve.reward import (
    Turns,
    compose,
    efficiency,
    hallucination,
    reward_hard_failure,
    unseen_ids,
)
from shopsim_env.rlve.scores.common import TaskScore
from shopsim_env.rlve.scores.goods import BundlePick, CartLine, score_bundle, score_cart
from shopsim_env.rlve.scores.orders import (
    ReturnGoal,
    ReturnOutcome,
    score_journey,
    score_return,
    score_status,
)
from shopsim_env.rlve.scores.policy import PERCENT, PolicyAnswer, score_policy
from shopsim_env.rlve.scores.ranking import (
    Candidate,
    discovery_mix,
    ndcg,
    satisfaction_score,
    score_discovery,
    substitution_mix,
)

pytestmark = pytest.mark.published
ROOT = Path(__file__).resolve().parents[2]
Case = dict[str, Any]


@pytest.fixture(scope="module")
def cases(shared_data: Path) -> list[Case]:
    found: list[Case] = json.loads((shared_data / "cases" / "rlve.json").read_text(encoding="utf-8"))
    return found


def near(value: float | Fraction) -> Any:
    """The expected numbers have six decimals."""
    return pytest.approx(float(value), abs=1e-6)


def cart(given: Case, expected: Case) -> None:
    lines = [CartLine(line["product_id"], line["variant_id"], line["qty"]) for line in given["cart_lines"]]
    variants = given.get("required_variant", {})
    required = {(name, variants.get(name)): units for name, units in given["required_qty"].items()}
    if not required:
        with pytest.raises(UsageError, match="no requirement"):
            score_cart(lines, required)
        return
    score = score_cart(lines, required)
    assert (score.score, score.parts["f1"]) == (near(expected["r_task"]), near(expected["f1"]))
    units = tuple(score.parts[name] for name in ("matched", "held", "required"))
    assert units == (expected["matched_units"], expected["cart_units"], expected["required_units"])
    assert score.success == expected["is_correct"]


def quick(given: Case, expected: Case) -> None:
    turns = Turns(given["turns"], given["t_max"], given["exempt_turns"])
    assert (efficiency(turns), turns.effective) == (near(expected["r_eff"]), expected["effective_turns"])


def invented(given: Case, expected: Case) -> None:
    used = given["output_ids"]
    assert hallucination(len(used), unseen_ids(used, set(given["seen_ids"]))) == near(expected["r_hall"])


def total(given: Case, expected: Case) -> None:
    if "any" in given:
        ends = [compose(task, quick, false) for task in (-1, 0, 1) for quick in (-1, 1) for false in (-1, 0)]
        ends.append(reward_hard_failure("format", Turns(1, 1)).total)
        assert (min(ends), max(ends)) == (expected["min"], near(expected["max"]))
        return
    assert given["weights"] == [0.75, 0.15, 0.1]
    assert compose(given["r_task"], given["r_eff"], given["r_hall"]) == near(expected["r_total"])


def form(given: Case, expected: Case) -> None:
    if not expected["format_valid"]:
        with pytest.raises(FormatFault):
            read_turn(given["raw"])
        assert reward_hard_failure("format", Turns(1, 1)).total == expected.get("r_total", -1.0)
        return
    turn = read_turn(given["raw"])
    assert len(turn.calls) == expected.get("tool_calls", 0)
    if "order_status" in expected:
        assert turn.answer is not None
        assert turn.answer.order_status == expected["order_status"]
    else:
        assert turn.answer is None


def level(given: Case, expected: Case) -> None:
    found = axes(given["d"])
    assert {name: getattr(found, name) for name in expected} == {n: near(v) for n, v in expected.items()}


def level_of_task(given: Case, expected: Case) -> None:
    ours = {
        "n_items": "cart_items",
        "p_variant": "cart_p_variant",
        "p_qty": "cart_p_quantity",
        "visit_history_size": "cart_visits",
        "slack_max": "slack",
    }
    found = task_axes(given["d"])
    assert {name: getattr(found, ours.get(name, name)) for name in expected} == {
        name: near(value) for name, value in expected.items()
    }


def ranking(given: Case, expected: Case) -> None:
    found = ndcg(given["relevance_in_order"], given["pool_relevance"], given["k"])
    assert (found, 2 * found - 1) == (near(expected["ndcg"]), near(expected["r_rank"]))


def discovery(given: Case, expected: Case) -> None:
    if "best_satisfaction" in given:
        share = Fraction(given["best_satisfaction"])
        alpha = task_axes(given["d"]).pd_alpha
        assert satisfaction_score(share.numerator, share.denominator, alpha) == near(expected["r_cons"])
    elif "r_rank" in given:
        mixed = discovery_mix(given["r_rank"], given["r_cons"], given["r_oos"])
        assert mixed == near(expected["r_task"])
        assert (mixed >= 0.95) == expected["published_rule_is_correct"]
    else:
        goods = {"in": Candidate(0.5, 2, 2, True), "out": Candidate(1.0, 2, 2, False)}
        assert score_discovery(["out"], goods, k=3, alpha=4).success == expected["is_correct"]


def substitution(given: Case, expected: Case) -> None:
    mixed = substitution_mix(given["r_rank"], given["r_oos"])
    assert mixed == near(expected["r_task"])
    assert (mixed >= 0.95) == expected["published_rule_is_correct"]


def returned(given: Case, expected: Case) -> None:
    target, other, quality = ("order", "line"), ("order", "other"), given["replacement_quality"]
    # The flag of a replacement is substitution's own; here it is the published line.
    replacement = None if quality is None else TaskScore(quality, quality >= 0.95)
    outcome = ReturnOutcome(
        named=target if given["selected_correct"] else other,
        started=frozenset({target} if given["return_started_for_target"] else ()),
        replacement=replacement,
    )
    score = score_return(outcome, ReturnGoal(target, replacement_wanted=given["replacement_required"]))
    assert (score.score, score.success) == (near(expected["r_task"]), expected["is_correct"])


def window(given: Case, expected: Case) -> None:
    group = group_of(tuple(given["category"].split("/")))
    assert WINDOWS[group] == given["policy_kb_window"] == expected["window_days"]


def status(given: Case, expected: Case) -> None:
    if "reported" in given:
        score = score_status("a", given["reported"], order="a", status=given["expected"])
        assert score.parts["status"] == float(expected["status_right"])
        return
    named, reported = (
        ("a" if given["order_right"] else "b"),
        ("SHIPPED" if given["status_right"] else "CANCELLED"),
    )
    score = score_status(named, reported, order="a", status="SHIPPED")
    assert (score.score, score.success) == (near(expected["r_task"]), expected["is_correct"])


def policy(given: Case, expected: Case) -> None:
    answer, truth = (PolicyAnswer(PERCENT, Fraction(str(given[name]))) for name in ("answer", "expected"))
    score = score_policy(answer, truth, cited="R-1", rule="R-1")
    assert (score.score, score.success) == (near(expected["r_task"]), expected["is_correct"])


def bundle(given: Case, expected: Case) -> None:
    names, cost = given["recommended_categories"], given["total_cost"]
    prices = [100 * cost - sum([1] * (len(names) - 1)), *[1] * (len(names) - 1)] if names else []
    picks = [BundlePick(name, price, True) for name, price in zip(names, prices, strict=True)]
    budget = None if given["budget"] is None else 100 * given["budget"]
    score = score_bundle(picks, given["required_categories"], budget)
    assert (score.score, score.success) == (near(expected["r_task"]), expected["is_correct"])
    assert (score.parts["f1"], score.parts["penalty"]) == (near(expected["f1"]), near(expected["penalty"]))


def journey(given: Case, expected: Case) -> None:
    parts = [TaskScore(score, score >= 0.95) for score in given["subtask_r_task"]]
    assert score_journey(parts, max(1, len(parts))).score == near(expected["r_task"])


def collected(given: Case, expected: Case) -> None:
    if "error" in expected:
        with pytest.raises(UsageError, match=r"C1, C2, C4, C8, R1, R2, R4, R8"):
            collection(given["collection"])
    elif given["collection"] == "C8":
        # The published code's order is R8; C8 begins with carts, as the published text does.
        assert collection("R8") == tuple(expected["env_ids"])
        assert set(collection("C8")) == set(expected["env_ids"])
    else:
        assert list(collection(given["collection"])) == expected["env_ids"]


def persona(given: Case, expected: Case) -> None:
    found = concentration(given["constrained_attributes"])
    assert list(found) == expected["dirichlet_alpha"]
    assert [value / sum(found) for value in found] == [near(value) for value in expected["mean_weight"]]


def utility(given: Case, expected: Case) -> None:
    if "price" in given:
        found = lowness(given["price"], given["p_low"], given["p_high"])
    else:
        # Here the range is that of the products that meet all constraints.
        found = lowness(given["ship_days"], 0, given["s_max"])
    assert found == near(expected["phi"])


def noise(given: Case, expected: Case) -> None:
    if "p_noise" in expected:
        assert [axes(d).p_noise for d in given["d"]] == [near(value) for value in expected["p_noise"]]


CHECKS: dict[str, Callable[[Case, Case], None]] = {
    "cart_f1": cart,
    "efficiency": quick,
    "hallucination": invented,
    "reward_total": total,
    "action_format": form,
    "difficulty_axes": level,
    "cart_axes": level_of_task,
    "derived_axes": level_of_task,
    "ranking": ranking,
    "pd_verifier": discovery,
    "sub_verifier": substitution,
    "return_verifier": returned,
    "return_tools": window,
    "status_verifier": status,
    "policy_verifier": policy,
    "bundle_verifier": bundle,
    "journey_verifier": journey,
    "collections": collected,
    "persona": persona,
    "utility": utility,
    "user_simulator": noise,
}


@pytest.mark.parametrize("area", CHECKS)
def test_cases_that_a_function_answers(cases: list[Case], area: str) -> None:
    found = [
        case for case in cases if case["area"] == area and case["id"] not in ELSEWHERE.keys() | DIFFERENT
    ]
    assert found
    for case in found:
        CHECKS[area](case["input"], case["expected"])


def test_no_case_is_without_a_test(cases: list[Case]) -> None:
    ids = {case["id"] for case in cases}
    assert ids >= ELSEWHERE.keys() | DIFFERENT.keys()
    # Moves of windows are in the tests of the scheduler.
    answered = {case["id"] for case in cases if case["area"] in CHECKS or "results" in case["input"]}
    assert ids == answered | ELSEWHERE.keys() | DIFFERENT.keys()
    for name, home in ELSEWHERE.items():
        path, _, test = home.partition("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        assert test in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name
