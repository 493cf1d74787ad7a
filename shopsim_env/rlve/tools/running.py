"""Runs one call of the agent against the world of its episode.

Belongs here: legality (`ToolFault`) and refusals as results. The budget of calls is the episode loop's.
"""

import difflib
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from shopsim_env.rlve.overlay.overlay import Overlay
from shopsim_env.rlve.overlay.refusal import RefusalError
from shopsim_env.rlve.protocol import Call
from shopsim_env.rlve.tools.arguments import Arguments, Filters, problems
from shopsim_env.rlve.tools.faults import ToolFault
from shopsim_env.rlve.tools.specs import ALIASES, TOOLS, ToolSpec

_SHOWN: Final = 3


def run_tool(overlay: Overlay, call: Call) -> dict[str, Any]:
    """The result of a call, a JSON value of its own; a refusal of the shop is one too.

    Args:
        overlay: The episode's world; changed by what the tool does, and not by a refusal.
        call: Dotted name or alias, and arguments.

    Raises:
        ToolFault: No such tool (`unknown_tool`), or arguments against its schema (`bad_arguments`).
    """
    return check_call(call).run(overlay)


class LegalCall(NamedTuple):
    """A call that was read: its tool and its arguments."""

    spec: ToolSpec
    arguments: Arguments

    def run(self, overlay: Overlay) -> dict[str, Any]:
        """As `run_tool`."""
        try:
            return self.spec.handler(overlay, self.arguments)
        except RefusalError as refusal:
            return refusal.as_result()


def check_call(call: Call) -> LegalCall:
    """Refuses what `run_tool` would not run; changes nothing.

    Raises:
        ToolFault: As `run_tool`.
    """
    spec = _tool(call.name)
    try:
        return LegalCall(spec, spec.arguments.model_validate(call.args))
    except ValidationError as error:
        raise ToolFault(_what_is_wrong(spec, error)) from error


def _tool(name: str) -> ToolSpec:
    spec = TOOLS.get(ALIASES.get(name, name))
    if spec is None:
        close = difflib.get_close_matches(name[:64], [*TOOLS, *ALIASES], 1)
        hint = f"did you mean {close[0]}?" if close else f"the tools are {', '.join(TOOLS)}"
        raise ToolFault(f"expected the name of a tool, found {name[:64]!r}; {hint}", code="unknown_tool")
    return spec


def _what_is_wrong(spec: ToolSpec, error: ValidationError) -> str:
    found = problems(error)
    said = "; ".join(_sentence(spec.arguments, problem) for problem in found[:_SHOWN])
    more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"{spec.name}: {said}{more}"


def _sentence(model: type[Arguments], problem: dict[str, Any]) -> str:
    place = ".".join(str(part)[:64] for part in problem["loc"])
    if problem["type"] != "extra_forbidden":
        return f"{place}: {problem['msg']}"
    names = _names_beside(model, problem["loc"])
    close = difflib.get_close_matches(str(problem["loc"][-1])[:64], names, 1, 0.3)
    hint = f", did you mean {close[0]}?" if close else ""
    return f"{place}: unknown argument{hint} (known: {', '.join(names) or 'none'})"


def _names_beside(model: type[Arguments], place: tuple[str | int, ...]) -> list[str]:
    # Filters are the only nested model.
    return list((Filters if len(place) > 1 else model).model_fields)
