"""verl: the agent loop `shop_agent` and the advantage estimator `shop_grpo` (extra `verl`).

Belongs here: verl's own types. Importing this module registers both. Masks come from verl's own incremental
tokenizer, which knows its model families; rules of a trajectory are in `shopsim_env.runner`.
"""

import os
from collections import defaultdict
from math import nan
from typing import Any, Final
from uuid import uuid4

try:
    import torch
    from verl.experimental.agent_loop.agent_loop import (
        AgentLoopBase,
        AgentLoopMetrics,
        AgentLoopOutput,
        register,
    )
    from verl.experimental.agent_loop.tool_parser import ToolParser
    from verl.trainer.ppo.core_algos import register_adv_est
except ImportError as error:
    raise ImportError("shopsim_env.adapters.verl needs verl: pip install 'shopsim[verl]'") from error

from shopsim_env.client.asynchronous import AsyncClient
from shopsim_env.errors import ShopSimError, UsageError
from shopsim_env.runner.core import RolloutResult, failure_kind
from shopsim_env.runner.protocol import Message
from shopsim_env.runner.rollout import AsyncRollout

__all__ = ["COMPONENTS", "ShopAgentLoop", "shop_grpo"]

URL_VARIABLE: Final = "SHOPSIM_URL"
COMPONENTS: Final = ("r_loose", "r_strict", "r_success", "r_type", "r_att", "r_option", "r_price")


@register("shop_agent")
class ShopAgentLoop(AgentLoopBase):  # type: ignore[misc]
    """One trajectory: a lease from the reset to the end, freed on every path.

    Args:
        url: Address of `shopsim serve`; None reads SHOPSIM_URL.
        options: Keywords of `AsyncRollout.open`, such as `prompt`, `task_mode`, `wait_s`.
        args, keywords: verl's own.
    """

    def __init__(
        self, *args: Any, url: "str | None" = None, options: "dict[str, Any] | None" = None, **keywords: Any
    ) -> None:
        super().__init__(*args, **keywords)
        self._url = url or os.environ.get(URL_VARIABLE)
        self._options = {"tools": "static", "heartbeat": True, **(options or {})}
        self._parser = ToolParser.get_tool_parser(self.rollout_config.multi_turn.format, self.tokenizer)
        self._most = self.rollout_config.response_length

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> AgentLoopOutput:
        """Plays the task of a row.

        Args:
            sampling_params: As verl gives them.
            **row: Columns of the data set; `extra_info["task_id"]` names the task. The prompt is the one of
                the episode: `raw_prompt` is not added to it.

        Returns:
            `reward_score` is the strict reward. A failure of the infrastructure has NaN instead, a mask of
            zeros and `shop_valid` 0; the estimator `shop_grpo` leaves it out of its group.

        Raises:
            UsageError, TaskError: the row names no task that can be played.
        """
        info = row.get("extra_info")
        task_id = info.get("task_id") if isinstance(info, dict) else None
        if not self._url or task_id is None:
            raise UsageError(
                f"expected extra_info.task_id in the data and an address in {URL_VARIABLE} or the agent's url, "
                f"found {'no task_id' if self._url else 'no address'}"
            )
        async with AsyncClient(self._url) as client:
            try:
                rollout = await AsyncRollout.open(
                    client, int(task_id), seed=info.get("seed"), **self._options
                )
            except ShopSimError as error:
                if error.wrong_use:
                    raise
                refused = RolloutResult(valid=False, failure_kind=failure_kind(error))
                return self._dropped(refused)
            async with rollout:
                return await _Trajectory(self, rollout, sampling_params).play()

    def output(self, tokens: "_Tokens", result: RolloutResult) -> AgentLoopOutput:
        """What verl gets of a trajectory."""
        if not result.valid:
            return self._dropped(result, tokens.ids[: len(tokens.ids) - len(tokens.mask)])
        size = len(tokens.mask)
        return AgentLoopOutput(
            prompt_ids=tokens.ids[: len(tokens.ids) - size],
            response_ids=tokens.ids[len(tokens.ids) - size :][: self._most],
            response_mask=tokens.mask[: self._most],
            response_logprobs=tokens.log_probs[: self._most] if tokens.log_probs else None,
            reward_score=result.reward,
            num_turns=2 * result.steps + 1,
            metrics=AgentLoopMetrics(),
            extra_fields=_fields(result),
        )

    def _dropped(self, result: RolloutResult, prompt_ids: "list[int] | None" = None) -> AgentLoopOutput:
        """A sample that teaches nothing: one masked token, for verl's tensors need one, and no reward."""
        filler = [self.tokenizer.eos_token_id or 0]
        return AgentLoopOutput(
            prompt_ids=prompt_ids or filler,
            response_ids=filler,
            response_mask=[0],
            reward_score=nan,
            num_turns=0,
            metrics=AgentLoopMetrics(),
            extra_fields=_fields(result),
        )


class _Tokens:
    """All ids so far; mask and log probabilities of those behind the prompt."""

    def __init__(self, prompt_ids: list[int]) -> None:
        self.ids = prompt_ids
        self.mask: list[int] = []
        self.log_probs: list[float] = []


class _Trajectory:
    """The turns of one rollout. verl's merging functions make the tokens."""

    def __init__(self, loop: ShopAgentLoop, rollout: AsyncRollout, sampling_params: dict[str, Any]) -> None:
        self._loop = loop
        self._rollout = rollout
        self._sampling = sampling_params
        self._request_id = uuid4().hex  # verl's: which server keeps the prefix; no trace depends on it
        # A stop is possible at every turn, so the schemas of all pages are offered throughout.
        self._tools = rollout.tools

    async def play(self) -> AgentLoopOutput:
        loop, rollout = self._loop, self._rollout
        tokens = _Tokens(await loop.ct_build_initial_tokens(rollout.messages, tools=self._tools))
        while not rollout.done:
            if len(tokens.mask) >= loop._most:
                await rollout.terminate("generation_length")
                break
            answer, aborted = await self._sample(tokens)
            if aborted:
                return loop.output(tokens, RolloutResult(valid=False, failure_kind="adapter"))
            before = list(rollout.conversation)
            replies = await rollout.act(answer)
            if replies and not rollout.done:
                await self._hear(tokens, [*before, rollout.conversation[len(before)]], replies)
        return loop.output(tokens, rollout.result)

    async def _sample(self, tokens: _Tokens) -> tuple[Message, bool]:
        loop = self._loop
        output = await loop.server_manager.generate(
            request_id=self._request_id, prompt_ids=tokens.ids, sampling_params=self._sampling
        )
        if output.stop_reason == "aborted":
            return {}, True
        merged, mask, log_probs = await loop.ct_merge_assistant_token(
            tokens.ids,
            output.token_ids,
            tokens.mask,
            tokens.log_probs if tokens.log_probs or output.log_probs else None,
            assistant_logprobs=output.log_probs or None,
        )
        tokens.ids, tokens.mask, tokens.log_probs = merged.token_ids, mask, log_probs or []
        content, calls = await loop._parser.extract_tool_calls(output.token_ids)
        found = [
            {"type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
        return {"role": "assistant", "content": content, "tool_calls": found}, False

    async def _hear(self, tokens: _Tokens, previous: list[Message], replies: list[Message]) -> None:
        merged, mask, log_probs = await self._loop.ct_merge_context_msg(
            previous,
            [*previous, *replies],
            tokens.ids,
            tokens.mask,
            tokens.log_probs or None,
            tools=self._tools,
        )
        tokens.ids, tokens.mask, tokens.log_probs = merged.token_ids, mask, log_probs or []


@register_adv_est("shop_grpo")
def shop_grpo(
    token_level_rewards: torch.Tensor,
    response_mask: torch.Tensor,
    index: Any,
    epsilon: float = 1e-6,
    norm_adv_by_std_in_grpo: bool = True,
    config: Any = None,
    **_: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """GRPO's group advantage without the samples that have no verdict.

    Args:
        token_level_rewards: Shape (samples, tokens).
        response_mask: Shape (samples, tokens); all zeros marks a sample without a verdict.
        index: The group of each sample.
        epsilon: Added to the standard deviation.
        norm_adv_by_std_in_grpo: Whether to divide by it.
        config: verl's; `norm_adv_by_std_in_grpo` of it is used where it has one.

    Returns:
        Advantages and returns, both (samples, tokens): 0 for samples without a verdict and for groups with
        fewer than two that have one.
    """
    scale = (
        bool(config.get("norm_adv_by_std_in_grpo", norm_adv_by_std_in_grpo))
        if config
        else norm_adv_by_std_in_grpo
    )
    with torch.no_grad():
        counts = response_mask.sum(dim=-1) > 0
        scores = torch.where(counts, token_level_rewards.nan_to_num(nan=0.0).sum(dim=-1), 0.0)
        groups: dict[Any, list[int]] = defaultdict(list)
        for place, name in enumerate(index):
            if counts[place]:
                groups[name].append(place)
        advantages = torch.zeros_like(scores)
        for places in groups.values():
            if len(places) > 1:
                members = scores[places]
                centred = members - members.mean()
                advantages[places] = centred / (members.std() + epsilon) if scale else centred
        spread = advantages.unsqueeze(-1) * response_mask
    return spread, spread


def _fields(result: RolloutResult) -> dict[str, Any]:
    """The same keys for every sample: verl reads them off the first one."""
    components = {name: result.components.get(name, nan) for name in COMPONENTS}
    return {
        "reward_extra_info": {**components, "shop_valid": float(result.valid)},
        "shop_failure_kind": result.failure_kind,
        "shop_termination_reason": result.termination_reason,
        "turn_scores": [],
        "tool_rewards": [],
    }
