"""A card or comparison as Markdown. Belongs here: syntax; every text is escaped, so none becomes markup."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from shopsim_env.evaluation.views import Section, Table

_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|~&$#])")


def write_markdown(title: str, sections: Iterable[Section]) -> str:
    """The document as text, with one final newline."""
    lines = [f"# {_escaped(title)}", ""]
    for section in sections:
        lines += [f"## {_escaped(section.title)}", ""]
        for note in section.notes:
            lines += [_escaped(note), ""]
        for table in (*(table for _, table in section.charts), *section.tables):
            lines += _table(table, named=table.caption != section.title)
    return "\n".join(lines).rstrip() + "\n"


def _table(table: Table, *, named: bool) -> list[str]:
    lines = [f"**{_escaped(table.caption)}**", ""] if named else []
    lines += [_row(table.head), "|" + "---|" * len(table.head)]
    return [*lines, *map(_row, table.rows), ""]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_escaped, cells)) + " |"


def _escaped(text: str) -> str:
    """Text as Markdown shows it literally, on one line; signs that could begin a link or a tag included."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
