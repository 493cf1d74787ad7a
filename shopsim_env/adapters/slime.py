"""slime: `--custom-generate-function-path shopsim_env.adapters.slime.generate`, and the hooks beside it.

Belongs here: slime's own types. slime is not on PyPI (the name there is another thing), so there is no extra;
`generate` imports it on use, and everything else needs only objects with the fields of its `Sample`.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from shopsim_env.adapters.playing import Model, Play, Played, Sampled, play, server_url, shared_client
from shopsim_env.adapters.rows import read_row
from shopsim_env.adapters.tokens import ChatTokens
from shopsim_env.errors import UsageError

EPSILON: Final = 1e-6


async def generate(args: Any, sample: Any, sampling_params: Mapping[str, Any]) -> Any:
    """Plays the task of a sample on the server at SHOPSIM_URL and fills the sample in.

    Args:
        args: slime's. `args.shopsim` (from `--custom-config-path`) is optional: keywords of
            `AsyncRollout.open` for every sample.
        sample: slime's `Sample`; `sample.metadata["task_id"]` names the task.
        sampling_params: As slime gives them; `max_new_tokens` counts for the whole response, pages included.

    Raises:
        UsageError: slime is not installed, no SHOPSIM_URL, no task id, or a chat template that cannot be
            continued turn by turn.
    """
    state, post = _slime(args)
    url = f"http://{args.sglang_router_ip}:{args.sglang_router_port}/generate"

    async def model(ids: list[int], left: int) -> Sampled:
        asked = {**sampling_params, "max_new_tokens": left}
        return sampled_of(
            await post(url, {"input_ids": ids, "sampling_params": asked, "return_logprob": True})
        )

    template = getattr(args, "apply_chat_template_kwargs", None) or {}
    settings = Play(
        shared_client(server_url()),
        ChatTokens(state.tokenizer, **template),
        sampling_params.get("max_new_tokens", args.rollout_max_response_len),
        most_context=getattr(args, "rollout_max_context_len", None),
    )
    return await fill(sample, settings, model, getattr(args, "shopsim", None))


async def fill(sample: Any, settings: Play, model: Model, options: "Mapping[str, Any] | None" = None) -> Any:
    """Plays the task of a sample and writes tokens, masks, status and verdict into it.

    Status: COMPLETED for a purchase, TRUNCATED for an episode that was ended by the action or token limit,
    ABORTED with `remove_sample` and without reward for a failure of the infrastructure.
    """
    row = read_row(sample.metadata, "sample.metadata", options)
    played = await play(settings, model, row)
    _write_tokens(sample, played, settings.chat)
    _write_verdict(sample, played)
    return sample


async def reward(_args: Any, sample: Any, **_: Any) -> "float | list[float | None] | None":
    """`--custom-rm-path`: the verdict of the environment, for a sample or, with group rewards, for a list."""
    if isinstance(sample, list):
        return [one.reward for one in sample]
    found: float | None = sample.reward
    return found


def has_verdict(_args: Any, samples: Sequence[Any], **_: Any) -> bool:
    """`--dynamic-sampling-filter-path`: keeps groups in which at least one sample has a verdict."""
    return bool(_usable(samples))


def has_signal(_args: Any, samples: Sequence[Any], **_: Any) -> bool:
    """`--dynamic-sampling-filter-path`: keeps groups in which two verdicts differ."""
    return len({sample.reward for sample in _usable(samples)}) > 1


def normalize_rewards(args: Any, samples: Sequence[Any]) -> tuple[list[float], list[float]]:
    """`--custom-reward-post-process-path`: GRPO's group rewards, without samples that have no verdict.

    Without it slime would take the mean over all members of a group, and stops at a reward that is None.

    Args:
        args: slime's; `rewards_normalization` and `grpo_std_normalization` are followed.
        samples: Of whole groups (`group_index`).

    Returns:
        Raw and normalized rewards. A sample without a verdict, whose mask is zero anyway, gets its group's
        mean as raw reward, for slime logs their mean, and 0.0 as normalized one.
    """
    groups: dict[Any, list[int]] = defaultdict(list)
    for place, sample in enumerate(samples):
        groups[sample.group_index].append(place)
    raw, normalized = [0.0] * len(samples), [0.0] * len(samples)
    for places in groups.values():
        usable = [place for place in places if not samples[place].remove_sample]
        values = [float(samples[place].reward) for place in usable]
        mean = sum(values) / len(values) if values else 0.0
        scaled = _scaled(args, values, mean)
        for place in places:
            raw[place] = mean
        for place, value, new in zip(usable, values, scaled, strict=True):
            raw[place], normalized[place] = value, new
    return raw, normalized


def sampled_of(answer: Mapping[str, Any]) -> Sampled:
    """An answer of SGLang's `/generate` with log probabilities."""
    meta = answer["meta_info"]
    tokens = meta.get("output_token_logprobs") or ()
    return Sampled(
        ids=[item[1] for item in tokens],
        log_probs=[item[0] for item in tokens],
        finish_reason=meta["finish_reason"]["type"],
    )


def _slime(args: Any) -> tuple[Any, Any]:
    """The state of a rollout in slime, which has the tokenizer, and its HTTP call."""
    try:
        from slime.rollout.sglang_rollout import GenerateState
        from slime.utils.http_utils import post
    except ImportError as error:
        raise UsageError(
            f"generate needs slime, from its repository; the PyPI package of this name is another. ({error})",
            code="missing_extra",
        ) from error
    return GenerateState(args), post


def _usable(samples: Sequence[Any]) -> list[Any]:
    return [sample for sample in samples if not sample.remove_sample]


def _scaled(args: Any, values: list[float], mean: float) -> list[float]:
    """Rewards of one group as GRPO wants them; the deviation is the one of a sample, as Torch's."""
    if not getattr(args, "rewards_normalization", True):
        return values
    centred = [value - mean for value in values]
    if not getattr(args, "grpo_std_normalization", True) or len(values) < 2:
        return centred
    deviation = (sum(value * value for value in centred) / (len(values) - 1)) ** 0.5
    return [value / (deviation + EPSILON) for value in centred]


def _write_tokens(sample: Any, played: Played, chat: ChatTokens) -> None:
    """Without a response there is one filler token, masked: slime's tensors must not be empty."""
    tokens = played.tokens
    if tokens is None or not tokens.response_ids:
        columns = chat.filler * 2, [0], [0.0]
    else:
        columns = tokens.ids, tokens.mask, tokens.log_probs
    sample.tokens, sample.loss_mask, sample.rollout_log_probs = columns
    if not played.result.valid:
        sample.loss_mask = [0] * len(sample.loss_mask)
    sample.response_length = len(sample.loss_mask)
    sample.response = chat.text(sample.tokens[-sample.response_length :])


def _write_verdict(sample: Any, played: Played) -> None:
    result, status = played.result, type(sample).Status
    sample.reward, sample.remove_sample = result.reward, not result.valid
    if not result.valid:
        sample.status = status.ABORTED
    else:
        sample.status = status.TRUNCATED if result.truncated else status.COMPLETED
    sample.metadata = {
        **sample.metadata,
        "shopsim": {
            "valid": result.valid,
            "failure_kind": result.failure_kind,
            "termination_reason": result.termination_reason,
            "protocol_errors": result.protocol_errors,
            "invalid_actions": result.invalid_actions,
            **result.components,
        },
    }
