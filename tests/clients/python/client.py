"""Uses a server as a host does and prints what it saw, as one line of JSON.

`client.py legacy|auto stdio COMMAND…` or `client.py legacy|auto http URL`.
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters


def plain(models):
    return [model.model_dump(mode="json", by_alias=True, exclude_none=True) for model in models]


async def main(mode, server):
    progress = []

    async def progressed(reached, _total, _message):
        progress.append(reached)

    async with Client(server, mode=mode, read_timeout_seconds=30) as client:
        hold = await client.call_tool("test_tool_with_progress", {}, progress_callback=progressed)
        seen = {
            "protocol": client.protocol_version,
            "server": client.server_info.name if client.server_info else None,
            "tools": sorted(tool.name for tool in (await client.list_tools()).tools),
            "resources": sorted(str(resource.uri) for resource in (await client.list_resources()).resources),
            "prompts": sorted(prompt.name for prompt in (await client.list_prompts()).prompts),
            "echo": plain((await client.call_tool("echo", {"message": 'naïve ☃ "quoted"'})).content),
            "fails": (await client.call_tool("test_error_handling", {})).is_error,
            "progressed": plain(hold.content),
            "progress": progress,
            "text": plain((await client.read_resource("test://static-text")).contents),
            "binary": plain((await client.read_resource("test://static-binary")).contents),
            "prompt": plain(
                (await client.get_prompt("test_prompt_with_arguments", {"arg1": "one", "arg2": "two"})).messages
            ),
        }
    print(json.dumps(seen))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["legacy" | "auto" as mode, "stdio", command, *arguments]:
            server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
        case ["legacy" | "auto" as mode, "http", server]:
            pass
        case _:
            sys.exit("usage: client.py legacy|auto stdio COMMAND… | client.py legacy|auto http URL")
    asyncio.run(main(mode, server))
