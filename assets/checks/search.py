"""What must hold of the search index and its baseline."""

import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

from assets._inputs import document
from assets.checks.blocking import blocking_check, warning_check
from pipelines.resources.workspace import Workspace
from pipelines.stages.cleaning import iter_cleaned
from pipelines.stages.published_baseline import compare_baseline
from pipelines.stages.search_equality import compare_engines
from shopsim_env.canonical import compact_json, sha256_lines
from shopsim_env.catalog.schema import public_record
from shopsim_env.errors import SearchIndexError
from shopsim_env.search.arrays import ArrayFile
from shopsim_env.search.documents import document_fields
from shopsim_env.search.schema import FIELD_WEIGHTS, check_index_manifest
from shopsim_env.sqlite import open_readonly
from shopsim_env.versions import TOP_K

_PRIVATE_KEYS = frozenset(
    {"instructions", "user_persona", "source_product_index", "task_id", "task_uid", "price_upper", "tag"}
)


@blocking_check("search_index")
def index_manifest_fits(work: Workspace) -> Iterator[str]:
    """Columns, weights and versions are the contract's, and the digest is that of the products."""
    with closing(open_readonly(work.store.path("search_index"))) as connection:
        payload = json.loads(connection.execute("SELECT payload FROM manifest").fetchone()[0])
        bodies = (row[0] for row in connection.execute("SELECT body FROM product ORDER BY id"))
        digest = sha256_lines(bodies)
    try:
        check_index_manifest(payload, digest)
    except SearchIndexError as error:
        yield str(error)


@blocking_check("search_index")
def documents_match_products(work: Workspace) -> Iterator[str]:
    """Each cleaned product is indexed once, in asin order, with the documents that its fields give."""
    expected = {
        record["asin"]: compact_json(public_record(record))
        for record in iter_cleaned(work.store.path("cleaned_v2"))
    }
    columns = ", ".join(f"d.{name}" for name in FIELD_WEIGHTS)
    query = (
        f"SELECT p.asin, p.body, d.asin, {columns} FROM product p "  # noqa: S608 - our column names
        "LEFT JOIN products d ON d.rowid = p.id ORDER BY p.id"
    )
    previous = ""
    with closing(open_readonly(work.store.path("search_index"))) as connection:
        for asin, body, indexed, *fields in connection.execute(query):
            if asin <= previous or indexed != asin or expected.pop(asin, None) != body:
                yield f"product {asin}: out of order, not indexed or altered"
            elif dict(zip(FIELD_WEIGHTS, fields, strict=True)) != _fields(json.loads(body)):
                yield f"product {asin}: its document does not follow from its fields"
            previous = asin
    yield from (f"product {asin}: not in the index" for asin in sorted(expected))


@blocking_check("search_index")
def catalogue_is_public(work: Workspace) -> Iterator[str]:
    """No product row holds a task, a persona or a source index, which equals the task id."""
    with closing(open_readonly(work.store.path("search_index"))) as connection:
        for asin, body in connection.execute("SELECT asin, body FROM product"):
            leaked = _PRIVATE_KEYS & _keys(json.loads(body))
            if leaked:
                yield f"product {asin}: holds {sorted(leaked)}"


@blocking_check("search_arrays")
def arrays_hold_the_index(work: Workspace) -> Iterator[str]:
    """The arrays list the products of the index in its order."""
    path = work.store.path("search_arrays")
    with closing(open_readonly(work.store.path("search_index"))) as connection:
        asins = [row[0] for row in connection.execute("SELECT asin FROM product ORDER BY id")]
    arrays = ArrayFile(path)
    try:
        if arrays.unsupported:
            return
        found = arrays.counts["products"]
        if found != len(asins):
            yield f"expected {len(asins)} products, found {found}"
        for row, asin in enumerate(asins[:found]):
            if arrays.asin(row) != asin:
                yield f"product {row + 1}: expected asin {asin}, found {arrays.asin(row)}"
    finally:
        arrays.close()


@blocking_check("search_arrays")
def engines_equal_fts5(work: Workspace) -> Iterator[str]:
    """On seeded queries each fast engine gives the products, order and scores of FTS5, bit for bit."""
    compared = compare_engines(work.store.path("search_index"), work.store.path("search_arrays"))
    yield from compared.problems


@blocking_check("search_baseline")
def recall_not_below_floor(work: Workspace) -> Iterator[str]:
    """Recall@150 of both texts reaches the data set's floors on every split that has tasks."""
    floors = {
        "instruction_simple": work.settings.baseline.floor_simple,
        "instruction": work.settings.baseline.floor_full,
    }
    for split, result in document(work, "search_baseline")["search_baseline"].items():
        for mode, floor in floors.items():
            found = result["modes"][mode]["recall"][str(TOP_K)]["rate"]
            if found is not None and found < floor:
                yield f"{split}, {mode}: recall@150 {found:.4f} is below {floor}"


@warning_check("search_baseline")
def published_baseline_met(work: Workspace) -> Iterator[str]:
    """Each figure of the published search baseline is met digit by digit; a difference is reported only."""
    published = work.settings.published_baseline
    measured = document(work, "search_baseline")["search_baseline"]
    for figure in compare_baseline(published, measured) if published else ():
        if figure.failed:
            yield f"{figure.name}: expected {figure.expected}, found {figure.found}"


def _fields(record: Mapping[str, Any]) -> dict[str, str]:
    return dict(document_fields(record))


def _keys(record: Mapping[str, Any]) -> set[str]:
    """Keys of the record itself; axis names below `customization_options` are data."""
    return set(record)
