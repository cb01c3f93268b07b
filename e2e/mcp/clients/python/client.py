"""An MCP client around PyPI's mcp: plays a plan and tells what came of it.

    client.py PLAN COMMAND [ARG...]
    client.py PLAN URL

PLAN is a JSON list of steps (see main.go). A line of JSON goes to standard
output for every step, and for everything that the server asks or tells.
"""

import json
import os
import sys

import anyio
from mcp import ClientSession, MCPError, StdioServerParameters, stdio_client, types
from mcp.client.streamable_http import streamable_http_client


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True) if hasattr(value, "model_dump") else value


def tell(kind, **more):
    print(json.dumps({"kind": kind, **{k: plain(v) for k, v in more.items()}}, sort_keys=True), flush=True)


async def sampling(_context, params):
    tell("sampling", params=params)
    return types.CreateMessageResult(role="assistant", model="none", content=types.TextContent(type="text", text="an answer"))


async def elicitation(_context, params):
    tell("elicitation", params=params)
    return types.ElicitResult(action="accept", content={"name": "Ada", "check": True} if getattr(params, "mode", "form") == "form" else None)


async def roots(_context):
    tell("roots")
    return types.ListRootsResult(roots=[types.Root(uri="file:///srv/project", name="project")])


async def logging(params):
    tell("log", params=params)


async def whatever(message):
    if isinstance(message, Exception):
        tell("broken", error=type(message).__name__)


async def pages(method, name):
    out, cursor = [], None
    while True:
        page = await method(params=types.PaginatedRequestParams(cursor=cursor) if cursor else None)
        out += [plain(v) for v in getattr(page, name)]
        cursor = page.next_cursor
        if not cursor:
            return out


async def play(session, step):
    kind = step["do"]
    if kind == "list":
        return {
            "tools": await pages(session.list_tools, "tools"),
            "prompts": await pages(session.list_prompts, "prompts") if step.get("all") else [],
            "resources": await pages(session.list_resources, "resources") if step.get("all") else [],
            "templates": await pages(session.list_resource_templates, "resource_templates") if step.get("all") else [],
        }
    if kind == "call":
        async def progress(done, total, message):
            tell("progress", done=done, total=total, message=message)

        return plain(await session.call_tool(step["name"], step.get("args", {}), progress_callback=progress if step.get("progress") else None))
    if kind == "read":
        return plain(await session.read_resource(step["uri"]))
    if kind == "prompt":
        return plain(await session.get_prompt(step["name"], step.get("args", {})))
    if kind == "complete":
        ref = types.PromptReference(type="ref/prompt", name=step["name"])
        return plain(await session.complete(ref, {"name": step["argument"], "value": step["value"]}))
    if kind == "subscribe":
        await session.subscribe_resource(step["uri"])
        await session.unsubscribe_resource(step["uri"])
        return {}
    if kind == "ping":
        return plain(await session.send_ping())
    if kind == "level":
        return plain(await session.set_logging_level(step["level"]))
    raise ValueError(kind)


async def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        plan = json.load(f)
    if sys.argv[2].startswith("http"):
        transport = streamable_http_client(sys.argv[2])
    else:
        transport = stdio_client(StdioServerParameters(command=sys.argv[2], args=sys.argv[3:], env=dict(os.environ)))
    async with transport as (read, write, *_):
        async with ClientSession(
            read, write, sampling_callback=sampling, elicitation_callback=elicitation, list_roots_callback=roots,
            logging_callback=logging, message_handler=whatever,
        ) as session:
            tell("initialize", result=await session.initialize())
            for n, step in enumerate(plan):
                try:
                    tell("step", n=n, result=await play(session, step))
                except MCPError as e:
                    tell("step", n=n, error=e.error)
                except Exception as e:  # the library's own complaint
                    tell("step", n=n, complaint=type(e).__name__ + ": " + str(e))


anyio.run(main)
