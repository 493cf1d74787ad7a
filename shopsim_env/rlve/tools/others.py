"""Handlers of `policy.*`, `datetime.*` and `user.*`."""

from shopsim_env.errors import UsageError
from shopsim_env.rlve.overlay.overlay import Overlay
from shopsim_env.rlve.overlay.refusal import RefusalError
from shopsim_env.rlve.tools.arguments import Nothing, PolicySearch
from shopsim_env.rlve.tools.showing import Result, card

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def search_policy(overlay: Overlay, args: PolicySearch) -> Result:
    """The best rules of the shop, none where it has no rules."""
    if overlay.policies is None:
        return {"snippets": []}
    try:
        found = overlay.policies.search(args.query, args.top_k, overlay.language)
    except UsageError as error:
        # The rules' own limits, such as a query without a word, are no fault of the protocol.
        raise RefusalError(str(error), code=error.code) from error
    return {"snippets": [dict(item) for item in found]}


def now(overlay: Overlay, args: Nothing) -> Result:  # noqa: ARG001
    """The episode's day, at noon."""
    return {
        "date": overlay.today.isoformat(),
        "day_of_week": _DAYS[overlay.today.weekday()],
        "time": "12:00:00",
    }


def visit_history(overlay: Overlay, args: Nothing) -> Result:  # noqa: ARG001
    """Cards of the products that the customer looked at."""
    for number in overlay.visits:
        overlay.show(number, "history")
    return {"products": [card(overlay, item) for item in overlay.shelf.items(overlay.visits)]}
