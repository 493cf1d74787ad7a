"""One whole episode through a client of the package `mcp`, 1.x or 2.x, whichever is installed.

    python mcp_client.py URL CALLS

Prints what it saw as one line of JSON; `tests/adapters/test_mcp_clients.py` compares it.
"""

import asyncio
import json
import sys
from importlib.metadata import version

SECOND = version("mcp").startswith("2.")


async def play_first(url: str, calls: list) -> dict:
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async with (
        streamable_http_client(url) as (reading, writing, _),
        ClientSession(reading, writing) as session,
    ):
        hello = await session.initialize()
        seen = {"instructions": hello.instructions, "protocol": hello.protocolVersion}
        await session.send_ping()
        seen["tools"] = [tool.name for tool in (await session.list_tools()).tools]
        seen["results"] = [_plain(await session.call_tool(name, given)) for name, given in calls]
    return seen


async def play_second(url: str, calls: list) -> dict:
    from mcp import Client

    async with Client(url) as client:
        seen = {"instructions": client.instructions, "protocol": client.protocol_version}
        seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        seen["results"] = [_plain(await client.call_tool(name, given)) for name, given in calls]
    return seen


def _plain(result) -> dict:
    whole = result.model_dump(by_alias=True, mode="json")
    return {"text": whole["content"][0]["text"], "isError": whole["isError"], "meta": whole["_meta"]}


if __name__ == "__main__":
    play = play_second if SECOND else play_first
    print(json.dumps(asyncio.run(play(sys.argv[1], json.loads(sys.argv[2])))))
