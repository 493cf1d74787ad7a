"""Whether a number without any currency or word for price is money all the same.

Belongs here: 三千左右, 整套450以内, 四百出头, and limits beside a buying verb (想买个台灯，不超过80). Numbers
with a unit never get here: `budget_grammar` has refused them. Source: the table of decisions in
docs/reward.md.
"""

import re
from collections.abc import Sequence
from decimal import Decimal

from shopsim_env.tasks import budget_words as words
from shopsim_env.tasks.budget_amounts import Amount
from shopsim_env.tasks.budget_context import Context
from shopsim_env.tasks.budget_lexer import PIECES, Token
from shopsim_env.text.numerals import HAN_NUMERALS

_TEN = Decimal(10)
_HUNDRED = Decimal(100)
_ESTIMATES = words.APPROX_BEFORE | words.APPROX_AFTER
_BREAKS = "，。；！？;!?,、\n"
# 两瓶, 整套, and what is in them: 一箱苹果80以内. Words about a user or a purpose are no goods.
_GOODS = f"[^0-9{HAN_NUMERALS}{_BREAKS} 的人用能可装放适合要想买]{{0,6}} ?"
_WHOLE_PACK = "(?:整套|全套|整箱|整盒|整组)"
_PACK = re.compile(f"(?:[0-9{HAN_NUMERALS}][{PIECES}]|{_WHOLE_PACK}){_GOODS}$")
_WHOLE = re.compile(f"{_WHOLE_PACK}{_GOODS}$")
_LONGEST_PACK = 10
# A clause that says nothing but the amount: 不超过80, 大概两百左右的样子.
# No word may be made of two others: the patterns would take exponential time.
_BEFORE_AMOUNT = re.compile("(?:设|就|在|是|要|想|大概|大约|最好|希望|控制|尽量|而且|并且|但|也| )*")
_BEHIND_AMOUNT = re.compile(
    "(?:的|样子|吧|就行|就好|就可以|即可|那种|可以|可以接受|都行|都可以|都能接受|也能接受|能接受|最好| )*"
    f"(?:$|[{_BREAKS}])"
)
_BOUGHT_IT = re.compile(f"的|$|[{_BREAKS}]")
# 100以内的加减法, 一百六出头的身高
_NOT_A_PRICE = re.compile("的?(?:加减|乘除|口算|运算|数|身高|体重|尺寸|尺码|大小|年龄|海拔|女|男|孩|人)")
_BUYING = re.compile("[买购]|入手|拿下|搞定|带走|下单|包邮|成交|预算|价[格钱位]")
_SIZES = re.compile("|".join(sorted(words.words_with(words.MEASURE), key=lambda word: (-len(word), word))))


def is_money_without_unit(text: str, tokens: Sequence[Token], amount: Amount, context: Context) -> bool:
    """Decides for an amount that nothing in its own clause calls a price; `text` is folded."""
    if _names_a_size(tokens, amount) or _NOT_A_PRICE.match(text, context.end):
        return False
    if context.right & (words.BUY_AFTER | words.PER_AFTER):
        return True
    limited = bool(context.left & words.CEILING_BEFORE or context.right & words.CEILING_AFTER)
    estimated = amount.vague or bool(context.left & _ESTIMATES or context.right & _ESTIMATES)
    if amount.large:
        return limited or estimated or _is_spread_of_digits(tokens, amount)
    if amount.value is None or not (limited or estimated):
        return False
    hundred = amount.value >= _HUNDRED
    if hundred and ((limited and estimated) or context.right & words.JUST_OVER):
        return True
    return _is_price_of_pack(text, context, amount.value, limited) or (
        (hundred or (limited and amount.value >= _TEN)) and _is_bought(text, context)
    )


def _is_spread_of_digits(tokens: Sequence[Token], amount: Amount) -> bool:
    """三四千, not so 三千到四千: that one says nothing about being money."""
    number = tokens[amount.first].number
    return amount.first == amount.last and number is not None and number.spread


def _names_a_size(tokens: Sequence[Token], amount: Amount) -> bool:
    for index in range(amount.first - 1, -1, -1):
        token = tokens[index]
        if token.roles & words.BREAK:
            return False
        if token.roles & words.MEASURE:
            return True
    return False


def _is_price_of_pack(text: str, context: Context, value: Decimal, limited: bool) -> bool:
    """两瓶不超过1000, 一箱苹果80以内, 整套450左右: the number of things stands before the amount."""
    start = max(0, context.start - _LONGEST_PACK)
    if limited and (context.left & words.CEILING_BEFORE or value >= _TEN):
        return _ends_with(_PACK, text, start, context.start)
    return value >= _TEN and _ends_with(_WHOLE, text, start, context.start)


def _ends_with(pack: re.Pattern[str], text: str, start: int, end: int) -> bool:
    """Whether a pack ends at `end` and names no size (一个直径40以内的)."""
    found = pack.search(text, start, end)
    return found is not None and not _SIZES.search(text, found.start(), end)


def _is_bought(text: str, context: Context) -> bool:
    """买300以内的键盘, or a clause of its own in a text that buys; the clause before must name no size."""
    if context.left & words.BUY_BEFORE and _BOUGHT_IT.match(text, context.end):
        return True
    start = 1 + max(text.rfind(sign, 0, context.start) for sign in _BREAKS)
    if not (_BEFORE_AMOUNT.fullmatch(text, start, context.start) and _BEHIND_AMOUNT.match(text, context.end)):
        return False
    end = max(start - 1, 0)
    before = 1 + max(text.rfind(sign, 0, end) for sign in _BREAKS)
    if _SIZES.search(text, before, start):
        return False
    return bool(_BUYING.search(text) or _PACK.search(text, max(before, end - _LONGEST_PACK), end))
