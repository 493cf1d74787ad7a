"""What a text says about each amount of money in it.

Belongs here: which numbers are money, whether a word next to one makes it a ceiling, a floor or an estimate,
and what it is the price of. Which of several amounts is the budget is decided in `budget`.
Source: contract 7.1; the table of decisions is in docs/reward.md.
"""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from shopsim_env.tasks import budget_words as words
from shopsim_env.tasks.budget_amounts import Amount, next_token, read_amount
from shopsim_env.tasks.budget_bare import is_money_without_unit
from shopsim_env.tasks.budget_context import Context, read_context
from shopsim_env.tasks.budget_lexer import Token

# Larger numbers are no prices of this shop; the bound also keeps decimal arithmetic exact.
_LARGEST = Decimal(10**9)
_MONEY_LEFT = (
    words.SIGN_BEFORE
    | words.PRICE
    | words.SPEND_BEFORE
    | words.PER_BEFORE
    | words.DEPOSIT
    | words.FEE
    | words.FREIGHT
)


class Mention(NamedTuple):
    """One amount of money.

    `relation` is ceiling, approximate, plain, floor or unknown (几百), `basis` total, fee, part (per piece,
    deposit) or bare (a total without any word for money). `value` is the upper end of a range; `framed` tells
    whether a price word, a spending or a buying verb stands by it; `explicit_total` whether the text calls it
    the price of everything.
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
    mentions: list[Mention] = []
    index = 0
    while index < len(tokens):
        if not tokens[index].roles & words.NUMBER:
            index += 1
            continue
        amount = read_amount(text, tokens, index)
        mention = _as_mention(text, tokens, amount, mentions[-1] if mentions else None)
        if mention:
            mentions.append(mention)
        index = amount.last + 1
    return mentions


def _as_mention(
    text: str, tokens: Sequence[Token], amount: Amount, previous: Mention | None
) -> Mention | None:
    if amount.value is not None and not 0 < amount.value < _LARGEST:
        return None
    if not (amount.currency or _follower_fits(text, tokens, amount) or _has_sign(tokens, amount)):
        return None
    context = read_context(text, tokens, amount)
    if previous and _goes_on(text, previous, context):
        context = context._replace(left=context.left | words.PRICE)
    framed = bool(context.left & _MONEY_LEFT or context.right & (words.PRICE | words.BUY_AFTER))
    if not _is_money(text, tokens, amount, context, framed):
        return None
    return Mention(
        context.start,
        context.end,
        amount.value,
        _relation(amount, context),
        _basis(amount, context),
        framed,
        bool((context.left | context.right) & words.TOTAL),
    )


def _goes_on(text: str, previous: Mention, context: Context) -> bool:
    """不低于100不超过200, 100起200封顶: a limit right behind an amount of money limits the same price."""
    limited = context.left & words.CEILING_BEFORE or context.right & words.CEILING_AFTER
    between = text[previous.end : context.start].strip()
    return bool(limited) and previous.basis != "part" and between in ("", "且", "但", "而且", "并且")


def _follower_fits(text: str, tokens: Sequence[Token], amount: Amount) -> bool:
    """Whether a break or a word that may follow a price comes after a bare number (not so in 20寸)."""
    follower = next_token(text, tokens, amount.last)
    if follower is None:
        return not text[tokens[amount.last].end :].strip()
    return bool(follower.roles & words.AFTER_BARE)


def _has_sign(tokens: Sequence[Token], amount: Amount) -> bool:
    return amount.first > 0 and bool(tokens[amount.first - 1].roles & words.SIGN_BEFORE)


def _is_money(text: str, tokens: Sequence[Token], amount: Amount, context: Context, framed: bool) -> bool:
    if context.left & words.OTHER_MONEY_BEFORE or context.right & words.OTHER_MONEY_AFTER:
        return False
    if amount.currency:
        return not amount.piece or _piece_is_money(text, tokens, amount, context, framed)
    if context.left & _MONEY_LEFT or context.right & words.PRICE:
        return True
    return is_money_without_unit(text, tokens, amount, context)


# 拿两三块, 就要两块: the verb asks for things.
_TAKING = tuple("买要来拿找选给切装下挑换配放有每")


def _piece_is_money(
    text: str, tokens: Sequence[Token], amount: Amount, context: Context, framed: bool
) -> bool:
    """想要一块 and 两块硬盘 count things; 就20块, 五块以内, 两三块 and 预算400块当礼物 are money."""
    not_small = amount.value is None or amount.value >= 10
    if amount.piece == "unclear":
        return not_small and bool(context.left & _MONEY_LEFT)
    qualified = (
        context.left & (words.CEILING_BEFORE | words.APPROX_BEFORE) or context.right & words.QUALIFIER_AFTER
    )
    if framed or qualified or not_small:
        return True
    before = text[: tokens[amount.first].start].rstrip()
    return before.endswith("就") or (amount.spread and not before.endswith(_TAKING))


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


def _basis(amount: Amount, context: Context) -> str:
    both = context.left | context.right
    if both & (words.PER_BEFORE | words.DEPOSIT) or context.right & words.PER_AFTER:
        return "part"
    if context.left & words.FREIGHT:
        return "part"
    if context.left & words.FEE:
        return "fee"
    named = amount.currency or context.left & _MONEY_LEFT or context.right & words.PRICE
    return "total" if named else "bare"
