"""Would another ranking find more? The contract's beside three others, on real texts and agents' queries.

    python -m benchmarks.rankers [--shared DIR] [--complete] [--json]

Alternatives: field weights tuned on the train half; single characters as a second, weaker score ("unigrams",
meant for short queries); runs of three characters as a bonus ("proximity"). What is tuned is tuned by MRR on
the train half of the gold products and measured on the other half. Intervals: paired bootstrap over gold
products, 95 %. The records carry no licence: they stay outside the project, only numbers leave this program.

Most records state a title alone, while nearly every gold product states options and attributes: a ranker can
win by preferring full records. `--complete` is the control: a catalogue of the records that state options.

The contract's line here counts a compound word as one term and leaves phrases between neighbours out; how
often the gold product has the very rank that FTS5 gives it is printed.
"""

import argparse
import hashlib
import json
import math
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.real_records import SHARED_DATA
from benchmarks.real_tasks import read_lines
from pipelines.stages.search_index import build_search_index
from shopsim_env.catalog.schema import public_record
from shopsim_env.search.documents import document_fields, options_text
from shopsim_env.search.fts5 import Fts5Engine
from shopsim_env.search.schema import FIELD_WEIGHTS
from shopsim_env.text.normalize import normalize_query
from shopsim_env.text.tokens import han_runs, tokenize

FIELDS = tuple(FIELD_WEIGHTS)
DEPTHS = (1, 20, 150)
RESAMPLES = 10_000
FACTORS = (0.5, 0.7, 1.4, 2.0)
SHARES = (0.05, 0.1, 0.2, 0.4, 0.8)
Scores = Any
Ranker = Callable[[str], Scores]


@dataclass(frozen=True, slots=True)
class Query:
    """A text of one kind (`full`, `simple`, `agent`) and the row of the product that it asks for."""

    kind: str
    text: str
    gold: int
    train: bool


class GramIndex:
    """FTS5's bm25 over the distinct grams of each field, with any field weights."""

    def __init__(self, documents: Sequence[Mapping[str, Sequence[str]]]) -> None:
        postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        sizes = np.zeros(len(documents))
        for row, fields in enumerate(documents):
            seen: defaultdict[str, int] = defaultdict(int)
            for number, name in enumerate(FIELDS):
                sizes[row] += len(fields[name])
                for gram in fields[name]:
                    seen[gram] |= 1 << number
            for gram, mask in seen.items():
                postings[gram].append((row, mask))
        self._postings = {gram: np.array(found).T for gram, found in postings.items()}
        self._norm = 1.2 * (0.25 + 0.75 * sizes / max(sizes.mean(), 1))
        self._bits = np.arange(1 << len(FIELDS))[:, None] >> np.arange(len(FIELDS)) & 1

    def scores(self, grams: Iterable[str], weights: Sequence[float]) -> Scores:
        """One score per document."""
        result = np.zeros(len(self._norm))
        weight_of = self._bits @ np.array(weights)
        for gram in grams:
            found = self._postings.get(gram)
            if found is None:
                continue
            rows, masks = found
            rarity = math.log((len(result) - len(rows) + 0.5) / (len(rows) + 0.5))
            weight = weight_of[masks]
            result[rows] += max(rarity, 1e-6) * weight * 2.2 / (weight + self._norm[rows])
        return result


def han_grams(text: str, size: int) -> list[str]:
    """Distinct runs of `size` Han characters of a normalised text."""
    runs = han_runs(normalize_query(text))
    found = (run[at : at + size] for run in runs for at in range(len(run) - size + 1))
    return list(dict.fromkeys(found))


def field_texts(record: Mapping[str, Any]) -> dict[str, str]:
    """What feeds the fields, as text; `model` has no Han characters."""

    def joined(value: Any) -> str:
        return " ".join(map(str, value)) if isinstance(value, list) else str(value or "")

    return {
        "title": joined(record.get("title")),
        "brand": joined(record.get("brand") or record.get("shop_name")),
        "category": joined(record.get("category")),
        "model": "",
        "attributes": joined(record.get("attribute")),
        "options": options_text(record),
        "bullets": joined(record.get("small_description") or record.get("sub_title")),
    }


def read_queries(real: Path, rows: Mapping[str, int]) -> list[Query]:
    """Task texts and agents' queries whose gold product is known and in the catalogue; each text once."""
    found: dict[tuple[str, str, str], None] = {}
    gold_of = {}
    for record in read_lines(real / "products.jsonl.gz"):
        for task in record.get("instructions") or ():
            found["full", task["instruction"], record["asin"]] = None
            found["simple", task.get("instruction_simple") or "", record["asin"]] = None
    for task in read_lines(real / "tasks.jsonl.gz"):
        gold_of[task["task_id"]] = task["goal_asin"]
        found["full", task["instruction"] or "", task["goal_asin"]] = None
        found["simple", task["instruction_simple"] or "", task["goal_asin"]] = None
    for row in read_lines(real / "search_queries.jsonl.gz"):
        found["agent", row["query"], gold_of.get(row["task_id"])] = None
    return [
        Query(kind, text, rows[asin], int(hashlib.sha256(asin.encode()).hexdigest(), 16) % 2 == 0)
        for kind, text, asin in found
        if text and asin in rows
    ]


def gold_rank(scores: Scores, gold: int) -> float:
    """Rank of the gold row from 1, ties by row, infinite when it has no score."""
    if scores[gold] <= 0:
        return math.inf
    better = np.count_nonzero(scores > scores[gold]) + np.count_nonzero(scores[:gold] == scores[gold])
    return float(better + 1) if better < DEPTHS[-1] else math.inf


def ranks_of(ranker: Ranker, queries: Sequence[Query]) -> Any:
    return np.array([gold_rank(ranker(query.text), query.gold) for query in queries])


def figures(ranks: Any) -> dict[str, Any]:
    """Per query: found within each depth, and reciprocal rank."""
    return {f"recall@{depth}": (ranks <= depth) * 1.0 for depth in DEPTHS} | {"mrr": 1 / ranks}


def tune_weights(words: GramIndex, queries: Sequence[Query]) -> tuple[float, ...]:
    """Two rounds over the fields, keeping a change that lifts the train MRR."""
    tokens = {query.text: tokenize(query.text) for query in queries}

    def quality(weights: Sequence[float]) -> float:
        return float(np.mean(1 / ranks_of(lambda text: words.scores(tokens[text], weights), queries)))

    weights = list(FIELD_WEIGHTS.values())
    best = quality(weights)
    for _ in range(2):
        for number in range(len(FIELDS)):
            for factor in FACTORS:
                changed = [*weights]
                changed[number] = round(changed[number] * factor, 3)
                found = quality(changed)
                if found > best:
                    best, weights = found, changed
    return tuple(weights)


def tune_share(base: Ranker, extra: Ranker, queries: Sequence[Query]) -> float:
    """The share of a second score with the best train MRR; 0 when none helps."""
    pairs = {query.text: (base(query.text), extra(query.text)) for query in queries}

    def quality(share: float) -> float:
        mixed = ranks_of(lambda text: pairs[text][0] + share * pairs[text][1], queries)
        return float(np.mean(1 / mixed))

    return max((0.0, *SHARES), key=quality)


def bootstrap(difference: Any, golds: Any) -> tuple[float, float]:
    """95 % interval of the mean difference; all queries of a gold product are drawn together."""
    names, group = np.unique(golds, return_inverse=True)
    sums, sizes = np.bincount(group, difference), np.bincount(group)
    drawn = np.random.default_rng(20261130).integers(0, len(names), (RESAMPLES, len(names)))
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return round(float(low), 4), round(float(high), 4)


def measure(real: Path, *, complete: bool) -> dict[str, Any]:
    """Everything as numbers; `complete` leaves records without options out."""
    records = [
        record
        for record in map(public_record, read_lines(real / "products.jsonl.gz"))
        if record.get("customization_options") or not complete
    ]
    records.sort(key=lambda row: row["asin"])
    rows = {record["asin"]: row for row, record in enumerate(records)}
    words = GramIndex(
        [{name: text.split() for name, text in document_fields(record).items()} for record in records]
    )
    texts = [field_texts(record) for record in records]
    singles, triples = (
        GramIndex([{name: han_grams(text, size) for name, text in item.items()} for item in texts])
        for size in (1, 3)
    )
    queries = read_queries(real, rows)
    train = [query for query in queries if query.train]
    default = tuple(FIELD_WEIGHTS.values())

    def contract(text: str) -> Scores:
        return words.scores(tokenize(text), default)

    def unigrams(text: str) -> Scores:
        return singles.scores(han_grams(text, 1), default)

    def proximity(text: str) -> Scores:
        return triples.scores(han_grams(text, 3), default)

    tuned = tune_weights(words, train)
    shares = {ranker: tune_share(contract, ranker, train) for ranker in (unigrams, proximity)}
    rankers: dict[str, Ranker] = {
        "contract": contract,
        f"weights {tuned}": lambda text: words.scores(tokenize(text), tuned),
        f"unigrams, share {shares[unigrams]}": lambda text: (
            contract(text) + shares[unigrams] * unigrams(text)
        ),
        f"proximity, share {shares[proximity]}": lambda text: (
            contract(text) + shares[proximity] * proximity(text)
        ),
    }
    test = [query for query in queries if not query.train]
    return {
        "products": len(records),
        "train_queries": len(train),
        "gold_at_fts5_rank": _same_as_fts5(records, test, contract),
        "kinds": _compare(rankers, test),
    }


def _compare(rankers: Mapping[str, Ranker], test: Sequence[Query]) -> dict[str, Any]:
    found = {name: ranks_of(ranker, test) for name, ranker in rankers.items()}
    kinds = np.array([query.kind for query in test])
    golds = np.array([query.gold for query in test])
    report: dict[str, Any] = {}
    for kind in ("simple", "full", "agent", "all"):
        chosen = kinds == kind if kind != "all" else kinds != ""
        base = figures(found["contract"][chosen])
        lines = {}
        for name, ranks in found.items():
            line = {}
            for figure, values in figures(ranks[chosen]).items():
                line[figure] = [
                    round(float(values.mean()), 4),
                    *bootstrap(values - base[figure], golds[chosen]),
                ]
            lines[name] = line
        report[kind] = {"queries": int(chosen.sum()), "rankers": lines}
    return report


def _same_as_fts5(records: list[dict[str, Any]], queries: Sequence[Query], contract: Ranker) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "catalog.sqlite"
        build_search_index(records, path)
        with closing(Fts5Engine.open(path)) as engine:
            same = 0
            for query in queries:
                asins = engine.search(query.text).asins
                asin = records[query.gold]["asin"]
                rank = asins.index(asin) + 1 if asin in asins else math.inf
                same += rank == gold_rank(contract(query.text), query.gold)
    return f"{same} of {len(queries)}"


def report_lines(report: Mapping[str, Any]) -> Iterable[str]:
    yield f"{report['products']:,} products; tuned on {report['train_queries']} queries"
    yield f"gold product at the rank that FTS5 gives it: {report['gold_at_fts5_rank']}"
    for kind, part in report["kinds"].items():
        yield f"{kind}, {part['queries']} queries: value [95 % interval of the difference to the contract]"
        for name, line in part["rankers"].items():
            cells = "  ".join(
                f"{figure} {value:.4f} [{low:+.3f}, {high:+.3f}]"
                for figure, (value, low, high) in line.items()
            )
            yield f"  {name}\n      {cells}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--shared", type=Path, default=SHARED_DATA, metavar="DIR", help="folder with real/")
    parser.add_argument("--complete", action="store_true", help="only records that state options")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    arguments = parser.parse_args()
    real = arguments.shared / "real"
    if not real.is_dir():
        print(f"the real records are not at {real}; give --shared DIR", file=sys.stderr)
        return 2
    report = measure(real, complete=arguments.complete)
    print(json.dumps(report, indent=2) if arguments.json else "\n".join(report_lines(report)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
