"""What the mapping of a product file left out: rows set aside with their reason, and values.

Belongs here: counting. Row numbers of all rows set aside are kept (eight bytes each), ids of the first few.
Texts of rows are never kept: a product file may carry no licence.
"""

import re
from array import array
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

EXAMPLES = 5
# An id is shown; what only stands in the column of ids may be a text.
_LIKE_AN_ID = re.compile(r"[\w:./#-]{1,40}", re.ASCII)


@dataclass(frozen=True, slots=True)
class SetAside:
    """Rows of one reason: their numbers in the file from 0, and the ids of the first few that have one."""

    rows: list[int]
    examples: list[str]


@dataclass(frozen=True, slots=True)
class Noted:
    """Products of which a value was left out or changed, and the asins of the first few."""

    products: int
    examples: list[str]


@dataclass(frozen=True, slots=True)
class MappingReport:
    """How the rows of a file became products: every row is a product or set aside.

    `columns_not_read` are names of columns that no field is made of.
    """

    rows: int
    currency: str
    columns_not_read: list[str]
    set_aside: dict[str, SetAside]
    noted: dict[str, Noted]

    def as_dict(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)

    def counts(self) -> dict[str, Any]:
        """Numbers alone: without rows and examples."""
        return {
            "rows": self.rows,
            "set_aside": {name: len(entry.rows) for name, entry in self.set_aside.items()},
            "left_out": {name: entry.products for name, entry in self.noted.items()},
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "MappingReport":
        """Reads the JSON form."""
        aside = {name: SetAside(**entry) for name, entry in fields["set_aside"].items()}
        noted = {name: Noted(**entry) for name, entry in fields["noted"].items()}
        return cls(**{**fields, "set_aside": aside, "noted": noted})

    @property
    def set_aside_count(self) -> int:
        """Rows set aside for any reason."""
        return sum(len(entry.rows) for entry in self.set_aside.values())


class Tally:
    """Counts while rows pass by."""

    def __init__(self) -> None:
        self._rows = 0
        self._aside: dict[str, array[int]] = {}
        self._noted: Counter[str] = Counter()
        self._examples: dict[str, list[str]] = {}

    def row(self) -> int:
        """Number of the next row, from 0."""
        self._rows += 1
        return self._rows - 1

    def set_aside(self, number: int, reason: str, source_id: str) -> None:
        """A row that does not become a product."""
        self._aside.setdefault(reason, array("q")).append(number)
        self._example(reason, source_id)

    def note(self, issues: set[str], asin: str) -> None:
        """What was left out of one product."""
        self._noted.update(issues)
        for issue in issues:
            self._example(issue, asin)

    def _example(self, name: str, found: str) -> None:
        examples = self._examples.setdefault(name, [])
        if len(examples) < EXAMPLES and _LIKE_AN_ID.fullmatch(found):
            examples.append(found)

    def report(self, currency: str, columns_not_read: set[str]) -> MappingReport:
        """Summary after the last row."""
        return MappingReport(
            rows=self._rows,
            currency=currency,
            columns_not_read=sorted(columns_not_read),
            set_aside={
                name: SetAside(rows.tolist(), self._examples[name])
                for name, rows in sorted(self._aside.items())
            },
            noted={name: Noted(n, self._examples[name]) for name, n in sorted(self._noted.items())},
        )
