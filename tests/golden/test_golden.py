"""Golden episodes of the sample: the same bytes everywhere, and every kind of page and end among them."""

import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from places import ROOT

from shopsim_env.release import load_release
from shopsim_env.replay import verify_file, verify_line
from shopsim_env.trace import TraceReader, read_record

GOLDEN = ROOT / "tests" / "golden" / "sample.jsonl"
RECORDS = [read_record(line) for _, line in TraceReader(GOLDEN)]


def verify_lines(numbers: list[int]) -> list[str]:
    """Plays lines of the golden file; for worker processes."""
    lines = dict(TraceReader(GOLDEN))
    with load_release() as release:
        found = [verify_line(lines[number], number, release) for number in numbers]
    return [str(item) for item in found if item is not None]


def test_golden_episodes_play_as_recorded() -> None:
    with load_release() as release:
        result = verify_file(GOLDEN, release)
    assert result.differences == ()
    assert (result.torn, result.episodes) == (0, len(RECORDS))


def test_golden_episodes_are_of_every_kind() -> None:
    ends = Counter((record.termination_reason, record.ended_by) for record in RECORDS)
    assert ends["purchase", "action"] >= 10
    assert ends["action_limit", "action"] >= 2
    assert ends["generation_length", "caller"] >= 1
    assert ends[None, None] >= 1
    assert {record.reward for record in RECORDS} >= {None, 0.0, 1.0}
    for option, values in {
        "task_mode": {"persona", "standard"},
        "interaction_mode": {"single_turn", "multi_turn"},
        "option_match": {"anchored", "paper"},
        "observation_style": {"full", "compact"},
        "page_size": {5, 7, 20},
    }.items():
        assert {record.environment[option] for record in RECORDS} == values
    actions = [action for record in RECORDS for action in record.actions]
    assert {type(action) for action in actions} >= {str, dict, list, int, type(None)}
    assert actions.count("click[next >]") >= 8


@pytest.mark.parametrize(
    ("seed", "zone", "language"),
    [
        ("0", "UTC", "C"),
        ("1", "Asia/Shanghai", "C.UTF-8"),
        ("2", "America/St_Johns", "POSIX"),
        ("42", "Pacific/Kiritimati", "C.UTF-8"),
        ("4294967295", "Etc/GMT+12", "C"),
    ],
)
def test_golden_episodes_do_not_depend_on_hash_seed_zone_or_language(
    seed: str, zone: str, language: str, tmp_path: Path
) -> None:
    """The file made anew has the same bytes."""
    code = (
        "import sys, pathlib; sys.path.insert(0, 'tests/golden'); import make_golden as m; "
        "m.GOLDEN = pathlib.Path(sys.argv[1]); m.main()"
    )
    variables = {"PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": language, "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "again.jsonl")],
        cwd=ROOT,
        env={**os.environ, **variables},
        check=True,
        capture_output=True,
    )
    assert (tmp_path / "again.jsonl").read_bytes() == GOLDEN.read_bytes()


def test_golden_episodes_in_eight_processes() -> None:
    shares = [list(range(first, len(RECORDS) + 1, 8)) for first in range(1, 9)]
    with ProcessPoolExecutor(8, mp_context=get_context("spawn")) as workers:
        assert list(workers.map(verify_lines, shares)) == [[]] * 8


def test_golden_file_holds_no_text_of_a_private_goal() -> None:
    text = GOLDEN.read_text(encoding="utf-8")
    with load_release() as release:
        goals = [release.private().goal(record.task_id) for record in RECORDS]
    for goal in goals:
        assert goal.task_uid not in text
        if goal.has_persona:
            assert goal.instruction not in text
