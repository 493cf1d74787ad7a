"""Facts about tokens, option keys and search that hold for every text."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipelines.stages.search_index import build_search_index
from shopsim_env.catalog.product import option_key, public_value
from shopsim_env.search.documents import document_fields
from shopsim_env.search.fts5 import Fts5Engine
from shopsim_env.text.normalize import normalize_query
from shopsim_env.text.nouns import literal_terms
from shopsim_env.text.tokens import tokenize

TOKEN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]{1,2}|[a-z0-9]+([._+\\-/][a-z0-9]+)*")
ANY_TEXT = st.text()
SHOP_TEXT = st.text(st.sampled_from("保温杯水壶大小号红蓝aB1２ .-_+/\"'()*:^,，|！?\n"), max_size=30)
TEXTS = st.one_of(ANY_TEXT, SHOP_TEXT)


@given(TEXTS)
def test_tokens_are_distinct_well_formed_and_han_first(text: str) -> None:
    tokens = tokenize(text)
    assert len(set(tokens)) == len(tokens)
    assert all(TOKEN.fullmatch(token) for token in tokens)
    latin = [token.isascii() for token in tokens]
    assert latin == sorted(latin)


@given(TEXTS)
def test_a_token_is_its_own_token(text: str) -> None:
    for token in tokenize(text):
        assert tokenize(token) == [token]


@given(TEXTS)
def test_case_width_and_outer_blanks_do_not_matter(text: str) -> None:
    assert tokenize(f"  {text}\n") == tokenize(text)
    assert tokenize(re.sub("[a-z]", lambda match: match[0].upper(), text)) == tokenize(text)


@given(TEXTS)
def test_normalised_text_has_single_inner_blanks_and_no_sentence_marks(text: str) -> None:
    normalized = normalize_query(text)
    assert normalized == " ".join(normalized.split())
    assert not re.search("[，,。；;：:！!？?、|]", normalized)


@given(st.one_of(TEXTS, st.text(st.sampled_from("1２ ,。\n人民币块钱rmbcnyyuan元杯"), max_size=20)))
def test_tokens_are_those_of_the_normalised_text(text: str) -> None:
    normalized = normalize_query(text)
    han = [
        run[at : at + 2]
        for run in re.findall("[\u3400-\u4dbf\u4e00-\u9fff]+", normalized)
        for at in range(max(len(run) - 1, 1))
    ]
    latin = [match[0] for match in re.finditer("[a-z0-9]+(?:[._+/-][a-z0-9]+)*", normalized)]
    assert tokenize(text) == list(dict.fromkeys(han + latin))


@given(TEXTS)
def test_literal_terms_are_distinct_and_never_joined(text: str) -> None:
    terms = literal_terms(text)
    assert len(set(terms)) == len(terms)
    assert all(re.fullmatch("[a-z0-9]+|[\u3400-\u4dbf\u4e00-\u9fff]{1,2}", term) for term in terms)


@given(TEXTS)
def test_raw_and_public_option_values_share_one_key(raw: str) -> None:
    assert option_key(raw) == option_key(public_value(raw))


@given(TEXTS)
def test_public_value_is_stable(raw: str) -> None:
    assert public_value(public_value(raw)) == public_value(raw)


@given(st.lists(TEXTS, max_size=4), TEXTS)
def test_document_fields_hold_tokens_of_their_source_once(attributes: list[str], title: str) -> None:
    fields = document_fields({"title": title, "attribute": attributes})
    assert fields["attributes"].split() == tokenize(" ".join(attributes))
    assert set(fields["model"].split()) <= set(fields["title"].split())


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fts5Engine]:
    """60 products with many ties: words of five, colours of three, asins whose order is not numeric."""
    words, colours = ["保温杯", "水壶", "保温壶", "杯垫", "AB-1 杯"], ["红", "蓝", "红蓝"]
    records = [
        {
            "asin": str(7 * i + 1),
            "title": f"{words[i % 5]} 大号",
            "shop_name": f"{colours[i % 3]}店",
            "customization_options": {"颜色": colours[: i % 4]},
        }
        for i in range(60)
    ]
    path: Path = tmp_path_factory.mktemp("index") / "c.sqlite"
    build_search_index(records, path)
    opened = Fts5Engine.open(path)
    yield opened
    opened.close()


@given(TEXTS, st.integers(-2, 70))
def test_any_text_is_searched_and_ranked(engine: Fts5Engine, query: str, top_k: int) -> None:
    result = engine.search(query, top_k)
    assert (result.status == "empty_query") == (not tokenize(query))
    assert [hit.rank for hit in result.hits] == list(range(1, len(result.hits) + 1))
    assert len(result.hits) <= max(top_k, 0)
    order = [(-hit.score, hit.asin) for hit in result.hits]
    assert order == sorted(order)
    assert len({hit.asin for hit in result.hits}) == len(result.hits)
    assert all(hit.score > 0 for hit in result.hits)


@given(SHOP_TEXT, st.integers(0, 60))
def test_a_shorter_list_is_the_head_of_a_longer_one(engine: Fts5Engine, query: str, top_k: int) -> None:
    assert engine.search(query, top_k).hits == engine.search(query, 60).hits[:top_k]


@given(SHOP_TEXT, st.integers(2, 4))
def test_repeating_a_query_changes_nothing(engine: Fts5Engine, query: str, times: int) -> None:
    assert engine.search("，".join([query] * times)) == engine.search(query)


@settings(max_examples=50)
@given(st.lists(st.sampled_from(["保温", "水壶", "杯垫", "ab-1", "大号", "红蓝"]), min_size=1, max_size=6))
def test_one_more_word_never_loses_a_hit(engine: Fts5Engine, words: list[str]) -> None:
    fewer = {hit.asin for hit in engine.search(" ".join(words[:-1])).hits}
    assert fewer <= {hit.asin for hit in engine.search(" ".join(words)).hits}
