"""Ingest: what is accepted, counted, quarantined and refused, and that nothing partial stays."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from raw_records import PERSONA, axis, instruction, persona_product, product, raw_rows, write_archive

from pipelines.errors import DatasetError
from pipelines.stages.ingest import iter_records, read_archive


def refused(folder: Path, archive: Path, **options: Any) -> DatasetError:
    """The error for `archive`."""
    out = folder / "out" / "raw_products.parquet"
    out.parent.mkdir()
    with pytest.raises(DatasetError) as caught:
        read_archive(archive, out, **options)
    return caught.value


def refused_records(folder: Path, *records: Any, **options: Any) -> DatasetError:
    return refused(folder, write_archive(folder / "raw.json.gz", list(records)), **options)


def test_rows_carry_the_columns_and_the_whole_record(tmp_path: Path) -> None:
    record = persona_product("16005572", tag="eval", extra_key={"a": [1]})
    (row,) = raw_rows(tmp_path, [record])
    assert row.source_product_index == 0
    assert row.asin == "16005572"
    assert row.title == "云岚 营地灯"
    assert row.shop_name == "云岚户外店"
    assert row.category == "户外›照明"
    assert row.tag == "eval"
    assert row.has_persona is True
    assert row.instruction_count == 1
    assert row.quarantine == ""
    assert row.record == record


def test_numbers_and_key_order_stay_as_they_were(tmp_path: Path) -> None:
    options = '{"尺码":[{"value":"大","price":10}],"Z":null,"a":[]}'
    text = f'[{{"title":"灯","asin":"1","customization_options":{options},"pricing":[10.0,1.5e1]}}]'
    archive = tmp_path / "raw.json"
    archive.write_text(text, encoding="utf-8")
    read_archive(archive, tmp_path / "raw.parquet")
    (row,) = iter_records(tmp_path / "raw.parquet")
    assert list(row.record) == ["title", "asin", "customization_options", "pricing"]
    assert list(row.record["customization_options"]) == ["尺码", "Z", "a"]
    assert json.dumps(row.record["pricing"]) == "[10.0, 15.0]"
    assert type(row.record["customization_options"]["尺码"][0]["price"]) is int


def test_absent_texts_are_empty_columns(tmp_path: Path) -> None:
    (row,) = raw_rows(tmp_path, [{"asin": "1", "title": "灯", "shop_name": None}])
    assert (row.shop_name, row.category, row.tag, row.has_persona) == ("", "", "", False)


def test_report_counts_products_tasks_and_hashes(tmp_path: Path) -> None:
    records = [
        product("1"),
        persona_product("2"),
        product("3", instructions=[instruction("甲"), instruction("乙")]),
        product("4", instructions=None),
        product("5", instructions=[]),
    ]
    archive = write_archive(tmp_path / "raw.json.gz", records)
    report = read_archive(archive, tmp_path / "raw.parquet")
    assert (report.product_count, report.task_count, report.persona_task_count) == (5, 4, 1)
    assert report.archive_name == "raw.json.gz"
    assert report.archive_sha256 == hashlib.sha256(archive.read_bytes()).hexdigest()
    assert report.data_sha256 == hashlib.sha256(gzip.decompress(archive.read_bytes())).hexdigest()
    assert report.quarantined == {}
    assert report.as_dict()["product_count"] == 5


def test_gaps_are_counted_per_field_and_reason(tmp_path: Path) -> None:
    full = product(
        "1",
        sub_title="",
        images=[],
        full_description=None,
        attribute=["", " "],
        domain_zh="户外",
        domain_en_short="Out",
        domain_en_long="Outdoor",
        small_description=["亮"],
        user_persona={},
        customization_options={
            "颜色": [
                {"value": "a", "price": "¥12"},
                {"value": "", "price": -1},
                {"price": "7"},
                {"value": "d"},
            ],
            "尺码": None,
        },
    )
    archive = write_archive(tmp_path / "raw.json.gz", [full])
    assert read_archive(archive, tmp_path / "raw.parquet").gaps == {
        "attribute": {"empty": 1},
        "customization_options.*": {"null": 1},
        "customization_options.*[].price": {"missing": 1, "not_a_price": 2},
        "customization_options.*[].value": {"empty": 1, "missing": 1},
        "full_description": {"null": 1},
        "images": {"empty": 1},
        "instructions[].asin": {"missing": 1},
        "instructions[].instruction_simple": {"null": 1},
        "sub_title": {"empty": 1},
        "user_persona": {"empty": 1},
    }


def test_unknown_keys_are_carried_and_counted_on_every_level(tmp_path: Path) -> None:
    odd = product(
        "1",
        _tier="A",
        instructions=[instruction(note="x")],
        customization_options={"颜色": [{"value": "a", "stock": 3}, {"value": "b", "stock": 4}]},
    )
    archive = write_archive(tmp_path / "raw.json.gz", [odd, product("2", _tier="B")])
    report = read_archive(archive, tmp_path / "raw.parquet")
    assert report.unknown_keys == {
        "_tier": 2,
        "customization_options.*[].stock": 2,
        "instructions[].note": 1,
    }
    first = next(iter_records(tmp_path / "raw.parquet"))
    assert first.record["customization_options"]["颜色"][1]["stock"] == 4


def test_row_groups_bound_the_memory_and_bytes_repeat(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "raw.json.gz", [{"asin": str(n), "title": "灯"} for n in range(4097)])
    for name in ("one", "two"):
        read_archive(archive, tmp_path / name)
    metadata = pq.read_metadata(tmp_path / "one")
    assert [metadata.row_group(n).num_rows for n in range(metadata.num_row_groups)] == [2048, 2048, 1]
    assert [row.asin for row in iter_records(tmp_path / "one")] == [str(n) for n in range(4097)]
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_progress_counts_bytes_of_the_file(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "raw.json.gz", [product(str(n)) for n in range(50)])
    seen: list[tuple[int, int]] = []
    read_archive(
        archive, tmp_path / "raw.parquet", on_progress=lambda done, total: seen.append((done, total))
    )
    size = archive.stat().st_size
    assert {total for _, total in seen} == {size}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (size, size)


# --- the container ---

GOOD = json.dumps([{"asin": "1", "title": "灯"}], ensure_ascii=False).encode()


@pytest.mark.parametrize(
    ("name", "data", "code", "words"),
    [
        ("a.json.gz", GOOD, "not_gzip", "found 5b 7b"),
        ("a.json.gz", b"", "not_gzip", "an empty file"),
        ("a.json.gz", gzip.compress(GOOD, mtime=0)[:-12], "gzip_truncated", "ends early"),
        ("a.json.gz", gzip.compress(GOOD, mtime=0)[:-8] + b"\0" * 8, "gzip_corrupt", "damaged"),
        ("a.json.gz", gzip.compress(GOOD, mtime=0)[:10] + b"\x07" * 20, "gzip_corrupt", "damaged"),
        ("a.json", b"", "not_an_array", "an empty document"),
        ("a.json", b" \n" * 200_000, "not_an_array", "an empty document"),
        ("a.json", b'{"item": [{"asin": "1", "title": "x"}]}', "not_an_array", "starts with '{'"),
        ("a.json", b'"text"', "not_an_array", "starts with '\"'"),
        ("a.json", b"\xef\xbb\xbf" + GOOD, "not_utf8", "byte order mark"),
        ("a.json", b"[]", "empty_archive", "empty array"),
        ("a.json", GOOD + b"[]", "trailing_data", "nothing after"),
        ("a.json", GOOD + b" x", "trailing_data", "nothing after"),
    ],
)
def test_a_file_that_is_no_archive_is_refused(
    tmp_path: Path, name: str, data: bytes, code: str, words: str
) -> None:
    archive = tmp_path / name
    archive.write_bytes(data)
    error = refused(tmp_path, archive)
    assert error.code == code
    assert words in str(error)
    assert error.record is None


@pytest.mark.parametrize(
    ("data", "code", "record", "field"),
    [
        (GOOD[:-1], "json_truncated", 1, ""),
        (GOOD[:-1] + b',{"asin": "2", "ti', "json_truncated", 1, ""),
        (GOOD[:-1] + b',{"asin": "2", "pricing": [1, NaN]}]', "json_invalid", 1, "pricing[1]"),
        (
            b'[{"customization_options": {"c": [{"value": "a", "price": 1}, {"price": Infinity}]}}]',
            "json_invalid",
            0,
            "customization_options.c[1].price",
        ),
        (b'[{"asin": "1", "a": {"b": [1, 2]}, "pricing": [1e999]}]', "number_out_of_range", 0, "pricing[0]"),
        (
            b'[{"asin": "1", "pricing": [123456789012345678901234567890]}]',
            "number_out_of_range",
            0,
            "pricing[0]",
        ),
        (b'[{"asin": "1", "title": "\xff"}]', "not_utf8", 0, "title"),
        (GOOD[:-1] + b",]", "json_invalid", 1, ""),
    ],
)
def test_broken_json_names_record_and_field(
    tmp_path: Path, data: bytes, code: str, record: int, field: str
) -> None:
    archive = tmp_path / "raw.json"
    archive.write_bytes(data)
    error = refused(tmp_path, archive)
    assert (error.code, error.record, error.field) == (code, record, field)


def test_gzip_is_recognised_by_content(tmp_path: Path) -> None:
    archive = tmp_path / "raw.json"
    archive.write_bytes(gzip.compress(GOOD, mtime=0))
    assert read_archive(archive, tmp_path / "raw.parquet").product_count == 1


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    error = refused(tmp_path, tmp_path / "nowhere.json.gz")
    assert error.code == "archive_missing"
    assert "nowhere.json.gz" in str(error)


def test_the_pin_is_checked_before_anything_is_parsed(tmp_path: Path) -> None:
    archive = tmp_path / "raw.json.gz"
    archive.write_bytes(b"not even gzip")
    error = refused(tmp_path, archive, expected_sha256="ab" * 32)
    assert error.code == "archive_hash_mismatch"
    assert "ab" * 32 in str(error)
    assert hashlib.sha256(b"not even gzip").hexdigest() in str(error)
    assert "configs/datasets" in str(error)


def test_a_fitting_pin_passes(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "raw.json.gz", [product()])
    pin = hashlib.sha256(archive.read_bytes()).hexdigest().upper()
    assert read_archive(archive, tmp_path / "raw.parquet", expected_sha256=pin).product_count == 1


# --- records ---


@pytest.mark.parametrize(
    ("element", "found"),
    [(None, "null"), ("x", "a string"), (3, "the number 3"), ([], "a list"), (True, "the boolean true")],
)
def test_elements_must_be_objects(tmp_path: Path, element: Any, found: str) -> None:
    error = refused_records(tmp_path, product(), element)
    assert (error.code, error.record) == ("element_not_object", 1)
    assert f"expected a product object, found {found}" in str(error)


_WHOLE = "a whole number from 0 to 1000000000"


@pytest.mark.parametrize(
    ("changes", "field", "expected", "found"),
    [
        ({"asin": 7}, "asin", "a string", "the number 7"),
        ({"title": ["x"]}, "title", "a string", "a list"),
        ({"sub_title": 3}, "sub_title", "a string or a list of strings", "the number 3"),
        ({"small_description": ["a", 1]}, "small_description[1]", "a string", "the number 1"),
        ({"category": 5}, "category", "a string", "the number 5"),
        ({"attribute": "防水"}, "attribute", "a list", "a string"),
        ({"attribute": ["a", None]}, "attribute[1]", "a string", "null"),
        ({"pricing": "10"}, "pricing", "a list", "a string"),
        ({"pricing": [1, True]}, "pricing[1]", "a number or a numeric string", "the boolean true"),
        ({"customization_options": []}, "customization_options", "an object", "a list"),
        ({"customization_options": {"颜色": {}}}, "customization_options.颜色", "a list", "an object"),
        ({"customization_options": {"c": ["a"]}}, "customization_options.c[0]", "an object", "a string"),
        (
            {"customization_options": {"颜色分类": axis(("a", 1), ("b", 2), ("c", 3), ("d", {}))}},
            "customization_options.颜色分类[3].price",
            "a number or a numeric string",
            "an object",
        ),
        (
            {"customization_options": {"c": [{"value": 5}]}},
            "customization_options.c[0].value",
            "a string",
            "the number 5",
        ),
        ({"instructions": {}}, "instructions", "a list", "an object"),
        ({"instructions": ["买灯"]}, "instructions[0]", "an object", "a string"),
        ({"instructions": [instruction(text=3)]}, "instructions[0].instruction", "a string", "the number 3"),
        (
            {"instructions": [instruction(), instruction(attributes=[1.5])]},
            "instructions[1].attributes[0]",
            "a string",
            "the number 1.5",
        ),
        ({"user_persona": "U1"}, "user_persona", "an object", "a string"),
        ({"tag": 1}, "tag", "a string", "the number 1"),
        ({"shop_facts": []}, "shop_facts", "an object", "a list"),
        ({"shop_facts": {"rating": 5.5}}, "shop_facts.rating", "a number from 1 to 5", "the number 5.5"),
        ({"shop_facts": {"rating": "5"}}, "shop_facts.rating", "a number from 1 to 5", "a string"),
        ({"shop_facts": {"stock": True}}, "shop_facts.stock", _WHOLE, "the boolean true"),
        ({"shop_facts": {"stock": 1.5}}, "shop_facts.stock", _WHOLE, "the number 1.5"),
        ({"shop_facts": {"stock": -1}}, "shop_facts.stock", _WHOLE, "the number -1"),
        (
            {"shop_facts": {"instruction": "x"}},
            "shop_facts.instruction",
            "one of rating, rating_count, ship_days, stock",
            "a string",
        ),
    ],
)  # fmt: skip
def test_wrong_types_name_the_dotted_field(
    tmp_path: Path, changes: dict[str, Any], field: str, expected: str, found: str
) -> None:
    error = refused_records(tmp_path, product("1"), product("2") | changes)
    assert (error.code, error.record, error.field) == ("wrong_type", 1, field)
    assert str(error).endswith(f"expected {expected}, found {found}")


@pytest.mark.parametrize("spelling", ["NaN", " nan ", "Infinity", "-inf"])
def test_prices_that_spell_no_finite_number_are_refused(tmp_path: Path, spelling: str) -> None:
    error = refused_records(tmp_path, product(pricing=[1, spelling]))
    assert (error.code, error.record, error.field) == ("non_finite_number", 0, "pricing[1]")


@pytest.mark.parametrize("name", ["asin", "title"])
@pytest.mark.parametrize(
    ("value", "found"),
    [(..., "no such field"), (None, "null"), ("", "a blank string"), ("  ", "a blank string")],
)
def test_asin_and_title_are_required(tmp_path: Path, name: str, value: Any, found: str) -> None:
    record = product()
    if value is ...:
        del record[name]
    else:
        record[name] = value
    error = refused_records(tmp_path, product("1"), record, lenient=True)
    assert (error.code, error.record, error.field) == ("missing_field", 1, name)
    assert str(error).endswith(f"found {found}")


@pytest.mark.parametrize(
    "asin", ["1234567890", "42975539997", "929053064248", "B07XYZ", "1", "1" * 20, "nano"]
)
def test_ids_of_any_length_are_accepted(tmp_path: Path, asin: str) -> None:
    assert [row.asin for row in raw_rows(tmp_path, [product(asin)])] == [asin]


@pytest.mark.parametrize(
    "asin", ["12 3", " 123", "12-3", "../x", "１２３", "ſ1", "1" * 21, "nan", "NaN", "12\n"]
)
def test_ids_that_cannot_be_clicked_are_refused(tmp_path: Path, asin: str) -> None:
    error = refused_records(tmp_path, product(asin))
    assert (error.code, error.record, error.field) == ("invalid_asin", 0, "asin")


@pytest.mark.parametrize("second", ["ab1", "AB1"])
def test_duplicate_ids_name_both_records(tmp_path: Path, second: str) -> None:
    error = refused_records(tmp_path, product("ab1"), product("2"), product(second))
    assert (error.code, error.record, error.field) == ("duplicate_asin", 2, "asin")
    assert "in record 0 and again in record 2" in str(error)


# --- persona and simple text ---

FAULTY = [
    ("persona_without_simple", "instructions[0].instruction_simple", product("2", user_persona=PERSONA)),
    ("simple_without_persona", "user_persona", product("2", instructions=[instruction("甲", "简单需求")])),
    (
        "simple_without_persona",
        "user_persona",
        product("2", instructions=[instruction("甲", "简单需求")], user_persona={}),
    ),
    (
        "persona_without_simple",
        "instructions[1].instruction_simple",
        product("2", instructions=[instruction("甲", "乙"), instruction("甲", " ")], user_persona=PERSONA),
    ),
    ("instruction_missing", "instructions[0].instruction", product("2", instructions=[instruction("")])),
    ("instruction_asin_mismatch", "instructions[0].asin", product("2", instructions=[instruction(asin="9")])),
]


@pytest.mark.parametrize(("reason", "field", "record"), FAULTY)
def test_task_faults_refuse_the_archive_by_default(
    tmp_path: Path, reason: str, field: str, record: dict[str, Any]
) -> None:
    error = refused_records(tmp_path, product("1"), record)
    assert (error.code, error.record, error.field) == (reason, 1, field)
    assert "--lenient" in str(error)


@pytest.mark.parametrize(("reason", "field", "record"), FAULTY)
def test_lenient_quarantines_the_row_and_loses_nothing(
    tmp_path: Path, reason: str, field: str, record: dict[str, Any]
) -> None:
    archive = write_archive(tmp_path / "raw.json.gz", [product("1"), record])
    report = read_archive(archive, tmp_path / "raw.parquet", lenient=True)
    assert report.quarantined == {reason: 1}
    assert report.quarantine_examples == ((1, reason),)
    assert report.task_count == 1 + len(record["instructions"])
    rows = list(iter_records(tmp_path / "raw.parquet"))
    assert [row.quarantine for row in rows] == ["", reason]
    assert rows[1].record == record


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize(("attributes", "options"), [([], []), ([""], [" "]), (None, None)])
def test_a_task_without_any_target_is_always_set_aside(
    tmp_path: Path, lenient: bool, attributes: Any, options: Any
) -> None:
    """Contract 7.5: a purchase of anything alike would win it. It refuses no archive."""
    empty = product("2", instructions=[instruction(attributes=attributes, instruction_options=options)])
    rows = raw_rows(tmp_path, [product("1"), empty], lenient=lenient)
    assert [row.quarantine for row in rows] == ["", "no_target"]


@pytest.mark.parametrize(("attributes", "options"), [(["防水"], []), ([], ["暖光"]), (["", "防水"], None)])
def test_one_target_is_enough(tmp_path: Path, attributes: Any, options: Any) -> None:
    task = instruction(attributes=attributes, instruction_options=options)
    (row,) = raw_rows(tmp_path, [product(instructions=[task])])
    assert row.quarantine == ""


def test_a_refusal_is_not_hidden_by_a_missing_target(tmp_path: Path) -> None:
    record = product(instructions=[instruction(attributes=[], instruction_options=[]), instruction("", None)])
    assert refused_records(tmp_path, record).code == "instruction_missing"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('[{"asin": "1", "title": "\\udc00"}]', "unpaired_surrogate"),
        ('[{"asin": "1", "title": "a\\ud800b"}]', "unpaired_surrogate"),
        ('[{"asin": "1", "title": "t", "x": ' + "[" * 3000 + "]" * 3000 + "}]", "nested_too_deeply"),
    ],
)
def test_hostile_text_is_a_typed_refusal(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "raw.json"
    path.write_text(text)
    with pytest.raises(DatasetError) as caught:
        read_archive(path, tmp_path / "raw.parquet")
    assert (caught.value.code, caught.value.record) == (code, 0)


def test_a_persona_without_any_task_is_no_fault(tmp_path: Path) -> None:
    (row,) = raw_rows(tmp_path, [product(instructions=None, user_persona=PERSONA)])
    assert (row.has_persona, row.instruction_count, row.quarantine) == (True, 0, "")


def test_errors_show_no_task_text(tmp_path: Path) -> None:
    record = product(instructions=[instruction("机密目标文本", "机密简单文本")])
    assert "机密" not in str(refused_records(tmp_path, record))
