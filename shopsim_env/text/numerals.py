"""Amounts as Chinese shoppers write them: `1,299`, `1万5`, `2.1w`, `三千五`, `两三百`, `二十几`, `百来`.

Belongs here: reading one number at one place of a folded text. Does not belong here: whether the number is
money and what is said about it (`shopsim_env.tasks.budget_grammar`).
"""

import re
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"两": 2}
_UNITS = {"十": 10, "百": 100, "千": 1000}
_LARGEST_K = 100_000
_SCALES = {"十": 10, "百": 100, "千": 1000, "k": 1000, "万": 10**4, "w": 10**4, "亿": 10**8}

HAN_NUMERALS = "零一二两三四五六七八九十百千万亿几"
NUMERAL_STARTS = frozenset("0123456789" + HAN_NUMERALS)

# The usual case: digits and nothing that could belong to them.
_PLAIN = re.compile(r"[0-9]+(?![0-9.,百千万亿wk多来余几把]| [百千万亿wk])")
_ARABIC = re.compile(
    r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,4}(?:,[0-9]{4})+)(?:\.[0-9]+)?(?![0-9])|[0-9]+(?:\.[0-9]+)?"
)
_SCALE = re.compile(r" ?([百千万亿]|[wk](?![a-z]|[0-9](?:[0-9a-z]|\.[0-9])))")
# What may follow a scale without a blank: 1万5000, 1万5, 1w5, 2千五, 4千4百, 1万零500.
_TAIL = re.compile(r"(零)?(?:([0-9]{1,4})(?![0-9.])|([一二三四五六七八九]))([百千])?")
_HAN = re.compile(f"[{HAN_NUMERALS}]{{1,24}}")
# 多 来 余 把 after a number mean "and some"; the exceptions start other words (多功能, 拿100来买).
_AND_SOME = re.compile(
    r"(?:多(?![功少用种款层人规媒])点?|来(?![买一个])|余(?![额下])|(?<=[百千万])把)([万千百])?"
)


class Numeral(NamedTuple):
    """One number.

    `value` is None when no digit is given (几百). `vague` marks 多, 来, 余 and 几 (which counts as 9),
    `spread` two neighbouring digits of which the upper one counts (两三), `large` a 千, 万 or k (below 100k).
    """

    end: int
    value: Decimal | None
    vague: bool = False
    spread: bool = False
    large: bool = False


def read_numeral(text: str, start: int) -> Numeral | None:
    """Reads the number that begins at `start`; None when there is none.

    `text` must be folded: ASCII digits, lower case, 〇 as 零. The spellings are those of real shoppers.
    """
    if match := _PLAIN.match(text, start):
        return Numeral(match.end(), Decimal(match.group()))
    if match := _ARABIC.match(text, start):
        number = _arabic(text, match)
    elif match := _HAN.match(text, start):
        number = _han(match)
    else:
        return None
    return _and_some(text, number)


def _arabic(text: str, match: re.Match[str]) -> Numeral:
    value = Decimal(match.group().replace(",", ""))
    end = match.end()
    scale_match = _SCALE.match(text, end)
    if not scale_match:
        return Numeral(end, value)
    end = scale_match.end()
    sign = scale_match.group(1)
    scale = _SCALES[sign]
    value *= scale
    if value % scale == 0:
        end, value = _with_tail(text, end, value, scale)
    # 6.5k may be a price; 3000k is the colour of a lamp and 1200w its power.
    return Numeral(end, value, large=sign in "千万" or (sign == "k" and value < _LARGEST_K))


def _with_tail(text: str, end: int, value: Decimal, scale: int) -> tuple[int, Decimal]:
    while match := _TAIL.match(text, end):
        zero, arabic, han, unit = match.groups()
        tail = int(arabic) if arabic else _DIGITS[han]
        if unit and tail * _SCALES[unit] < scale:
            scale = _SCALES[unit]
            value += tail * scale
        elif unit or tail >= scale:
            break
        else:
            # 1万5 is fifteen thousand, 1万5000 too; 1万零5 is not.
            short = len(arabic or han) == 1 and not zero
            return match.end(), value + (tail * scale // 10 if short else tail)
        end = match.end()
    return end, value


def _han(match: re.Match[str]) -> Numeral:
    return Numeral(match.end(), *_han_parts(match.group()))


@lru_cache(maxsize=4096)
def _han_parts(run: str) -> tuple[Decimal | None, bool, bool, bool]:
    """Value, vague, spread and large of a run of Chinese numerals; few runs occur, most of them often."""
    if run[0] == "几":
        return None, True, False, False
    value, spread = _digit_run(run) if all(char in _DIGITS for char in run) else _positional(run)
    return Decimal(value), "几" in run, spread, "千" in run or "万" in run


def _digit_run(run: str) -> tuple[int, bool]:
    digits = [_DIGITS[char] for char in run]
    if len(digits) == 2 and (digits[1] == digits[0] + 1 or run == "三五") and digits[0]:
        return digits[1], True
    return int("".join(map(str, digits))), False


def _positional(run: str) -> tuple[int, bool]:
    """Value of a run with at least one unit; a unit without digit counts as one (百 = 100)."""
    total = section = digit = 0
    last = 1
    spread = False
    for char in run:
        if char in _UNITS:
            last = _UNITS[char]
            section += (digit or 1) * last
            digit = 0
        elif char in "万亿":
            last = _SCALES[char]
            section = (section + digit) or 1
            total = total + section * last if char == "万" else (total + section) * last
            section = digit = 0
        elif char == "零":
            last = 1
        else:
            spread = spread or digit > 0
            digit = 9 if char == "几" else _DIGITS[char]
    # 一千八 is 1800: a last digit without unit belongs to the next smaller unit, unless 零 stands before it.
    return total + section + digit * (last // 10 if last >= 100 else 1), spread


def _and_some(text: str, number: Numeral) -> Numeral:
    if number.value is None:
        return number
    if text.startswith("几", number.end):
        return number._replace(end=number.end + 1, value=_filled(number.value), vague=True)
    match = _AND_SOME.match(text, number.end)
    if not match:
        return number
    scale = match.group(1)
    value = number.value * (_SCALES[scale] if scale else 1)
    large = number.large or scale in ("千", "万")
    return number._replace(end=match.end(), value=value, vague=True, large=large)


def _filled(value: Decimal) -> Decimal:
    """80几 is at most 89, 300几 at most 390: 几 stands for 9 in the next smaller place."""
    unit = next((unit for unit in (10_000, 1000, 100, 10) if value and value % unit == 0), 0)
    return value + 9 * unit // 10
