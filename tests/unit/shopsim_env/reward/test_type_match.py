"""Type reward: category levels and title terms."""

import pytest

from shopsim_env.catalog.product import Product
from shopsim_env.reward.type_match import match_type, title_overlap, type_reward


def product(category: str, title: str, nouns: tuple[str, ...] | None = None) -> Product:
    return Product.from_record({"asin": "1", "category": category, "title": title}, nouns)


def test_two_shared_levels_are_enough_whatever_the_titles_say() -> None:
    match = match_type(product("家居›照明›台灯", "A"), product("家居 > 照明", "B"))
    assert (match.r_type, match.category_match, match.title_score) == (1.0, True, 0.0)


def test_one_shared_level_is_not_enough() -> None:
    assert match_type(product("家居›照明", "A"), product("家居›厨房", "B")).r_type == 0.0


def test_slashes_separate_levels_in_paper_mode_only() -> None:
    bought, gold = product("书籍/杂志›小说", "A"), product("书籍/杂志›画册", "B")
    assert match_type(bought, gold).category_match is False
    assert match_type(bought, gold, option_match="paper").category_match is True


def test_literal_terms_stand_in_for_missing_nouns() -> None:
    # Gold terms: 折叠 叠露 露营 营椅 便携 携靠 靠背; the first four are shared.
    match = match_type(product("a", "折叠露营椅"), product("b", "折叠露营椅 便携靠背", ("椅",)))
    assert match.title_score == 4 / 7
    assert (match.r_type, match.category_match) == (1.0, False)


def test_nouns_of_the_release_are_used_when_both_have_them() -> None:
    match = match_type(product("a", "同名", ("椅", "垫")), product("b", "同名", ("椅", "桌")))
    assert match.title_score == 0.5


def test_no_shared_term_is_zero() -> None:
    assert match_type(product("a", "钢笔"), product("b", "折叠露营椅")).r_type == 0.0


@pytest.mark.parametrize(
    ("shared", "terms", "score", "reward"),
    [(2, 10, 0.2, 0.5), (3, 10, 0.3, 1.0), (2, 25, 0.08, 0.1), (1, 10, 0.1, 0.5)],
)
def test_steps(shared: int, terms: int, score: float, reward: float) -> None:
    gold = frozenset(str(number) for number in range(terms))
    overlap = title_overlap(frozenset(str(number) for number in range(shared)), gold)
    assert overlap == score
    assert type_reward(False, overlap) == reward


def test_a_gold_title_without_terms_scores_a_fifth() -> None:
    match = match_type(product("", "钢笔"), product("", "!!"))
    assert (match.title_score, match.r_type, match.category_match) == (0.2, 0.5, False)
