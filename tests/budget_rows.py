"""Tables of sentences with what the budget parser must decide, as the budget tests write them.

A line is `SENTENCE = DECISION`; a decision is the letter of a kind and, where there is one, the amount.
"""

from collections.abc import Mapping

KINDS = {
    "h": "hard_upper",
    "a": "approximate_upper",
    "p": "non_total_price",
    "f": "lower_only",
    "x": "ambiguous",
    "n": "no_budget",
}


def rows_of(families: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Family, sentence and decision of every line."""
    lines = [(family, line) for family, rows in families.items() for line in rows.strip().splitlines()]
    return [(family, *line.strip().rsplit(" = ", 1)) for family, line in lines]
