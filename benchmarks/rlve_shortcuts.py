"""Shortcuts to RLVE's success: agents that leave out a part of the task, against the forced chance.

    .venv/bin/python -m benchmarks.rlve_shortcuts [SEEDS] [zh|en]

Belongs here: one shortcut per environment, stronger than the cheaters of the panel, and the table. A row is
marked where so many successes would come by the forced chance + 2 points less than once in a thousand.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from fractions import Fraction
from functools import partial
from typing import Any, Final

from shopsim_env import load_release
from shopsim_env.rlve.choosing.constraint import merge_filters
from shopsim_env.rlve.choosing.likeness import points
from shopsim_env.rlve.episode import EpisodeKey
from shopsim_env.rlve.market import Market
from shopsim_env.rlve.oracles.base import Agent, answer, ask_rest, call_tools, results_of
from shopsim_env.rlve.oracles.bundle import BundleOracle
from shopsim_env.rlve.oracles.cards import ask_and_call, card_meets
from shopsim_env.rlve.oracles.discovery import DiscoveryOracle, ranked
from shopsim_env.rlve.oracles.policy import answer_json
from shopsim_env.rlve.oracles.substitution import SubstitutionOracle, card_traits
from shopsim_env.rlve.overlay.returns import WINDOWS, group_of
from shopsim_env.rlve.panel.check import CHANCE_MARGIN, SIGNIFICANCE, tail
from shopsim_env.rlve.panel.playing import play
from shopsim_env.rlve.policy.evaluate import decide
from shopsim_env.rlve.policy.rules import Rule, rule_from_dict
from shopsim_env.rlve.policy.vocabulary import FAMILIES, SOURCES
from shopsim_env.rlve.sight import Sight

LEVELS: Final = (0, 3, 6, 9)
SEEDS: Final = 200
# Units that a line of an order has at most.
MOST_BOUGHT: Final = 3
Request = tuple[str, Mapping[str, Any]]
Card = Mapping[str, Any]


def search(sight: Sight, *filters: Mapping[str, Any]) -> Request:
    """A search for all that meets the filters."""
    return "catalog.search", {"query": "", "filters": merge_filters(filters), "top_k": sight.top_k}


class FirstHits(Agent):
    """PD: the cheapest of the category, in the order of the hits; no wish is read."""

    def act(self, sight: Sight) -> dict[str, Any]:
        """Searches, answers."""
        found = results_of(sight.results, "catalog.search")
        if not found:
            return call_tools(sight, search(sight, sight.request["filters"], {"in_stock": True}))
        cards = [card["product_id"] for card in found[0]["products"] if card["price"] is not None]
        return answer(sight, recommended_product_ids=cards[: sight.request["k"]])


class Unranked(DiscoveryOracle):
    """PD: what meets the wishes, in the order of the hits; the priorities are not read."""

    def act(self, sight: Sight) -> dict[str, Any]:
        """As the oracle, but for the order."""
        found = results_of(sight.results, "catalog.search")
        if sight.open_needs or not found:
            return super().act(sight)
        cards = [card["product_id"] for card in found[0]["products"]]
        return answer(sight, recommended_product_ids=cards[: sight.request["k"]])


class Guessed(DiscoveryOracle):
    """PD: what meets the wishes, by weights that were not told."""

    def __init__(self, price: int, rating: int, shipping: int) -> None:
        super().__init__()
        self._weights = {"price": price, "rating": rating, "shipping": shipping}

    def act(self, sight: Sight) -> dict[str, Any]:
        """As the oracle, that heard other weights."""
        return super().act(_told_weights(sight, self._weights))


class Unwished(Agent):
    """PD: the best by the told weights of the cheapest of the category; no wish is read."""

    def __init__(self, cheapest: int | None = None) -> None:
        self._cheapest = cheapest

    def act(self, sight: Sight) -> dict[str, Any]:
        """Asks, searches, ranks."""
        if "priorities" not in sight.needs and sight.turns_left > 2:
            return ask_rest(sight)
        found = results_of(sight.results, "catalog.search")
        if not found:
            return call_tools(sight, search(sight, sight.request["filters"], {"in_stock": True}))
        cards = [card for card in found[0]["products"] if card["price"] is not None]
        cards = sorted(cards, key=lambda card: card["price"])[: self._cheapest]
        return answer(sight, recommended_product_ids=ranked(cards, sight)[: sight.request["k"]])


def _told_weights(sight: Sight, weights: Mapping[str, int]) -> Sight:
    return replace(sight, needs={**sight.needs, "priorities": {"weights": weights}})


class Likest(Agent):
    """SUB: the likest of the category, or of what meets all wishes but the first; ties go to the cheapest."""

    def __init__(self, wishes: bool = False) -> None:
        self._wishes = wishes
        self._original: Card | None = None

    def act(self, sight: Sight) -> dict[str, Any]:
        """Opens the original, searches, answers."""
        for card in results_of(sight.results, "catalog.get_product"):
            self._original = card
        if self._original is None:
            return call_tools(sight, ("catalog.get_product", {"product_id": sight.request["original"]}))
        if self._wishes and sight.open_needs:
            return ask_rest(sight)
        found = results_of(sight.results, "catalog.search")
        if not found:
            told = [need["filters"] for need in sight.needs.values() if "filters" in need]
            wanted = told[1:] if self._wishes else []
            return call_tools(sight, search(sight, sight.request["filters"], *wanted, {"in_stock": True}))
        traits, own = card_traits(self._original), self._original["product_id"]
        cards = [card for card in found[0]["products"] if card["product_id"] != own]
        likest = max(
            cards,
            key=lambda card: (points(traits, card_traits(card)), -(card["price"] or 0)),
            default=None,
        )
        return answer(sight, recommended_product_ids=[likest["product_id"]] if likest else [])


class FirstFitting(SubstitutionOracle):
    """SUB: the cheapest that meets all wishes; the original is not looked at."""

    def _likest(self, sight: Sight) -> list[str]:
        cards = results_of(sight.results, "catalog.search")[0]["products"]
        return [card["product_id"] for card in cards[:1]]


class Cheap(Agent):
    """BUNDLE: of each category one of the cheapest, by its place in the order of prices; no wish is read."""

    def __init__(self, place: int) -> None:
        self._place = place
        self._found: list[list[Card]] = []

    def act(self, sight: Sight) -> dict[str, Any]:
        """Searches every category, answers."""
        for found in results_of(sight.results, "catalog.search"):
            self._found.append([card for card in found["products"] if card["price"] is not None])
        slots = sight.request["slots"][len(self._found) :][: sight.tool_budget]
        if slots:
            return call_tools(sight, *(search(sight, slot, {"in_stock": True}) for slot in slots))
        ordered = [sorted(cards, key=lambda card: card["price"]) for cards in self._found]
        taken = [cards[min(self._place, len(cards) - 1)]["product_id"] for cards in ordered if cards]
        return answer(sight, recommended_product_ids=taken)


class OneUnread(BundleOracle):
    """BUNDLE: the oracle, that leaves out one wish of the first category; the budget is not asked for."""

    def act(self, sight: Sight) -> dict[str, Any]:
        """As the oracle, without the need `s0c0`."""
        needs = {name: data for name, data in sight.needs.items() if name != "s0c0"}
        return super().act(replace(sight, needs=needs))


class NoWorse(Agent):
    """SUB: the likest of what is no worse than the original in anything; no wish is read."""

    def __init__(self) -> None:
        self._original: Card | None = None
        self._filters: Iterator[Mapping[str, Any]] = iter(())

    def act(self, sight: Sight) -> dict[str, Any]:
        """Opens the original, searches with ever wider bounds, answers."""
        for card in results_of(sight.results, "catalog.get_product"):
            self._original, self._filters = card, _around(card)
        if self._original is None:
            return call_tools(sight, ("catalog.get_product", {"product_id": sight.request["original"]}))
        own = self._original["product_id"]
        hits = [card for found in results_of(sight.results, "catalog.search") for card in found["products"]]
        others = [card for card in hits if card["product_id"] != own]
        wider = next(self._filters, None)
        if not others and wider is not None and sight.turns_left > 1:
            wanted = wider if sight.turns_left > 2 else {}
            return call_tools(sight, search(sight, sight.request["filters"], {"in_stock": True}, wanted))
        traits = card_traits(self._original)
        likest = max(others, key=lambda card: points(traits, card_traits(card)), default=None)
        return answer(sight, recommended_product_ids=[likest["product_id"]] if likest else [])


def _around(card: Card) -> Iterator[Mapping[str, Any]]:
    price = card["price"] or 0
    yield {
        "price_max": price,
        "rating_min": card["rating"],
        "rating_count_min": card["rating_count"],
        "ship_days_max": card["ship_days"],
    }
    yield {
        "price_max": round(price * 1.1, 2),
        "rating_min": max(0, card["rating"] - 0.2),
        "ship_days_max": card["ship_days"] + 1,
    }
    yield {}


class Trial(Agent):
    """CART: puts any product of each category in, and takes out what the customer calls wrong."""

    def __init__(self) -> None:
        self._places: list[list[Card]] | None = None
        self._variants: dict[str, Sequence[Mapping[str, Any]]] = {}
        self._lines: dict[str, str] = {}
        self._bad: set[str] = set()

    def act(self, sight: Sight) -> dict[str, Any]:
        """Reads the history, asks for variants and units, then tries."""
        self._read(sight)
        if self._places is None:
            return ask_and_call(sight, ("user.get_visit_history", {}))
        if sight.open_needs and sight.turns_left > 1:
            names = [card["product_id"] for place in self._places for card in place]
            unknown = [name for name in names if name not in self._variants]
            return ask_and_call(
                sight, *(("catalog.get_variants", {"product_id": name}) for name in dict.fromkeys(unknown))
            )
        calls = [*self._out(), *self._in(sight)]
        turn = call_tools(sight, *calls[: sight.tool_budget])
        return turn if calls and sight.turns_left > 1 else turn | answer(sight)

    def _read(self, sight: Sight) -> None:
        for found in results_of(sight.results, "user.get_visit_history"):
            cards = [card for card in found["products"] if card["stock_qty"]]
            items = sight.request["items"]
            self._places = [[card for card in cards if card_meets(card, item["filters"])] for item in items]
        for found in results_of(sight.results, "catalog.get_variants"):
            self._variants[found["product_id"]] = found["variants"]
        for record in sight.results:
            if record.name.startswith("cart.") and "error" not in record.result:
                self._lines = {line["product_id"]: line["line_id"] for line in record.result["lines"]}
        named = re.search(r"([\d.]+)元的那件|the one for ([\d.]+)", sight.message)
        if named and self._places:
            price = float((named[1] or named[2]).rstrip("."))
            cards = [card for place in self._places for card in place if card["product_id"] in self._lines]
            self._bad.update(card["product_id"] for card in cards[:] if card["price"] == price)

    def _out(self) -> list[Request]:
        return [("cart.remove", {"line_id": self._lines[name]}) for name in self._lines if name in self._bad]

    def _in(self, sight: Sight) -> list[Request]:
        calls: list[Request] = []
        taken = {name for name in self._lines if name not in self._bad}
        for at, place in enumerate(self._places or ()):
            names = [card["product_id"] for card in place]
            if not taken.isdisjoint(names):
                continue
            name = next((one for one in names if one not in self._bad), None)
            if name is not None:
                taken.add(name)
                calls.append(self._added(sight, at, name))
        return calls

    def _added(self, sight: Sight, at: int, name: str) -> Request:
        wanted = sight.needs.get(f"i{at}.variant", {}).get("variant")
        if wanted and name not in self._variants:
            return "catalog.get_variants", {"product_id": name}
        args = {"product_id": name, "quantity": sight.needs.get(f"i{at}.units", {}).get("quantity", 1)}
        rows = self._variants.get(name, ())
        fits = [row for row in rows if wanted and wanted.get(row["attribute"]) == row["value"]] or rows
        return "cart.add", {**args, "variant_id": fits[0]["variant_id"]} if fits else args


class OldestLine(Agent):
    """RETURN: the oldest line of the category that may still go back; no fact of the line is read."""

    def __init__(self) -> None:
        self._orders: Sequence[Mapping[str, Any]] | None = None
        self._cards: dict[str, Card] | None = None
        self._today: date | None = None
        self._checked: dict[str, Mapping[str, Any]] = {}
        self._offers: Sequence[Card] = ()
        self._looked = False
        self._wished = False

    def act(self, sight: Sight) -> dict[str, Any]:
        """Looks and asks; checks the line; returns, exchanges or refuses."""
        self._read(sight)
        looks = [] if self._looked else self._looks(sight)
        self._looked = not looks
        if looks and sight.turns_left > 2:
            return ask_and_call(sight, *looks)
        if sight.open_needs and sight.turns_left > 2:
            return ask_rest(sight)
        lines = sorted(self._lines(), key=lambda line: -line[0])
        if not lines:
            # A search shows the cheapest of a large category alone.
            self._cards = None
            lines = sorted(self._lines(), key=lambda line: -line[0])
        if not lines:
            return answer(sight)
        _, order_id, line_id, product = lines[0]
        line = {"order_id": order_id, "line_id": line_id}
        if line_id not in self._checked and sight.turns_left > 1:
            calls = [("return.check_eligibility", line)]
            return ask_and_call(
                sight, *calls, *([self._wishes(sight)] if sight.request["replacement"] else [])
            )
        return self._end(sight, line, product)

    def _read(self, sight: Sight) -> None:
        for found in results_of(sight.results, "order.list"):
            self._orders = found["orders"]
        for found in results_of(sight.results, "datetime.now"):
            self._today = date.fromisoformat(found["date"])
        for found in results_of(sight.results, "return.check_eligibility"):
            self._checked[found["line_id"]] = found
        for found in results_of(sight.results, "catalog.search"):
            if self._wished:
                self._offers = found["products"]
            else:
                self._cards = {card["product_id"]: card for card in found["products"]}

    def _looks(self, sight: Sight) -> list[Request]:
        looks: list[Request] = [] if self._orders is not None else [("order.list", {"days": 365})]
        looks += [] if self._today else [("datetime.now", {})]
        return looks if self._cards is not None else [*looks, search(sight, sight.request["item_filters"])]

    def _lines(self) -> Iterator[tuple[int, str, str, str]]:
        """Age, order, line and product of what was delivered and may just go back."""
        for order in self._orders or ():
            age = ((self._today or date.max) - date.fromisoformat(order["order_date"])).days
            for at, item in enumerate(order["items"], 1):
                card = (self._cards or {}).get(item["product_id"])
                window = WINDOWS[group_of(tuple(card["category"].split("›")))] if card else WINDOWS["other"]
                if order["status"] == "DELIVERED" and age <= window + 1 and (card or self._cards is None):
                    yield age, order["order_id"], f"{order['order_id']}_line_{at:02d}", item["product_id"]

    def _wishes(self, sight: Sight) -> Request:
        self._wished = True
        told = [need["filters"] for id_, need in sight.needs.items() if id_[0] == "r" and "filters" in need]
        return search(sight, sight.request["filters"], *told, {"in_stock": True})

    def _end(self, sight: Sight, line: Mapping[str, str], product: str) -> dict[str, Any]:
        named = {f"selected_{name}": value for name, value in line.items()}
        said = self._checked.get(line["line_id"])
        if said and not said["eligible"]:
            return answer(sight, **named, refusal_reason=said["reason_code"])
        if sight.request["replacement"]:
            offers = [card for card in self._offers if card["stock_qty"] >= MOST_BOUGHT]
            new = [card for card in offers if card["product_id"] != product]
            call = ("return.exchange", {**line, "new_product_id": new[0]["product_id"] if new else ""})
        else:
            told = {key: value for need in sight.needs.values() for key, value in need.items()}
            reason, method = told.get("reason_code", "defective"), told.get("method", "mail")
            call = ("return.initiate", {**line, "reason_code": reason, "method": method})
        return call_tools(sight, call) | answer(sight, **named)


class Topics(Agent):
    """POLICY: the rule with the most conditions whose topics were named; no value of the case is read."""

    def __init__(self) -> None:
        self._rules: list[Rule] = []

    def act(self, sight: Sight) -> dict[str, Any]:
        """Asks, searches once, answers."""
        snippets = [hit for found in results_of(sight.results, "policy.search") for hit in found["snippets"]]
        self._rules += [rule_from_dict(hit["rule"]) for hit in snippets]
        if sight.open_needs:
            return ask_rest(sight)
        if not self._rules:
            title = FAMILIES[sight.request["family"]].title(sight.language)
            return call_tools(sight, ("policy.search", {"query": title, "top_k": 20}))
        told = {need["topic"] for need in sight.needs.values()}
        named = told | {topic for topic, source in SOURCES.items() if source in told}
        own = [rule for rule in self._rules if rule.family == sight.request["family"]]
        found = self._guess(own, named)
        return answer(sight, policy_answer=answer_json(found.answer), policy_rule_id=found.rule)

    def _guess(self, rules: Sequence[Rule], named: set[str]) -> Any:
        def seems(rule: Rule) -> bool:
            return all(item.topic in named for item in rule.conditions) and not any(
                item.topic in named for item in rule.exceptions
            )

        aside = {rule.suspends for rule in rules if rule.suspends and seems(rule)}
        left = [rule for rule in rules if rule.id not in aside and seems(rule)]
        deciding = [rule for rule in left if rule.effect == "decides"]
        best = max(
            deciding, key=lambda rule: (sum(bool(item.values) for item in rule.conditions), rule.precedence)
        )
        kept = [best, *(rule for rule in left if rule.effect == "supplement")]
        # A case in which just these apply: every condition is given what it asks for.
        case = {
            item.topic: item.values[0] if item.values else item.low or 0
            for rule in kept
            for item in rule.conditions
        }
        return decide(kept, case)


SHORTCUTS: Final[Sequence[tuple[str, str, Callable[[], Agent]]]] = (
    ("PD", "first hits", FirstHits),
    ("PD", "wishes, not ranked", Unranked),
    ("PD", "wishes, even weights", partial(Guessed, 1, 1, 1)),
    ("PD", "wishes, weights of 5:3:2", partial(Guessed, 5, 3, 2)),
    ("PD", "weights, no wish", Unwished),
    ("PD", "weights, the cheapest 20", partial(Unwished, 20)),
    ("SUB", "no worse than the original", NoWorse),
    ("SUB", "likest, no wish", Likest),
    ("SUB", "likest, first wish unread", partial(Likest, wishes=True)),
    ("SUB", "wishes, original unread", FirstFitting),
    ("BUNDLE", "cheapest but one, no wish", partial(Cheap, 1)),
    ("BUNDLE", "cheapest but two, no wish", partial(Cheap, 2)),
    ("BUNDLE", "first wish unread", OneUnread),
    ("CART", "trial and correction", Trial),
    ("RETURN", "oldest line", OldestLine),
    ("POLICY", "topics without values", Topics),
)


def main(arguments: Sequence[str]) -> None:
    """Prints success and forced chance of every shortcut and level."""
    seeds = int(arguments[0]) if arguments else SEEDS
    language = arguments[1] if len(arguments) > 1 else "zh"
    with load_release() as release, Market.of(release) as market:
        for env_id, name, make in SHORTCUTS:
            for level in LEVELS:
                keys = (EpisodeKey(env_id, level, seed, language) for seed in range(seeds))
                played = [play(market, key, make()) for key in keys]
                right = sum(one.success for one in played)
                chance = float(sum((one.chance for one in played), Fraction(0)) / seeds)
                mark = "  above chance" if tail(right, seeds, chance + CHANCE_MARGIN) < SIGNIFICANCE else ""
                print(
                    f"{env_id:<8}{level:>2}  {name:<28}{right / seeds:>7.1%}{chance:>9.2%}{mark}", flush=True
                )


if __name__ == "__main__":
    main(sys.argv[1:])
