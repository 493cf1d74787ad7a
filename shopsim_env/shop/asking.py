"""The shopper of a multi-turn episode: from a goal to a talk, from an action to an answer.

Belongs here: the seam between episode and dialogue, and what of a talk is public. What the shopper says is
decided in `shopsim_env.dialogue`. Asking leaves the page as it is and never blocks an action (contract 7.16).
"""

from typing import Any

from shopsim_env.canonical import sha256_text
from shopsim_env.dialogue.facts import category_word, shop_facts
from shopsim_env.dialogue.ledger import Fact
from shopsim_env.dialogue.shopper import Exchange, Talk, answer, open_talk
from shopsim_env.dialogue.wording import Wording
from shopsim_env.private import Goal
from shopsim_env.shop.actions import AskShopper, Parsed
from shopsim_env.shop.feedback import ASKING_FORMAT_MESSAGE, executed, refused
from shopsim_env.shop.pages import Page
from shopsim_env.shop.session import Turn, play
from shopsim_env.shop.shelf import Shelf


def start_talk(goal: Goal, seed: int) -> Talk:
    """The shopper of a task before the first question. The seed decides wordings and nothing else."""
    product = goal.product
    texts = (goal.instruction_simple, goal.instruction)
    facts = shop_facts(
        category_word(product.category, product.title_nouns or (), texts),
        goal.options,
        goal.attributes,
        goal.budget_upper,
        axes=product.axes,
        brand=product.brand,
        never=(product.title, product.asin),
    )
    return open_talk(facts, sha256_text(f"{goal.task_id}|{seed}"))


def take_turn(
    page: Page, parsed: Parsed, shelf: Shelf, page_size: int, talk: Talk | None, wording: Wording
) -> tuple[Turn, Talk | None]:
    """Plays one action where a talk may go on beside the pages; without one, the pages alone decide.

    Raises:
        SimulatorError: the endpoint behind `wording` failed; nothing was changed.
    """
    if talk is not None and isinstance(parsed.action, AskShopper) and not parsed.problem:
        return _ask(page, parsed, parsed.action.message, talk, wording)
    turn = play(page, parsed, shelf, page_size)
    if talk is not None and turn.feedback.reason == "invalid_format":
        turn = turn._replace(feedback=turn.feedback._replace(message=ASKING_FORMAT_MESSAGE))
    return turn, talk


def _ask(page: Page, parsed: Parsed, message: str, talk: Talk, wording: Wording) -> tuple[Turn, Talk]:
    """The same page, and the talk with its answer; a blank message is refused."""
    if not message.strip():
        return Turn(page, refused(parsed.text, "empty_argument", "提问内容不能为空")), talk
    return Turn(page, executed(parsed.text, "顾客已回复")), answer(talk, message, wording)


def shopper_block(talk: Talk) -> dict[str, Any]:
    """`observation_state["shopper"]`: the last message, the question that it answers, and all before it.

    `unrecognised` says that the last question was not understood. Questions are shown shortened, as every
    echo of what an agent wrote.
    """
    last = talk.exchanges[-1] if talk.exchanges else None
    dialogue = [{"speaker": "shopper", "text": talk.opening}]
    for exchange in talk.exchanges:
        dialogue.append({"speaker": "agent", "text": exchange.question})
        dialogue.append({"speaker": "shopper", "text": exchange.answer})
    return {
        "message": dialogue[-1]["text"],
        "question": None if last is None else dialogue[-2]["text"],
        "unrecognised": last is not None and last.intent == "unrecognised",
        "dialogue": dialogue,
    }


def talk_info(talk: Talk, *, ended: bool) -> dict[str, Any]:
    """`info["shopper"]`: counts and the last exchange as data; after the end also how much was told."""
    info: dict[str, Any] = {
        "questions": len(talk.exchanges),
        "unrecognised": sum(exchange.intent == "unrecognised" for exchange in talk.exchanges),
        "refused_wordings": sum(bool(exchange.worded.problem) for exchange in talk.exchanges),
        "objected": talk.objected,
        "confirmed": talk.confirmed,
        "last": _exchange(talk.exchanges[-1]) if talk.exchanges else None,
    }
    if ended:
        info["facts"] = len(talk.ledger.facts)
        info["facts_told"] = len(talk.ledger.disclosed)
    return info


def _exchange(exchange: Exchange) -> dict[str, Any]:
    worded = exchange.worded
    return {
        "intent": exchange.intent,
        "told": _public(exchange.told),
        "repeated": _public(exchange.repeated),
        "wording": {"source": worded.source, "problem": worded.problem, "request": worded.request},
    }


def _public(facts: tuple[Fact, ...]) -> list[dict[str, str]]:
    return [{"kind": fact.kind, "label": fact.label, "value": fact.value} for fact in facts]
