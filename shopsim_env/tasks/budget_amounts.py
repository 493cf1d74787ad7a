"""Amounts: a number with its currency, or a range of two.

Belongs here: neighbours in the token list, 元 and 块, ranges, 9块9. What is said about an amount is read in
`budget_grammar`.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from shopsim_env.tasks import budget_words as words
from shopsim_env.tasks.budget_lexer import Token

QUALIFIER_AFTER = words.CEILING_AFTER | words.FLOOR_AFTER | words.APPROX_AFTER
# What may follow a number without currency: anything else could be a unit (20寸, 300张).
AFTER_BARE = (
    QUALIFIER_AFTER
    | words.BREAK
    | words.BUY_AFTER
    | words.PRICE
    | words.GO_ON
    | words.CEILING_BEFORE
    | words.FLOOR_BEFORE
    | words.REFUSE_AFTER
    | words.BETWEEN
    | words.PER_AFTER
)
# What may follow 块 when it is money: "块 is currency only before 钱, a qualifier, punctuation or the end".
_AFTER_PIECE = (
    AFTER_BARE
    | words.DEPOSIT
    | words.GLUE_AFTER
    | words.JOIN
    | words.CURRENCY
    | words.NUMBER
    | words.OTHER_MONEY_AFTER
)


class Amount(NamedTuple):
    """A number or a range with its currency; `first` and `last` are token positions."""

    first: int
    last: int
    value: Decimal | None
    vague: bool
    spread: bool
    large: bool
    currency: bool
    piece: str  # "" without 块, "clear" when it is read as currency, "unclear" before an unknown word


def adjacent(text: str, left: Token, right: Token) -> bool:
    """Whether nothing but blanks lies between two tokens."""
    return left.end == right.start or text[left.end : right.start].isspace()


def next_token(text: str, tokens: Sequence[Token], index: int) -> Token | None:
    """The token right behind `tokens[index]`, None at the end or where unknown characters follow."""
    if index + 1 < len(tokens) and adjacent(text, tokens[index], tokens[index + 1]):
        return tokens[index + 1]
    return None


def read_amount(text: str, tokens: Sequence[Token], index: int) -> Amount:
    """The amount that begins at the number `tokens[index]`; of a range (10-20元) the upper end counts."""
    amount = _single(text, tokens, index)
    while (joint := next_token(text, tokens, amount.last)) and joint.roles & words.JOIN:
        follower = next_token(text, tokens, amount.last + 1)
        if not (follower and follower.roles & words.NUMBER):
            break
        upper = _single(text, tokens, amount.last + 2)
        if amount.value is None or upper.value is None or upper.value < amount.value:
            break
        amount = upper._replace(first=amount.first, spread=True, currency=amount.currency or upper.currency)
    return amount


def _single(text: str, tokens: Sequence[Token], index: int) -> Amount:
    number = tokens[index].number
    assert number is not None  # noqa: S101  (NUMBER tokens always carry one)
    amount = Amount(index, index, number.value, number.vague, number.spread, number.large, False, "")
    unit = next_token(text, tokens, index)
    if unit and unit.roles & words.CURRENCY:
        return amount._replace(last=index + 1, currency=True)
    if unit and unit.roles & words.PIECE:
        return _with_piece(text, tokens, amount)
    return amount


def _with_piece(text: str, tokens: Sequence[Token], amount: Amount) -> Amount:
    """`amount` and 块: currency (30块以内), with decimals (9块9包邮), or perhaps a counter (两块硬盘)."""
    at = amount.last + 1
    follower = next_token(text, tokens, at)
    if follower is None:
        ends = not text[tokens[at].end :].strip()
        return amount._replace(last=at, currency=True, piece="clear" if ends else "unclear")
    if follower.number and amount.value is not None and _is_decimal_tail(text, tokens, at + 1):
        tail = follower.number.value or Decimal(0)
        return amount._replace(last=at + 1, value=amount.value + tail / 10, currency=True)
    return amount._replace(
        last=at, currency=True, piece="clear" if follower.roles & _AFTER_PIECE else "unclear"
    )


def _is_decimal_tail(text: str, tokens: Sequence[Token], index: int) -> bool:
    token = tokens[index]
    if token.end - token.start != 1 or token.number is None or (token.number.value or 10) >= 10:
        return False
    follower = next_token(text, tokens, index)
    at_end = follower is None and not text[token.end :].strip()
    return at_end or bool(follower and follower.roles & AFTER_BARE)
