"""Option axes: values that cannot be told apart, axes and values without text, values that are no goods.

Belongs here: codes about the options of a product, whoever wants it. Codes about what a task wants of them
are in `targets`.
"""

import re
from collections.abc import Iterator
from typing import Any

from pipelines.stages.audit import codes
from pipelines.stages.audit.findings import Finding
from shopsim_env.catalog.price_axes import price_axes, recorded_prices
from shopsim_env.catalog.product import Axis, Product
from shopsim_env.shop.display import one_line

# Notices that shops put among their values: ask first, do not order this, pay the difference here, a row of
# dashes. A word alone (定制, 赠品) is not enough: customised goods and gifts are sold too.
_NOTICE = re.compile(
    r"咨询|客服|勿拍|别拍|不要拍|介意慎拍|不发货|补差|差价|补邮|邮费|运费(?!险)|专用链接|专拍链接|拍前|拍下前|下单前"
    r"|请勿|改价|报价|议价|面议|请备注|没备注|不单独|不单卖|勿下单|看详情|详情页|联系(?:我|店|卖|商)|预付定金|售罄"
)
# What stands in brackets speaks of the goods before them: 三号【介意勿拍】 is goods.
_ASIDE = re.compile(r"[(（\[【{][^()（）\[\]【】{}]*[)）\]】}]")
_NO_WORD = re.compile(r"[\W_]+|(.)\1{3,}")
_PRICE_SHOWN = 20


def is_no_goods(value: str) -> bool:
    """Whether an option value is a notice or a divider instead of something that can be bought."""
    plain = one_line(value)
    named = _ASIDE.sub("", plain).strip() or plain
    return bool(plain) and bool(_NO_WORD.fullmatch(plain) or _NOTICE.search(named))


def option_findings(product: Product) -> Iterator[Finding]:
    """Codes about the axes and values of one product."""
    checks = (
        (codes.MULTI_PRICE_AXES, _multi_price(product)),
        (codes.VALUE_COLLISION, _collisions(product)),
        (codes.EMPTY_AXIS, [axis.name for axis in product.axes if _is_empty(axis)]),
        (codes.EMPTY_VALUE, [axis.name for axis in product.axes if _has_blank(axis)]),
        (codes.VALUE_IS_NO_GOODS, [value.raw for value in _values(product) if is_no_goods(value.raw)]),
    )
    for code, found in checks:
        if found:
            yield Finding(code, product.asin, None, {"found": found})


def axis_prices(product: Product) -> list[dict[str, Any]]:
    """Per axis its name, number of values, and its distinct recorded prices in yuan, ascending."""
    shown = []
    for axis in product.axes:
        prices = sorted({price for price in recorded_prices(axis).values() if price is not None})
        shown.append(
            {
                "axis": axis.name,
                "values": len(recorded_prices(axis)),
                "distinct_prices": len(prices),
                "prices": [float(price) for price in prices[:_PRICE_SHOWN]],
            }
        )
    return shown


def _multi_price(product: Product) -> list[dict[str, Any]]:
    names = price_axes(product)
    return [item for item in axis_prices(product) if item["axis"] in names] if len(names) > 1 else []


def _collisions(product: Product) -> list[list[str]]:
    """Values of one axis with one key that differ in spelling or in price."""
    found = []
    for axis in product.axes:
        same: dict[str, list[tuple[str, Any]]] = {}
        for value in axis.values:
            if value.key:
                same.setdefault(value.key, []).append((value.raw, value.price))
        found += [[raw for raw, _ in entries] for entries in same.values() if len(set(entries)) > 1]
    return found


def _is_empty(axis: Axis) -> bool:
    return not one_line(axis.name) or all(not value.key for value in axis.values)


def _has_blank(axis: Axis) -> bool:
    return any(not value.key for value in axis.values)


def _values(product: Product) -> Iterator[Any]:
    return (value for axis in product.axes for value in axis.values)
