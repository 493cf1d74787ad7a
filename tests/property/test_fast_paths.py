"""Short cuts give what the long way gives."""

import re
from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from shopsim_env.catalog.product import Product
from shopsim_env.reward.fuzzy import forget_ratios, token_set_ratio
from shopsim_env.shop.actions import parse_action
from shopsim_env.shop.display import one_line, well_formed
from shopsim_env.shop.pages import OfferedAxis, ProductDetail, SearchResults, clickable, offers
from shopsim_env.shop.render import render_observation_state

WORDS = st.text(alphabet="ab 红蓝-,", max_size=12)
ODD = st.text(alphabet="a 字　\u00a0\n\u2028\u202e\ud83d\ude00[]", max_size=8)


def plain_ratio(left: str, right: str) -> int:
    """The published score, written out."""

    def words(text: str) -> set[str]:
        kept = "".join(
            character if character.isalnum() or character == "_" else " " for character in text.casefold()
        )
        return set(kept.split())

    def joined(tokens: set[str]) -> str:
        return " ".join(sorted(tokens))

    common = joined(words(left) & words(right))
    texts = [joined(words(left)), joined(words(right))]
    pairs = [tuple(texts), *([(common, text) for text in texts] if common else [])]
    return max(round(100 * SequenceMatcher(None, one, other).ratio()) for one, other in pairs)


@given(WORDS, WORDS)
def test_token_set_ratio(left: str, right: str) -> None:
    forget_ratios()
    assert token_set_ratio(left, right) == plain_ratio(left, right)
    assert token_set_ratio(left, right) == plain_ratio(left, right), "from memory"


@given(ODD)
def test_one_line(text: str) -> None:
    def unsafe(character: str) -> bool:
        return character in "\n\u2028\u202e" or 0xD800 <= ord(character) <= 0xDFFF

    plain = "".join(" " if unsafe(character) else character for character in text)
    assert one_line(text) == " ".join(plain.split())


@given(ODD)
def test_well_formed(text: str) -> None:
    assert well_formed(text) == text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@given(st.lists(st.one_of(ODD, st.text(max_size=5)), max_size=5))
def test_lists_are_rendered_as_their_items(values: list[str]) -> None:
    state = {"page_type": "search_home", "search_available": False, "actions": values}
    lines = [f"- {one_line(value) or '未提供'}" for value in values]
    clicks = "\n".join(["可点击元素：", *lines]) if values else "当前页面没有可交互元素。"
    blocks = ["页面：搜索首页", clicks]
    assert render_observation_state(state) == "\n\n".join(blocks) + "\n"


def test_actions_that_are_no_texts_are_rendered_as_before() -> None:
    state = {"page_type": "search_home", "search_available": False, "actions": ["a", 7, None]}
    assert "- a\n- 7\n- 未提供\n" in render_observation_state(state)


@given(
    st.lists(st.sampled_from(["]", "[", "a", "search[", "click[", " ", ",", "buy now"]), max_size=9).map(
        "".join
    )
)
def test_a_second_action_is_seen_wherever_it_begins(text: str) -> None:
    second = re.search(r"\][\s,，;；、&|>-]{0,20}(?:search|click|ask_shopper)\[", text.strip(), re.IGNORECASE)
    assert (parse_action(text).problem == "multiple_actions_not_allowed") == bool(second)


LABELS = st.lists(st.sampled_from(["a=b", "a=c", "x", "back to search", "buy now"]), max_size=4, unique=True)


@given(
    st.lists(LABELS, max_size=3), st.data(), st.sampled_from(["a=b", "x", "buy now", "< prev", "next >", ""])
)
def test_offers_is_membership_in_what_can_be_clicked(axes, data, value) -> None:
    offered = tuple(
        OfferedAxis(str(n), tuple(labels), tuple(labels), tuple(labels)) for n, labels in enumerate(axes)
    )
    chosen = tuple(data.draw(st.integers(-1, len(axis.labels) - 1)) for axis in offered)
    product = Product.from_record({"asin": "1", "title": "t"})
    for page in (
        ProductDetail(product, offered, chosen, SearchResults("q", ("1",))),
        SearchResults("q", ("x",) * 30),
    ):
        assert offers(page, value) == (value in clickable(page))
