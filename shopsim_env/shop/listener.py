"""An agent without any knowledge of the goal: it asks the shopper for everything, then shops by the answers.

Belongs here: a fixed script for demos and tests. It reads `info["shopper"]` and the pages, as any agent may;
what it reaches shows that multi-turn tasks can be solved by asking. The agent that knows goals is `oracle`.
"""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from shopsim_env.dialogue.ledger import mentions, plain
from shopsim_env.reward.option import match_option
from shopsim_env.shop.actions import Action, AskShopper, Click, Search, canonical_text
from shopsim_env.shop.env import ShopEnv, Step
from shopsim_env.shop.pages import BUY, NEXT, PREVIOUS

QUESTIONS = ("你想买什么商品？", "规格有什么要求？", "功能和特点有什么要求？", "预算是多少？")
_LAST_QUESTION = "要求都说完了吗？可以下单吗？"
_RESULT_PAGES = 3


@dataclass(slots=True)
class Listener:
    """Plays one episode of a multi-turn environment.

    After `play`, `steps` pairs canonical action text and step, `told` has the values by kind of fact, and
    `reached` says whether r_success is 1.
    """

    env: ShopEnv
    steps: list[tuple[str, Step]] = field(default_factory=list)
    told: dict[str, list[str]] = field(default_factory=dict)

    @property
    def reached(self) -> bool:
        """Whether the episode ended in a full success."""
        return bool(self.steps) and self.steps[-1][1].reward_detail.get("r_success") == 1

    def play(self, task_id: int, seed: int | None = None) -> bool:
        """Resets, asks, searches, buys the first product that fits; returns `reached`."""
        self.steps, self.told = [], {}
        self.env.reset(task_id, seed=seed)
        for question in QUESTIONS:
            self._ask_until_done(question)
        self._act(AskShopper(_LAST_QUESTION))
        self._act(Search(" ".join(self.told.get("category", []) + self.told.get("attribute", []))))
        for asin, page in self._candidates():
            if self._open(asin, page) and self._choose_and_buy():
                break
        return self.reached

    def _act(self, action: Action) -> Step:
        """Plays an action; after the end of the episode it plays nothing and returns the last step."""
        if self.steps and self._done:
            return self.steps[-1][1]
        step = self.env.step(action)
        self.steps.append((canonical_text(action), step))
        return step

    @property
    def _state(self) -> dict[str, Any]:
        return self.steps[-1][1].observation_state

    @property
    def _done(self) -> bool:
        return self.steps[-1][1].done

    def _ask_until_done(self, question: str) -> None:
        while True:
            last = self._act(AskShopper(question)).info["shopper"]["last"]
            for fact in last["told"] + last["repeated"]:
                values = self.told.setdefault(fact["kind"], [])
                values += [fact["value"]] if fact["value"] not in values else []
            if last["intent"] != "told" or self._done:
                return

    def _candidates(self) -> list[tuple[str, int]]:
        """(asin, results page) of the first pages: affordable ones that show most wanted attributes first."""
        wanted = [plain(text) for text in self.told.get("attribute", [])]
        found: list[tuple[bool, int, int, str, int]] = []
        for number in range(1, _RESULT_PAGES + 1):
            for product in self._state.get("products", ()):
                shown = plain(product["title"] + " " + " ".join(product["key_attributes"]))
                hits = sum(mentions(shown, text) for text in wanted)
                dear = self._exceeds(str(product["price"] or "0").split()[0])
                found.append((dear, -hits, product["rank"], product["asin"], number))
            if number == _RESULT_PAGES or NEXT not in self._state["actions"] or self._done:
                break
            self._act(Click(NEXT))
        return [(asin, number) for _, _, _, asin, number in sorted(found)]

    def _exceeds(self, price: str) -> bool:
        ceiling = self.told.get("budget", [])
        return bool(ceiling) and Decimal(price) > Decimal(ceiling[0].removesuffix("元"))

    def _open(self, asin: str, page: int) -> bool:
        """Goes to the results page and opens the product; False when the episode ended on the way."""
        if self._state["page_type"] == "product_detail":
            self._act(Click(PREVIOUS))
        while not self._done and self._state["page"] != page:
            self._act(Click(NEXT if self._state["page"] < page else PREVIOUS))
        return not self._done and not self._act(Click(asin)).done

    def _choose_and_buy(self) -> bool:
        """Chooses on the open page and buys when everything told fits; True when the episode is over."""
        labels = self._labels()
        if labels is None:
            return False
        for label in labels:
            if self._act(Click(label)).done:
                return True
        price = self._state.get("selected_price")
        if "budget" in self.told and (price is None or self._exceeds(str(price))):
            return False
        return self._act(Click(BUY)).done

    def _labels(self) -> list[str] | None:
        """The option of every axis, told ones where they belong; None when a told one is not offered."""
        offered: dict[str, list[str]] = self._state["available_options"]
        chosen: dict[str, str] = {}
        for wanted in self.told.get("option", []):
            found = next(
                (
                    (axis, value)
                    for axis, values in offered.items()
                    for value in values
                    if axis not in chosen and match_option(wanted, value, values).match
                ),
                None,
            )
            if found is None:
                return None
            chosen[found[0]] = found[1]
        return [f"{axis}={chosen.get(axis, values[0])}" for axis, values in offered.items()]
