"""Option rules: one value, whole purchases, and what they do on real pairs."""

import gzip
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shopsim_env.catalog.product import Product
from shopsim_env.errors import UsageError
from shopsim_env.reward.option import count_matches, match_option
from shopsim_env.reward.option_slots import canon


@pytest.mark.parametrize(
    ("required", "selected", "paper", "anchored"),
    [
        ("深空灰", "深空灰 标准版", True, True),
        ("深蓝", "深蓝色", False, False),
        ("高级深海蓝", "高级深海蓝色", True, False),
        ("星光色 256GB", "256gb 星光色", True, True),
        ("XXL", "XL", False, False),
        ("樱花粉 两件装", "樱花粉【两件装】", True, True),
        ("180×200cm", "180x200cm", True, True),
        ("🔵红", "🔴红", True, False),
        ("★", "❤❤", True, False),
        ("1.5米", "1米", False, False),
        ("黑色大号", "白色大号", False, False),
        ("XXL", "XXXL", True, False),
    ],
)
def test_both_rules(required: str, selected: str, paper: bool, anchored: bool) -> None:
    assert match_option(required, selected, rule="paper").match is paper
    assert match_option(required, selected).match is anchored


@pytest.mark.parametrize(
    ("required", "selected", "why"),
    [
        ("20片装", "200片装", "missing_number"),
        ("不含电池", "含电池", "missing_segment"),
        ("100ml", "100ml*2", "missing_number"),
        ("100ml", "100ml x2", "added_bundle"),
        ("XL", "2XL", "missing_latin"),
        ("5号电池", "7号电池", "missing_number"),
        ("黑白色", "白色", "missing_segment"),
        ("大号", "小号", "missing_segment"),
        ("单垄单行", "单垄双行", "missing_segment"),
        ("套装A", "套装B", "missing_latin"),
        ("电池 黑", "无 电池 黑", "negation"),
        ("黑色", "黑色 送袜子", "added_bundle"),
        ("黑色", "黑色+白色", "added_bundle"),
        ("樱花粉", "樱花粉【两件装】", "added_bundle"),
        ("🔴红", "红", "missing_symbol"),
        ("5米2号", "2米5号", "missing_number"),
    ],
)
def test_what_an_alternative_value_lacks(required: str, selected: str, why: str) -> None:
    match = match_option(required, selected)
    assert (match.match, match.rule, match.why) == (False, "slots", why)


@pytest.mark.parametrize(
    ("required", "selected"),
    [
        ("Type-C", "type-c"),
        ("5.5 mm", "5.5mm"),
        ("黑 色", "黑色"),
        ("ＸＬ", "XL"),
        ("灯/支架 XL", "灯 | 支架 xl"),
        ("深空灰256GB", "256GB 深空灰 2024"),
        ("【红】大号", "(红) 大号"),
        ("黑色", "黑色 无线"),
        ("❤️红", "❤红"),
    ],
)
def test_alternative_values_that_hold_everything(required: str, selected: str) -> None:
    match = match_option(required, selected)
    assert (match.match, match.rule, match.why) == (True, "slots", "filled")


class TestAnchor:
    OWN = ("黑色", "黑色 加绒", "深蓝【加厚】")

    def test_an_own_value_is_met_by_itself_alone(self) -> None:
        assert match_option("黑色", "黑色", self.OWN).match
        match = match_option("黑色", "黑色 加绒", self.OWN)
        assert (match.match, match.rule, match.why) == (False, "anchor", "other_value")

    @pytest.mark.parametrize("spelling", ["深蓝[加厚]", "深蓝 （ 加厚 ）", "深蓝「加厚」", "深蓝【加厚】"])
    def test_harmless_spellings_are_the_same_value(self, spelling: str) -> None:
        assert match_option("深蓝【加厚】", spelling, self.OWN).why == "same_value"

    def test_a_lost_symbol_anchors_when_one_own_value_fits(self) -> None:
        own = ("🔥黑色", "🔥白色", "黑色")
        match = match_option("?黑色", "🔥黑色", own)
        assert (match.match, match.rule) == (True, "lost_symbol")
        assert not match_option("?黑色", "黑色", own).match
        assert match_option("？黑色", "👨\u200d👩\u200d👧黑色", ("👨\u200d👩\u200d👧黑色",)).match

    def test_a_lost_symbol_that_fits_two_values_anchors_none(self) -> None:
        match = match_option("?黑色", "🔥黑色", ("🔥黑色", "❄黑色"))
        assert (match.match, match.rule, match.why) == (False, "slots", "missing_symbol")

    def test_a_lost_symbol_is_no_letter(self) -> None:
        assert match_option("黑?", "黑色", ("黑色",)).rule == "slots"


@pytest.mark.parametrize("rule", ["anchored", "paper"])
def test_blank_requirements_match_nothing(rule: str) -> None:
    assert match_option(" ", "黑色", rule=rule).why == "blank"


def test_unknown_rules_are_refused() -> None:
    with pytest.raises(UsageError) as caught:
        match_option("a", "a", rule="fuzzy")
    assert caught.value.code == "unknown_option_rule"


def item(**axes: list[str]) -> Product:
    options = {name: [{"value": value} for value in values] for name, values in axes.items()}
    return Product.from_record({"asin": "1", "customization_options": options})


class TestPurchase:
    def test_nothing_selected(self) -> None:
        assert count_matches(["雾蓝"], {}, item(颜色=["雾蓝"]), rule="paper") == 0
        assert count_matches(["雾蓝"], {}, item(颜色=["雾蓝"])) == 0

    def test_equal_values_on_two_axes(self) -> None:
        selected = {"颜色": "雾蓝", "款式": "雾蓝"}
        both = item(颜色=["雾蓝"], 款式=["雾蓝"])
        assert count_matches(["雾蓝", "雾蓝"], selected, both, rule="paper") == 2
        assert count_matches(["雾蓝", "雾蓝"], selected, both) == 2

    def test_one_selection_serves_one_requirement(self) -> None:
        one = item(颜色=["雾蓝", "米白"])
        assert count_matches(["雾蓝", "雾蓝"], {"颜色": "雾蓝"}, one, rule="paper") == 2
        assert count_matches(["雾蓝", "雾蓝"], {"颜色": "雾蓝"}, one) == 1

    def test_a_combined_value_serves_requirements_with_disjoint_parts(self) -> None:
        combined = item(规格=["雾蓝 XL 加厚", "雾蓝 L"])
        assert count_matches(["雾蓝", "XL"], {"规格": "雾蓝 xl 加厚"}, combined) == 2
        assert count_matches(["雾蓝", "雾蓝 XL"], {"规格": "雾蓝 xl 加厚"}, combined) == 1

    def test_the_largest_assignment_counts(self) -> None:
        # 雾蓝 could take either axis, 雾蓝 XL only the first: both fit when 雾蓝 takes the second.
        two = item(规格=["雾蓝 XL 厚"], 套餐=["雾蓝 单件"])
        selected = {"规格": "雾蓝 xl 厚", "套餐": "雾蓝 单件"}
        assert count_matches(["雾蓝", "雾蓝 XL"], selected, two) == 2

    def test_an_own_value_uses_up_its_axis(self) -> None:
        two = item(规格=["雾蓝 XL"])
        assert count_matches(["雾蓝 XL", "雾蓝"], {"规格": "雾蓝 xl"}, two) == 1

    def test_order_of_requirements_does_not_matter(self) -> None:
        two = item(颜色=["黑", "白"], 尺码=["M", "L"])
        assert count_matches(["L", "白"], {"颜色": "白", "尺码": "l"}, two) == 2
        assert count_matches(["L", "白"], {"颜色": "黑", "尺码": "l"}, two) == 1

    def test_a_part_does_not_serve_when_a_requirement_fails_alone(self) -> None:
        assert count_matches(["红", "蓝"], {"颜色": "蓝"}, item(颜色=["红", "蓝"])) == 1


def test_canon_keeps_symbols_and_drops_variation_selectors() -> None:
    assert canon("Ａ*３ 【❤️】/x") == "ax3(❤)|x"


def real_products(shared_data: Path) -> Iterator[Product]:
    with gzip.open(shared_data / "real" / "products.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield Product.from_record(json.loads(line))


def raw_values(product: Product) -> list[str]:
    return [value.raw for axis in product.axes for value in axis.values]


@pytest.mark.published
def test_values_of_one_axis_are_not_confused(shared_data: Path) -> None:
    """24,149 real pairs: one pair differs by a blank alone; slots without anchors stay below 0.2 %."""
    pairs = anchored = slots = 0
    for product in real_products(shared_data):
        own = raw_values(product)
        for axis in product.axes:
            values = dict.fromkeys(value.raw for value in axis.values)
            for required, selected in itertools.permutations(values, 2):
                pairs += 1
                anchored += match_option(required, selected, own).match
                slots += match_option(required, selected).match
    assert pairs == 2 * 24_149
    assert anchored <= 2
    assert slots <= 0.0018 * pairs


REWRITES: tuple[tuple[str, Any], ...] = (
    ("upper case", str.upper),
    ("full width", lambda text: text.translate({code: code + 0xFEE0 for code in range(0x21, 0x7F)})),
    ("blanks", lambda text: " ".join(text)),
    ("brackets", lambda text: text.translate(str.maketrans("【】（）[]", "()[]【】"))),
    ("times", lambda text: text.translate(str.maketrans("x*×", "×x*"))),
    ("public form", lambda text: " ".join(text.replace("/", " | ").split()).lower()),
)


@pytest.mark.published
@pytest.mark.parametrize(("name", "rewrite"), REWRITES)
def test_harmless_rewrites_of_real_values_are_accepted(shared_data: Path, name: str, rewrite: Any) -> None:
    refused = [
        value
        for product in real_products(shared_data)
        for value in raw_values(product)
        if value.strip() and not match_option(value, rewrite(value), raw_values(product)).match
    ]
    assert refused == []


@pytest.mark.published
def test_no_wrong_sibling_of_a_playable_task_gets_full_credit(shared_data: Path) -> None:
    tasks = json_lines(shared_data / "real" / "playable_tasks.jsonl.gz")
    products = {product.asin: product for product in real_products(shared_data)}
    paid_gold = wrong = 0
    for task in tasks:
        product = products[task["asin"]]
        gold = {axis: value["value"] for axis, value in task["gold_selection"].items()}
        required = list(gold.values())
        paid_gold += count_matches(required, gold, product) == len(required)
        for axis in product.axes:
            for sibling in axis.values:
                if axis.name in gold and canon(sibling.raw) != canon(gold[axis.name]):
                    wrong += count_matches(required, {**gold, axis.name: sibling.raw}, product) == len(
                        required
                    )
    assert (len(tasks), paid_gold, wrong) == (147, 147, 0)


def json_lines(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
