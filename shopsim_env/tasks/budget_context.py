"""The words on both sides of an amount that speak of it.

Belongs here: how far the chain of known words reaches to the left and right, across which breaks, and which
roles it collects. What these roles mean is decided in `budget_grammar`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from shopsim_env.tasks import budget_words as words
from shopsim_env.tasks.budget_amounts import Amount, adjacent, next_token
from shopsim_env.tasks.budget_lexer import Token

_LEFT = (
    words.SIGN_BEFORE
    | words.PRICE
    | words.CEILING_BEFORE
    | words.FLOOR_BEFORE
    | words.APPROX_BEFORE
    | words.SPEND_BEFORE
    | words.PER_BEFORE
    | words.DEPOSIT
    | words.FEE
    | words.OTHER_MONEY_BEFORE
    | words.FREIGHT
    | words.BUY_BEFORE
)
_RIGHT = (
    words.PRICE
    | words.CEILING_AFTER
    | words.FLOOR_AFTER
    | words.APPROX_AFTER
    | words.BUY_AFTER
    | words.PER_BEFORE
    | words.PER_AFTER
    | words.DEPOSIT
    | words.OTHER_MONEY_AFTER
    | words.BETWEEN
    | words.REFUSE_AFTER
    | words.JUST_OVER
)
_PART = words.PER_BEFORE | words.PER_AFTER


class Context(NamedTuple):
    """Roles found on both sides of an amount and how far the words that count reach."""

    left: int
    right: int
    start: int
    end: int


def read_context(text: str, tokens: Sequence[Token], amount: Amount) -> Context:
    """What the words around `amount` say; `text` is folded."""
    left, start = _look_left(text, tokens, amount)
    right, end = _look_right(text, tokens, amount)
    return Context(left, right, start, end)


def _look_left(text: str, tokens: Sequence[Token], amount: Amount) -> tuple[int, int]:
    """Roles in the unbroken chain of known words before the amount, and where the first telling one begins.

    A chain that reaches the start of its clause goes on in a clause before it that names the price without
    an amount (预算有限，两百以内).
    """
    roles, start = 0, tokens[amount.first].start
    index = amount.first - 1
    while index >= 0 and adjacent(text, tokens[index], tokens[index + 1]):
        token = tokens[index]
        if token.roles & words.BREAK:
            return roles | _price_in_clause_before(tokens, index, roles), start
        if not token.roles & (_LEFT | words.GLUE_BEFORE):
            if token.roles & (words.CURRENCY | words.PIECE) and roles & words.CEILING_BEFORE:
                roles |= words.PRICE  # 十几块钱不要超过二十
            break
        if token.roles & _LEFT:
            roles |= token.roles
            start = token.start
        index -= 1
    return roles, start


def _price_in_clause_before(tokens: Sequence[Token], index: int, roles: int) -> int:
    """Price words of the clause before the break at `index`.

    A ceiling goes on from a clause with an amount (十几块, 不要超过二十); others need one without.
    """
    found = 0
    for place in range(index - 1, -1, -1):
        token = tokens[place]
        if token.roles & words.BREAK:
            break
        if token.roles & words.NUMBER and not roles & words.CEILING_BEFORE:
            return 0
        found |= token.roles
    if roles & words.CEILING_BEFORE and found & (words.CURRENCY | words.PIECE):
        return words.PRICE
    return found & (words.PRICE | words.TOTAL)


def _look_right(text: str, tokens: Sequence[Token], amount: Amount) -> tuple[int, int]:
    """Roles of the words that follow the amount and speak of it, and where the last telling one ends."""
    roles, end = 0, tokens[amount.last].end
    index = amount.last
    while token := next_token(text, tokens, index):
        index += 1
        if not token.roles & (_RIGHT | words.GLUE_AFTER) or _speaks_of_next_token(text, tokens, index):
            break
        if roles & (words.PRICE | words.BUY_AFTER) and token.roles & _PART:
            break  # 60元预算搞定每次的…: the unit is not that of the price
        if token.roles & _RIGHT:
            roles |= token.roles
            end = token.end
    return roles, end


def _speaks_of_next_token(text: str, tokens: Sequence[Token], index: int) -> bool:
    """大概, 不到 and price words stand on either side: before another number they belong to that one."""
    token = tokens[index]
    either_side = words.CEILING_BEFORE | words.APPROX_BEFORE | words.FLOOR_BEFORE | words.PRICE
    if not token.roles & either_side:
        return False
    follower = next_token(text, tokens, index)
    while follower and follower.roles & words.GLUE_BEFORE:
        index += 1
        follower = next_token(text, tokens, index)
    return bool(follower and follower.roles & words.NUMBER)
