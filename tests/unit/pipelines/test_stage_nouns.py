"""Tagging titles and the parquet file of nouns."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.errors import ArtifactError
from pipelines.stages.nouns import read_nouns, tag_titles, write_nouns
from shopsim_env.text.nouns import LiteralTagger

ROWS = [("2", "保温杯"), ("1", "A4纸"), ("3", "！")]
NOUNS = [("2", ("保温", "温杯")), ("1", ("a4", "纸")), ("3", ())]


def test_rows_keep_their_order() -> None:
    assert list(tag_titles(ROWS, LiteralTagger())) == NOUNS


def test_rows_are_read_lazily() -> None:
    def endless() -> Iterator[tuple[str, str]]:
        while True:
            yield "1", "锅"

    assert next(tag_titles(endless(), LiteralTagger())) == ("1", ("锅",))


def test_file_round_trip_names_the_tagger(tmp_path: Path) -> None:
    path, tagger = tmp_path / "nouns.parquet", LiteralTagger()
    assert write_nouns(path, tag_titles(ROWS, tagger), tagger) == 3
    found = read_nouns(path)
    assert list(found.nouns.items()) == NOUNS
    assert (found.tagger_name, found.tagger_version) == ("literal", "1")
    assert found.tagger_fingerprint == tagger.fingerprint


def test_equal_rows_give_equal_bytes_over_several_row_groups(tmp_path: Path) -> None:
    tagger = LiteralTagger()
    rows = [(str(i), f"第{i}款杯子") for i in range(9000)]
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path in paths:
        assert write_nouns(path, tag_titles(iter(rows), tagger), tagger) == 9000
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert pq.read_metadata(paths[0]).num_row_groups == 3
    assert "ARROW:schema" not in {key.decode() for key in pq.read_metadata(paths[0]).metadata}
    assert read_nouns(paths[0]).nouns["8999"] == ("8999", "第", "款杯", "杯子")


def test_no_rows(tmp_path: Path) -> None:
    assert write_nouns(tmp_path / "n.parquet", [], LiteralTagger()) == 0
    assert read_nouns(tmp_path / "n.parquet").nouns == {}


def test_file_of_an_unknown_tagger_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "n.parquet"
    pq.write_table(pa.table({"asin": ["1"], "nouns": [["杯"]]}), path, store_schema=False)
    with pytest.raises(ArtifactError, match=r"found no .*tagger_fingerprint"):
        read_nouns(path)


def test_other_columns_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "n.parquet"
    metadata = {"tagger_name": "a", "tagger_version": "1", "tagger_fingerprint": "f"}
    pq.write_table(pa.table({"id": ["1"], "nouns": [["杯"]]}).replace_schema_metadata(metadata), path)
    with pytest.raises(ArtifactError, match=r"expected columns \['asin', 'nouns'\], found \['id', 'nouns'\]"):
        read_nouns(path)


def test_repeated_asin_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "n.parquet"
    write_nouns(path, [("1", ("杯",)), ("1", ("壶",))], LiteralTagger())
    with pytest.raises(ArtifactError, match="'1' again"):
        read_nouns(path)
