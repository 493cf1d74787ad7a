"""Search baseline of hand-made tasks: failures by cause, v2's weights, a published table beside it."""

from pathlib import Path

import pytest
from builds import build, record, task, write_config, write_records

from pipelines.baseline_report import baseline_lines
from pipelines.report import build_lines
from pipelines.stages.processes import Workers
from pipelines.stages.release_baseline import measure_split
from shopsim_env.errors import UsageError


def test_causes(tmp_path: Path) -> None:
    many = [
        record(f"71{number:010d}", "旅行 水壶 旅行水壶", attribute=[], category="水壶", shop_name="水壶")
        for number in range(160)
    ]
    gold = record(
        "700000000001",
        "竹制 杯垫 旅行",
        category="",
        domain_en_short=None,
        instructions=[
            task("旅行水壶"),  # the gold product holds 旅行, 160 others hold more of the text
            task("钢琴"),  # no word of it is in the gold product
            task("竹制杯垫"),
        ],
    )
    report = build(tmp_path, raw=write_records(tmp_path / "raw.json.gz", [gold, *many]))
    assert report.ok, report.problems
    found = measure_split(Path(str(report.release)), "source/standard_train")
    assert found["failed"] == {
        "instruction": {"no_shared_word": [1], "outranked": [0]},
        "instruction_simple": {},
    }
    assert list(found["domains"]) == ["(none)"]
    assert found["modes"]["instruction"]["recall"]["1"]["hits"] == 1
    lines = list(baseline_lines(found))
    assert "failed, full text, no_shared_word: 1 tasks: 1" in lines
    assert "failed, full text, outranked: 1 tasks: 0" in lines


def test_weights_of_version_2(tmp_path: Path) -> None:
    """The word is an option of the gold product and a bullet of the other: 1.2 against 0.8 in version 3.

    In version 2 every weight stood one column too far left: options had 0.8, bullets FTS5's default of 1.
    """
    plain = {"attribute": [], "category": "", "shop_name": "", "domain_en_short": None}
    gold = record(
        "700000000001",
        "甲乙",
        **{**plain, "customization_options": {"轴": [{"value": "钢琴"}]}},
        instructions=[task("钢琴")],
    )
    options = {"轴": [{"value": "己"}]}
    other = record("700000000002", "甲乙", **plain, customization_options=options, sub_title="钢琴")
    rest = [
        record(f"71000000000{number}", "丙丁", **plain, customization_options={"轴": [{"value": "戊"}]})
        for number in range(6)
    ]
    report = build(tmp_path, raw=write_records(tmp_path / "raw.json.gz", [gold, other, *rest]))
    assert report.ok, report.problems
    path, split = Path(str(report.release)), "source/standard_train"
    first = {
        weights: measure_split(path, split, weights=weights)["modes"]["instruction"]["mrr"]
        for weights in ("v3", "v2")
    }
    assert first == {"v3": 1.0, "v2": 0.5}
    assert measure_split(path, split, weights="v2", workers=Workers(2))["modes"]["instruction"]["mrr"] == 0.5
    with pytest.raises(UsageError, match="one of v3, v2, found 'v1'"):
        measure_split(path, split, weights="v1")


def test_a_published_table_is_reported_and_stops_nothing(tmp_path: Path) -> None:
    records = [
        record("700000000001", "竹制 杯垫", instructions=[task("竹制杯垫")]),
        record("700000000002", "旅行 水壶"),
    ]
    figures = '{ recall_1 = "100.00", recall_20 = "100.00", recall_150 = "99.00", mrr = "1.0000" }'
    configs = write_config(
        tmp_path / "configs",
        "small",
        f"""
name = "small"
archive = "{write_records(tmp_path / "raw.json.gz", records)}"

[baseline]
splits = ["source/standard_train"]

[published_baseline]
split = "source/standard_train"
tasks = 1
instruction_simple = {figures}
instruction = {figures}
""",
    )
    report = build(tmp_path, configs_root=configs)
    assert report.ok, report.problems
    assert report.checks_failed == 0  # reported, and the release is there all the same
    warned = [warning for warning in report.warnings if "published_baseline_met" in warning]
    assert len(warned) == 5  # the depth that differs, and the four figures of a text that no task has
    assert "search baseline: full text: recall_150: expected 99.00, found 100.00" in warned[-1]
    assert build(tmp_path, configs_root=configs).warnings == report.warnings, "no memory of what only warns"
    assert not report.reproduced
    found = {figure.name.split(": ", 1)[1]: (figure.found, figure.status) for figure in report.published}
    assert found["tasks"] == ("1", "ok")
    assert found["full text: recall_1"] == ("100.00", "ok")
    assert found["full text: recall_150"] == ("100.00", "differs")
    assert found["simple text: mrr"] == (None, "not built")
    lines = list(build_lines(report))
    assert any("full text: recall_150" in line and "99.00" in line and "differs" in line for line in lines)
