"""Builds for tests: hand-written records with canaries in every private field, and one call to run the job.

Every text is ours. `CANARIES` are strings that stand in private fields only; they must never be public.
"""

import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg

from pipelines.build import BuildReport, run_build

CANARY_FULL = "canaryfulltext"
CANARY_OPTION = "雾蓝canaryoption"
CANARY_ATTRIBUTE = "canaryattribute"
CANARY_UNKNOWN = "canaryunknownkey"
CANARY_USER = "canaryuser"


def record(asin: str, title: str, **fields: Any) -> dict[str, Any]:
    """A product with one price-varying axis and no task."""
    return {
        "asin": asin,
        "tag": "train",
        "title": title,
        "shop_name": "山野小店",
        "category": "户外用品›照明›营地灯",
        "attribute": ["可充电", "防水"],
        "customization_options": {
            "颜色分类": [{"value": "雾蓝", "price": 39}, {"value": "沙色", "price": 59}]
        },
        "pricing": [39.0, 59.0],
        "domain_en_short": "Sports",
        "instructions": [],
        **fields,
    }


def task(instruction: str, simple: str | None = None, **fields: Any) -> dict[str, Any]:
    """One instruction with a target attribute and a target option."""
    return {
        "instruction": instruction,
        "instruction_simple": simple,
        "attributes": ["防水"],
        "instruction_options": ["雾蓝"],
        "worker_id": "0",
        **fields,
    }


def small_records() -> list[dict[str, Any]]:
    """Task 0 persona, task 1 on an excluded product, tasks 2 and 3 standard; eight products."""
    persona = {
        "用户ID": f"U700000000001{CANARY_USER}",
        "人口属性": {"年龄段": "25-34, "},
        "用户标签": ["露营"],
    }
    secret = record(
        "700000000001",
        "星野 营地灯 可充电",
        user_persona=persona,
        query=CANARY_UNKNOWN,
        instructions=[
            task(
                f"想买一盏防水的营地灯，{CANARY_FULL}，预算50元以内",
                "找一盏营地灯，50元以内",
                attributes=["防水", CANARY_ATTRIBUTE],
                instruction_options=[CANARY_OPTION],
            )
        ],
    )
    two_axes = record(
        "700000000002",
        "多价 营地灯",
        customization_options={
            "颜色": [{"value": "红", "price": 1}, {"value": "蓝", "price": 2}],
            "尺码": [{"value": "大", "price": 1}, {"value": "小", "price": 3}],
        },
        instructions=[task("买一盏多价的营地灯")],
    )
    standard = record(
        "700000000003",
        "云杉 露营 帐篷",
        category="户外用品›帐篷",
        instructions=[task("想要防水的露营帐篷，预算40元以内")],
    )
    evaluation = record(
        "700000000004",
        "竹制 杯垫",
        tag="eval",
        category="家居›餐具",
        instructions=[task("买一个竹制杯垫", attributes=[""])],
    )
    others = [record(f"7000000001{number:02d}", f"旅行 水壶 {number}号") for number in range(4)]
    return [secret, two_axes, standard, evaluation, *others]


def told_goals(text: str, goals: Mapping[int, str]) -> list[str]:
    """Lines that name a task and its gold product (`goals`: task id to asin), and lines with a task uid."""
    return [
        line
        for line in text.splitlines()
        if re.search(r"shopsim-[0-9a-f]{24}", line)
        or any(
            asin in line and re.search(rf"(?<!\d){task_id}(?!\d)", line.replace(asin, ""))
            for task_id, asin in goals.items()
        )
    ]


def write_records(path: Path, records: Any = None) -> Path:
    """Writes an archive of `records` (the small ones by default) and returns its path."""
    data = json.dumps(small_records() if records is None else records, ensure_ascii=False).encode()
    path.write_bytes(gzip.compress(data, mtime=0))
    return path


def config(folder: Path, **fields: Any) -> dict[str, Any]:
    """Run config of the workspace with everything below `folder`."""
    roots = {"artifacts_root": str(folder / "artifacts"), "releases_root": str(folder / "releases")}
    roots["cache_root"] = str(folder / "cache")
    return {
        "dataset": "small",
        "runtime_regex_all": True,
        **roots,
        **{k: str(v) if isinstance(v, Path) else v for k, v in fields.items()},
    }


def build(folder: Path, **fields: Any) -> BuildReport:
    """Runs the whole job below `folder` with a Dagster instance of its own."""
    with dg.DagsterInstance.ephemeral() as instance:
        return run_build(config(folder, **fields), instance=instance)


def write_config(folder: Path, name: str, text: str) -> Path:
    """A data set configuration below `folder`; returns the root to give as `configs_root`."""
    (folder / "datasets").mkdir(parents=True, exist_ok=True)
    (folder / "datasets" / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder
