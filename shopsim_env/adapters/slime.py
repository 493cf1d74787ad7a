"""slime: `--custom-generate-function-path shopsim_env.adapters.slime.generate`, reward and group filter.

Belongs here: slime's own types. slime is not on PyPI (the name there is another thing), so there is no extra;
`generate` imports it on use, and `fill` and the filter need only an object with the fields of its `Sample`.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from shopsim_env.adapters.playing import Model, Play, Played, Sampled, play
from shopsim_env.client.asynchronous import AsyncClient
from shopsim_env.errors import UsageError

URL_VARIABLE: Final = "SHOPSIM_URL"
_CLIENTS: dict[str, AsyncClient] = {}


async def generate(args: Any, sample: Any, sampling_params: Mapping[str, Any]) -> Any:
    """Plays the task of a sample on the server at SHOPSIM_URL and fills the sample in.

    Args:
        args: slime's; `args.shopsim` (from `--custom-config-path`), a mapping with keywords of
            `AsyncRollout.open`, is optional.
        sample: slime's `Sample`; `sample.metadata["task_id"]` names the task.
        sampling_params: As slime gives them.

    Raises:
        UsageError: no SHOPSIM_URL, or no task id.
    """
    from slime.rollout.sglang_rollout import GenerateState
    from slime.utils.http_utils import post

    tokenizer = GenerateState(args).tokenizer
    url = f"http://{args.sglang_router_ip}:{args.sglang_router_port}/generate"

    async def model(ids: list[int], left: int) -> Sampled:
        most = min(left, sampling_params.get("max_new_tokens", left))
        settings = {**sampling_params, "max_new_tokens": most}
        asked = {"input_ids": ids, "sampling_params": settings, "return_logprob": True}
        return sampled_of(await post(url, asked))

    settings = Play(
        _client(),
        tokenizer,
        args.rollout_max_response_len,
        options=dict(getattr(args, "shopsim", None) or {}),
    )
    return await fill(sample, settings, model)


async def fill(sample: Any, settings: Play, model: Model) -> Any:
    """Plays the task of a sample and writes tokens, masks, status and verdict into it."""
    metadata = sample.metadata if isinstance(sample.metadata, dict) else {}
    task_id = metadata.get("task_id")
    if isinstance(task_id, bool) or not isinstance(task_id, int):
        raise UsageError(
            "sample.metadata: expected task_id, a whole number; write the data with 'shopsim export tasks'"
        )
    played = await play(settings, model, task_id, seed=metadata.get("seed"))
    _write_tokens(sample, played, settings.tokenizer)
    _write_verdict(sample, played, metadata)
    return sample


async def reward(args: Any, sample: Any, **_: Any) -> "float | list[float]":
    """`--custom-rm-path`: the verdict of the environment, for a sample or, with group rewards, for a list.

    A sample without a verdict gets NaN: it is marked for removal, and whatever counts it all the same shows.
    """
    if isinstance(sample, list):
        return [_reward_of(one) for one in sample]
    return _reward_of(sample)


def keep_group(args: Any, samples: Sequence[Any], **_: Any) -> bool:
    """`--dynamic-sampling-filter-path`: whether a group teaches anything.

    Members without a verdict are left out; a group is kept when two rewards of the others differ.
    """
    rewards = {_reward_of(sample) for sample in samples if not sample.remove_sample}
    return len(rewards) > 1


def sampled_of(answer: Mapping[str, Any]) -> Sampled:
    """An answer of SGLang's `/generate` with log probabilities."""
    meta = answer["meta_info"]
    tokens = meta.get("output_token_logprobs", ())
    return Sampled(
        ids=[item[1] for item in tokens],
        log_probs=[item[0] for item in tokens],
        finish_reason=meta["finish_reason"]["type"],
        text=answer.get("text"),
    )


def _write_tokens(sample: Any, played: Played, tokenizer: Any) -> None:
    tokens = played.tokens
    sample.tokens = [] if tokens is None else tokens.ids
    sample.response_length = 0 if tokens is None else len(tokens.response_ids)
    sample.loss_mask = [] if tokens is None else list(tokens.mask)
    sample.rollout_log_probs = [] if tokens is None else list(tokens.log_probs)
    sample.response = "" if tokens is None else tokenizer.decode(tokens.response_ids)
    if not played.result.valid:
        sample.loss_mask = [0] * sample.response_length


def _write_verdict(sample: Any, played: Played, metadata: dict[str, Any]) -> None:
    result, status = played.result, type(sample).Status
    if not result.valid:
        sample.status, sample.reward, sample.remove_sample = status.ABORTED, None, True
    else:
        sample.status = status.TRUNCATED if result.truncated else status.COMPLETED
        sample.reward, sample.remove_sample = result.reward, False
    sample.metadata = {
        **metadata,
        "shopsim": {
            "valid": result.valid,
            "failure_kind": result.failure_kind,
            "termination_reason": result.termination_reason,
            **result.components,
        },
    }


def _reward_of(sample: Any) -> float:
    return float("nan") if sample.reward is None else float(sample.reward)


def _client() -> AsyncClient:
    """One client for each address: connections are shared by all trajectories of a process."""
    url = os.environ.get(URL_VARIABLE)
    if not url:
        raise UsageError(f"{URL_VARIABLE}: expected the address of 'shopsim serve', found nothing")
    return _CLIENTS.setdefault(url, AsyncClient(url))
