"""What a text says about each amount of money in it.

Belongs here: which numbers are money, whether a word next to one makes it a ceiling, a floor or an estimate,
and what it is the price of. Which of several amounts is the budget is decided in `budget`.
Source: contract 7.1; the table of decisions is in docs/reward.md.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from shopsim_env.tasks import budget_words as words
from shopsim_env.tasks.budget_amounts import (
    AFTER_BARE,
    QUALIFIER_AFTER,
    Amount,
    next_token,
    read_amount,
)
from shopsim_env.tasks.budget_context import Context, read_context
from shopsim_env.tasks.budget_lexer import PIECES, Token
from shopsim_env.text.numerals import HAN_NUMERALS

# Larger numbers are no prices of this shop; the bound also keeps decimal arithmetic exact.
_LARGEST = Decimal(10**9)
_HUNDRED = Decimal(100)
_PACK = re.compile(f"[0-9{HAN_NUMERALS}][{PIECES}]$")

_MONEY_LEFT = (
    words.SIGN_BEFORE | words.PRICE | words.SPEND_BEFORE | words.PER_BEFORE | words.DEPOSIT | words.FEE
)


class Mention(NamedTuple):
    """One amount of money.

    `relation` is ceiling, approximate, plain, floor or unknown (几百), `basis` total, fee or part (per piece,
    deposit). `value` is the upper end of a range; `framed` tells whether a price word, a spending or a buying
    verb stands by it; `explicit_total` whether the text calls it the price of everything.
    """

    start: int
    end: int
    value: Decimal | None
    relation: str
    basis: str
    framed: bool
    explicit_total: bool


def find_mentions(text: str, tokens: Sequence[Token]) -> list[Mention]:
    """All amounts of money in a folded text, from left to right."""
    mentions = []
    index = 0
    while index < len(tokens):
        if not tokens[index].roles & words.NUMBER:
            index += 1
            continue
        amount = read_amount(text, tokens, index)
        mention = _as_mention(text, tokens, amount)
        if mention:
            mentions.append(mention)
        index = amount.last + 1
    return mentions


def _as_mention(text: str, tokens: Sequence[Token], amount: Amount) -> Mention | None:
    if amount.value is not None and not 0 < amount.value < _LARGEST:
        return None
    if not (amount.currency or _follower_fits(text, tokens, amount) or _has_sign(tokens, amount)):
        return None
    context = read_context(text, tokens, amount)
    framed = bool(context.left & _MONEY_LEFT or context.right & (words.PRICE | words.BUY_AFTER))
    if not _is_money(text, tokens, amount, context, framed):
        return None
    return Mention(
        context.start,
        context.end,
        amount.value,
        _relation(amount, context),
        _basis(context),
        framed,
        bool((context.left | context.right) & words.TOTAL),
    )


def _follower_fits(text: str, tokens: Sequence[Token], amount: Amount) -> bool:
    """Whether a break or a word that may follow a price comes after a bare number (not so in 20寸)."""
    follower = next_token(text, tokens, amount.last)
    if follower is None:
        return not text[tokens[amount.last].end :].strip()
    return bool(follower.roles & AFTER_BARE)


def _has_sign(tokens: Sequence[Token], amount: Amount) -> bool:
    return amount.first > 0 and bool(tokens[amount.first - 1].roles & words.SIGN_BEFORE)


def _is_money(text: str, tokens: Sequence[Token], amount: Amount, context: Context, framed: bool) -> bool:
    if context.left & words.OTHER_MONEY_BEFORE or context.right & words.OTHER_MONEY_AFTER:
        return False
    if amount.currency:
        return not amount.piece or _piece_is_money(amount, context, framed)
    if context.left & _MONEY_LEFT or context.right & words.PRICE:
        return True
    if _names_a_size(tokens, amount):
        return False
    if context.right & (words.BUY_AFTER | words.PER_AFTER):
        return True
    return _is_qualified_without_unit(amount, context) or _is_price_of_pack(text, context)


def _piece_is_money(amount: Amount, context: Context, framed: bool) -> bool:
    """想要一块 and 两块硬盘 count things; 就20块, 五块以内 and 预算400块当礼物 are money."""
    not_small = amount.value is None or amount.value >= 10
    if amount.piece == "unclear":
        return not_small and bool(context.left & _MONEY_LEFT)
    qualified = context.left & (words.CEILING_BEFORE | words.APPROX_BEFORE) or context.right & QUALIFIER_AFTER
    return framed or bool(qualified) or not_small


def _names_a_size(tokens: Sequence[Token], amount: Amount) -> bool:
    for token in reversed(tokens[: amount.first]):
        if token.roles & words.BREAK:
            return False
        if token.roles & words.MEASURE:
            return True
    return False


def _is_qualified_without_unit(amount: Amount, context: Context) -> bool:
    """三千左右 and 大概300以内 are money without any money word; 三十左右 could be an age."""
    estimated = bool(context.right & words.APPROX_AFTER or context.left & words.APPROX_BEFORE)
    limited = bool(context.right & words.CEILING_AFTER or context.left & words.CEILING_BEFORE)
    if amount.large:
        return estimated or limited
    return estimated and limited and amount.value is not None and amount.value >= _HUNDRED


def _is_price_of_pack(text: str, context: Context) -> bool:
    """两瓶不超过1000: the number of things stands before the ceiling."""
    return bool(context.left & words.CEILING_BEFORE and _PACK.search(text, 0, context.start))


def _relation(amount: Amount, context: Context) -> str:
    left, right = context.left, context.right
    if amount.value is None:
        return "unknown"
    if left & words.CEILING_BEFORE or right & words.CEILING_AFTER:
        return "ceiling"
    if left & words.FLOOR_BEFORE:
        return "ceiling" if right & words.REFUSE_AFTER else "floor"
    if right & words.FLOOR_AFTER:
        return "floor"
    if amount.spread:
        return "ceiling"
    if amount.vague or left & words.APPROX_BEFORE or right & words.APPROX_AFTER:
        return "approximate"
    return "plain"


def _basis(context: Context) -> str:
    both = context.left | context.right
    if both & (words.PER_BEFORE | words.DEPOSIT) or context.right & words.PER_AFTER:
        return "part"
    return "fee" if context.left & words.FEE else "total"
