"""The adaptive windows: the published moves, counting, draws and the plateau report, values by hand."""

import json
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import pytest
from places import ROOT

from shopsim_env.errors import UsageError
from shopsim_env.rlve.scheduler import Result, Schedule, Settings, Window, new_schedule

NAMES = ("PD", "CART")


class Run:
    """Reports results one after another, numbering the prompts."""

    def __init__(self, schedule: Schedule | None = None) -> None:
        self.schedule = schedule or new_schedule(NAMES)
        self.next = 0

    def report(
        self, d: int, correct: bool, count: int, environment: str = "CART", rollouts: int = 1
    ) -> "Run":
        for _ in range(count):
            result = Result(self.next, environment, d, rollouts * correct, rollouts)
            self.schedule, _ = self.schedule.after(result)
            self.next += 1
        return self

    def state(self, environment: str = "CART") -> tuple[int, int, int, int]:
        window = self.schedule.window(environment)
        return window.low, window.high, int(window.correct), window.total


def climbed(levels: int) -> Run:
    run = Run()
    for d in range(levels):
        run.report(d, True, 32)
    return run


def test_every_environment_starts_at_level_0_with_the_published_settings():
    assert new_schedule(NAMES).settings == Settings(seed=0, block=32, accuracy=Fraction(9, 10), levels=5)
    assert dict(new_schedule(NAMES).windows) == {"PD": Window(), "CART": Window()}


@pytest.mark.parametrize(
    ("passed", "failed", "state"),
    [
        (31, 0, (0, 0, 31, 31)),  # one short of the decision
        (29, 3, (0, 1, 0, 0)),  # 29 of 32 = 0.906
        (28, 4, (0, 0, 0, 0)),  # 28 of 32 = 0.875
        (32, 0, (0, 1, 0, 0)),
        (0, 33, (0, 0, 0, 1)),  # blocks do not overlap
    ],
)
def test_a_block_of_32_decides(passed: int, failed: int, state: tuple[int, int, int, int]):
    assert Run().report(0, True, passed).report(0, False, failed).state() == state


@pytest.mark.parametrize(("levels", "low", "high"), [(1, 0, 1), (4, 0, 4), (5, 1, 5), (6, 2, 6), (10, 6, 10)])
def test_at_most_five_levels_are_open(levels: int, low: int, high: int):
    assert climbed(levels).state() == (low, high, 0, 0)


def test_there_is_no_demotion():
    assert climbed(1).report(1, False, 320).state() == (0, 1, 0, 0)


def test_only_the_frontier_counts():
    run = climbed(1)
    assert run.report(3, True, 64).state() == (0, 1, 0, 0)
    assert run.report(0, False, 64).state() == (0, 1, 0, 0)
    for _ in range(31):
        run.report(1, True, 1).report(0, False, 1)
    assert run.state() == (0, 1, 31, 31)
    assert run.report(1, True, 1).state() == (0, 2, 0, 0)


def test_a_late_result_counts_by_its_own_level():
    """Drawn at 0 while 0 was the frontier, it comes in when 1 is."""
    schedule = climbed(1).schedule
    late, taken = schedule.after(Result(500, "CART", 0, 1))
    assert taken == "off_frontier"
    assert (late.window("CART").total, late.window("CART").waited) == (0, 1)
    assert schedule.after(Result(501, "CART", 1, 1))[1] == "counted"


def test_environments_do_not_touch_each_other():
    run = Run().report(0, True, 40, "CART").report(0, True, 3, "PD")
    assert (run.state("CART"), run.state("PD")) == ((0, 1, 0, 0), (0, 0, 3, 3))


def test_a_group_of_rollouts_counts_once():
    assert Run().report(0, True, 31, rollouts=8).state() == (0, 0, 31, 31)


def test_a_group_counts_by_its_share_of_successes():
    """32 groups of 10: 288 successes of 320 are exactly 0.9 and pass; one success fewer does not."""
    for eighteens, high in ((0, 1), (1, 0)):
        schedule = new_schedule(NAMES)
        for prompt in range(32):
            successes = 8 if prompt < eighteens else 9
            schedule, taken = schedule.after(Result(prompt, "PD", 0, successes, 10))
            assert taken == "counted"
        assert schedule.window("PD").high == high


def test_a_prompt_counts_once_in_whatever_order_results_come():
    schedule = new_schedule(NAMES)
    for prompt in (3, 0, 5, 1, 4):
        schedule, taken = schedule.after(Result(prompt, "PD", 0, 1))
        assert taken == "counted"
    assert schedule.taken == ((0, 2), (3, 6))
    for prompt in (0, 1, 3, 4, 5):
        assert schedule.after(Result(prompt, "PD", 0, 1)) == (schedule, "repeated")
    schedule, _ = schedule.after(Result(2, "PD", 0, 1))
    assert (schedule.taken, schedule.window("PD").total) == (((0, 6),), 6)


def test_nothing_changes_while_frozen():
    base = new_schedule(NAMES)
    frozen = Schedule(base.settings, base.windows, frozen=True)
    assert frozen.after(Result(0, "PD", 0, 1)) == (frozen, "frozen")


def test_a_change_leaves_the_earlier_schedule_as_it_was():
    schedule = new_schedule(NAMES)
    schedule.after(Result(0, "PD", 0, 1))
    assert schedule == new_schedule(NAMES)
    with pytest.raises(TypeError):
        schedule.windows["PD"] = Window(high=9)  # type: ignore[index]


def test_draws_are_uniform_over_the_window():
    """7,000 draws from 2..6: 1,400 a level, standard deviation 33.5; all within four of them."""
    schedule = climbed(6).schedule
    counts = Counter(schedule.draw("CART", prompt) for prompt in range(7000))
    assert set(counts) == {2, 3, 4, 5, 6}
    assert all(abs(count - 1400) <= 134 for count in counts.values())
    assert {schedule.draw("PD", prompt) for prompt in range(50)} == {0}


def test_draws_are_the_same_in_every_process_and_differ_by_seed_and_environment():
    code = (
        "import json; from shopsim_env.rlve.scheduler import *; "
        "s = Schedule(Settings(seed=7), {'PD': Window(high=4), 'CART': Window(high=4)}); "
        "print(json.dumps([[s.draw(n, p) for p in range(40)] for n in s.windows]))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    (text,) = printed
    first, second = json.loads(text)
    assert first != second
    windows = {"PD": Window(high=4), "CART": Window(high=4)}
    assert first == [Schedule(Settings(seed=7), windows).draw("PD", prompt) for prompt in range(40)]
    assert first != [Schedule(Settings(seed=8), windows).draw("PD", prompt) for prompt in range(40)]


def test_the_plateau_report():
    """At 1: a failed block with 16 of 32, then 8 of 16; 20 results at 0. In all 24 of 48 = 0.5.

    Wilson at a share of one half: 0.5 ± z / (2 · sqrt(n + z²)) = 0.5 ± 1.959964 / (2 · sqrt(51.841459)), and
    7.2001² = 51.8414, so the half width is 0.136107.
    """
    run = climbed(1).report(1, True, 16).report(1, False, 16).report(0, True, 20)
    run.report(1, True, 8).report(1, False, 8)
    idle, report = run.schedule.plateaus()
    assert (idle.environment, idle.prompts, idle.success, idle.success_low) == ("PD", 0, None, None)
    assert not idle.stalled
    assert (report.environment, report.low, report.high) == ("CART", 0, 1)
    assert (report.waited, report.failed_blocks, report.prompts) == (68, 1, 48)
    assert report.success == 0.5
    assert (report.success_low, report.success_high) == pytest.approx((0.363893, 0.636107), abs=1e-6)
    assert report.stalled


def test_a_frontier_that_may_still_pass_is_not_stalled():
    """28 of 32: upper end of the interval 0.950."""
    _, report = Run().report(0, True, 28).report(0, False, 4).schedule.plateaus()
    assert (report.success, report.failed_blocks, report.stalled) == (0.875, 1, False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"d": -1}, "d: expected a whole number of at least 0, found -1"),
        ({"d": 1.0}, "d: expected a whole number of at least 0, found 1.0"),
        ({"d": True}, "d: expected a whole number of at least 0, found True"),
        ({"prompt": -1}, "prompt: expected a whole number of at least 0, found -1"),
        ({"rollouts": 0, "successes": 0}, "rollouts: expected a whole number of at least 1, found 0"),
        ({"successes": -1}, "successes: expected a whole number of at least 0, found -1"),
        ({"successes": 0.9}, "successes: expected a whole number of at least 0, found 0.9"),
        ({"successes": 9}, r"successes: expected at most 8 \(the rollouts\), found 9"),
    ],
)
def test_bad_results_are_refused(change: dict[str, object], message: str):
    values = {"prompt": 0, "environment": "PD", "d": 0, "successes": 4, "rollouts": 8, **change}
    with pytest.raises(UsageError, match=message) as caught:
        Result(**values)  # type: ignore[arg-type]
    assert caught.value.code == "bad_result"


def test_unknown_environments_are_refused():
    schedule = new_schedule(NAMES)
    for call in (lambda: schedule.draw("pd", 0), lambda: schedule.after(Result(0, "pd", 0, 1))):
        with pytest.raises(UsageError, match=r"expected one of .'CART', 'PD'., found 'pd'") as caught:
            call()
        assert caught.value.code == "unknown_environment"
    with pytest.raises(UsageError, match="prompt: expected"):
        schedule.draw("PD", -1)


def test_bad_settings_are_refused():
    for values in (
        {"block": 0},
        {"levels": 0},
        {"seed": -1},
        {"accuracy": 0.9},
        {"accuracy": Fraction(0)},
        {"accuracy": Fraction(11, 10)},
    ):
        with pytest.raises(UsageError) as caught:
            Settings(**values)  # type: ignore[arg-type]
        assert caught.value.code == "bad_settings"
    for names in ((), ("PD", "PD")):
        with pytest.raises(UsageError, match="at least one and none twice"):
            new_schedule(names)


@pytest.mark.published
def test_the_published_cases(shared_data):
    cases = json.loads((shared_data / "cases" / "rlve.json").read_text(encoding="utf-8"))
    moves = [case for case in cases if case["area"] == "scheduler" and "results" in case["input"]]
    assert len(moves) == 9
    for case in moves:
        given = case["input"]
        settings = Settings(
            block=given["tau_num"],
            accuracy=Fraction(str(given["tau_acc"])),
            levels=given["d_delta"] + 1,
        )
        run = Run(Schedule(settings, {"CART": Window(**given["start"])}))
        for row in given["results"]:
            run.report(row["d"], row["correct"], row["count"])
        expected = case["expected"]
        assert run.state() == tuple(expected[key] for key in ("low", "high", "correct", "total")), case["id"]
