"""verifiers' own chat loop, run by this interpreter: its usual way fetches packages for each script."""

import sys
from typing import Any

import verifiers.v1 as vf
from verifiers.v1.harnesses.null import NullHarness, NullHarnessConfig

__all__ = ["PlainNull"]


class PlainConfig(NullHarnessConfig):
    pass


class PlainNull(NullHarness, vf.Harness[PlainConfig]):
    async def setup(self, runtime: Any) -> None:
        async def prepared(source: str, env: Any = None, *, activate: bool = True) -> list[str]:
            await runtime.write("chat.py", source.encode())
            return [sys.executable, "chat.py"]

        runtime.prepare_uv_script = prepared
