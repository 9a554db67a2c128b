"""A server made with the MCP package, with one of each thing that a server can have. Run as a program:
`everything.py stdio|http|sse`; over HTTP it first prints its port."""

import asyncio
import base64
import os
import socket
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import anyio
import uvicorn
from mcp.server.mcpserver import Context, Elicit, Image, MCPServer, Resolve
from mcp.shared.exceptions import MCPError
from mcp_types import (
    METHOD_NOT_FOUND,
    AudioContent,
    EmbeddedResource,
    ResourceLink,
    SamplingMessage,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from pydantic import BaseModel, Field

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
READS = ToolAnnotations(read_only_hint=True)
IS_YOUNG = sys.argv[-1] == "young"  # it can only be greeted as servers are since 2026


async def refuse_old_ways(ctx: Any, call_next: Any) -> Any:
    if ctx.method == "initialize":
        raise MCPError(METHOD_NOT_FOUND, "what is initialize?")
    return await call_next(ctx)


server = MCPServer("everything", log_level="CRITICAL", middleware=[refuse_old_ways] if IS_YOUNG else [])


class Sum(BaseModel):
    total: int


class Person(BaseModel):
    name: str = Field(title="Your name", min_length=2)
    age: int = Field(ge=0, le=150)
    colour: Literal["red", "green"]
    news: bool = False


@server.tool(annotations=READS, title="Add up")
def add(a: int, b: int) -> Sum:
    """Add two numbers."""
    return Sum(total=a + b)


@server.tool()
def echo(text: str) -> str:
    """Say it again."""
    return text


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def wipe() -> str:
    return "wiped"


@server.tool(structured_output=False)
def mixed() -> list[Any]:
    return [
        TextContent(type="text", text="Look:\x1b[31m red"),
        Image(data=PNG, format="png").to_image_content(),
        ResourceLink(type="resource_link", uri="file:///a.txt", name="a.txt", mime_type="text/plain"),
        EmbeddedResource(
            type="resource", resource=TextResourceContents(uri="note://1", text="inside", mime_type="text/plain")
        ),
        AudioContent(type="audio", data="AAAA", mime_type="audio/wav"),
    ]


@server.tool()
def fail() -> str:
    raise ValueError("this never works")


@server.tool(structured_output=False)
def big(size: int) -> str:
    return "start\n" + "x" * size + "\nend"


@server.tool()
async def count(to: int, ctx: Context) -> str:
    for number in range(1, to + 1):
        await ctx.report_progress(number, to, f"step {number}")
    return "counted"


@server.tool()
async def hang(folder: str, ctx: Context) -> str:
    """Leaves `started` in the folder, and `cancelled` if it is."""
    await ctx.report_progress(1, 2, "hanging")
    Path(folder, "started").touch()
    try:
        await anyio.sleep(3600)
    except anyio.get_cancelled_exc_class():
        Path(folder, "cancelled").touch()
        raise
    return "never"


@server.tool()
async def ask(ctx: Context) -> str:
    answer = await ctx.elicit("Who are you?", Person)
    return f"{answer.action}: {getattr(answer, 'data', None)!r}"


class Colour(BaseModel):
    colour: str


async def which_colour() -> Elicit[Colour]:
    return Elicit("Which colour?", Colour)


@server.tool()
def paint(chosen: Annotated[Colour, Resolve(which_colour)]) -> str:
    """The question is part of the protocol's younger form, or asked apart in the older."""
    return f"painted {chosen.colour}"


@server.tool()
async def visit(ctx: Context) -> str:
    answer = await ctx.elicit_url("Please look", "https://example.org/x", "1")
    return answer.action


@server.tool()
async def sample(ctx: Context) -> str:
    message = SamplingMessage(role="user", content=TextContent(type="text", text="hello"))
    await ctx.session.create_message([message], max_tokens=10)
    return "sampled"


@server.tool()
async def roots(ctx: Context) -> str:
    found = await ctx.session.list_roots()
    return " ".join(str(root.uri) for root in found.roots)


@server.tool()
async def grow(name: str, ctx: Context) -> str:
    server.add_tool(lambda: "new", name=name, description="grown")
    await ctx.session.send_tool_list_changed()
    await ctx.notify_tools_changed()
    return "grown"


@server.tool()
async def talk(ctx: Context) -> str:
    await ctx.warning("careful with the stove")
    print("words on stderr", os.environ.get("SECRET_WORD", ""), file=sys.stderr, flush=True)
    return "talked"


@server.tool()
def variable(name: str) -> str:
    return os.environ.get(name, "(not set)")


@server.tool()
def die() -> str:
    os._exit(3)


@server.tool()
def header(name: str, ctx: Context) -> str:
    return (ctx.headers or {}).get(name, "(none)")


@server.prompt(title="Review it")
def review(file: str, focus: str = "everything") -> str:
    """Review a file."""
    return f"Review {file} with an eye on {focus}."


@server.resource("note://today", mime_type="text/plain")
def today() -> str:
    return "buy milk"


@server.resource("note://{day}/plan")
def plan(day: str) -> str:
    return f"plan of {day}"


@server.resource("picture://dot", mime_type="image/png")
def dot() -> bytes:
    return PNG


def serve(app: Any, listening: socket.socket) -> None:
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))


if __name__ == "__main__":
    how = sys.argv[1]
    if how == "stdio":
        server.run("stdio")
    elif how == "http":
        serve(server.streamable_http_app(), socket.create_server(("127.0.0.1", 0)))
    else:
        serve(server.sse_app(), socket.create_server(("127.0.0.1", 0)))
