"""verl: the agent loop `shop_agent` (extra `verl`).

Belongs here: verl's own types. Importing this module registers the loop; verl's workers import it when a file
of `agent_loop_config_path` names the class. The turns themselves are in `playing`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import uuid4

from shopsim_env.adapters.playing import Play, Played, Sampled, play, server_url, shared_client
from shopsim_env.adapters.rows import read_row
from shopsim_env.adapters.tokens import ChatTokens
from shopsim_env.errors import UsageError
from shopsim_env.runner.core import RolloutResult
from shopsim_env.runner.protocol import Message

try:
    from verl.experimental.agent_loop.agent_loop import (
        AgentLoopBase,
        AgentLoopMetrics,
        AgentLoopOutput,
        register,
    )
    from verl.experimental.agent_loop.tool_parser import ToolParser
    from verl.tools.schemas import OpenAIFunctionToolSchema
except ImportError as error:
    raise UsageError(
        f"the agent loop needs verl; install 'shopsim[verl]'. ({error})", code="missing_extra"
    ) from error

COMPONENTS: Final = ("r_loose", "r_strict", "r_success", "r_type", "r_att", "r_option", "r_price")
ON_FAILURE: Final = ("drop", "raise", "mask")
HERMES: Final = "hermes"


@register("shop_agent")
class ShopAgentLoop(AgentLoopBase):  # type: ignore[misc]
    """One trajectory: a lease from the reset to the end, freed on every path.

    Args:
        args: verl's own.
        url: Address of `shopsim serve`; None reads SHOPSIM_URL.
        options: Keywords of `AsyncRollout.open` for every row, such as `prompt`, `task_mode`, `wait_s`;
            those of the row (`extra_info.prompt`, `extra_info.environment`) are replaced by them.
        on_failure: What becomes of a sample without a verdict: "drop" gives no output, and the group goes on
            without it; "raise" makes the whole group a failed one, which verl fetches anew; "mask" gives an
            output without reward whose mask is zero. None takes "drop", or "raise" where
            `algorithm.filter_groups` is on, which cannot take an empty group, or "mask" under verl's old
            trainer, which can take neither.
        keywords: verl's own.

    Raises:
        UsageError: no address, a chat template that cannot be continued turn by turn, or another
            `on_failure`.
    """

    def __init__(
        self,
        *args: Any,
        url: "str | None" = None,
        options: "Mapping[str, Any] | None" = None,
        on_failure: "str | None" = None,
        **keywords: Any,
    ) -> None:
        super().__init__(*args, **keywords)
        if on_failure not in (None, *ON_FAILURE):
            raise UsageError(f"on_failure: expected one of {list(ON_FAILURE)}, found {on_failure!r}")
        self._url = server_url(url)
        self._options = dict(options or {})
        self._on_failure = on_failure
        self._chat = ChatTokens(self.tokenizer, **self.apply_chat_template_kwargs)
        self._format = self.rollout_config.multi_turn.format
        self._parser = ToolParser.get_tool_parser(self._format, self.tokenizer)

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> Any:
        """Plays the task of a row.

        Args:
            sampling_params: As verl gives them.
            **row: Columns of the data set; `extra_info["task_id"]` names the task. The prompt is the one of
                the episode, so `raw_prompt` is not read.

        Returns:
            An `AgentLoopOutput`: `reward_score` is the strict reward, components and counts stand in
            `extra_fields`. A sample without a verdict: see `on_failure`; [] stands for no output.

        Raises:
            UsageError, TaskError: the row names no task that can be played, or `on_failure` is "drop" under
                verl's old trainer (code `old_trainer`).
            SampleLostError: no verdict, and `on_failure` says "raise".
        """
        new_trainer = "session_id" in row
        self._require_droppable(new_trainer)
        asked = read_row(row.get("extra_info"), "extra_info", self._options)
        settings = Play(
            shared_client(self._url),
            self._chat,
            self.rollout_config.response_length,
            self.rollout_config.prompt_length,
            read=None if self._format == HERMES else self._read,
        )
        model = _Model(self.server_manager, sampling_params)
        played = await play(settings, model, asked)
        if played.result.valid:
            return self._output(played, model)
        return self._lost(played, model, new_trainer=new_trainer)

    def _require_droppable(self, new_trainer: bool) -> None:
        """Refuses "drop" before anything is played: the old trainer stops at an output that is [].

        Raises:
            UsageError: the old trainer (code `old_trainer`).
        """
        if self._on_failure == "drop" and not new_trainer:
            raise UsageError(
                "on_failure: 'drop' needs verl's new trainer (trainer.use_v1=True), found the old one, which "
                "takes one output for every sample; use the new one, or on_failure 'mask' or 'raise'",
                code="old_trainer",
            )

    async def _read(self, ids: Sequence[int], tools: list[dict[str, Any]]) -> Message:
        """An answer as verl's parser for the model's format reads it."""
        schemas = [OpenAIFunctionToolSchema.model_validate(tool) for tool in tools]
        content, calls = await self._parser.extract_tool_calls(list(ids), schemas)
        found = [
            {"type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
        return {"role": "assistant", "content": content, "tool_calls": found}

    def _lost(self, played: Played, model: "_Model", *, new_trainer: bool) -> Any:
        """What verl gets in place of a sample without a verdict."""
        how = self._on_failure or self._usual(new_trainer=new_trainer)
        if how == "drop":
            return []
        if how == "raise":
            raise SampleLostError(f"no verdict: {played.result.failure_kind}")
        return self._output(played, model)

    def _usual(self, *, new_trainer: bool) -> str:
        if not new_trainer:
            return "mask"
        filtering = self.config.algorithm.get("filter_groups") or {}
        return "raise" if filtering.get("enable") else "drop"

    def _output(self, played: Played, model: "_Model") -> Any:
        """The sample; without a verdict it has no reward, and a mask of zeros for at least one token."""
        tokens, result = played.tokens, played.result
        filler = self._chat.filler
        response = (tokens.response_ids if tokens else []) or filler
        mask = tokens.mask if tokens and tokens.mask and result.valid else [0] * len(response)
        log_probs = tokens.log_probs if tokens and tokens.log_probs else [0.0] * len(response)
        wants_log_probs = model.gave_log_probs or self.rollout_config.calculate_log_probs
        return AgentLoopOutput(
            prompt_ids=tokens.prompt_ids if tokens else filler,
            response_ids=response,
            response_mask=mask,
            response_logprobs=log_probs if wants_log_probs else None,
            reward_score=result.reward,
            num_turns=2 * result.steps + 1,
            metrics=AgentLoopMetrics(num_preempted=model.preempted),
            extra_fields={**model.extra, **_fields(result)},
        )


class SampleLostError(RuntimeError):
    """A trajectory that the infrastructure broke: verl counts its group as failed."""


class _Model:
    """verl's servers as the model of `play`, and what they say beside the tokens."""

    def __init__(self, servers: Any, sampling_params: Mapping[str, Any]) -> None:
        self._servers = servers
        self._sampling = sampling_params
        # Keeps a trajectory at one server, for its prefix; no trace depends on it.
        self._request_id = uuid4().hex
        self.gave_log_probs = False
        self.preempted = -1
        self.extra: dict[str, Any] = {}

    async def __call__(self, ids: list[int], left: int) -> Sampled:
        most = min(left, self._sampling.get("max_tokens", left))
        output = await self._servers.generate(
            request_id=self._request_id,
            prompt_ids=ids,
            sampling_params={**self._sampling, "max_tokens": most},
        )
        self._note(output)
        if output.stop_reason in ("aborted", "abort"):
            return Sampled((), finish_reason="abort")
        self.gave_log_probs = bool(output.log_probs)
        # verl says "completed" for a model that was cut off, too.
        reason = "length" if len(output.token_ids) >= most else "stop"
        return Sampled(output.token_ids, output.log_probs or None, reason)

    def _note(self, output: Any) -> None:
        """Versions of the weights: the first of the first turn, the last of the last one."""
        newer = {
            name: output.extra_fields[name] for name in ("max_global_steps",) if name in output.extra_fields
        }
        self.extra = {**output.extra_fields, **self.extra, **newer}
        if output.num_preempted is not None:
            self.preempted = max(self.preempted, 0) + output.num_preempted


def _fields(result: RolloutResult) -> dict[str, Any]:
    """The same keys for every sample, for verl reads them off the first one."""
    return {
        "reward_extra_info": {name: result.components.get(name) for name in COMPONENTS},
        "shop_valid": result.valid,
        "shop_failure_kind": result.failure_kind,
        "shop_termination_reason": result.termination_reason,
        "shop_protocol_errors": result.protocol_errors,
        "shop_invalid_actions": result.invalid_actions,
        "turn_scores": [],
        "tool_rewards": [],
    }
