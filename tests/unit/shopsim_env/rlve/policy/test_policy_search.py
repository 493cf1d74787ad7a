"""The policy search: every rule of the asked family is found, and conditions are not evaluated."""

import pytest

from shopsim_env.errors import UsageError
from shopsim_env.rlve.draws import Draws
from shopsim_env.rlve.policy.phrases import CORES
from shopsim_env.rlve.policy.rules import DECIDES
from shopsim_env.rlve.policy.search import search
from shopsim_env.rlve.policy.tables import PolicyBase
from shopsim_env.rlve.policy.vocabulary import ASKED, DEFINING, FAMILIES, FLAGS, LANGUAGES
from shopsim_env.rlve.policy.wording import core

BASE = PolicyBase(Draws("search"), "CNY")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("family", ASKED)
def test_every_phrasing_finds_its_whole_family(family: str, language: str) -> None:
    wanted = {rule.id for rule in BASE.family(family)}
    for style in range(CORES):
        found = search(BASE, core(family, language, style), 20, language)
        assert [item["family"] for item in found[: len(wanted)]] == [family] * len(wanted)
        assert wanted <= {item["snippet_id"] for item in found}
        assert found[0]["rules_in_family"] == len(wanted)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("family", DEFINING.values())
def test_definitions_are_found_by_their_title(family: str, language: str) -> None:
    found = search(BASE, FAMILIES[family].title(language), 20, language)
    assert {rule.id for rule in BASE.family(family)} == {item["snippet_id"] for item in found[:4]}


@pytest.mark.parametrize(
    ("query", "family"),
    [
        ("台灯？", "goods"),
        ("Desk LAMP", "goods"),
        ("海南，新疆", "regions"),
        ("hainan", "regions"),
        ("gold", "membership"),
    ],
)
def test_names_lead_to_the_definitions(query: str, family: str) -> None:
    assert {item["family"] for item in search(BASE, query, 20)} == {family}


def test_case_and_punctuation_do_not_matter() -> None:
    plain = search(BASE, "return period", 20, "en")
    assert search(BASE, "RETURN: period?!", 20, "en") == plain


def test_an_id_finds_the_rule_and_the_exception_that_names_it() -> None:
    target, exception = next(iter(BASE.plan("warranty").exceptions.items()))
    found = search(BASE, f"what is {target.lower()}?", 20, "en")
    assert {item["snippet_id"] for item in found if item["score"] >= 10_000} == {target, exception.id}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_circumstance_alone_finds_the_rules_that_read_it(language: str) -> None:
    for flag, names in FLAGS.items():
        found = search(BASE, names[language != "zh"], 20, language)
        best = [item for item in found if item["score"] == found[0]["score"]]
        for item in best:
            rule = item["rule"]
            assert flag in {part["topic"] for part in rule["conditions"] + rule["exceptions"]}


def test_class_tier_zone_and_numbers_of_single_rules_are_no_words() -> None:
    plain = search(BASE, "退货期限", 20)
    name = BASE.names["tier"][0]
    told = search(BASE, f"退货期限 {name} 25 件", 20)
    assert [item["snippet_id"] for item in told] == [item["snippet_id"] for item in plain]


def test_a_result_says_the_whole_rule_in_both_languages() -> None:
    rule = next(item for item in BASE.family("shipping_fee") if item.effect == DECIDES and item.exceptions)
    zh, en = (next(item for item in search(BASE, rule.id, 1, language)) for language in LANGUAGES)
    cents = int(rule.outcome.value or 0)  # type: ignore[union-attr]
    amount = f"{cents // 100}.{cents % 100:02d}"
    noun_zh, noun_en = FLAGS[rule.exceptions[0].topic]
    for part in ("配送运费", f"{amount} 元", f"优先级 {rule.precedence}", f"例外：这是{noun_zh}"):
        assert part in zh["text"]
    for part in ("shipping cost", f"{amount} CNY", f"Precedence {rule.precedence}", f"if it is {noun_en}"):
        assert part in en["text"]
    assert zh["title"] == "配送运费 · 裁定规则"
    assert en["title"] == "shipping cost · deciding rule"
    assert zh["rule"] == rule.as_dict()


def test_top_k_and_default() -> None:
    assert len(search(BASE, "退货期限")) == 5
    assert len(search(BASE, "退货期限", 1)) == 1
    assert search(BASE, "xyzzy", 20) == []


@pytest.mark.parametrize(
    ("query", "top_k", "language", "code"),
    [
        ("", 5, "zh", "policy_query"),
        (" \n", 5, "zh", "policy_query"),
        ("x" * 2001, 5, "zh", "policy_query"),
        ("退货", 0, "zh", "policy_top_k"),
        ("退货", 21, "zh", "policy_top_k"),
        ("退货", True, "zh", "policy_top_k"),
        ("退货", 5, "fr", "policy_language"),
    ],
)
def test_wrong_arguments_are_refused(query: str, top_k: int, language: str, code: str) -> None:
    with pytest.raises(UsageError) as caught:
        search(BASE, query, top_k, language)
    assert caught.value.code == code
