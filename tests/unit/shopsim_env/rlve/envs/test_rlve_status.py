"""STATUS: order and status are both graded, of the order that was asked for last."""

from collections.abc import Iterator
from fractions import Fraction

import pytest
from rlve_world import find_seed, sample_market

from shopsim_env.rlve.envs.base import Heard
from shopsim_env.rlve.episode import Episode
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.protocol import Answer


@pytest.fixture(scope="module")
def market() -> Iterator[Market]:
    with sample_market() as opened:
        yield opened


def test_order_and_status_must_both_be_right(market: Market) -> None:
    episode = find_seed(market, "STATUS", 0, lambda one: one.task.brief.revision is None)
    goal = episode.task.goal()
    other = "SHIPPED" if goal["status"] != "SHIPPED" else "DELIVERED"

    def score(order_id: str | None, status: str | None) -> tuple[float, bool]:
        answer = Answer(selected_order_id=order_id, order_status=status, done=True)
        graded = episode.task.grade(answer, Heard())
        return graded.score, graded.success

    assert score(goal["order_id"], goal["status"]) == (1.0, True)
    assert score(goal["order_id"], goal["status"].lower()) == (1.0, True)
    assert score(goal["order_id"], other) == (0.0, False)
    assert score(goal["order_id"], None) == (0.0, False)
    assert score("ord_999", goal["status"]) == (0.0, False)
    assert score(None, None) == (-1.0, False)
    assert episode.task.grade(None, Heard()).score == -1


def test_the_other_order_counts_once_it_was_said(market: Market) -> None:
    episode = find_seed(market, "STATUS", 8, lambda one: one.task.brief.revision is not None)
    goal, book = episode.task.goal(), episode.overlay.book
    assert goal["order_before"] != goal["order_id"]
    before = book.order(goal["order_before"])
    assert before is not None
    old = Answer(selected_order_id=before.id, order_status=before.status, done=True)
    new = Answer(selected_order_id=goal["order_id"], order_status=goal["status"], done=True)
    assert episode.task.grade(old, Heard()).success
    assert not episode.task.grade(new, Heard()).success
    assert episode.task.grade(new, Heard(revised=True)).success
    assert not episode.task.grade(old, Heard(revised=True)).success


def test_three_orders_stand_behind_the_published_history(market: Market) -> None:
    for d, orders in ((0, 4), (4, 6), (12, 10)):
        episode = find_seed(market, "STATUS", d, lambda _: True)
        assert len(episode.overlay.book.orders) == orders


def test_the_chance_of_a_guess(market: Market) -> None:
    # One of seven listed orders; one of five statuses of an order that is named.
    cases = ((6, False, Fraction(1, 7)), (6, True, Fraction(1, 5)), (0, True, Fraction(1, 4)))
    for d, is_named, chance in cases:

        def holds(one: Episode, is_named: bool = is_named) -> bool:
            brief = one.task.brief
            return brief.revision is None and ("order_id" in brief.needs[0].data) == is_named

        assert find_seed(market, "STATUS", d, holds).task.forced_chance() == chance
