"""One episode as a person reads it: what was shown, thought, done and answered, step by step.

Belongs here: bringing both schemas into one form. A `shopsim-trace-v1` record holds hashes of what was
shown; when it belongs to the release at hand its actions are played again, and each page says whether it
is what was recorded.
"""

from typing import Any, Final

from shopsim_env.canonical import sha256_text
from shopsim_env.errors import ShopSimError
from shopsim_env.recording import IdentifiedRelease
from shopsim_env.runs.rows import EPISODE_SCHEMA, Row, items, number, table, text
from shopsim_env.shop.env import Reset, ShopEnv, Step
from shopsim_env.trace import TraceRecord, decode_action, read_record

MOST_ACTIONS: Final = 1_000
_ANSWERS: Final = ("reward", "done", "termination_reason", "valid", "failure_kind")


def timeline(row: Row, record: dict[str, Any], line: bytes, release: IdentifiedRelease) -> dict[str, Any]:
    """The episode of a row of the Shop.

    Every step has `number`, `observation` (what was shown before the action, None when unknown), `state`,
    `tools`, `model`, `action`, `tool_call`, `feedback`; `equal` says whether a page that was played again is
    the recorded one. `final` has the page after the last action and the result.
    """
    head = head_of(row, release)
    if record.get("schema") == EPISODE_SCHEMA:
        return {**head, **_of_episode(record)}
    return {**head, **_of_trace(read_record(line), release)}


def head_of(row: Row, release: IdentifiedRelease) -> dict[str, Any]:
    """What every episode has, whatever was played."""
    return {
        "episode_id": row.episode_id,
        "task": row.task,
        "task_id": row.task_id,
        "sample_id": row.sample_id,
        "seed": row.seed,
        "status": row.status,
        "release": row.release,
        "same_release": row.release == release.id,
        "duration_ms": row.duration_ms,
        "tokens": row.tokens,
    }


def purchase_of(record: dict[str, Any]) -> dict[str, Any]:
    """What an episode with messages of a model bought; empty for every other."""
    return table(table(record.get("final")).get("purchase"))


def _of_episode(record: dict[str, Any]) -> dict[str, Any]:
    reset, final = table(record.get("reset")), table(record.get("final"))
    steps = [_step(number_, table(step)) for number_, step in enumerate(items(record.get("steps")), start=1)]
    last = table(table(table((items(record.get("steps")) or [None])[-1])).get("environment"))
    return {
        "kind": "episode",
        "environment": table(reset.get("environment")),
        "provenance": table(record.get("provenance")),
        "instruction": text(reset.get("task_instruction")) or None,
        "persona": table(reset.get("user_persona")),
        "steps": steps,
        "final": {
            "observation": text(last.get("observation")) or None,
            "state": table(last.get("observation_state")) or None,
            "equal": None,
            "reward": number(final.get("reward")),
            "termination_reason": text(final.get("termination_reason")) or None,
            "reward_detail": table(final.get("reward_detail")),
            "purchase": table(final.get("purchase")) or None,
        },
        "error": table(record.get("error")) or None,
        "note": None,
    }


def _step(place: int, step: dict[str, Any]) -> dict[str, Any]:
    model, answer = table(step.get("model")), table(step.get("environment"))
    calls = items(model.get("tool_calls"))
    return {
        "number": place,
        "observation": text(step.get("observation")) or None,
        "state": table(step.get("observation_state")) or None,
        "equal": None,
        "tools": items(step.get("tools")) or None,
        "model": {
            "reasoning": text(model.get("reasoning")),
            "content": text(model.get("content")),
            "finish_reason": text(model.get("finish_reason")),
            "usage": table(model.get("usage")),
            "latency_ms": number(model.get("latency_ms")),
            "protocol_error": model.get("protocol_error"),
        }
        if model
        else None,
        "action": step.get("action"),
        "tool_call": calls[0] if len(calls) == 1 else calls or None,
        "feedback": table(answer.get("action_feedback")) or None,
        "answer": {name: answer[name] for name in _ANSWERS if name in answer},
    }


def _of_trace(record: TraceRecord, release: IdentifiedRelease) -> dict[str, Any]:
    pages, note = _played(record, release)
    steps = [
        {
            "number": place + 1,
            **_page(record, pages, place),
            "tools": None,
            "model": None,
            "action": action,
            "tool_call": None,
            "feedback": pages[place + 1].action_feedback if _has_answer(pages, place + 1) else None,
            "answer": {},
        }
        for place, action in enumerate(record.actions)
    ]
    start = pages[0] if pages and isinstance(pages[0], Reset) else None
    return {
        "kind": "trace",
        "environment": record.environment,
        "provenance": {"versions": record.versions},
        "instruction": start.task_instruction if start else None,
        "persona": start.user_persona if start else {},
        "steps": steps,
        "final": {
            **_page(record, pages, len(record.observations) - 1),
            "reward": record.reward,
            "termination_reason": record.termination_reason,
            "reward_detail": record.reward_detail,
            "purchase": bought(pages),
        },
        "error": None,
        "note": note,
    }


def played(record: TraceRecord, release: IdentifiedRelease) -> list[Any]:
    """Reset and steps of a record, played again on `release`.

    Raises:
        ShopSimError: the record cannot be played.
    """
    env = ShopEnv(release, **record.environment)
    pages: list[Any] = [env.reset(record.task_id, seed=record.seed)]
    pages += [env.step(decode_action(action)) for action in record.actions]
    if record.ended_by == "caller" and record.termination_reason is not None:
        pages.append(env.terminate(record.termination_reason))
    env.close()
    return pages


def bought(pages: list[Any]) -> dict[str, Any] | None:
    """The purchase that ended what `played` returned."""
    if not pages or not isinstance(pages[-1], Step):
        return None
    purchase: dict[str, Any] | None = pages[-1].info.get("purchase")
    return purchase


def _played(record: TraceRecord, release: IdentifiedRelease) -> tuple[list[Any], str | None]:
    if record.release != release.id:
        return [], "other_release"
    if record.wordings:
        return [], "worded"  # needs the recorded answers of a model; `shopsim replay` does that
    if len(record.actions) > MOST_ACTIONS:
        return [], "too_long"
    try:
        return played(record, release), None
    except (ShopSimError, TypeError, KeyError):
        return [], "unplayable"


def _has_answer(pages: list[Any], place: int) -> bool:
    return place < len(pages) and isinstance(pages[place], Step)


def _page(record: TraceRecord, pages: list[Any], place: int) -> dict[str, Any]:
    if place >= len(pages):
        return {"observation": None, "state": None, "equal": None}
    page = pages[place]
    return {
        "observation": page.observation,
        "state": page.observation_state,
        "equal": sha256_text(page.observation) == record.observations[place],
    }
