"""How people write an amount of yuan: Arabic, Chinese, 万, k, with or without a unit.

Only writing; what an amount means (ceiling, floor, deposit) is decided in `budgets`.
"""

import random

_DIGITS = "零一二三四五六七八九"
_UNITS = ((10_000, "万"), (1000, "千"), (100, "百"), (10, "十"))
_FULL_WIDTH = str.maketrans("0123456789", "０１２３４５６７８９")


def chinese_number(value: int, *, short: bool = False) -> str:
    """`value` (1..99,999,999) in Chinese numerals.

    Args:
        value: A positive whole number.
        short: Leave out the last unit where speech does: 150 as 一百五, 1300 as 一千三.

    Raises:
        ValueError: `value` is not a positive number below one 亿.
    """
    if not 0 < value < 100_000_000:
        raise ValueError(f"expected 1..99999999, found {value}")
    if short and (spoken := _shortened(value)):
        return spoken
    text = _section(value)
    return text.removeprefix("一") if text.startswith("一十") else text


def _section(value: int) -> str:
    if value >= 10_000:
        high, low = divmod(value, 10_000)
        gap = "零" if 0 < low < 1000 else ""
        head = "两" if high == 2 else _section(high)
        return f"{head}万{gap}{_section(low) if low else ''}"
    parts: list[str] = []
    skipped = False
    for size, unit in _UNITS[1:]:
        digit, value = divmod(value, size)
        if digit:
            parts.append(("零" if skipped and parts else "") + _digit(digit, unit) + unit)
        skipped = not digit
    if value:
        parts.append(("零" if skipped and parts else "") + _DIGITS[value])
    return "".join(parts)


def _digit(digit: int, unit: str) -> str:
    return "两" if digit == 2 and unit in "百千万" else _DIGITS[digit]


def _shortened(value: int) -> str | None:
    for size, unit in _UNITS[:3]:
        head, rest = divmod(value, size)
        tail, remainder = divmod(rest, size // 10)
        if 0 < head < 10 and tail and not remainder:
            return f"{_digit(head, unit)}{unit}{_DIGITS[tail]}"
    return None


def write_amount(rng: random.Random, value: int, *, need_unit: bool = False) -> str:
    """Writes `value` yuan in one of the usual ways, the frequent ones often.

    With `need_unit` the text carries its unit (元, 块, ¥, rmb) and can stand without a money word beside it.

    About nine in ten amounts are Arabic with 元, 块 or 块钱, as in the real instructions.
    """
    roll = rng.random()
    if roll < 0.09 and value < 100_000 and value % _round_step(value) == 0:
        return _chinese(rng, value, need_unit)
    if roll < 0.11 and value >= 1000 and value % 100 == 0 and not need_unit:
        return _abbreviated(rng, value)
    if roll < 0.14:
        return _decorated(rng, value)
    if roll < 0.24 and not need_unit:
        return str(value)
    unit = rng.choices(("元", "块", "块钱"), (76, 16, 8))[0]
    return f"{value}{unit}"


def _round_step(value: int) -> int:
    """Step at which an amount is easily said in words: 35, 180, 2300."""
    return 1 if value < 100 else 10 if value < 1000 else 100


def _chinese(rng: random.Random, value: int, need_unit: bool) -> str:
    unit = rng.choice(("元", "块", "块钱"))
    if not need_unit and value >= 100 and rng.random() < 0.4:
        return chinese_number(value, short=True)
    return chinese_number(value) + unit


def _abbreviated(rng: random.Random, value: int) -> str:
    """`2.1k`, `1万2`, `2.1W元`: most of them need a money word beside them."""
    if value >= 10_000 and value % 1000 == 0:
        whole, thousands = divmod(value // 1000, 10)
        forms = [f"{value / 10_000:g}万元", f"{value / 10_000:g}W元"]
        if thousands:
            forms.append(f"{whole}万{thousands}")
        return rng.choice(forms)
    return f"{value / 1000:g}k"


def _decorated(rng: random.Random, value: int) -> str:
    forms = [f"¥{value}", f"{value}rmb", f"人民币{value}元", f"{str(value).translate(_FULL_WIDTH)}元"]
    if value >= 1000:
        forms.append(f"{value:,}元")
    return rng.choice(forms)
