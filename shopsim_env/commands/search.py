"""`shopsim search`: rank the catalogue for a query, as an agent's search would."""

import argparse
from typing import Any

from shopsim_env.commands.output import add_common, add_release, show, show_json
from shopsim_env.errors import UsageError
from shopsim_env.release import Release, load_release
from shopsim_env.search.result import SearchHit
from shopsim_env.versions import TOP_K


def register(subparsers: Any) -> None:
    """Adds the command."""
    parser = subparsers.add_parser("search", help="search the catalogue of a release")
    parser.add_argument("query", metavar="QUERY", help="search text")
    parser.add_argument(
        "--top", type=int, default=10, metavar="K", help="hits to print (default 10, at most 150)"
    )
    add_release(parser)
    add_common(parser)
    parser.set_defaults(handler=run)


def run(arguments: argparse.Namespace) -> int:
    """Searches; exit code 1 when nothing was found."""
    if not 1 <= arguments.top <= TOP_K:
        raise UsageError(f"--top: expected 1 to {TOP_K}, found {arguments.top}")
    with load_release(arguments.release) as release:
        result = release.search(arguments.query, arguments.top)
        rows = [_row(release, hit) for hit in result.hits]
    if arguments.json:
        show_json({"query": arguments.query, "status": result.status, "hits": rows})
    elif result.status == "empty_query":
        show(["no searchable word in the query: give Chinese, Latin or digits"])
    else:
        show(
            f"{row['rank']:>4}  {row['score']:8.3f}  {row['asin']}  {row['price']:>18}  {row['title']}"
            for row in rows
        )
        if not rows:
            show(["nothing found"])
    return 0 if rows else 1


def _row(release: Release, hit: SearchHit) -> dict[str, Any]:
    product = release.product(hit.asin)
    return {
        "rank": hit.rank,
        "score": hit.score,
        "asin": hit.asin,
        "price": product.listing_text,
        "title": product.title,
    }
