"""The tools of RLVE: arguments, what they do to the world of an episode, and their published forms.

Needs the extra `rlve` (pydantic); importing the runtime does not import this package.
"""

from shopsim_env.rlve.tools.faults import ToolFault
from shopsim_env.rlve.tools.running import check_call, run_tool
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
