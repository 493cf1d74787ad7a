"""The price ceiling that a task states, from its texts alone, never from the gold product.

Belongs here: the choice among the amounts of a text and the seed's order of sources. Words are in
`budget_words`, the reading of single amounts in `budget_grammar`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from typing import Any

from shopsim_env.errors import TaskError
from shopsim_env.tasks import budget_words as words
from shopsim_env.tasks.budget_grammar import Mention, find_mentions
from shopsim_env.tasks.budget_lexer import cut, fold_budget_text

CEILING_KINDS = frozenset({"hard_upper", "approximate_upper", "annotated"})
TOLERANCE = Decimal("1.1")
_EIGHT_DECIMALS = Decimal("1e-8")
# Any finite double has at most 309 digits before the point, and eight are kept behind it.
_WIDE = Context(prec=400, rounding=ROUND_HALF_EVEN)


@dataclass(frozen=True, slots=True)
class Budget:
    """What one text says about the price of the purchase.

    `kind` is hard_upper, approximate_upper, no_budget, lower_only, non_total_price, ambiguous or (from
    `task_budget`) annotated. `amount` is the stated number and `upper` the inclusive ceiling, both in yuan
    and None without a ceiling. `evidence` is text[span[0]:span[1]], "" where nothing is said.
    """

    kind: str
    amount: Decimal | None = None
    upper: Decimal | None = None
    evidence: str = ""
    span: tuple[int, int] = (0, 0)


def parse_budget(text: str) -> Budget:
    """The budget that `text` states; never raises on a string.

    Source: contract 7.1; approximate amounts get 10 % once (seed).
    """
    folded = fold_budget_text(text)
    mentions = find_mentions(folded, cut(folded))
    if not mentions:
        return Budget("no_budget")
    return _decide(text, mentions)


def names_deposit(text: str) -> bool:
    """Whether `text`, such as the evidence of a budget, speaks of a deposit or an instalment."""
    return any(token.roles & words.DEPOSIT for token in cut(fold_budget_text(text)))


def task_budget(instruction_simple: str | None, instruction: str, price_upper: Any = None) -> Budget:
    """The budget of a task by the seed's order: annotation, simple text, full text.

    Args:
        instruction_simple: The short text; None or blank means that the full text stands for it.
        instruction: The full text.
        price_upper: The annotated ceiling in yuan; None and "" mean that there is none.

    Raises:
        TaskError: `price_upper` is given and is not a finite number >= 0 (code `invalid_price_upper`).
    """
    if price_upper is not None and price_upper != "":
        upper = _read_price_upper(price_upper)
        return Budget("annotated", upper, upper)
    first = instruction_simple if instruction_simple and instruction_simple.strip() else instruction
    budget = parse_budget(first)
    if budget.upper is not None or first == instruction:
        return budget
    return parse_budget(instruction)


def approximate_ceiling(amount: Decimal) -> Decimal:
    """`amount` plus 10 %, rounded once to eight decimals."""
    upper = _WIDE.multiply(amount, TOLERANCE)
    exponent = upper.as_tuple().exponent
    coarse = not isinstance(exponent, int) or exponent >= -8
    return upper if coarse else _WIDE.quantize(upper, _EIGHT_DECIMALS)


def _read_price_upper(value: Any) -> Decimal:
    try:
        upper = None if isinstance(value, bool) else Decimal(str(value).strip())
    except InvalidOperation:
        upper = None
    if upper is None or not upper.is_finite() or upper < 0:
        raise TaskError(
            f"price_upper must be a finite number >= 0, or None or '' for none; found {value!r}. "
            "Correct the annotation of this task.",
            code="invalid_price_upper",
        )
    return upper


def _decide(text: str, mentions: Sequence[Mention]) -> Budget:
    """Ceilings first, fees and bare numbers only without another total; floors and parts give no ceiling."""
    for basis in ("total", "fee", "bare"):
        priced = [mention for mention in mentions if mention.basis == basis and mention.relation in _RANKS]
        if priced:
            return _ceiling(text, priced)
    floors = [mention for mention in mentions if mention.relation == "floor" and mention.basis != "part"]
    if floors:
        return _without_ceiling(text, "lower_only", floors[:1])
    parts = [mention for mention in mentions if mention.basis == "part"]
    if parts:
        return _without_ceiling(text, "non_total_price", parts[:1])
    return _without_ceiling(text, "ambiguous", mentions[:1])


# Which amount counts when a text has several; a lower number wins.
_RANKS = {"ceiling": 0, "plain": 1, "approximate": 2}
_UNFRAMED_PLAIN = 3


def _rank(mention: Mention) -> int:
    """20块 without any word about buying (礼盒20块) yields to an amount that is called the price."""
    if mention.relation == "plain" and not mention.framed:
        return _UNFRAMED_PLAIN
    return _RANKS[mention.relation]


def _ceiling(text: str, priced: Sequence[Mention]) -> Budget:
    candidates = [mention for mention in priced if mention.explicit_total] or priced
    best = min(map(_rank, candidates))
    chosen = [mention for mention in candidates if _rank(mention) == best]
    if len({mention.value for mention in chosen}) > 1:
        return _without_ceiling(text, "ambiguous", chosen)
    mention = chosen[0]
    amount = mention.value
    approximate = mention.relation == "approximate"
    return Budget(
        "approximate_upper" if approximate else "hard_upper",
        amount,
        approximate_ceiling(amount) if approximate and amount is not None else amount,
        text[mention.start : mention.end],
        (mention.start, mention.end),
    )


def _without_ceiling(text: str, kind: str, mentions: Sequence[Mention]) -> Budget:
    span = (mentions[0].start, mentions[-1].end)
    return Budget(kind, evidence=text[span[0] : span[1]], span=span)
