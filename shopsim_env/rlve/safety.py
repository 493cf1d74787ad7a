"""Categories whose products no goal is about and no agent may recommend.

Belongs here: the denied words and their test by path segment. Not here: what recommending such a product
costs (`episode`).
"""

import re
from collections.abc import Iterable
from typing import Final

from shopsim_env.rlve.fact_model import Category

# The ten published words, each with what Chinese shops call such a category.
DENIED: Final = frozenset(
    {
        *("weapons", "武器"),
        *("firearms", "枪支", "枪械"),
        *("ammunition", "弹药"),
        *("explosives", "爆炸物", "炸药", "烟花爆竹"),
        *("adult_explicit", "成人用品", "情趣用品", "色情"),
        *("controlled_substances", "管制药品", "管制物质", "毒品"),
        *("tobacco", "烟草", "香烟", "卷烟", "电子烟"),
        *("counterfeit_goods", "假货", "仿冒品"),
        *("surveillance_equipment", "窃听器材", "偷拍设备", "监听设备"),
        *("hazardous_materials", "危险品", "危化品", "危险化学品"),
    }
)
_APART = re.compile(r"[\s_-]+")


def denied(category: Category) -> bool:
    """Whether a segment of a category's path is a denied word.

    Whole segments count, so that a category of toy weapons is not denied; segments that name several things
    (`烟草/酒类`) are taken apart. Case, spaces and hyphens make no difference.
    """
    return denied_path(category.levels)


def denied_path(levels: Iterable[str]) -> bool:
    """`denied` for the levels of a path."""
    return any(_plain(part) in DENIED for level in levels for part in level.split("/"))


def _plain(segment: str) -> str:
    return _APART.sub("_", segment.strip().casefold())
