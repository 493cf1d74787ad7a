"""`shopsim search`: rank the catalogue for a query, as an agent's search would."""

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from shopsim_env.commands.output import add_common, add_release, show, show_json
from shopsim_env.commands.search_filters import add_filters, filtered
from shopsim_env.errors import UsageError
from shopsim_env.release import Release, load_release
from shopsim_env.search.explain import Explanation
from shopsim_env.search.result import SearchHit
from shopsim_env.text.tokens import tokenize
from shopsim_env.versions import TOP_K

_SHOWN_DIFFERENCES = 4


def register(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser("search", help="search the catalogue of a release")
    parser.add_argument("query", metavar="QUERY", help="search text")
    parser.add_argument(
        "--top", type=int, default=10, metavar="K", help="hits to print (default 10, at most 150)"
    )
    parser.add_argument(
        "--explain", action="store_true", help="show tokens, fields, and why a product is above the next"
    )
    add_filters(parser)
    add_release(parser)
    add_common(parser)
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Searches; exit code 1 when nothing was found."""
    if not 1 <= arguments.top <= TOP_K:
        raise UsageError(f"--top: expected 1 to {TOP_K}, found {arguments.top}")
    with load_release(arguments.release) as release:
        result = release.search(arguments.query, arguments.top, where=filtered(arguments, release))
        rows = [_row(release, hit) for hit in result.hits]
        currency = release.currency
        told = [release.explain(arguments.query, hit.asin) for hit in result.hits if arguments.explain]
    for row, explanation in zip(rows, told, strict=False):
        row["explanation"] = _explained(explanation)
    if arguments.json:
        tokens = {"tokens": tokenize(arguments.query)} if arguments.explain else {}
        show_json(
            {
                "query": arguments.query,
                "status": result.status,
                **tokens,
                "engine": result.engine,
                "currency": currency,
                "hits": rows,
            }
        )
    elif result.status == "empty_query":
        show(["no searchable word in the query: give Chinese, Latin or digits"])
    else:
        show(
            _lines(arguments.query, rows, told, currency) if told else [_line(row, currency) for row in rows]
        )
        if not rows:
            show(["nothing found"])
    return 0 if rows else 1


def _line(row: dict[str, Any], currency: str) -> str:
    price = f"{row['price']} {currency}" if row["price"] else ""
    return f"{row['rank']:>4}  {row['score']:8.3f}  {row['asin']}  {price:>22}  {row['title']}"


def _explained(explanation: Explanation) -> dict[str, Any]:
    return {
        "fields": explanation.by_field(),
        "tokens": [{**asdict(part), "fields": dict(part.fields)} for part in explanation.parts],
    }


def _lines(query: str, rows: list[dict[str, Any]], told: list[Explanation], currency: str) -> Iterator[str]:
    parts = ", ".join(f"{part.token} (in {part.products:,} products)" for part in told[0].parts)
    yield f"tokens of {query!r}: {parts}"
    for number, (row, explanation) in enumerate(zip(rows, told, strict=True)):
        yield _line(row, currency)
        fields = ", ".join(f"{name} {share:.3f}" for name, share in explanation.by_field().items())
        yield f"      fields: {fields}"
        if number + 1 < len(told):
            yield f"      above the next: {_lead(explanation, told[number + 1])}"


def _lead(upper: Explanation, lower: Explanation) -> str:
    """The largest differences by token; equal scores are in order of asin."""
    if upper.score == lower.score:
        return "same score, smaller asin"
    differences = [
        (mine.score - other.score, mine.token)
        for mine, other in zip(upper.parts, lower.parts, strict=True)
        if mine.score != other.score
    ]
    largest = sorted(differences, key=lambda item: (-abs(item[0]), item[1]))[:_SHOWN_DIFFERENCES]
    listed = ", ".join(f"{token} {difference:+.3f}" for difference, token in largest)
    return f"{upper.score - lower.score:.3f} ({listed})"


def _row(release: Release, hit: SearchHit) -> dict[str, Any]:
    product = release.product(hit.asin)
    return {
        "rank": hit.rank,
        "score": hit.score,
        "asin": hit.asin,
        "price": product.listing_text,
        "title": product.title,
    }
