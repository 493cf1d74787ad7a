"""TRL: `GRPOTrainer(environment_factory=ShopTools.factory("http://127.0.0.1:5700"))`.

Belongs here: the class whose public methods are the tools, since TRL makes a tool of every one. TRL itself is
not imported. Rules of a trajectory are in `shopsim_env.runner`.
"""

import weakref
from collections.abc import Callable
from typing import Any, Final

from shopsim_env.client.blocking import Client
from shopsim_env.client.local import LocalClient
from shopsim_env.errors import ShopSimError, UsageError
from shopsim_env.runner.core import RolloutResult, failure_kind
from shopsim_env.runner.protocol import Message, call_message
from shopsim_env.runner.rollout import Rollout

ENDED: Final = "这一轮已经结束，不能再操作。 / This episode has ended; nothing more can be done."


class ShopTools:
    """One environment instance of TRL: a lease from `reset` to the end of the episode.

    TRL reuses instances and never closes them. The lease is freed when the episode ends, at the next
    `reset`, and when the instance goes away; until then it expires by itself.

    Args:
        client: A client, shared by all instances.
        options: Keywords of `Rollout.open`, such as `prompt`, `task_mode`, `max_actions`, `wait_s`.
    """

    def __init__(self, client: "Client | LocalClient", **options: Any) -> None:
        self._client = client
        self._options = {"tools": "static", **options}
        self._rollout: Rollout | None = None
        self._refused: RolloutResult | None = None
        self._freed: Callable[[], object] | None = None

    @classmethod
    def factory(cls, url: str, *, multi_turn: bool = False, **options: Any) -> "Callable[[], ShopTools]":
        """A factory for `environment_factory`; `multi_turn` adds the tool that asks the shopper."""
        client = Client(url)
        kind = AskingShopTools if multi_turn else cls
        mode = {"interaction_mode": "multi_turn"} if multi_turn else {}
        return lambda: kind(client, **mode, **options)

    def reset(self, **row: Any) -> str:
        """Starts the task of a row of the data set.

        Args:
            **row: `task_id`, and `seed` where there is one; `prompt` and other columns are left alone.

        Returns:
            The first page. The task stands in `prompt`, and only there (`prompt_of`).

        Raises:
            UsageError, TaskError: the row names no task that can be played.
        """
        self._leave()
        task_id = row.get("task_id")
        if isinstance(task_id, bool) or not isinstance(task_id, int):
            raise UsageError(f"row: expected task_id, a whole number, found {type(task_id).__name__}")
        self._rollout = self._refused = None
        try:
            rollout = Rollout.open(self._client, task_id, seed=row.get("seed"), **self._options)
        except ShopSimError as error:
            if error.wrong_use:
                raise
            self._refused = RolloutResult(valid=False, failure_kind=failure_kind(error))
            return f"\n\n{ENDED}"
        self._rollout = rollout
        # Holds the rollout and not the instance, so that an instance can go away.
        self._freed = weakref.finalize(self, rollout.close)
        return f"\n\n{rollout.observation}"

    def get_reward(self) -> float | None:
        """The strict reward; None, which TRL leaves out of the group, when there is no verdict.

        An episode that the model left before its end is ended here, with reward 0, as by the action limit.
        """
        if self._rollout is not None and not self._rollout.done:
            self._rollout.terminate("action_limit")
        return self._result.reward

    def search(self, query: str) -> str:
        """Search the shop.

        Args:
            query: Key words, in Chinese.

        Returns:
            The page of results.
        """
        return self._call("search", query)

    def click(self, value: str) -> str:
        """Click an element of the latest page.

        Args:
            value: The element's text, exactly as the page lists it.

        Returns:
            The next page.
        """
        return self._call("click", value)

    def _call(self, name: str, argument: str) -> str:
        if self._rollout is None or self._rollout.done:
            return ENDED
        replies = self._rollout.act(call_message(name, argument))
        return str(replies[0]["content"]) if replies else ENDED

    @property
    def _result(self) -> RolloutResult:
        if self._rollout is not None:
            return self._rollout.result
        return self._refused or RolloutResult()

    def _leave(self) -> None:
        if self._freed is not None:
            self._freed()
            self._freed = None


class AskingShopTools(ShopTools):
    """The same with a shopper who can be asked (`interaction_mode="multi_turn"`)."""

    def ask_shopper(self, message: str) -> str:
        """Ask the customer.

        Args:
            message: A question about one thing, in Chinese.

        Returns:
            The page with the customer's answer.
        """
        return self._call("ask_shopper", message)


def prompt_of(rollout: Rollout) -> list[Message]:
    """The `prompt` column of a task: system message and request, without the page that `reset` gives."""
    system = rollout.messages[0]
    return [system, {"role": "user", "content": rollout.reset.task_instruction}]
