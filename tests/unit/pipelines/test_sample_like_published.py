"""The archive that has the published index structure and our texts."""

import gzip
import json
from collections import Counter

import pytest

from pipelines.errors import DatasetError
from pipelines.stages.sample import generate_sample, write_like_published
from pipelines.stages.sample.like_published import EXCLUSIONS_FILE, SPLITS_FILE, read_published
from pipelines.stages.sample.plan import make_plans
from pipelines.stages.sample.ranges import index_ranges

EXCLUDED = {3: ("611000000003", ("鞋码", "颜色分类")), 17: ("61100000017", ("款式", "黄金克重", "戒指圈口"))}


def _write_published(folder, products=40, excluded=EXCLUDED):
    """A small pair of published files in the published form, with ids of our own."""
    ranges = index_ranges(products)
    exclusions = [
        {
            "asin": asin,
            "price_affecting_axes": list(axes),
            "reason": "multiple_price_affecting_axes",
            "source_product_index": index,
            "task_ids": [index],
        }
        for index, (asin, axes) in excluded.items()
    ]
    splits = {
        name: {"task_ids": [i for i in indices if i not in excluded], "persona": True}
        for name, indices in (("persona_eval", ranges.persona_eval), ("persona_train", ranges.persona_train))
    }
    folder.mkdir(exist_ok=True)
    (folder / EXCLUSIONS_FILE).write_text(json.dumps(exclusions), "utf-8")
    body = json.dumps({"source_task_count": products, "splits": splits}).encode()
    (folder / SPLITS_FILE).write_bytes(gzip.compress(body, mtime=0))
    return folder


def _varying(record):
    return tuple(
        name
        for name, entries in record["customization_options"].items()
        if len({entry["price"] for entry in entries if entry["price"] is not None}) > 1
    )


def _check_structure(rows, products, excluded):
    asins = set()
    for row in rows:
        record = row.record
        varying = _varying(record)
        if row.index in excluded:
            asin, names = excluded[row.index]
            assert record["asin"] == asin
            assert varying == names
            assert tuple(record["customization_options"]) == names
        else:
            assert len(varying) <= 1
        assert len(record["instructions"]) == 1
        assert ("user_persona" in record) == index_ranges(products).has_persona(row.index)
        asins.add(record["asin"])
    assert len(asins) == products


def test_a_small_published_pair_is_followed(tmp_path):
    folder = _write_published(tmp_path / "published")
    files = write_like_published(tmp_path / "like.raw.json.gz", folder, seed=4)
    records = json.loads(gzip.decompress(files.archive.read_bytes()))
    assert [_varying(records[index]) for index in EXCLUDED] == [axes for _, axes in EXCLUDED.values()]
    assert [records[index]["asin"] for index in EXCLUDED] == [asin for asin, _ in EXCLUDED.values()]
    truth = json.loads(files.truth.read_text("utf-8"))
    assert [entry["task_id"] for entry in truth["faults"]["multi_price_axes"]] == [3, 17]
    _check_structure(generate_sample(40, 4, EXCLUDED), 40, EXCLUDED)


def test_files_that_contradict_each_other_are_refused(tmp_path):
    folder = _write_published(tmp_path / "published")
    (folder / EXCLUSIONS_FILE).write_text("[]", "utf-8")
    with pytest.raises(DatasetError, match=r"split persona_train: expected 6 task ids .* found 5"):
        read_published(folder)


def test_missing_or_broken_files_are_named(tmp_path):
    with pytest.raises(DatasetError, match=EXCLUSIONS_FILE):
        read_published(tmp_path)
    folder = _write_published(tmp_path / "published")
    (folder / SPLITS_FILE).write_bytes(b"not gzip")
    with pytest.raises(DatasetError, match=SPLITS_FILE):
        read_published(folder)


def test_files_of_another_form_are_refused(tmp_path):
    folder = _write_published(tmp_path / "published")
    (folder / EXCLUSIONS_FILE).write_text('[{"asin": "1"}]', "utf-8")
    with pytest.raises(DatasetError, match="source_product_index"):
        read_published(folder)


@pytest.mark.published
def test_the_published_lists_are_read(shared_data):
    products, excluded = read_published(shared_data / "published")
    assert products == 23_421
    assert len(excluded) == 695
    assert Counter(len(axes) for _, axes in excluded.values()) == {2: 694, 3: 1}


@pytest.mark.published
def test_plans_of_the_full_archive_have_the_published_structure(shared_data):
    products, excluded = read_published(shared_data / "published")
    plans = make_plans(products, 1, excluded)
    assert [plan.index for plan in plans] == list(range(products))
    assert len({plan.asin for plan in plans}) == products
    assert {plan.index: (plan.asin, plan.axis_names) for plan in plans if plan.axis_names} == excluded
    assert sum(plan.has_persona for plan in plans) == 1343 + 3323
    assert all(plan.varying <= 1 for plan in plans if plan.index not in excluded)
    users = Counter(plan.user for plan in plans if plan.has_persona)
    # 303 of 4,526 share the junk id in the published archive: 4,666 * 303 / 4,526 = 312
    assert users["placeholder"] == 312
    shared = [count for user, count in users.items() if user.startswith("shared:")]
    assert max(shared) <= 20
    assert len(shared) > 50


@pytest.mark.published
def test_excluded_products_of_the_full_archive_vary_on_the_published_axes(shared_data):
    products, excluded = read_published(shared_data / "published")
    rows = generate_sample(products, 1, excluded)
    # The first 1,500 records hold both kinds of product; the whole archive takes half a minute.
    head = [row for row, _ in zip(rows, range(1500), strict=False)]
    for row in head:
        expected = excluded.get(row.index)
        if expected:
            assert (row.record["asin"], _varying(row.record)) == expected
        else:
            assert len(_varying(row.record)) <= 1
    assert sum(row.index in excluded for row in head) > 30
