"""The servers that `server.py` compares with, each a process of its own: they return a constant."""

import json
from typing import Any

CONSTANTS = ("asgi", "starlette")


async def constant(_scope: Any, receive: Any, send: Any) -> None:
    """The least that an ASGI server can do: read the body, answer with the same bytes."""
    await receive()
    body = BODY
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


BODY = b""


def starlette_constant() -> Any:
    """The same answer from a Starlette route."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

    async def answer(request: Request) -> Response:
        await request.body()
        return Response(BODY, media_type="application/json")

    return Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST", "DELETE"])])


def serve_constant(name: str, port: int, size: int) -> None:
    """Serves one of `CONSTANTS`."""
    import uvicorn

    global BODY
    head = json.dumps({"lease_id": "x" * 32, "fence": 1, "pad": ""}).encode()
    BODY = head[:-2] + b"a" * max(0, size - len(head)) + head[-2:]
    uvicorn.run(
        constant if name == "asgi" else starlette_constant(),
        port=port,
        loop="uvloop",
        http="httptools",
        lifespan="off",
        ws="none",
        access_log=False,
        log_level="error",
        server_header=False,
        date_header=False,
    )
