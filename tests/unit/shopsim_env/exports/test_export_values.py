"""Figures of exports against values worked out by hand, files, and progress."""

import io
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shopsim_env.errors import RunError, UsageError
from shopsim_env.exports.groups import advantages
from shopsim_env.exports.lengths import counting, summary
from shopsim_env.exports.parquet import write_parquet
from shopsim_env.exports.preferences import PairOptions, chosen_pairs
from shopsim_env.exports.progress import Progress
from shopsim_env.exports.recorded import Recording
from shopsim_env.exports.sft import SftOptions
from shopsim_env.exports.writing import export_rows


def test_advantages_by_hand() -> None:
    # Mean 0.5; squares 0.25 + 0 + 0.25 over n - 1 = 2: deviation 0.5.
    assert advantages([1.0, 0.5, 0.0], scale=False) == (0.5, 0.5, [0.5, 0.0, -0.5])
    assert advantages([1.0, 0.5, 0.0], scale=True) == (0.5, 0.5, [1.0, 0.0, -1.0])
    mean, spread, gains = advantages([1.0, 0.0, 0.0, 0.0], scale=True)
    assert (mean, spread) == (0.25, 0.5)  # squares 9/16 + 3/16 over 3
    assert gains == [1.5, -0.5, -0.5, -0.5]


@pytest.mark.parametrize("rewards", [[0.1], [0.1, 0.1, 0.1], [0.0] * 8])
def test_equal_rewards_teach_nothing(rewards: list[float]) -> None:
    for scale in (False, True):
        assert advantages(rewards, scale=scale) == (rewards[0], 0.0, [0.0] * len(rewards))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=16))
def test_advantages_sum_to_zero(rewards: list[float]) -> None:
    _, spread, gains = advantages(rewards, scale=False)
    assert math.isclose(math.fsum(gains), 0, abs_tol=1e-12)
    assert (spread == 0) == all(gain == 0 for gain in gains)


def test_percentiles_are_nearest_ranks() -> None:
    # 100 lengths 1..100, and one length ten times: ranks ceil(n * p / 100).
    assert summary(dict.fromkeys(range(1, 101), 1)) == {
        "count": 100,
        "mean": 50.5,
        "p50": 50,
        "p90": 90,
        "p99": 99,
        "max": 100,
    }
    assert summary({7: 3, 9: 1}) == {"count": 4, "mean": 7.5, "p50": 7, "p90": 9, "p99": 9, "max": 9}


def test_counting() -> None:
    assert counting("chars")("杯子a") == 3
    assert counting("utf8-bytes")("杯子a") == 7


def test_counting_with_a_tokenizer(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    words = {"红": 0, "杯": 1, "[UNK]": 2}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))  # noqa: S106
    made.pre_tokenizer = tokenizers.pre_tokenizers.Split("", "isolated")
    made.enable_truncation(max_length=2)
    made.save(str(tmp_path / "tokenizer.json"))
    for place in (tmp_path, tmp_path / "tokenizer.json"):
        assert counting(str(place))("红杯红杯") == 4  # a limit in the file does not cut what is measured
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UsageError) as caught:
        counting(str(tmp_path))
    assert caught.value.code == "no_tokenizer"


def test_pairs_go_from_the_ends_inwards() -> None:
    members: list[Any] = [(0.2, "a"), (1.0, "b"), (0.0, "c"), (0.6, "d"), (0.5, "e")]

    def names(**options: Any) -> list[tuple[str, str]]:
        return [(better[1], worse[1]) for better, worse in chosen_pairs(members, PairOptions(**options))]

    assert names() == [("b", "c")]
    assert names(most=9) == [("b", "c"), ("d", "a")]
    assert names(most=9, margin=0.5) == [("b", "c")]
    assert names(margin=1.5) == []


@pytest.mark.parametrize("options", [{"margin": 0.0}, {"margin": math.nan}, {"most": 0}])
def test_pairs_that_cannot_be_asked_for(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        PairOptions(**options)


@pytest.mark.parametrize(
    "options", [{"bad": "keep"}, {"reasoning": "no"}, {"rows": "x"}, {"min_reward": math.nan}]
)
def test_examples_that_cannot_be_asked_for(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        SftOptions(**options)


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"

    def rows() -> Iterator[dict[str, Any]]:
        yield {"b": 1, "a": "杯子"}
        assert not path.exists()
        raise RunError("broken")

    with pytest.raises(RunError, match="broken"):
        export_rows(path, rows(), force=False)
    assert list(tmp_path.iterdir()) == []
    assert export_rows(path, [{"b": 1, "a": "杯子"}], force=False) == 1
    assert path.read_bytes() == '{"b":1,"a":"杯子"}\n'.encode()
    with pytest.raises(UsageError) as caught:
        export_rows(path, [{}], force=False)
    assert caught.value.code == "file_exists"
    with pytest.raises(RunError) as nothing:
        export_rows(path, [], force=True)
    assert nothing.value.code == "nothing_to_export"
    assert path.stat().st_size > 0
    with pytest.raises(UsageError) as no_folder:
        export_rows(tmp_path / "none" / "rows.jsonl", [{}], force=False)
    assert no_folder.value.code == "no_folder"


def test_parquet_goes_by_row_groups() -> None:
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    assert write_parquet(stream, ({"task_id": number} for number in range(2_500))) == 2_500
    file = pq.ParquetFile(stream)
    assert [file.metadata.row_group(place).num_rows for place in range(file.num_row_groups)] == [
        1000,
        1000,
        500,
    ]
    assert file.read().column("task_id").to_pylist() == list(range(2_500))


def test_two_runs_of_one_name_and_none(tmp_path: Path) -> None:
    for folder in ("a/run", "b/run"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "traces.jsonl").write_bytes(b"")
    with pytest.raises(UsageError) as twice:
        Recording([tmp_path / "a/run", tmp_path / "b/run"])
    assert twice.value.code == "same_name"
    with pytest.raises(UsageError) as none:
        Recording([tmp_path])
    assert none.value.code == "no_run"
    assert Recording([tmp_path / "a/run"]).places() == []


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    shown = Terminal()
    assert list(Progress(stream=shown).over("sft", "abc", 3)) == ["a", "b", "c"]
    assert [line.strip() for line in shown.getvalue().split("\r")[1:]] == [
        "sft: 2 of 3 episodes, 2/s, 0 s left",
        "sft: 3 of 3 episodes, 2/s, 0 s left",
    ]
    assert shown.getvalue().endswith("\n")
    plain, quiet = io.StringIO(), Terminal()
    assert len(list(Progress(stream=plain).over("sft", range(12), 12))) == 12
    assert plain.getvalue() == "sft: 11 of 12 episodes, 1/s, 1 s left\n"
    assert list(Progress(stream=quiet, quiet=True).over("sft", "ab", 2)) == ["a", "b"]
    assert quiet.getvalue() == ""


def test_the_command_line_loads_no_export_until_one_is_asked_for() -> None:
    code = (
        "import sys, shopsim_env.cli as cli; cli.build_parser(); "
        "late = ('shopsim_env.exports', 'pyarrow', 'tokenizers'); "
        "sys.exit(any(name.startswith(late) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
