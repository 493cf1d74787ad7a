"""RLVE for a chat model: prompts, what an assistant message is as a turn, what goes back to the model.

Belongs here: pure functions between chat messages and the turns of docs/rlve-tools.md. Nothing is judged
here: a message that is no proper turn goes to the episode as it is, which ends it as RLVE says.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from shopsim_env.canonical import compact_json, ordered_json
from shopsim_env.rlve.protocol import MAX_TURN
from shopsim_env.runner.prompts import Prompt
from shopsim_env.shop.display import well_formed
from shopsim_env.strict_json import StrictJsonError, check_value, read_strict

ANSWER_TOOL: Final = "final_answer"
Message = dict[str, Any]

RLVE_PROMPTS: Final[Mapping[str, Prompt]] = {
    "rlve-zh-v1": Prompt(
        id="rlve-zh-v1",
        language="zh",
        text=(
            "你是一家网店的客服助手，通过对话和工具帮顾客办成他要办的事。\n"
            "规则：\n"
            "1. 顾客一开始可能没有说全；缺少信息时直接用文字提问，顾客会回答。不要重复问已经回答过的问题。\n"
            "2. 一轮可以调用多个工具，但不能超过每轮的调用上限，超出的调用不会执行。\n"
            "3. 工具名称和参数必须完全符合定义；不存在的工具或不合法的参数会立即使对话以失败结束。\n"
            "4. 只使用工具结果中真实出现过的编号，不要编造。\n"
            "5. 顾客可能改主意，以最新的说法为准。\n"
            f"6. 办完后调用 {ANSWER_TOOL} 提交结果，done 设为 true。轮数有限，用完即结束。\n"
            "每条消息末尾的括号里写着剩余轮数和每轮的调用上限。"
        ),
    ),
    "rlve-en-v1": Prompt(
        id="rlve-en-v1",
        language="en",
        text=(
            "You are the assistant of an online shop. In a conversation, and with tools, get done what the "
            "customer wants.\n"
            "Rules:\n"
            "1. The customer may not have said everything. Ask in plain text for what is missing; do not "
            "repeat a question that was answered.\n"
            "2. A turn may hold several tool calls, up to the limit of a turn; calls above it are not run.\n"
            "3. Names and arguments of tools must fit their schemas exactly: an unknown tool or a wrong "
            "argument ends the conversation at once as a failure.\n"
            "4. Use only ids that tools have shown. Never make one up.\n"
            "5. Customers may change their minds; what they said last counts.\n"
            f"6. When you are done, submit the result with {ANSWER_TOOL} and done set to true. The number of "
            "turns is limited.\n"
            "Brackets at the end of each message say how many turns are left and how many calls a turn may "
            "hold."
        ),
    ),
}
_WORKING: Final = {"zh": "好的，我来看看。", "en": "Let me have a look."}
"""What the customer hears from a turn with calls and no text: endpoints leave the text out beside calls."""
_ABOUT_ANSWER: Final = {
    "zh": "提交结果。done 为 true 时任务结束。",
    "en": "Submits the result. With done set to true it ends the task.",
}
_BUDGET: Final = {
    "zh": "（剩余 {turns_left} 轮，每轮最多 {tool_budget} 次工具调用）",
    "en": "({turns_left} turns left, at most {tool_budget} tool calls a turn)",
}
_SUBMITTED: Final = '{"submitted":true}'


def offered_tools(tools: Sequence[Any], answer_schema: Mapping[str, Any], language: str) -> list[Any]:
    """The seventeen tools and the final answer, for function calling.

    Args:
        tools: Function schemas of the episode.
        answer_schema: JSON schema of what its environment takes as an answer.
        language: Of the description.
    """
    function = {"name": ANSWER_TOOL, "description": _ABOUT_ANSWER[language], "parameters": answer_schema}
    return [*tools, {"type": "function", "function": function}]


def opening(prompt: Prompt, observation: Mapping[str, Any], language: str) -> list[Message]:
    """The first messages: the system prompt, and what the customer says first."""
    return [{"role": "system", "content": prompt.text}, _heard(observation, language)]


def turn_of(message: Mapping[str, Any], language: str) -> Any:
    """The turn of an assistant message, as the episode takes it.

    Text is the message to the customer. Calls of tools are calls, the call of `final_answer` is the answer.
    What cannot be read stays in the place where a turn has something else, so the episode refuses it;
    what JSON cannot carry or is too long goes as text, which the episode refuses too.
    """
    content, given = message.get("content"), message.get("tool_calls")
    told = content if isinstance(content, str) else ""
    turn: dict[str, Any] = {"assistant_message": told}
    if isinstance(given, list):
        calls = [_call(item) for item in given]
        answers = [call["args"] for call in calls if call["name"] == ANSWER_TOOL]
        turn["tool_calls"] = [call for call in calls if call["name"] != ANSWER_TOOL]
        if answers:
            # Two answers are none: a list stands where an object belongs.
            turn["answer"] = answers[0] if len(answers) == 1 else answers
        if calls and not told.strip():
            turn["assistant_message"] = _WORKING[language]
    elif given is not None:
        turn["tool_calls"] = str(given)
    return _carried(turn)


def echo_of(message: Mapping[str, Any], turn: int) -> Message:
    """The message as it goes back to the model: every call has an id, and arguments that servers read."""
    content = message.get("content")
    kept: Message = {"role": "assistant", "content": content if isinstance(content, str) else ""}
    given = message.get("tool_calls")
    calls = [_echoed(item, f"call-{turn}-{place}") for place, item in enumerate(given or (), start=1)]
    if calls and isinstance(given, list):
        kept["tool_calls"] = calls
    return kept


def replies(echo: Message, observation: Mapping[str, Any], language: str) -> list[Message]:
    """What the model gets after its turn: a result for each call, then the customer's words."""
    results = iter(observation["tool_results"])
    told = []
    for call in echo.get("tool_calls", ()):
        if call["function"]["name"] == ANSWER_TOOL:
            content = _SUBMITTED
        else:
            found = next(results, None)
            if found is None:
                continue
            content = ordered_json(found["result"])
        told.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    return [*told, _heard(observation, language)]


def _heard(observation: Mapping[str, Any], language: str) -> Message:
    said = observation["conversation"][-1]["content"]
    return {"role": "user", "content": f"{said}\n{_BUDGET[language].format_map(observation)}"}


def _call(item: Any) -> dict[str, Any]:
    function = item.get("function") if isinstance(item, Mapping) else None
    if not isinstance(function, Mapping):
        return {"name": None, "args": None}
    return {"name": function.get("name"), "args": _arguments(function.get("arguments"))}


def _arguments(given: Any) -> Any:
    """Arguments as a value; text that is no strict JSON stays text, which no tool takes."""
    if not isinstance(given, str):
        return given
    if not given.strip():
        return {}
    try:
        value = read_strict(given)
        check_value(value)
    except StrictJsonError:
        return given
    # JSON that is no object, null above all, must not pass for absent arguments.
    return value if isinstance(value, dict) else given


def _carried(turn: dict[str, Any]) -> Any:
    try:
        check_value(turn)
    except StrictJsonError:
        return well_formed(str(turn))[: MAX_TURN + 1]
    text = compact_json(turn)
    return text[: MAX_TURN + 1] if len(text) > MAX_TURN else turn


def _echoed(item: Any, call_id: str) -> Message:
    call = _call(item)
    given = item.get("id") if isinstance(item, Mapping) else None
    arguments = ordered_json(call["args"]) if isinstance(call["args"], dict) else "{}"
    return {
        "id": given if isinstance(given, str) and given else call_id,
        "type": "function",
        "function": {"name": str(call["name"] or "unknown"), "arguments": arguments},
    }
