"""Budgets of texts and tasks: expected values come from the decision table and by hand."""

import gzip
import json
from decimal import Decimal
from pathlib import Path

import pytest

from shopsim_env.errors import TaskError
from shopsim_env.tasks.budget import Budget, approximate_ceiling, parse_budget, task_budget


def ceilings(kind: str, rows: str) -> list[tuple[str, str, str]]:
    """Rows `text = upper`, one a line."""
    pairs = (row.rsplit(" = ", 1) for row in rows.strip().splitlines())
    return [(text.strip(), kind, upper) for text, upper in pairs]


HARD = """
    想配个床头灯,预算在260元以下 = 260
    价位控制在 1880 元以内 = 1880
    不高过99元 = 99
    最高三百元 = 300
    价格不到3元 = 3
    预算不超过两千四 = 2400
    预算1万2千 = 12000
    七元以内 = 7
    80元都不到 = 80
    120元能拿下 = 120
    准备了800块 = 800
    给到1200元 = 1200
    预算２００元以内 = 200
    预算¥200以内 = 200
    预算一百五以内 = 150
    预算一千零五十元 = 1050
    定金30元,总价不超过500元 = 500
    预算3百以内 = 300
    价格不一定要便宜,200元以内 = 200
    尺寸10-12,20元以内 = 20
    价钱别超120块 = 120
    售价上限是900 = 900
    只能给到650元 = 650
    价格小于75 = 75
    预算为18元 = 18
    就20块 = 20
    十块钱能买到就行 = 10
    在六百五的价位里挑一盏灯 = 650
    360元预算搞定 = 360
    百元以内的雨伞 = 100
    大概300以内 = 300
    预算大约80块以内吧 = 80
    预算在二十几块钱不要超过三十元 = 30
    十几块, 不要超过二十 = 20
    价格三百左右，最多三百五 = 350
    预算85左右,最多不超过100元 = 100
    每个30元，总价不超过200 = 200
    两瓶不超过1000 = 1000
    3包十元 = 10
    价格9块3个 = 9
    整套价格在450以内 = 450
    35元以内的一对 = 35
    租金不超过260元 = 260
    设计费不能超过900元 = 900
    团购价别超过45 = 45
    含税2600元以内 = 2600
    三百四能搞定 = 340
    9块9包邮 = 9.9
    价格低于300高于100 = 300
    100元以上200元以下 = 200
    原价500元，现在预算300以内 = 300
    满200减30，预算150元 = 150
    超过500元就不考虑 = 500
    预算1万5 = 15000
    价格1,299元以内 = 1299
    预算在2.1W以内 = 21000
    预算rmb 300以内 = 300
    200人民币以内 = 200
    预算不多，最好别超过90 = 90
    千万别太贵，两百以内 = 200
    礼盒装20元，预算别超过15元 = 15
    个位数价格 = 9
    价格不想超过三百 = 300
    预算900块当礼物 = 900
    一百三十元五十包 = 130
"""
RANGES = """
    价格50元到65元之间 = 65
    预期价格在480元和520元之间 = 520
    价格三十至五十元之间 = 50
    预算在5千到8千元 = 8000
    预算100-200 = 200
    价格在190～210左右 = 210
    价格30元—45元 = 45
    价格在5万-5万5之内 = 55000
    价格大概2k到2.5k = 2500
    预算两百到三百 = 300
    价格在五六千范围内 = 6000
    两三块钱 = 3
    六七十块能拿下 = 70
    预算就三四百块左右 = 400
"""
APPROXIMATE = """
    售价45元左右 = 49.5
    1.5万元左右 = 16500
    约2k元 = 2200
    大概100元 = 110
    预算大概100元 = 110
    售价约350元 = 385
    2000元出头 = 2200
    20多元 = 22
    500左右能拿下 = 550
    三千左右能搞定 = 3300
    一万左右 = 11000
    200上下的价位 = 220
    90上下的价位 = 99
    十几块钱 = 20.9
    二十几块 = 31.9
    价格差不多30块左右 = 33
    预算接近500元 = 550
    价格在1200元附近的 = 1320
    预算在一百四十多点 = 154
    价格六百来块 = 660
    百来块左右 = 110
    四十左右包邮 = 44
    中通包邮四十左右 = 44
    两千一出头的样子 = 2310
    预算2000左右，手工费180以下 = 2200
    价格优惠后在1300元左右 = 1430
    花75元左右买8个衣架 = 82.5
    （300 元左右 ） = 330
    预算有限，30元左右就行 = 33
    价格在700块浮动 = 770
    价格大约在133500左右 = 146850
    预算嘛，大概三百 = 330
    价格约33.33元 = 36.663
    价格150元左右，价格150左右 = 165
"""
NO_CEILING = [
    ("预算3k+", "lower_only"),
    ("价格要超过80元", "lower_only"),
    ("总价至少900", "lower_only"),
    ("价格不低于40元", "lower_only"),
    ("价格2300元以上", "lower_only"),
    ("100元起", "lower_only"),
    ("起码500元的", "lower_only"),
    ("单价不超过20元,买3件", "non_total_price"),
    ("月供300元以内", "non_total_price"),
    ("大概850一平米左右", "non_total_price"),
    ("价格为110元每米", "non_total_price"),
    ("每个人的预算在150元左右", "non_total_price"),
    ("一个的价格在25元左右", "non_total_price"),
    ("单盒价格不能超过160块", "non_total_price"),
    ("0.1米40块左右的预算", "non_total_price"),
    ("半米15块左右", "non_total_price"),
    ("价格希望每根不超过15块钱", "non_total_price"),
    ("15块钱左右一小时的", "non_total_price"),
    ("30元/个", "non_total_price"),
    ("可以给800元定金", "non_total_price"),
    ("押金不超过2000元", "non_total_price"),
    ("预算几百块", "ambiguous"),
    ("几十块钱的", "ambiguous"),
    ("预算200元以内，价格别超过300", "ambiguous"),
    ("两百左右的预算，价格五百左右", "ambiguous"),
]
NO_MONEY = [
    "",
    "想买一个软一点的枕头",
    "价格便宜,买20个",
    "价格便宜一点的雨伞",
    "预算有限,要一个台灯",
    "价格公道的千层蛋糕",
    "价格一般，万能充要两个",
    "预算不限，第一次买",
    "电脑里要装得下两块硬盘",
    "找一块三风扇的显卡",
    "给我选一块",
    "尺寸大概40公分宽",
    "30瓦左右",
    "防水时间不低于三小时",
    "13到14公分",
    "给30左右的女性穿",
    "转速三千左右",
    "长度在一万以内",
    "要2024年的新款，20寸",
    "3k屏幕,2kg重",
    "两元店里的那种",
    "三元催化器",
    "二次元手办",
    "满200减30",
    "送50元红包",
    "20元优惠券",
    "0元购",
    "预算12345678901234567890",
    "价格100%真实",
    "200张一包的",
]


@pytest.mark.parametrize(
    ("text", "kind", "upper"),
    [
        *ceilings("hard_upper", HARD),
        *ceilings("hard_upper", RANGES),
        *ceilings("approximate_upper", APPROXIMATE),
    ],
)
def test_ceilings(text: str, kind: str, upper: str) -> None:
    budget = parse_budget(text)
    assert (budget.kind, budget.upper) == (kind, Decimal(upper))
    assert budget.evidence == text[slice(*budget.span)] != ""


@pytest.mark.parametrize(("text", "kind"), NO_CEILING)
def test_words_about_money_without_a_ceiling(text: str, kind: str) -> None:
    budget = parse_budget(text)
    assert (budget.kind, budget.amount, budget.upper) == (kind, None, None)
    assert budget.evidence == text[slice(*budget.span)] != ""


@pytest.mark.parametrize("text", NO_MONEY)
def test_texts_without_money_get_no_budget(text: str) -> None:
    assert parse_budget(text) == Budget("no_budget", None, None, "", (0, 0))


def test_evidence_is_the_whole_phrase() -> None:
    assert parse_budget("找个杯子，价格在 30 元左右的，白色").evidence == "价格在 30 元左右"
    assert parse_budget("预算２００元").span == (0, 6)


def test_amount_is_what_was_said_and_tolerance_comes_once() -> None:
    budget = parse_budget("预算大概在33元左右")
    assert (budget.amount, budget.upper) == (Decimal(33), Decimal("36.3"))


def test_approximate_ceilings_are_rounded_to_eight_decimals() -> None:
    assert approximate_ceiling(Decimal("0.123456789")) == Decimal("0.13580247")  # 0.1358024679


class TestTaskBudget:
    def test_simple_text_comes_first(self) -> None:
        budget = task_budget("找个价格在70元以内的保温杯", "买不锈钢保温杯,预算不超过90元")
        assert budget.upper == 70

    @pytest.mark.parametrize("simple", ["找个保温杯", "找个价格在80元以上的保温杯"])
    def test_full_text_follows_a_simple_text_without_ceiling(self, simple: str) -> None:
        assert task_budget(simple, "买不锈钢保温杯,预算不超过90元").upper == 90

    @pytest.mark.parametrize("simple", [None, "", "  "])
    def test_full_text_stands_for_a_missing_simple_one(self, simple: str | None) -> None:
        assert task_budget(simple, "预算不超过90元", "").upper == 90

    def test_no_ceiling_anywhere(self) -> None:
        assert task_budget("买灯", "买灯，单价20元").kind == "non_total_price"

    @pytest.mark.parametrize(("given", "upper"), [(70, "70"), (36.3, "36.3"), ("55.5", "55.5"), (0, "0")])
    def test_the_annotation_wins(self, given: object, upper: str) -> None:
        budget = task_budget("预算100元", "预算100元", given)
        assert (budget.kind, budget.amount, budget.upper) == ("annotated", Decimal(upper), Decimal(upper))

    @pytest.mark.parametrize("given", [-1, "abc", float("nan"), float("inf"), True, [70], " "])
    def test_an_annotation_must_be_a_finite_number(self, given: object) -> None:
        with pytest.raises(TaskError, match="price_upper must be a finite number") as caught:
            task_budget("预算100元", "预算100元", given)
        assert caught.value.code == "invalid_price_upper"


@pytest.mark.published
def test_every_published_evidence_gives_the_published_ceiling(shared_data: Path) -> None:
    path = shared_data / "real" / "budget_annotations.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    priced = [row for row in rows if row["price_upper"] is not None]
    assert len(priced) == 271
    wrong = [
        row["task_id"]
        for row in rows
        if row["evidence"] and _as_float(parse_budget(row["evidence"])) != row["price_upper"]
    ]
    assert wrong == []


@pytest.mark.published
def test_clause_families_get_their_kind(shared_data: Path) -> None:
    """The families were cut by words; at most 2 % of the clauses may land elsewhere (unit prices, sizes)."""
    kinds = {
        "upper": "hard_upper",
        "range": "hard_upper",
        "approx": "approximate_upper",
        "lower_only": "lower_only",
    }
    path = shared_data / "real" / "budget_clauses.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows = [row for row in rows if row["family"].split(":")[0] in kinds]
    wrong = [row for row in rows if parse_budget(row["clause"]).kind != kinds[row["family"].split(":")[0]]]
    assert len(rows) > 1300
    assert len(wrong) <= 0.02 * len(rows)


def _as_float(budget: Budget) -> float | None:
    return None if budget.upper is None else float(budget.upper)
