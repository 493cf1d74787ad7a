"""The generated sample archive: schema, distributions, determinism, and that the committed files are it."""

import gzip
import hashlib
import json
import os
import statistics
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from pipelines.stages.sample import generate_sample, write_sample
from pipelines.stages.sample.ranges import index_ranges
from pipelines.stages.sample.writer import indented_json, sample_files
from shopsim_env.errors import UsageError

ROOT = Path(__file__).resolve().parents[3]
COMMITTED = ROOT / "data" / "samples" / "sample.raw.json.gz"
PRODUCTS, SEED = 800, 20261130

DOMAINS = {
    ("家居家装", "Home", "Home & Living"),
    ("家用电器数码", "Appliances", "Home Appliances & Electronics"),
    ("美妆个护健康", "Beauty", "Beauty, Personal Care, Health"),
    ("母婴儿童", "Kids", "Maternity, Baby & Kids"),
    ("服饰鞋包饰品", "Clothing", "Clothing, Shoes, Accessories"),
    ("食品饮品", "Food", "Food & Drinks"),
    ("休闲娱乐文教", "Leisure", "Leisure, Entertainment, Education"),
    ("生产材料农用品", "Supplies", "Industrial & Farm Supplies"),
    ("运动户外交通", "Sports", "Sports, Outdoors & Transport"),
}


@pytest.fixture(scope="module")
def records():
    return json.loads(gzip.decompress(COMMITTED.read_bytes()))


def _varying(record):
    """Axes with more than one distinct price, worked out here and not by the code under test."""
    return [
        name
        for name, entries in record["customization_options"].items()
        if len({entry["price"] for entry in entries if entry["price"] is not None}) > 1
    ]


@pytest.mark.parametrize("name", ["my.json.gz", "my.raw.json.gz"])
def test_side_files_are_named_after_the_archive(name: str) -> None:
    files = sample_files(Path("folder") / name)
    assert (files.archive.name, files.truth.name) == (name, "my.truth.json")
    assert files.annotations == Path("folder/my.annotations.json")


@pytest.mark.parametrize("name", ["my.json", "my.gz", ".json.gz", ".raw.json.gz"])
def test_another_name_of_an_archive_is_refused_with_one_that_is_taken(name: str) -> None:
    with pytest.raises(UsageError, match=r"like my\.json\.gz or my\.raw\.json\.gz, found"):
        sample_files(Path(name))


def test_committed_files_are_what_the_generator_writes(tmp_path):
    files = write_sample(tmp_path / COMMITTED.name, PRODUCTS, SEED)
    committed = sample_files(COMMITTED)
    assert gzip.decompress(files.archive.read_bytes()) == gzip.decompress(COMMITTED.read_bytes())
    assert files.truth.read_bytes() == committed.truth.read_bytes()
    assert files.annotations.read_bytes() == committed.annotations.read_bytes()
    assert COMMITTED.stat().st_size < 600_000
    assert not list(tmp_path.glob("*.building"))


def test_two_processes_with_different_hash_seeds_give_the_same_bytes(tmp_path):
    code = (
        "import sys; from pathlib import Path; from pipelines.stages.sample import write_sample;"
        "write_sample(Path(sys.argv[1]) / 'x.raw.json.gz', 60, 5)"
    )
    digests = []
    for hash_seed in ("1", "2"):
        folder = tmp_path / hash_seed
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        subprocess.run([sys.executable, "-c", code, str(folder)], check=True, cwd=ROOT, env=environment)
        digests.append(
            {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}
        )
    assert set(digests[0]) == {"x.raw.json.gz", "x.truth.json", "x.annotations.json"}
    assert digests[0] == digests[1]


def test_other_seed_gives_other_texts():
    first, second = (next(iter(generate_sample(20, seed))) for seed in (1, 2))
    assert first.record["title"] != second.record["title"]


def test_file_is_an_indented_array_without_time_or_name_in_the_gzip_header():
    packed = COMMITTED.read_bytes()
    assert packed[4:8] == b"\0\0\0\0"
    assert packed[3] == 0
    text = gzip.decompress(packed).decode("utf-8")
    assert text.startswith('[\n  {\n    "asin": "')
    assert text == json.dumps(json.loads(text), ensure_ascii=False, indent=2) + "\n"


@pytest.mark.parametrize(
    "value", [{}, [], {"a": []}, [1, 0.5, None, True, 'x"\n', {"b": {"c": [[], [False]]}}]]
)
def test_indented_json_is_the_standard_form(value):
    assert indented_json(value) == json.dumps(value, ensure_ascii=False, indent=2)


def test_every_record_has_the_raw_schema(records):
    for record in records:
        keys = set(record) - {"user_persona"}
        assert keys == {
            "asin", "tag", "domain_zh", "domain_en_short", "domain_en_long", "title", "sub_title",
            "shop_name", "category", "full_description", "attribute", "images", "pricing",
            "customization_options", "instructions",
        }  # fmt: skip
        assert record["asin"].isdecimal()
        assert 5 <= len(record["title"]) <= 61
        assert record["title"].isprintable()
        assert record["full_description"] == record["title"]
        assert record["shop_name"]
        assert 2 <= len(record["category"].split("›")) <= 4
        assert len(record["attribute"]) <= 18
        assert all(isinstance(text, str) and text for text in record["attribute"])
        assert len(record["images"]) in (4, 5)
        assert all(url.startswith("https://img.example.invalid/") for url in record["images"])
    assert {(r["domain_zh"], r["domain_en_short"], r["domain_en_long"]) for r in records} == DOMAINS


def test_option_objects_have_the_real_keys_and_prices(records):
    for record in records:
        for entries in record["customization_options"].values():
            for entry in entries:
                assert set(entry) == {
                    "asin", "image", "is_available", "is_selected", "price", "price_string", "url", "value",
                }  # fmt: skip
                assert entry["is_available"] is True
                assert entry["is_selected"] is True
                assert entry["url"] is None
                assert len(entry["asin"]) == 13
                if entry["price"] is not None:
                    assert isinstance(entry["price"], int)
                    assert entry["price_string"] == str(entry["price"])
            keys = ["".join(entry["value"].casefold().split()) for entry in entries]
            assert len(set(keys)) == len(keys)


def test_pricing_is_the_span_of_all_option_prices(records):
    for record in records:
        entries = [entry for axis in record["customization_options"].values() for entry in axis]
        prices = [float(entry["price"]) for entry in entries if entry["price"] is not None]
        if prices:
            assert record["pricing"] == sorted({min(prices), max(prices)})
        else:
            assert len(record["pricing"]) == 2
        assert all(isinstance(price, float) for price in record["pricing"])


def test_one_sku_with_its_price_stands_in_one_entry_of_every_axis(records):
    several = [record for record in records if len(record["customization_options"]) > 1]
    for record in several:
        by_axis = [
            {(entry["asin"], entry["price"]) for entry in entries}
            for entries in record["customization_options"].values()
        ]
        assert len(set.intersection(*by_axis)) == 1
    assert len(several) > 150


def test_some_constant_axis_is_dearer_than_the_cheapest_value(records):
    found = 0
    for record in records:
        varying = _varying(record)
        for name, entries in record["customization_options"].items():
            if len(varying) == 1 and name not in varying:
                lowest = min(entry["price"] for entry in record["customization_options"][varying[0]])
                found += entries[0]["price"] > lowest
    assert found >= 10


def test_axes_and_price_variation_have_the_real_shares(records):
    axes = Counter(len(record["customization_options"]) for record in records)
    assert axes == {1: 616, 2: 176, 3: 8}
    varying = Counter(min(2, len(_varying(record))) for record in records)
    assert varying[2] == 24
    assert 0.28 <= varying[0] / PRODUCTS <= 0.38
    assert 0.60 <= varying[1] / PRODUCTS <= 0.68
    names = Counter(name for record in records for name in record["customization_options"])
    assert names.most_common(1)[0][0] == "颜色分类"
    assert names["颜色分类"] >= 0.75 * PRODUCTS


def test_texts_and_lists_have_the_real_sizes(records):
    titles = [len(record["title"]) for record in records]
    assert 29 <= statistics.median(titles) <= 33
    values = [len(entries) for record in records for entries in record["customization_options"].values()]
    assert statistics.median(values) in (4, 5, 6)
    assert max(values) == 64
    assert statistics.median(len(record["attribute"]) for record in records) in (4, 5)
    assert 60 <= statistics.mean(len(r["instructions"][0]["instruction"]) for r in records) <= 76
    simple = [len(r["instructions"][0]["instruction_simple"]) for r in records if "user_persona" in r]
    assert 20 <= statistics.mean(simple) <= 30
    personas = [
        len(json.dumps(r["user_persona"], ensure_ascii=False, separators=(",", ":")))
        for r in records
        if "user_persona" in r
    ]
    assert 780 <= statistics.median(personas) <= 940


def test_asins_are_different_and_mostly_twelve_digits(records):
    assert len({record["asin"] for record in records}) == PRODUCTS
    assert Counter(len(record["asin"]) for record in records) == {12: 791, 11: 8, 10: 1}


def test_index_ranges_are_the_published_ones_scaled():
    full = index_ranges(23_421)
    assert (full.persona_eval, full.standard_eval) == (range(1343), range(1343, 1459))
    assert (full.persona_train, full.standard_train) == (range(1459, 4782), range(4782, 23_421))
    small = index_ranges(800)
    # 800 * 1343 / 23421 = 45.9, * 1459 = 49.8, * 4782 = 163.3
    assert small.persona_eval == range(46)
    assert small.persona_train == range(50, 163)


def test_personas_and_tags_follow_the_ranges(records):
    for index, record in enumerate(records):
        assert ("user_persona" in record) == (index < 46 or 50 <= index < 163)
        assert record["tag"] == ("eval" if index < 50 else "train")


def test_every_product_has_one_instruction_with_the_real_keys(records):
    for record in records:
        (task,) = record["instructions"]
        assert set(task) == {
            "asin", "instruction", "instruction_simple", "attributes", "instruction_options", "options",
            "worker_id",
        }  # fmt: skip
        assert task["asin"] == record["asin"]
        assert task["options"] == task["instruction_options"]
        assert 0 <= int(task["worker_id"]) <= 31
        assert (task["instruction_simple"] is not None) == ("user_persona" in record)
        assert len(task["instruction_options"]) == len(record["customization_options"])
        assert task["instruction"][-1] in "。？！"


def test_the_text_names_the_goods_and_the_chosen_options(records):
    """Words of title, attributes or options appear in the text: searching with it can find the gold."""
    for record in records:
        task = record["instructions"][0]
        document = record["title"] + "".join(record["attribute"]) + "".join(task["options"])
        pairs = {document[place : place + 2] for place in range(len(document) - 1)}
        for text in filter(None, (task["instruction"], task["instruction_simple"])):
            shared = {text[place : place + 2] for place in range(len(text) - 1)} & pairs
            assert len(shared) >= 2, (record["title"], text)


def test_persona_nesting_and_junk(records):
    personas = [record["user_persona"] for record in records if "user_persona" in record]
    keys = {
        "用户ID", "注册时间", "注册渠道", "地区信息", "人口属性", "行为特征", "兴趣偏好", "用户标签",
        "最后更新时间",
    }  # fmt: skip
    for persona in personas:
        assert keys <= set(persona) <= keys | {"交易特征", "__reasoning__"}
        assert ("交易特征" in persona) != ("交易特征" in persona["行为特征"])
        preferences = persona["兴趣偏好"]["商品属性偏好"]
        assert set(preferences["尺码偏好"]) == {"上衣", "裤子", "裙装", "内衣", "鞋码"}
        assert set(preferences["价格区间"]) == {"最小值", "最大值"}
        assert len(persona["行为特征"]["最近14天搜索关键词"]) >= 1
    assert 3 <= sum("交易特征" in persona["行为特征"] for persona in personas) <= 20
    assert any("风格" not in persona["兴趣偏好"]["商品属性偏好"] for persona in personas)
    averages = [(p.get("交易特征") or p["行为特征"]["交易特征"])["平均客单价"] for p in personas]
    assert {type(value) for value in averages} == {int, float}
    assert sum("__reasoning__" in json.dumps(p, ensure_ascii=False) for p in personas) >= 2
    junk = sum(persona["用户ID"].endswith(", ") for persona in personas)
    assert junk >= 0.9 * len(personas)


def test_user_ids_leak_the_gold_asin_or_are_shared(records):
    owners = [(r["user_persona"]["用户ID"], r["asin"]) for r in records if "user_persona" in r]
    leaks = sum(user.rstrip(", ") == f"U{asin}" for user, asin in owners)
    assert 0.5 <= leaks / len(owners) <= 0.7
    groups = Counter(user for user, _ in owners)
    assert groups[", "] >= 8
    assert sum(count > 1 for count in groups.values()) >= 4


def test_two_personas_are_equal_but_for_the_reasoning(records):
    def without(value):
        if isinstance(value, dict):
            return {key: without(item) for key, item in value.items() if key != "__reasoning__"}
        return value

    texts = Counter(
        json.dumps(without(r["user_persona"]), sort_keys=True) for r in records if "user_persona" in r
    )
    assert 2 <= sum(count == 2 for count in texts.values()) <= 4


def test_quirks_of_the_archive_are_there(records):
    values = [e["value"] for r in records for axis in r["customization_options"].values() for e in axis]
    assert sum("/" in value for value in values) / len(values) > 0.02
    assert any("  " in value for value in values)
    assert any(value.startswith("[") for value in values)
    assert any(ord(char) >= 0x1F300 for value in values for char in value)
    assert sum("  " in record["title"] for record in records) == 4
    assert sum("?" in record["title"] for record in records) == 3
    titles = Counter(record["title"] for record in records)
    assert sum(count > 1 for count in titles.values()) >= 5
    assert {type(record["sub_title"]) for record in records} == {str, type(None)}
    assert any(record["sub_title"] == "" for record in records)
    assert any("/" in record["category"] and "(" in record["category"] for record in records)


@pytest.mark.parametrize("products", [1, 2, 37])
def test_small_samples_work(products):
    rows = list(generate_sample(products, 3))
    assert [row.index for row in rows] == list(range(products))


def test_wrong_arguments_are_refused(tmp_path):
    with pytest.raises(UsageError, match="at least 1 product, found 0"):
        generate_sample(0, 1)
    with pytest.raises(UsageError, match=r"indices below 10, found \[10\]"):
        generate_sample(10, 1, {10: ("1", ("颜色分类", "尺码"))})
    with pytest.raises(UsageError, match=r"my\.raw\.json\.gz, found 'data\.json'"):
        write_sample(tmp_path / "data.json", 5, 1)


def test_a_failed_write_leaves_nothing(tmp_path):
    with pytest.raises(UsageError):
        write_sample(tmp_path / "x.raw.json.gz", 0, 1)
    assert list(tmp_path.iterdir()) == []
