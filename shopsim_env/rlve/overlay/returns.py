"""Returns and exchanges: the shop's rules, and what was started in an episode.

Belongs here: windows by group of goods, reasons, methods and fees, and the one answer to whether a line may
go back, which tools, generators and graders share. Texts of the shop's policy are in `policy`.
"""

import re
from collections.abc import Container
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Final

from shopsim_env.rlve.overlay.orders import CANCELLED, DELIVERED, Order
from shopsim_env.rlve.schema import CATEGORY_SEPARATOR

REASONS: Final = (
    *("defective", "wrong_item", "not_as_described", "changed_mind"),
    *("too_large", "too_small", "arrived_late", "better_price_found"),
)
# Method -> fee in hundredths of the currency.
FEES: Final = {"mail": 599, "in_store": 0, "pickup": 0}
EXCHANGE: Final = "exchange"
ALREADY_RETURNED, ORDER_CANCELLED, NOT_DELIVERED, NOT_RETURNABLE, WINDOW_CLOSED = (
    *("already_returned", "cancelled", "not_delivered"),
    *("not_returnable", "window_closed"),
)
REFUSALS: Final = (ALREADY_RETURNED, ORDER_CANCELLED, NOT_DELIVERED, NOT_RETURNABLE, WINDOW_CLOSED)
OTHER: Final = "other"
# Days in which goods of a group may go back; 0 is never. The published windows.
WINDOWS: Final = {"electronics": 15, "clothing": 30, "furniture": 30, "groceries": 0, OTHER: 30}
# Words of a category path, the first group with one of them decides: a coffee machine is no grocery.
_WORDS: Final = (
    (
        "electronics",
        "数码 电脑 影音 电玩 耳机 音箱 充电 电器 家电 电子 手机 相机 智能",
        "electronics computer headphone charger cable phone camera video_game television appliance",
    ),
    (
        "clothing",
        "服饰 服装 女装 男装 童装 内衣 鞋 靴 帽",
        "clothing clothes apparel shoe boot sneaker dress shirt",
    ),
    ("furniture", "家具 床垫 沙发", "furniture mattress sofa"),
    (
        "groceries",
        "食品 零食 坚果 咖啡 冲饮 茶叶 茶饮 粮油 生鲜 水果 滋补 辅食 主粮 酒类",
        "grocery groceries food snack beverage coffee tea fruit pet_food",
    ),
)


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Whether a line may go back, and why not: a code of `REFUSALS`, None when it may."""

    reason: str | None
    group: str
    window_days: int
    days_since: int

    @property
    def eligible(self) -> bool:
        """Whether the line may go back."""
        return self.reason is None


@dataclass(frozen=True, slots=True)
class Return:
    """A return that was started; the fee is in hundredths."""

    id: str
    order_id: str
    line_id: str
    reason: str
    method: str
    fee: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """An exchange that was started: product numbers, and the new variant's id."""

    id: str
    return_id: str
    order_id: str
    line_id: str
    old: int
    new: int
    variant_id: str | None


@lru_cache(maxsize=8_192)
def group_of(levels: tuple[str, ...]) -> str:
    """Group of goods of a category, by the words of its levels; one of `WINDOWS`."""
    path = CATEGORY_SEPARATOR.join(levels).casefold()
    return next((group for (group, *_), pattern in _PATTERNS if pattern.search(path)), OTHER)


def decide(
    order: Order, line_id: str, group: str, today: date, returned: Container[tuple[str, str]]
) -> Eligibility:
    """Whether a line may go back today.

    Args:
        order: The order.
        line_id: One of its lines.
        group: Group of the line's goods.
        today: The episode's day.
        returned: Order and line ids of returns that were started.

    Source: the published windows, counted from the day of the order, the last day included. Changes: goods
    that are under way or already returned are refused.
    """
    window = WINDOWS[group]
    age = (today - order.date).days
    reason = None
    if (order.id, line_id) in returned:
        reason = ALREADY_RETURNED
    elif order.status == CANCELLED:
        reason = ORDER_CANCELLED
    elif order.status != DELIVERED:
        reason = NOT_DELIVERED
    elif window == 0:
        reason = NOT_RETURNABLE
    elif age > window:
        reason = WINDOW_CLOSED
    return Eligibility(reason, group, window, age)


def _pattern(chinese: str, english: str) -> re.Pattern[str]:
    """Chinese words anywhere; English ones as whole words or their plurals."""
    words = [f"(?<![a-z]){word.replace('_', '[ -]')}(?:e?s)?(?![a-z])" for word in english.split()]
    return re.compile("|".join([*chinese.split(), *words]))


_PATTERNS: Final = [(entry, _pattern(entry[1], entry[2])) for entry in _WORDS]
