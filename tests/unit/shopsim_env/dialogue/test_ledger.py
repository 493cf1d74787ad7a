import pytest

from shopsim_env.dialogue.ledger import Fact, Ledger, mentions, plain
from shopsim_env.errors import UsageError

COLOUR = Fact("option:0", "option", "雾蓝", frozenset({"colour"}))
BUDGET = Fact("budget", "budget", "40元", frozenset({"budget"}))


def test_telling_moves_facts_one_way_and_leaves_the_old_ledger_alone():
    ledger = Ledger((COLOUR, BUDGET))
    assert ledger.hidden == (COLOUR, BUDGET)
    after = ledger.tell([BUDGET])
    assert (after.hidden, after.disclosed, after.complete) == ((COLOUR,), {"budget"}, False)
    assert ledger.disclosed == frozenset()
    assert after.tell([BUDGET]) == after
    assert after.tell([COLOUR]).complete
    assert Ledger(()).complete


def test_a_ledger_knows_its_facts_only():
    with pytest.raises(UsageError, match="unique") as twice:
        Ledger((COLOUR, COLOUR))
    assert twice.value.code == "invalid_ledger"
    with pytest.raises(UsageError, match="budget"):
        Ledger((COLOUR,)).tell([BUDGET])


def test_plain_text():
    assert plain(" ５Ｋｇ　装\n【大】") == "5kg装【大】"
    assert plain("A4  纸 40 CM, Hand Cream 2 30ml B") == "a4纸40cm,hand cream 2 30ml b"


@pytest.mark.parametrize(
    ("text", "value", "found"),
    [
        ("要雾蓝的吗", "雾蓝", True),
        ("要蓝的吗", "雾蓝", False),
        ("要5kg的吗", "5kg", True),
        ("要15kg的吗", "5kg", False),
        ("要5kgs", "5kg", False),
        ("要15kg和5kg", "5kg", True),
        ("预算1400元", "400元", False),
        ("xxl", "xl", False),
        ("什么都行", "", False),
        ("a.c", "a.c", True),
        ("abc", "a.c", False),
    ],
)
def test_mentions_does_not_cut_numbers_and_words(text, value, found):
    assert mentions(text, value) is found
