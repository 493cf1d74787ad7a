"""What a release folder holds: file names, visibility, table definitions, canonical rows.

The writer (`pipelines.stages.release`) and the readers share these definitions. No I/O beyond reading rows.
"""

import gzip
import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from shopsim_env.canonical import compact_json, sha256_lines
from shopsim_env.search.arrays import ArrayFile
from shopsim_env.sqlite import open_readonly

MANIFEST = "manifest.json"
CATALOG = "catalog.sqlite"
SEARCH_ARRAYS = "search/arrays.bin"
RLVE = "rlve.sqlite"
TASKS = "tasks.sqlite"
SPLITS = "splits.json"
METRICS = "metrics.json"
GOALS = "private/goals.sqlite"
WITNESSES = "private/witnesses.jsonl"
EVIDENCE = "private/evidence.sqlite"
CLEANED_EXPORT = "private/exports/fine_items_eval_train_all.cleaned.v2.json.gz"
CLEAN_MANIFEST_EXPORT = "private/exports/clean_dataset_manifest.v2.json"
EXCLUSIONS_EXPORT = "private/exports/catalog_exclusions.v2.json"
SOURCE_SPLITS_EXPORT = "private/exports/task_splits.cleaned.v2.json"
ANNOTATIONS_EXPORT = "private/exports/persona_price_annotations.v2.json"
PERSONA_SPLITS_EXPORT = "private/exports/persona_splits.v1.json"

PRIVATE_FOLDER = "private/"
EXPORTS_FOLDER = "private/exports"
REQUIRED_PUBLIC = (CATALOG, SEARCH_ARRAYS, RLVE, TASKS, SPLITS, METRICS)
REQUIRED = (
    *REQUIRED_PUBLIC,
    GOALS,
    WITNESSES,
    EVIDENCE,
    CLEANED_EXPORT,
    CLEAN_MANIFEST_EXPORT,
    EXCLUSIONS_EXPORT,
    SOURCE_SPLITS_EXPORT,
    ANNOTATIONS_EXPORT,
    PERSONA_SPLITS_EXPORT,
)

# `instruction` is NULL for persona tasks: what only the standard mode shows of them lives with the goals.
# Task ids number the source archive's products, so no public table may relate ids and asins.
TASKS_SCHEMA = """
CREATE TABLE task(
  task_id INTEGER PRIMARY KEY, instruction TEXT, instruction_simple TEXT, persona TEXT, labels TEXT NOT NULL);
CREATE TABLE inactive_task(task_id INTEGER PRIMARY KEY, reason TEXT NOT NULL);
"""

GOALS_SCHEMA = """
CREATE TABLE goal(
  task_id INTEGER PRIMARY KEY, task_uid TEXT NOT NULL UNIQUE, asin TEXT NOT NULL, instruction TEXT NOT NULL,
  instruction_simple TEXT NOT NULL, attributes TEXT NOT NULL, options TEXT NOT NULL, price_upper TEXT,
  has_persona INTEGER NOT NULL);
"""

# `task_id` of a finding is NULL where the product itself is meant. `raw_task` has every task of the raw
# corpus; `body` of an exclusion is its lineage as JSON.
EVIDENCE_SCHEMA = """
CREATE TABLE finding(
  id INTEGER PRIMARY KEY, code TEXT NOT NULL, severity TEXT NOT NULL, asin TEXT NOT NULL, task_id INTEGER,
  evidence TEXT NOT NULL);
CREATE TABLE task_label(
  task_id INTEGER NOT NULL, mode TEXT NOT NULL, options TEXT NOT NULL, attributes TEXT NOT NULL,
  budget TEXT NOT NULL, PRIMARY KEY(task_id, mode)) WITHOUT ROWID;
CREATE TABLE exclusion(asin TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE raw_task(task_id INTEGER PRIMARY KEY, asin TEXT NOT NULL, quarantine TEXT NOT NULL);
"""

_FTS = ("config", "content", "data", "docsize", "idx")
# Everything that an SQLite file of a release may hold, automatic indexes included.
SQLITE_TABLES = {
    CATALOG: frozenset(
        {"product", "sqlite_autoindex_product_1", "products", "manifest", "title_noun"}
        | {f"products_{name}" for name in _FTS}
    ),
    RLVE: frozenset(
        {"world", "category", "sqlite_autoindex_category_1", "fact", "sqlite_autoindex_fact_1"}
        | {"fact_by_category", "fact_by_brand", "attribute", "attribute_by_value"}
        | {"family", "sqlite_autoindex_family_1", "family_value"}
    ),
    TASKS: frozenset({"task", "inactive_task"}),
    GOALS: frozenset({"goal", "sqlite_autoindex_goal_1"}),
    EVIDENCE: frozenset({"finding", "task_label", "exclusion", "raw_task"}),
}


def visibility(name: str) -> str:
    """`private` for everything under the private folder, else `public`."""
    return "private" if name.startswith(PRIVATE_FOLDER) else "public"


def _query_digest(name: str, sql: str) -> Callable[[Path], str]:
    def digest(root: Path) -> str:
        with closing(open_readonly(root / name)) as connection:
            return sha256_lines(compact_json(list(row)) for row in connection.execute(sql))

    return digest


def _json_digest(name: str) -> Callable[[Path], str]:
    def digest(root: Path) -> str:
        value = json.loads((root / name).read_text(encoding="utf-8"))
        return sha256_lines([compact_json(value)])

    return digest


def _lines_digest(name: str) -> Callable[[Path], str]:
    def digest(root: Path) -> str:
        with (root / name).open(encoding="utf-8") as lines:
            return sha256_lines(compact_json(json.loads(line)) for line in lines)

    return digest


def _arrays_digest(root: Path) -> str:
    arrays = ArrayFile(root / SEARCH_ARRAYS)
    try:
        return arrays.digest()
    finally:
        arrays.close()


def _gzip_chunks(path: Path) -> Iterator[bytes]:
    with gzip.open(path, "rb") as stream:
        while chunk := stream.read(1 << 20):
            yield chunk


def _gzip_digest(name: str) -> Callable[[Path], str]:
    def digest(root: Path) -> str:
        hasher = hashlib.sha256()
        for chunk in _gzip_chunks(root / name):
            hasher.update(chunk)
        return hasher.hexdigest()

    return digest


# Table of `rlve.sqlite` -> all its rows, in the one order in which they are compared and hashed.
WORLD_ROWS = {
    "world": "SELECT payload FROM world ORDER BY rowid",
    "category": "SELECT * FROM category ORDER BY id",
    "fact": "SELECT * FROM fact ORDER BY id",
    "attribute": "SELECT * FROM attribute ORDER BY id, family, value",
    "family": "SELECT * FROM family ORDER BY id",
    "family_value": "SELECT * FROM family_value ORDER BY family, value",
}

# Part of the logical content -> (file it is read from, how). Values and order, never bytes of a container
# format, so that another SQLite or zlib gives the same release id.
LOGICAL_PARTS: dict[str, tuple[str, Callable[[Path], str]]] = {
    "products": (CATALOG, _query_digest(CATALOG, "SELECT id, asin, body FROM product ORDER BY id")),
    "search_documents": (CATALOG, _query_digest(CATALOG, "SELECT rowid, * FROM products ORDER BY rowid")),
    "search_manifest": (CATALOG, _query_digest(CATALOG, "SELECT payload FROM manifest")),
    "search_arrays": (SEARCH_ARRAYS, _arrays_digest),
    "title_nouns": (CATALOG, _query_digest(CATALOG, "SELECT id, nouns FROM title_noun ORDER BY id")),
    "world_manifest": (RLVE, _query_digest(RLVE, WORLD_ROWS["world"])),
    "world_categories": (RLVE, _query_digest(RLVE, WORLD_ROWS["category"])),
    "world_facts": (RLVE, _query_digest(RLVE, WORLD_ROWS["fact"])),
    "world_attributes": (RLVE, _query_digest(RLVE, WORLD_ROWS["attribute"])),
    "world_families": (RLVE, _query_digest(RLVE, WORLD_ROWS["family"])),
    "world_family_values": (RLVE, _query_digest(RLVE, WORLD_ROWS["family_value"])),
    "tasks": (TASKS, _query_digest(TASKS, "SELECT * FROM task ORDER BY task_id")),
    "inactive_tasks": (TASKS, _query_digest(TASKS, "SELECT * FROM inactive_task ORDER BY task_id")),
    "splits": (SPLITS, _json_digest(SPLITS)),
    "goals": (GOALS, _query_digest(GOALS, "SELECT * FROM goal ORDER BY task_id")),
    "witnesses": (WITNESSES, _lines_digest(WITNESSES)),
    "findings": (EVIDENCE, _query_digest(EVIDENCE, "SELECT * FROM finding ORDER BY id")),
    "task_labels": (EVIDENCE, _query_digest(EVIDENCE, "SELECT * FROM task_label ORDER BY task_id, mode")),
    "exclusion_lineage": (EVIDENCE, _query_digest(EVIDENCE, "SELECT * FROM exclusion ORDER BY asin")),
    "raw_tasks": (EVIDENCE, _query_digest(EVIDENCE, "SELECT * FROM raw_task ORDER BY task_id")),
    "cleaned_data": (CLEANED_EXPORT, _gzip_digest(CLEANED_EXPORT)),
    "exclusions": (EXCLUSIONS_EXPORT, _json_digest(EXCLUSIONS_EXPORT)),
    "source_splits": (SOURCE_SPLITS_EXPORT, _json_digest(SOURCE_SPLITS_EXPORT)),
    "price_annotations": (ANNOTATIONS_EXPORT, _json_digest(ANNOTATIONS_EXPORT)),
}


def logical_content(root: Path, *, include_private: bool = True) -> dict[str, str]:
    """Digest of each logical part of a release folder.

    Args:
        root: The release folder.
        include_private: False for a public copy, which has no private files.
    """
    return {
        part: digest(root)
        for part, (name, digest) in LOGICAL_PARTS.items()
        if include_private or visibility(name) == "public"
    }
