"""RETURN: what counts as the right line, terms, refusal and replacement; values by the published weights."""

from collections.abc import Callable, Iterator

import pytest
from rlve_world import find_seed, sample_market

from shopsim_env.rlve.envs.base import Heard
from shopsim_env.rlve.episode import Episode, EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.overlay import eligibility
from shopsim_env.rlve.protocol import Answer, Call
from shopsim_env.rlve.tools import run_tool

UNHEARD, REVISED = Heard(), Heard(revised=True)


@pytest.fixture(scope="module")
def market() -> Iterator[Market]:
    with sample_market() as opened:
        yield opened


@pytest.fixture
def found(market: Market) -> Callable[..., Episode]:
    """The first episode at a level whose goal and change of mind are as asked for."""

    def find(d: int, *, refused: bool = False, exchange: bool = False, revised: bool = False) -> Episode:
        def holds(episode: Episode) -> bool:
            goal, brief = episode.task.goal(), episode.task.brief
            kinds = goal["refusal"] is not None, goal["replacement"] is not None, brief.revision is not None
            return kinds == (refused, exchange, revised)

        return find_seed(market, "RETURN", d, holds)

    return find


def answer(episode: Episode, **other: str) -> Answer:
    goal = episode.task.goal()
    return Answer(selected_order_id=goal["order_id"], selected_line_id=goal["line_id"], done=True, **other)


def line_of(episode: Episode) -> dict[str, str]:
    goal = episode.task.goal()
    return {"order_id": goal["order_id"], "line_id": goal["line_id"]}


def send_back(episode: Episode, **changed: str) -> None:
    goal = episode.task.goal()
    args = {**line_of(episode), "reason_code": goal["reason_code"], "method": goal["method"], **changed}
    assert "error" not in run_tool(episode.overlay, Call("return.initiate", args))


def other_line(episode: Episode) -> dict[str, str]:
    """Another line that may go back."""
    goal = episode.task.goal()
    return next(
        {"order_id": order.id, "line_id": line.id}
        for order in episode.overlay.book.orders
        for line in order.lines
        if line.id != goal["line_id"] and eligibility(episode.overlay, order.id, line.id).eligible
    )


def test_the_right_line_returned_on_the_told_terms_is_a_success(found: Callable[..., Episode]) -> None:
    episode = found(3)
    send_back(episode)
    score = episode.task.grade(answer(episode), UNHEARD)
    assert (score.score, score.success) == (1.0, True)


def test_without_an_answer_nothing_is_won(found: Callable[..., Episode]) -> None:
    episode = found(3)
    send_back(episode)
    assert episode.task.grade(None, UNHEARD).score == -1


@pytest.mark.parametrize("changed", [{"reason_code": "x"}, {"method": "x"}])
def test_other_terms_fail(found: Callable[..., Episode], changed: dict[str, str]) -> None:
    episode = found(3)
    goal = episode.task.goal()
    others = {"reason_code": ("defective", "too_large"), "method": ("mail", "pickup")}
    name = next(iter(changed))
    send_back(episode, **{name: next(one for one in others[name] if one != goal[name])})
    score = episode.task.grade(answer(episode), UNHEARD)
    # 0.45 for the line, -0.45 for the action, 0.10 because no replacement is wanted.
    assert (score.score, score.success) == (pytest.approx(0.1), False)


def test_any_other_return_fails_even_beside_the_right_one(found: Callable[..., Episode]) -> None:
    episode = found(3)
    send_back(episode)
    send_back(episode, **other_line(episode))
    assert not episode.task.grade(answer(episode), UNHEARD).success


def test_naming_another_line_fails(found: Callable[..., Episode]) -> None:
    episode = found(3)
    send_back(episode)
    other = other_line(episode)
    named = Answer(selected_order_id=other["order_id"], selected_line_id=other["line_id"], done=True)
    # -0.45 + 0.45 + 0.10.
    assert episode.task.grade(named, UNHEARD).score == pytest.approx(0.1)


def test_a_new_method_counts_once_it_was_said(found: Callable[..., Episode]) -> None:
    episode = found(6, revised=True)
    revision = episode.task.brief.revision
    assert revision is not None
    before = next(need for need in episode.task.brief.needs if need.id == "method")
    assert before.data != revision.need.data
    send_back(episode)
    assert episode.task.grade(answer(episode), REVISED).success
    assert not episode.task.grade(answer(episode), UNHEARD).success


def test_a_refused_request_wants_the_check_the_line_and_the_reason(found: Callable[..., Episode]) -> None:
    episode = found(6, refused=True)
    reason = episode.task.goal()["refusal"]
    told = answer(episode, refusal_reason=reason)
    # 0.45 - 0.45 + 0.10: the reason is right and was not looked up.
    assert episode.task.grade(told, UNHEARD).score == pytest.approx(0.1)
    checked = run_tool(episode.overlay, Call("return.check_eligibility", line_of(episode)))
    assert (checked["eligible"], checked["reason_code"]) == (False, reason)
    assert episode.task.grade(told, UNHEARD).success
    wrong = answer(episode, refusal_reason="other")
    # 0.45 + 0.45 - 0.10.
    assert episode.task.grade(wrong, UNHEARD).score == pytest.approx(0.8)
    assert not episode.task.grade(wrong, UNHEARD).success
    args = {**line_of(episode), "reason_code": "defective", "method": "mail"}
    assert run_tool(episode.overlay, Call("return.initiate", args))["error"]["code"] == reason
    assert episode.task.grade(told, UNHEARD).success


def test_a_return_of_something_else_spoils_a_refusal(found: Callable[..., Episode]) -> None:
    episode = found(6, refused=True)
    run_tool(episode.overlay, Call("return.check_eligibility", line_of(episode)))
    args = {**other_line(episode), "reason_code": "defective", "method": "mail"}
    assert "error" not in run_tool(episode.overlay, Call("return.initiate", args))
    told = answer(episode, refusal_reason=episode.task.goal()["refusal"])
    assert not episode.task.grade(told, UNHEARD).success


def exchange(episode: Episode, filters: dict[str, object]) -> list[str]:
    """Product ids that a search with these filters shows, apart from the returned product."""
    args = {"query": "", "filters": {**filters, "in_stock": True}, "top_k": 100}
    cards = run_tool(episode.overlay, Call("catalog.search", args))["products"]
    goal = episode.task.goal()
    line = episode.overlay.book.line(goal["order_id"], goal["line_id"])
    assert line is not None
    own = episode.overlay.ids.product_id(line.number)
    return [
        card["product_id"]
        for card in cards
        if card["product_id"] != own and card["stock_qty"] >= line.quantity
    ]


def wanted(episode: Episode) -> dict[str, object]:
    """The filters of all wishes for the replacement."""
    merged: dict[str, object] = dict(episode.task.brief.data["filters"])
    for need in episode.task.brief.needs:
        if need.id.startswith("r") and "filters" in need.data:
            attributes = {**merged.get("attributes", {}), **need.data["filters"].get("attributes", {})}  # type: ignore[dict-item]
            merged.update(need.data["filters"])
            if attributes:
                merged["attributes"] = attributes
    return merged


def test_an_exchange_for_what_meets_all_wishes_is_a_success(found: Callable[..., Episode]) -> None:
    episode = found(4, exchange=True)
    chosen = exchange(episode, wanted(episode))[0]
    args = {**line_of(episode), "new_product_id": chosen}
    assert "error" not in run_tool(episode.overlay, Call("return.exchange", args))
    assert episode.task.grade(answer(episode), UNHEARD).success
    assert list(episode.task.used(answer(episode)).exchanged) == [chosen]


def test_an_exchange_for_something_else_of_the_category_is_none(found: Callable[..., Episode]) -> None:
    episode = found(4, exchange=True)
    good = set(exchange(episode, wanted(episode)))
    everything = exchange(episode, dict(episode.task.brief.data["filters"]))
    args = {**line_of(episode), "new_product_id": next(name for name in everything if name not in good)}
    assert "error" not in run_tool(episode.overlay, Call("return.exchange", args))
    score = episode.task.grade(answer(episode), UNHEARD)
    # 0.45 + 0.45 - 0.10.
    assert (score.score, score.success) == (pytest.approx(0.8), False)


def test_a_return_in_the_place_of_an_exchange_fails(found: Callable[..., Episode]) -> None:
    episode = found(4, exchange=True)
    send_back(episode, reason_code="defective", method="mail")
    score = episode.task.grade(answer(episode), UNHEARD)
    # 0.45 - 0.45 - 0.10.
    assert (score.score, score.success) == (pytest.approx(-0.1), False)


def test_the_bound_before_a_change_of_mind_was_wider(found: Callable[..., Episode]) -> None:
    episode = found(6, exchange=True, revised=True)
    revision = episode.task.brief.revision
    assert revision is not None
    assert revision.need.id == "r0"
    before = next(need for need in episode.task.brief.needs if need.id == "r0").data["filters"]
    (name, bound), (other, new) = *before.items(), *revision.need.data["filters"].items()
    assert name == other
    assert new < bound if name == "price_max" else new > bound


def test_the_chance_of_a_guess_is_that_of_the_lines_of_the_category_with_its_window(
    found: Callable[..., Episode],
) -> None:
    episode = found(3)
    overlay, goal = episode.overlay, episode.task.goal()
    category = episode.task.brief.data["item_filters"]["category"].split("›")
    window = eligibility(overlay, goal["order_id"], goal["line_id"]).window_days
    alike = 0
    for order in overlay.book.orders:
        for line in order.lines:
            levels = overlay.world.category(overlay.shelf.item(line.number).facts.category).levels
            of_category = list(levels[: len(category)]) == category
            alike += of_category and eligibility(overlay, order.id, line.id).window_days == window
    assert alike > 1
    assert episode.task.forced_chance() * alike == 1
    send_back(episode)
    assert episode.task.forced_chance() * alike == 1


def test_where_no_exchange_fits_any_terms_will_do(found: Callable[..., Episode]) -> None:
    episode = found(1)
    assert episode.task.goal()["reason_code"] is None
    send_back(episode, reason_code="too_large", method="pickup")
    assert episode.task.grade(answer(episode), UNHEARD).success


@pytest.mark.parametrize("d", [0, 6])
def test_nothing_that_the_shop_shows_tells_which_line_is_meant(market: Market, d: int) -> None:
    """The first line by age, size of its order, price or eligibility is meant as often as any other."""
    hits, expected = (
        dict.fromkeys(("old", "new", "small", "cheap", "dear", "oldest that may go back"), 0.0),
        0.0,
    )
    episodes = 150
    for seed in range(episodes):
        episode = Episode(market, EpisodeKey("RETURN", d, seed))
        overlay, goal, chance = episode.overlay, episode.task.goal(), float(episode.task.forced_chance())
        expected += chance
        meant_window = eligibility(overlay, goal["order_id"], goal["line_id"]).window_days
        path = episode.task.brief.data["item_filters"].get("category", "")
        rows = []
        for order in overlay.book.orders:
            for line in order.lines:
                levels = overlay.world.category(overlay.shelf.item(line.number).facts.category).levels
                said = eligibility(overlay, order.id, line.id)
                if said.window_days != meant_window or not f"{'›'.join(levels)}›".startswith(
                    f"{path}›" if path else ""
                ):
                    continue
                age = said.days_since
                ranks = (-age, age, len(order.lines), line.unit_price, -line.unit_price)
                rows.append((line.id == goal["line_id"], (*ranks, -age if said.eligible else 1)))
        for place, name in enumerate(hits):
            first = min(row[1][place] for row in rows)
            tied = [is_meant for is_meant, row in rows if row[place] == first]
            hits[name] += sum(tied) / len(tied)
    # Four standard deviations of a sum of so many independent draws: one false alarm in some thousand seeds.
    most = 4 * (expected * (1 - expected / episodes)) ** 0.5
    assert max(abs(found - expected) for found in hits.values()) < most


def test_few_requests_are_refused_and_many_lie_at_the_edge_of_the_window(market: Market) -> None:
    refused, days = 0, set()
    for seed in range(200):
        episode = Episode(market, EpisodeKey("RETURN", 12, seed))
        goal = episode.task.goal()
        found = eligibility(episode.overlay, goal["order_id"], goal["line_id"])
        refused += goal["refusal"] is not None
        days.add(found.days_since - found.window_days)
    # One in seven at the edge and of the others, and goods that never go back: some 29 to 40 of 200.
    assert 4 < refused < 70
    assert {-1, 0, 1} <= days


def test_turns_of_one_call_leave_no_room_for_a_replacement(market: Market) -> None:
    for d in (0, 1):
        for seed in range(20):
            assert Episode(market, EpisodeKey("RETURN", d, seed)).task.goal()["replacement"] is None
