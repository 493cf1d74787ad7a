"""What the environment answers to one action: a reason code for programs, a Chinese sentence for the agent.

Belongs here: the closed list of reasons and their form. Sentences never quote the `search[…]` syntax, because
the seed keeps call syntax out of the observation. When each reason applies is decided in `session`.
"""

from typing import Any, NamedTuple

from shopsim_env.shop.actions import MAX_ARGUMENT

REASONS = (
    "executed",
    "invalid_format",
    "multiple_actions_not_allowed",
    "too_long",
    "empty_argument",
    "empty_query",
    "search_unavailable",
    "already_selected",
    "incomplete_options",
    "unavailable_action",
)

PROBLEM_MESSAGES = {
    "invalid_format": "动作格式无效，每步应为一次搜索或一次点击",
    "multiple_actions_not_allowed": "每步只能执行一个动作",
    "too_long": f"动作内容过长，最多 {MAX_ARGUMENT} 个字符",
}
ASKING_FORMAT_MESSAGE = "动作格式无效，每步应为一次搜索、一次点击或一次提问"
"""`invalid_format` where `ask_shopper` is offered."""


class Feedback(NamedTuple):
    """Answer to one action. `missing_option_axes` is filled for `incomplete_options` only."""

    action: str
    valid: bool
    reason: str
    message: str
    missing_option_axes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Fresh JSON form, as in `action_feedback` and `last_action`."""
        form: dict[str, Any] = {
            "action": self.action,
            "valid": self.valid,
            "reason": self.reason,
            "message": self.message,
        }
        if self.reason == "incomplete_options":
            form["missing_option_axes"] = list(self.missing_option_axes)
        return form


def executed(action: str, message: str) -> Feedback:
    """The action was carried out."""
    return Feedback(action, True, "executed", message)


def refused(action: str, reason: str, message: str, missing: tuple[str, ...] = ()) -> Feedback:
    """The action was refused: the page stays as it was, the step counts."""
    return Feedback(action, False, reason, message, missing)
