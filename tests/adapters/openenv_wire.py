"""Raw frames of the OpenEnv socket, for tests that must see exactly what is sent."""

import json
from pathlib import Path
from typing import Any

from places import SAMPLE_RELEASE
from servers import ServerProcess
from websockets.sync.client import ClientConnection, connect


def serving(*options: str, release: Path = SAMPLE_RELEASE, **environment: str) -> ServerProcess:
    """`shopsim openenv serve`; the package imports a whole user interface, which takes its time."""
    return ServerProcess(release, *options, command=("openenv", "serve"), start_s=300, **environment)


class Socket:
    """One session; every frame that came is kept in `seen`."""

    def __init__(self, port: int, **options: Any) -> None:
        self.wire: ClientConnection = connect(f"ws://127.0.0.1:{port}/ws", **options).__enter__()
        self.seen: list[str] = []

    def raw(self, text: str | bytes) -> dict[str, Any]:
        self.wire.send(text)
        return self.answer()

    def answer(self) -> dict[str, Any]:
        self.seen.append(str(self.wire.recv(timeout=60)))
        found: dict[str, Any] = json.loads(self.seen[-1])
        return found

    def send(self, kind: str, **data: Any) -> None:
        self.wire.send(json.dumps({"type": kind, "data": data}))

    def ask(self, kind: str, **data: Any) -> dict[str, Any]:
        self.send(kind, **data)
        return self.answer()

    def reset(self, **data: Any) -> dict[str, Any]:
        return self._observation(self.ask("reset", **data))

    def step(self, action: Any) -> dict[str, Any]:
        return self._observation(self.ask("step", action=action))

    def state(self) -> dict[str, Any]:
        answer = self.raw(json.dumps({"type": "state"}))
        assert answer["type"] == "state", answer
        found: dict[str, Any] = answer["data"]
        return found

    def refusal(self, kind: str, **data: Any) -> tuple[str, str]:
        """Code of the protocol and text of an error."""
        answer = self.ask(kind, **data)
        assert answer["type"] == "error", answer
        return answer["data"]["code"], answer["data"]["message"]

    def close(self) -> None:
        self.wire.close()

    def __enter__(self) -> "Socket":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @staticmethod
    def _observation(answer: dict[str, Any]) -> dict[str, Any]:
        assert answer["type"] == "observation", answer
        data: dict[str, Any] = answer["data"]
        # The package sends metadata beside the observation too, when there is any.
        assert set(data) == {"observation", "reward", "done"}
        assert data["observation"].pop("metadata") == {}
        return data
