"""Counts the quirks of a raw record that are no faults: what readers of the archive must cope with.

Counts are taken from the finished record, not from the plan, so that they are true by construction.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import permutations
from typing import Any

_EMOJI_FROM = 0x1F300
_SYMBOLS = range(0x2B00, 0x2C00)


def count_quirks(record: Mapping[str, Any]) -> Counter[str]:
    """How often each quirk occurs in `record`; a quirk that does not occur is absent."""
    counts: Counter[str] = Counter()
    title = record["title"]
    counts["title_double_blank"] += "  " in title
    counts["title_question_mark"] += "?" in title
    counts["sub_title_null"] += record["sub_title"] is None
    counts["sub_title_empty"] += record["sub_title"] == ""
    counts[f"asin_digits_{len(record['asin'])}"] += 1
    counts["listing_lower_bound_zero"] += record["pricing"][0] == 0
    counts["listing_upper_over_ten_times_lower"] += record["pricing"][-1] > 10 * record["pricing"][0] > 0
    for name, entries in record["customization_options"].items():
        counts.update(_axis_quirks(name, [entry["value"] for entry in entries]))
        counts["option_image_null"] += sum(entry["image"] is None for entry in entries)
        counts["option_price_zero"] += sum(entry["price"] == 0 for entry in entries)
    if "user_persona" in record:
        counts.update(_persona_quirks(record["user_persona"], record["asin"]))
    return +counts


def _axis_quirks(name: str, values: list[str]) -> Counter[str]:
    folded = [value.lower() for value in values]
    return Counter(
        {
            "axis_main_name_is_colour": name == "颜色分类",
            "value_slash": sum("/" in value for value in values),
            "value_double_blank": sum("  " in value for value in values),
            "value_starts_with_bracket": sum(value.startswith("[") for value in values),
            "value_emoji": sum(any(map(_is_emoji, value)) for value in values),
            "axis_with_value_inside_value": any(one in two for one, two in permutations(folded, 2)),
        }
    )


def _is_emoji(char: str) -> bool:
    return ord(char) >= _EMOJI_FROM or ord(char) in _SYMBOLS


def _persona_quirks(persona: Mapping[str, Any], asin: str) -> Counter[str]:
    user = persona["用户ID"]
    preferences = persona["兴趣偏好"]["商品属性偏好"]
    return Counter(
        {
            "persona_user_id_is_gold_asin": user.rstrip(", ") == f"U{asin}",
            "persona_user_id_placeholder": not user.strip(", "),
            "persona_transactions_nested": "交易特征" in persona["行为特征"],
            "persona_style_missing": "风格" not in preferences,
            "persona_reasoning_key": "__reasoning__" in persona or "__reasoning__" in persona["兴趣偏好"],
            "persona_average_is_float": isinstance(_transactions(persona)["平均客单价"], float),
        }
    )


def _transactions(persona: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = persona.get("交易特征") or persona["行为特征"]["交易特征"]
    return found
