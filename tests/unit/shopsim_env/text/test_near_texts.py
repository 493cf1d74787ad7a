"""Near texts: triples by hand, and the index against the plain comparison of every pair."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from shopsim_env.text.near import NearIndex, likeness, squeezed, triples


def test_triples_are_of_letters_and_digits_alone() -> None:
    assert squeezed("Ａ 4纸，双面！") == "a4纸双面"
    assert triples("A4 纸，双面") == {"a4纸", "4纸双", "纸双面"}
    assert triples("纸") == {"纸"}
    assert triples("！ ，") == frozenset()
    assert triples("哈哈哈哈哈") == {"哈哈哈"}


def test_likeness_is_the_shared_part_of_all_triples() -> None:
    one, other = triples("abcdef"), triples("abcdxy")  # abc bcd cde def; abc bcd cdx dxy
    assert likeness(one, other) == 2 / 6
    assert likeness(one, one) == 1
    assert likeness(one, triples("xyz")) == 0
    assert likeness(frozenset(), frozenset()) == 0


def test_pairs_come_in_the_order_of_the_keys() -> None:
    texts = {"z": "abcdef", "b": "完全不同的话", "a": "abcdef", "blank": "，", "c": "abcdxy"}
    assert NearIndex(texts, 1.0).pairs() == [("z", "a", 1.0)]
    assert NearIndex(texts, 2 / 6).pairs() == [("z", "a", 1.0), ("z", "c", 2 / 6), ("a", "c", 2 / 6)]
    assert NearIndex({}, 0.5).pairs() == []


def test_a_text_inside_a_longer_one() -> None:
    index = NearIndex({"whole": "abcdef", "part": "abcdxy", "none": "uvw", "blank": ""}, 0.5)
    assert index.contained_in("--> abcdef, and much more besides") == [("whole", 1.0), ("part", 0.5)]
    assert index.contained_in("") == []
    assert (index.size("whole"), index.size("blank"), index.size("unknown")) == (4, 0, 0)


def test_parts_count_together() -> None:
    index = NearIndex({"both": ("abcd", "wxyz")}, 0.5)  # abc bcd wxy xyz
    assert index.contained_in("abcd") == [("both", 0.5)]
    assert index.contained_in("abc") == []


texts = st.lists(st.text("abc", max_size=12), max_size=9)


@given(texts, st.sampled_from((0.2, 0.5, 0.7, 0.8, 1.0)))
def test_the_index_misses_no_pair_and_invents_none(given: list[str], threshold: float) -> None:
    sets = [triples(text) for text in given]
    near = [
        (one, other, likeness(sets[one], sets[other]))
        for one, other in combinations(range(len(given)), 2)
        if sets[one] and sets[other] and likeness(sets[one], sets[other]) >= threshold - 1e-9
    ]
    assert NearIndex(dict(enumerate(given)), threshold).pairs() == near


@given(texts, st.text("abc", max_size=20), st.sampled_from((0.3, 0.8, 1.0)))
def test_the_index_finds_every_contained_text(given: list[str], text: str, threshold: float) -> None:
    held = triples(text)
    expected = [
        (number, len(items & held) / len(items))
        for number, items in enumerate(map(triples, given))
        if items and len(items & held) / len(items) >= threshold - 1e-9
    ]
    assert NearIndex(dict(enumerate(given)), threshold).contained_in(text) == expected
