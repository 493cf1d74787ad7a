"""Amounts: a number with its currency, or a range of two.

Belongs here: neighbours in the token list, 元 and 块, ranges, 9块9. What is said about an amount is read in
`budget_grammar`.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from shopsim_env.tasks import budget_words as words
from shopsim_env.tasks.budget_lexer import Token

# What may follow 块 when it is money: "块 is currency only before 钱, a qualifier, punctuation or the end".
_AFTER_PIECE = (
    words.AFTER_BARE
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
    if index + 1 == len(tokens):
        return None
    end, follower = tokens[index].end, tokens[index + 1]
    return follower if end == follower.start or text[end : follower.start].isspace() else None


def read_amount(text: str, tokens: Sequence[Token], index: int) -> Amount:
    """The amount that begins at the number `tokens[index]`; of a range (10-20元) the upper end counts."""
    amount = _single(text, tokens, index)
    while upper := _upper_end(text, tokens, amount):
        if amount.value is None or upper.value is None or upper.value < amount.value:
            break
        amount = upper._replace(first=amount.first, spread=True, currency=amount.currency or upper.currency)
    return amount


def _upper_end(text: str, tokens: Sequence[Token], amount: Amount) -> Amount | None:
    """The amount that goes on a range: behind a joiner (10-20元), or of the same kind (十块二十块)."""
    joint = next_token(text, tokens, amount.last)
    if joint is None:
        return None
    if joint.roles & words.JOIN:
        follower = next_token(text, tokens, amount.last + 1)
        return _single(text, tokens, amount.last + 2) if follower and follower.number else None
    if joint.number and amount.piece:
        upper = _single(text, tokens, amount.last + 1)
        return upper if upper.piece else None
    return None


def _single(text: str, tokens: Sequence[Token], index: int) -> Amount:
    number = tokens[index].number
    assert number is not None  # noqa: S101  (NUMBER tokens always carry one)
    _, value, vague, spread, large = number
    unit = next_token(text, tokens, index)
    if unit and unit.roles & words.CURRENCY:
        return Amount(index, index + 1, value, vague, spread, large, True, "")
    amount = Amount(index, index, value, vague, spread, large, False, "")
    if unit is None:
        return amount
    if unit.roles & words.TENTH:
        tenth = None if value is None else value / 10
        return _with_piece(text, tokens, amount._replace(value=tenth), 100)
    return _with_piece(text, tokens, amount, 10) if unit.roles & words.PIECE else amount


def _with_piece(text: str, tokens: Sequence[Token], amount: Amount, parts: int) -> Amount:
    """`amount` and 块 or 毛: currency (30块以内), with tenths (9块9包邮), or perhaps a counter (两块硬盘).

    `parts` is how many of the smaller unit behind it make a 元.
    """
    at = amount.last + 1
    if text.endswith("钱", tokens[at].start, tokens[at].end):
        return amount._replace(last=at, currency=True)
    follower = next_token(text, tokens, at)
    if follower is None:
        ends = not text[tokens[at].end :].strip()
        return amount._replace(last=at, currency=True, piece="clear" if ends else "unclear")
    if follower.number and amount.value is not None and (last := _end_of_tenths(text, tokens, at + 1)):
        tail = follower.number.value or Decimal(0)
        return amount._replace(last=last, value=amount.value + tail / parts, currency=True)
    return amount._replace(
        last=at, currency=True, piece="clear" if follower.roles & _AFTER_PIECE else "unclear"
    )


def _end_of_tenths(text: str, tokens: Sequence[Token], index: int) -> int | None:
    """Position of the last token of the tenths after 块 (9块9, 两块五毛), None without tenths."""
    token = tokens[index]
    if token.end - token.start != 1 or token.number is None or (token.number.value or 10) >= 10:
        return None
    follower = next_token(text, tokens, index)
    if follower is None:
        return None if text[token.end :].strip() else index
    if follower.roles & words.TENTH:
        return index + 1
    return index if follower.roles & words.AFTER_BARE else None
