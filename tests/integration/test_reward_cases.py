"""Recorded purchases of the published environment, rewarded again in `paper` mode.

Expected values are the recorded components; price and title score apart (a random ceiling and another tagger
made those). The records carry no licence: they are read where they are.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from shopsim_env.catalog.product import Product
from shopsim_env.reward.attribute import count_attributes
from shopsim_env.reward.option import count_matches
from shopsim_env.reward.type_match import match_type

pytestmark = pytest.mark.published
PAPER = "paper"


@pytest.fixture(scope="module")
def cases(shared_data: Path) -> list[dict[str, Any]]:
    path = shared_data / "real" / "reward_cases.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"the recorded purchases are not at {path}")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def product(side: dict[str, Any], options: dict[str, str]) -> Product:
    return Product.from_record(
        {
            "asin": side["asin"],
            "title": side["title"],
            "category": side["category"],
            "attribute": side["attributes"],
            "customization_options": {axis: [{"value": value}] for axis, value in options.items()},
        }
    )


def test_all_recorded_purchases_give_the_recorded_components(cases: list[dict[str, Any]]) -> None:
    assert len(cases) == 58
    for case in cases:
        goal, purchase, recorded = case["goal"], case["purchase"], case["recorded"]
        bought, gold = product(purchase, purchase["options"]), product(goal, {})
        options = count_matches(goal["goal_options"], purchase["options"], bought, rule=PAPER)
        attributes = count_attributes(goal["attributes"], bought, option_match=PAPER)
        kind = match_type(bought, gold, option_match=PAPER)
        found = (options, attributes, kind.category_match, kind.r_type)
        wanted = tuple(
            recorded[name] for name in ("num_option_matches", "num_attr_matches", "category_match", "r_type")
        )
        assert found == wanted, case["task_id"]
        assert options / len(goal["goal_options"]) == recorded["r_option"], case["task_id"]
        assert attributes / len(goal["attributes"]) == recorded["r_att"], case["task_id"]
