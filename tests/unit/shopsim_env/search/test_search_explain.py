"""Explanations add up to the score that the engines give, and name the right fields."""

from collections.abc import Iterator

import pytest

from pipelines.stages.search_index import build_search_index
from shopsim_env.search.explain import explain
from shopsim_env.search.fts5 import Fts5Engine, read_varints
from shopsim_env.text.tokens import tokenize

RECORDS = [
    {
        "asin": f"{number:03d}",
        "title": f"保温杯 usb-c 3.0 x{number % 4}",
        "attribute": ["保温 usb c"] * (number % 3),
        "customization_options": {"颜色": ["红", "蓝"][: number % 3], "c": ["usb"]},
        "sub_title": "送杯刷" * (number % 2),
    }
    for number in range(40)
] + [{"asin": "900", "title": "水壶"}]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fts5Engine]:
    path = tmp_path_factory.mktemp("explain") / "c.sqlite"
    build_search_index(RECORDS, path)
    opened = Fts5Engine.open(path)
    yield opened
    opened.close()


def explained(engine: Fts5Engine, query: str, asin: str):
    number = sorted(record["asin"] for record in RECORDS).index(asin) + 1
    return explain(
        asin,
        engine.document(number),
        tokenize(query),
        products=len(RECORDS),
        average=engine.average_length(),
        matching=engine.matching,
    )


@pytest.mark.parametrize(
    "query", ["保温杯", "usb-c", "c-usb 水壶", "x1 3.0 红色 usb c 蓝", "刷 送杯 没有的词"]
)
def test_parts_add_up_to_the_score_bit_for_bit(engine: Fts5Engine, query: str) -> None:
    hits = engine.search(query, 41).hits
    assert hits or query.startswith("刷")
    for hit in hits:
        found = explained(engine, query, hit.asin)
        assert found.score == hit.score
        assert sum(found.by_field().values()) == pytest.approx(hit.score)


def test_fields_and_products_of_a_token(engine: Fts5Engine) -> None:
    part = explained(engine, "usb-c", "002").parts[0]
    # `usb c` are neighbours in the title (usb-c) and in the attributes; the options hold `c usb`.
    assert set(part.fields) == {"title", "attributes"}
    assert part.fields["title"] == pytest.approx(part.score * 3 / 4.5)
    assert part.products == 40
    missing = explained(engine, "水壶", "002").parts[0]
    assert (missing.score, dict(missing.fields), missing.products) == (0.0, {}, 1)


def test_average_length_is_that_of_the_index(engine: Fts5Engine) -> None:
    lengths = []
    for number in range(1, len(RECORDS) + 1):
        words = " ".join(engine.document(number).values()).replace("-", " ").replace(".", " ").split()
        lengths.append(len(words))
    assert engine.average_length() == sum(lengths) / len(lengths)
    assert engine.document(999) == {}


def test_varints() -> None:
    assert read_varints(bytes([0, 127, 0x81, 0x00, 0x82, 0x80, 0x01])) == [0, 127, 128, 2 * 16384 + 1]
    assert read_varints(b"") == []
