"""TRL: `GRPOTrainer(environment_factory=ShopFactory("http://127.0.0.1:5700"), train_dataset=dataset(...))`.

Belongs here: classes whose public methods are the tools, since TRL makes a tool of every one, and the data
set. TRL itself is not imported. Rules of a trajectory are in `shopsim_env.runner`.
"""

import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from shopsim_env.adapters.playing import refused, report_dropped, server_url
from shopsim_env.adapters.rows import TaskRow, read_row
from shopsim_env.client.blocking import Client
from shopsim_env.client.local import LocalClient
from shopsim_env.errors import ShopSimError, UsageError
from shopsim_env.runner.core import RolloutResult
from shopsim_env.runner.protocol import call_message
from shopsim_env.runner.rollout import Rollout

ENDED: Final = "本轮购物已经结束，不能再操作。 / This episode has ended; nothing more can be done."
_BLANK: Final = "\n\n"
_CLIENTS: dict[str, Client] = {}
_LOCK: Final = threading.Lock()


class ShopTools:
    """One environment instance of TRL: a lease from `reset` to the end of the episode.

    TRL reuses instances and never closes them. The lease is freed when the episode ends, when the reward is
    asked for, at the next `reset`, when the instance goes away and at the end of the program; what a trainer
    forgets and keeps expires on the server.

    Args:
        connect: Gives the client; it is called at the first `reset`, in the process that plays.
        options: Keywords of `Rollout.open` for every row, such as `prompt`, `task_mode`, `wait_s`.
    """

    def __init__(self, connect: "Callable[[], Client | LocalClient]", **options: Any) -> None:
        self._connect = connect
        self._options = options
        self._rollout: Rollout | None = None
        self._refused: RolloutResult | None = None
        self._task_id = -1
        self._leave: Callable[[], object] = _nothing

    def reset(self, **row: Any) -> str:
        """Starts the task of a row of the data set.

        Args:
            **row: `extra_info`, or `task_id` and `seed` themselves; other columns are left alone.

        Returns:
            The first page, which TRL writes behind the last message of `prompt`. The task stands in `prompt`
            and nowhere else.

        Raises:
            UsageError, TaskError: the row names no task that can be played.
        """
        self._leave()
        self._leave, self._rollout, self._refused = _nothing, None, None
        asked = _row(row, self._options)
        self._task_id = asked.task_id
        options = {"tools": "static", **asked.options}
        try:
            rollout = Rollout.open(self._connect(), asked.task_id, seed=asked.seed, **options)
        except ShopSimError as error:
            self._refused = refused(error, asked.task_id)
            return _BLANK + ENDED
        self._rollout = rollout
        # Holds the rollout and not the instance, so that an instance can go away; runs at exit, too.
        self._leave = weakref.finalize(self, rollout.close)
        return _BLANK + rollout.observation

    def get_reward(self) -> float | None:
        """The strict reward; None, which TRL leaves out of the group, when there is no verdict.

        An episode that the model left before its end is ended here, with reward 0.
        """
        if self._rollout is None:
            return None
        if not self._rollout.done:
            self._rollout.terminate("generation_length")
            self._note_failure()
        return self._rollout.result.reward

    def search(self, query: str) -> str:
        """Search the shop. Possible on the start page and on pages that list a search.

        Args:
            query: Key words, in Chinese.

        Returns:
            The page of results.
        """
        return self._call("search", query)

    def click(self, value: str) -> str:
        """Click an element of the latest page.

        Args:
            value: The element's text, character for character as the page lists it.

        Returns:
            The next page.
        """
        return self._call("click", value)

    def _call(self, name: str, argument: str) -> str:
        rollout = self._rollout
        if rollout is None or rollout.done:
            return ENDED
        replies = rollout.act(call_message(name, argument))
        self._note_failure()
        return str(replies[0]["content"]) if replies else ENDED

    def _note_failure(self) -> None:
        if self._rollout is not None and not self._rollout.result.valid:
            report_dropped(self._rollout.result, self._task_id)

    @property
    def _result(self) -> RolloutResult:
        """What came of the latest rollout, for logs; see `shop_metrics`."""
        if self._rollout is not None:
            return self._rollout.result
        return self._refused or RolloutResult()


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


@dataclass(frozen=True)
class ShopFactory:
    """For `environment_factory`. It can be pickled, as TRL's asynchronous trainer wants.

    Args:
        url: Address of `shopsim serve`; None reads SHOPSIM_URL. All instances of a process share a client.
        multi_turn: Whether the shopper can be asked; sets `interaction_mode`.
        options: Keywords of `Rollout.open` for every row.
    """

    url: "str | None" = None
    multi_turn: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self) -> ShopTools:
        """A new instance; nothing is connected yet."""
        kind, mode = (AskingShopTools, "multi_turn") if self.multi_turn else (ShopTools, "single_turn")
        return kind(self._client, **{**self.options, "interaction_mode": mode})

    def _client(self) -> Client:
        url = server_url(self.url)
        with _LOCK:
            if url not in _CLIENTS:
                _CLIENTS[url] = Client(url)
            return _CLIENTS[url]


def shop_metrics(
    environments: Sequence[ShopTools], log_metric: Callable[[str, float], None], **_: Any
) -> list[None]:
    """A reward function that gives no reward and logs: shares of samples left out, bought, and won.

    Args:
        environments: TRL's, one per sample.
        log_metric: TRL's.
    """
    results = [environment._result for environment in environments]
    usable = [result for result in results if result.valid]
    log_metric("shop/left_out", (len(results) - len(usable)) / max(len(results), 1))
    if usable:
        log_metric("shop/bought", sum(result.terminated for result in usable) / len(usable))
        log_metric("shop/success", sum(bool(result.success) for result in usable) / len(usable))
    return [None] * len(results)


def dataset_rows(
    client: "Client | LocalClient", task_ids: Iterable[int], **options: Any
) -> list[dict[str, Any]]:
    """Rows for `Dataset.from_list`: `prompt`, which ends with the task, and `extra_info`.

    Args:
        client: Starts each episode once, for the words that a model sees.
        task_ids: Tasks, in order.
        options: Keywords of `Rollout.open`, such as `prompt`, `task_mode`; the same go to `ShopFactory`.

    Raises:
        ShopSimError: as `Rollout.open`.
    """
    rows = []
    for task_id in task_ids:
        with Rollout.open(client, task_id, **{"tools": "static", **options}) as rollout:
            system = rollout.messages[0]
            request = {"role": "user", "content": rollout.reset.task_instruction}
        rows.append(
            {"prompt": [system, request], "extra_info": {"task_id": task_id, "seed": options.get("seed")}}
        )
    return rows


def dataset(client: "Client | LocalClient", task_ids: Iterable[int], **options: Any) -> Any:
    """`dataset_rows` as a `datasets.Dataset`.

    Raises:
        UsageError: the package datasets is not installed (code `missing_extra`).
    """
    try:
        from datasets import Dataset
    except ImportError as error:
        message = "a data set needs the package datasets; install 'shopsim[trl]'."
        raise UsageError(message, code="missing_extra") from error
    return Dataset.from_list(dataset_rows(client, task_ids, **options))


def _row(row: dict[str, Any], options: dict[str, Any]) -> TaskRow:
    """The row's own columns, or its `extra_info`; `prompt` is the messages there and no name."""
    if isinstance(row.get("extra_info"), dict):
        return read_row(row["extra_info"], "extra_info", options)
    return read_row({name: value for name, value in row.items() if name != "prompt"}, "row", options)


def _nothing() -> None:
    """There is no lease."""
