"""Budgets on arbitrary texts and on phrases built from parts."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from shopsim_env.tasks.budget import CEILING_KINDS, parse_budget

KINDS = {"hard_upper", "approximate_upper", "no_budget", "lower_only", "non_total_price", "ambiguous"}
WORDS = """
预算 价格 在 大概 不超过 以内 左右 元 块 块钱 单价 定金 总价 每 个 一 两 百 千 万 几 十 多 到 - ~ ，
。 , 1 25 3.5 1,299 k w ¥ + 以上 的 就 能拿下 包邮 20 寸 个位数 ＋ １ Ａ 🔥
"""
PIECES = st.sampled_from([*WORDS.split(), " ", "\n"])


@given(st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=25).map("".join)))
def test_never_raises_and_evidence_is_verbatim(text: str) -> None:
    budget = parse_budget(text)
    assert budget.kind in KINDS
    assert budget.evidence == text[budget.span[0] : budget.span[1]]
    assert (budget.kind in CEILING_KINDS) == (budget.upper is not None) == (budget.amount is not None)
    assert (budget.kind == "no_budget") == (budget.evidence == "")
    if budget.upper is not None and budget.amount is not None:
        assert 0 < budget.amount <= budget.upper <= budget.amount * Decimal("1.1") + Decimal("1e-8")


@given(
    amount=st.integers(1, 999_999),
    before=st.sampled_from(["预算", "价格在", "总价控制在", "售价", "想找个台灯，价钱大概"]),
    unit=st.sampled_from(["元", "块钱", "块", " 元"]),
)
def test_every_amount_in_every_frame(amount: int, before: str, unit: str) -> None:
    assert parse_budget(f"{before}{amount}{unit}以内").upper == amount
    assert parse_budget(f"{before}{amount}{unit}左右").upper == amount * Decimal("1.1")
    assert parse_budget(f"{before}{amount}{unit}以上").upper is None


@given(st.text(alphabet="想要一个软点的白色台灯质量好看便宜实用送人老两三百千万能", max_size=40))
def test_no_budget_is_invented_without_money_words(text: str) -> None:
    budget = parse_budget(text)
    assert budget.upper is None or any(word in text for word in ("便宜", "实用", "能", "万", "千"))
