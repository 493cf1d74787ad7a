"""Other search engines over the same tokens, where they are installed: tantivy (Rust) and bm25s (numpy).

They get our tokens, joined to one field: none of them has seven weighted fields with FTS5's bm25, so that
their rankings differ. Indexes are held in memory.
"""

import importlib
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from shopsim_env.search.schema import FIELD_WEIGHTS
from shopsim_env.versions import TOP_K


@dataclass(frozen=True, slots=True)
class Peer:
    """Name with version, and a function from tokens to asins."""

    name: str
    search: Callable[[Sequence[str]], list[str]]


def open_peers(folder: Path) -> list[Peer]:
    """The peers of this environment, over the documents of `catalog.sqlite`."""
    documents = documents_of(folder / "catalog.sqlite")
    peers = []
    for name, opener in (("tantivy", _tantivy), ("bm25s", _bm25s)):
        try:
            module = importlib.import_module(name)
        except ImportError:
            print(f"  {name}: not installed, left out")
            continue
        peers.append(Peer(f"{name} {metadata.version(name)}", opener(module, documents)))
    return peers


def documents_of(catalog: Path) -> list[tuple[str, list[str]]]:
    """Asin and all tokens of each product, fields joined."""
    columns = " || ' ' || ".join(FIELD_WEIGHTS)
    with closing(sqlite3.connect(f"file:{catalog}?mode=ro", uri=True)) as connection:
        rows = connection.execute(f"SELECT asin, {columns} FROM products ORDER BY rowid")  # noqa: S608
        return [(asin, text.split()) for asin, text in rows]


def _tantivy(module, documents):
    builder = module.SchemaBuilder()
    builder.add_text_field("asin", stored=True, tokenizer_name="raw")
    builder.add_text_field("text", tokenizer_name="whitespace")
    schema = builder.build()
    index = module.Index(schema)
    writer = index.writer(heap_size=200_000_000, num_threads=1)
    for asin, tokens in documents:
        writer.add_document(module.Document(asin=asin, text=" ".join(tokens)))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(tokens: Sequence[str]) -> list[str]:
        terms = [
            (module.Occur.Should, module.Query.term_query(schema, "text", token, index_option="freq"))
            for token in tokens
        ]
        found = searcher.search(module.Query.boolean_query(terms), TOP_K).hits
        return [searcher.doc(address).get_first("asin") for _, address in found]

    return search


def _bm25s(module, documents):
    retriever = module.BM25(k1=1.2, b=0.75)
    retriever.index([tokens for _, tokens in documents], show_progress=False)
    asins = [asin for asin, _ in documents]
    known = retriever.vocab_dict

    def search(tokens: Sequence[str]) -> list[str]:
        usable = [token for token in tokens if token in known]
        if not usable:
            return []
        found, scores = retriever.retrieve(
            [usable], k=min(TOP_K, len(asins)), show_progress=False, n_threads=0
        )
        return [asins[row] for row, score in zip(found[0], scores[0], strict=True) if score > 0]

    return search
