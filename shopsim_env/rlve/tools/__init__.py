"""The tools of RLVE: arguments, what they do to the world of an episode, and their published forms.

Needs the extra `rlve` (pydantic), which is imported on first use; importing this package does not.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shopsim_env.errors import UsageError
from shopsim_env.rlve.tools.faults import ToolFault

if TYPE_CHECKING:
    from shopsim_env.rlve.overlay.overlay import Overlay
    from shopsim_env.rlve.protocol import Call
    from shopsim_env.rlve.tools.running import LegalCall
    from shopsim_env.rlve.tools.specs import ALIASES, TOOLS, ToolSpec, functions, schemas, tool_text

__all__ = [
    "ALIASES",
    "TOOLS",
    "ToolFault",
    "ToolSpec",
    "check_call",
    "functions",
    "run_tool",
    "schemas",
    "tool_text",
]
_SPECS = frozenset({"ALIASES", "TOOLS", "ToolSpec", "functions", "schemas", "tool_text"})


def run_tool(overlay: "Overlay", call: "Call") -> dict[str, Any]:
    """The result of a call, a JSON value of its own; a refusal of the shop is one too.

    Args:
        overlay: The episode's world; changed by what the tool does, and not by a refusal.
        call: Dotted name or alias, and arguments.

    Raises:
        ToolFault: No such tool (`unknown_tool`), or arguments against its schema (`bad_arguments`).
        UsageError: pydantic is not installed (code `missing_extra`).
    """
    found: dict[str, Any] = _module("running").run_tool(overlay, call)
    return found


def check_call(call: "Call") -> "LegalCall":
    """A call that may run, read once; refuses what `run_tool` would not run; changes nothing.

    Raises:
        ToolFault: As `run_tool`.
        UsageError: As `run_tool`.
    """
    found: LegalCall = _module("running").check_call(call)
    return found


def __getattr__(name: str) -> Any:
    if name not in _SPECS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_module("specs"), name)


_loaded: dict[str, Any] = {}


def _module(name: str) -> Any:
    module = _loaded.get(name)
    if module is None:
        try:
            module = _loaded[name] = import_module(f"{__name__}.{name}")
        except ImportError as error:
            raise UsageError(
                "the tools of RLVE need the pydantic package; install 'shopsim[rlve]'.", code="missing_extra"
            ) from error
    return module
