"""Failures of the search baseline are listed by cause: hand-made tasks whose gold product is not found."""

from pathlib import Path

from builds import build, record, task, write_records

from pipelines.baseline_report import baseline_lines
from pipelines.stages.release_baseline import measure_split


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
