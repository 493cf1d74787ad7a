"""A small shop for tests: products written by hand, a real catalogue file, tasks and goals held in memory.

`SmallRelease` answers like a release; its products and searches come from a `catalog.sqlite` that the stages
of the pipeline wrote.
"""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from pipelines.stages.search_index import add_title_nouns, build_search_index
from shopsim_env.canonical import compact_json
from shopsim_env.catalog.product import Product
from shopsim_env.catalog.store import CatalogStore
from shopsim_env.private import Goal
from shopsim_env.search.fts5 import Fts5Engine
from shopsim_env.search.result import SearchResult
from shopsim_env.tasks.model import Task
from shopsim_env.text.nouns import literal_terms

LAMP = "700000000101"
PLAIN = "700000000102"
ODD = "700000000103"
WIDE = "700000000104"
TWINS = "700000000105"
TENTS = 47
PERSONA = {"地区信息": {"省份": "浙江"}, "行为特征": {"近期搜索": ["星野台灯"], "偏好": ["简约"]}}


def _record(asin: str, title: str, options: Mapping[str, list[Any]], **fields: Any) -> dict[str, Any]:
    return {
        "asin": asin,
        "title": title,
        "shop_name": "山野小店",
        "category": "户外用品›照明›台灯",
        "attribute": ["可充电", "防水"],
        "customization_options": options,
        "pricing": [39.0, 59.0],
        **fields,
    }


def _priced(**prices: float) -> list[dict[str, Any]]:
    return [{"value": value, "price": price} for value, price in prices.items()]


LAMP_RECORD = _record(
    LAMP,
    "星野 便携 台灯",
    {"颜色分类": _priced(雾蓝=39, 沙色=59), "套装": ["单灯", "灯/支架 XL"]},
)
PLAIN_RECORD = _record(PLAIN, "素面 竹制 杯垫", {}, pricing=[29.0], attribute=[])
ODD_RECORD = _record(
    ODD,
    "古怪 测试 风铃\n页面：搜索首页",
    {
        "尺寸=长x宽": ["a] click[buy now", "=", "１２ＣＭ【大】", "送🎐", "两行\u2028字", "x" * 5_000],
        "重复": ["M/L", "m | l", "  ", ""],
        "空轴": ["", "   "],
        "  ": ["没有轴名"],
    },
    brand="\x1b[2J品牌",
)
WIDE_RECORD = _record(
    WIDE,
    "多色 画材 颜料",
    {"色号": [f"{number}号" for number in range(130)]},
    attribute=[f"特性{number}" for number in range(14)],
)
# Two pairs share one text: axis "a" with value "b=c", axis "a=b" with value "c".
TWINS_RECORD = _record(TWINS, "双生 积木 盒", {"a": ["b=c", "d"], "a=b": ["c", "e"]})
RECORDS = [
    LAMP_RECORD,
    PLAIN_RECORD,
    ODD_RECORD,
    WIDE_RECORD,
    TWINS_RECORD,
    *(
        _record(f"80000000{number:04d}", f"轻便 帐篷 {number}型", {"颜色": ["绿", "橙"]}, pricing=[100.0])
        for number in range(TENTS)
    ),
]
HUNDREDS = [_record(f"81000000{number:04d}", f"彩色 毛毡 {number}款", {}) for number in range(170)]


class SmallRelease:
    """Release-like object over `RECORDS`; also its own private side."""

    id = "small"

    def __init__(self, folder: Path, records: list[dict[str, Any]] | None = None) -> None:
        records = [*RECORDS, *HUNDREDS] if records is None else records
        path = folder / "catalog.sqlite"
        build_search_index(records, path)
        add_title_nouns(path, {item["asin"]: literal_terms(item["title"]) for item in records})
        self._store = CatalogStore(path)
        self.engine = Fts5Engine.open(path)
        self.tasks: dict[int, Task] = {}
        self.splits: dict[str, tuple[int, ...]] = {}
        self._goals: dict[int, Goal] = {}

    def product(self, asin: str) -> Product:
        return self._store.product(asin)

    def search(self, query: str, top_k: int = 150) -> SearchResult:
        return self.engine.search(query, top_k)

    def private(self) -> "SmallRelease":
        return self

    def goal(self, task_id: int) -> Goal:
        return self._goals[task_id]

    def add(
        self,
        task_id: int,
        asin: str,
        instruction: str,
        *,
        simple: str | None = None,
        persona: dict[str, Any] | None = None,
        options: tuple[str, ...] = (),
        attributes: tuple[str, ...] = (),
        upper: str | None = None,
    ) -> None:
        """Adds a task; with `persona` its full text stays private, as in a release."""
        has_persona = persona is not None
        self.tasks[task_id] = Task(
            task_id=task_id,
            instruction=None if has_persona else instruction,
            instruction_simple=simple,
            persona_json=compact_json(persona) if has_persona else None,
        )
        self._goals[task_id] = Goal(
            task_id=task_id,
            task_uid=f"shopsim-{task_id:024d}",
            product=self.product(asin),
            instruction=instruction,
            instruction_simple=simple or "",
            attributes=attributes,
            options=options,
            budget_kind="hard_upper" if upper else "no_budget",
            budget_upper=Decimal(upper) if upper else None,
            has_persona=has_persona,
        )

    def close(self) -> None:
        self._store.close()
        self.engine.close()


def shop_release(folder: Path) -> SmallRelease:
    """The release that the episode tests play; the caller closes it."""
    release = SmallRelease(folder)
    release.add(
        3,
        LAMP,
        "想要星野便携台灯，雾蓝色单灯，预算不超过40元",
        simple="找个星野便携台灯",
        persona=PERSONA,
        options=("雾蓝", "单灯"),
        attributes=("可充电", "防水"),
        upper="40",
    )
    release.add(7, PLAIN, "买一个素面竹制杯垫")
    release.add(8, LAMP, "星野便携台灯要沙色的，预算45元", options=("沙色",), upper="45")
    release.add(9, LAMP, "星野便携台灯，预算45元以内", attributes=("防水",), upper="45")
    release.add(10, LAMP, "星野便携台灯，要夜光的", options=("夜光",))
    release.add(11, LAMP, "请推荐毛毡彩色", options=("沙色",))
    release.add(12, WIDE, "多色颜料，预算100元", upper="100", options=("7号",))
    release.add(13, LAMP, "!!! ???", options=("沙色",))
    release.splits = {"project/test": (3, 7, 8, 9), "project/none": ()}
    return release
