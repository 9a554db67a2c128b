"""A server in a few lines of the standard library, quick to start, with bad habits on request: `plain.py HABIT...`."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import Any

habits = dict(habit.partition("=")[::2] for habit in sys.argv[1:])


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": {"type": "object"}}


def text(said: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": said}]}


def call(id: Any, params: dict[str, Any]) -> None:
    arguments = params.get("arguments", {})
    match params["name"]:
        case "pid":
            send({"id": id, "result": text(str(os.getpid()))})
        case "die":
            os._exit(7)
        case "half":  # an answer that breaks off
            sys.stdout.write('{"jsonrpc":"2.0","id":')
            sys.stdout.flush()
            os._exit(0)
        case "silence":
            if path := arguments.get("touch"):
                open(path, "w").close()
        case "huge":
            head = f'{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"'
            sys.stdout.write(head)
            for _ in range(arguments["mib"]):
                sys.stdout.write("y" * (1 << 20))
            sys.stdout.write('"}]}}\n')
            sys.stdout.flush()
        case "write":
            with open(arguments["path"], "w") as file:
                file.write(arguments["text"])
            send({"id": id, "result": text("written")})
        case "odd":
            send({"id": id, "result": {"content": "not a list"}})
        case _:
            send({"id": id, "result": text("done")})


def misbehave() -> None:
    """What it does before anybody has said anything."""
    if "begun" in habits:
        open(habits["begun"], "w").close()
    if "once" in habits:  # ends at once from the second start on
        if os.path.exists(habits["once"]):
            sys.exit(5)
        open(habits["once"], "w").close()
    if "garbage" in habits:
        print("starting up...\nplease wait\n{]", flush=True)
    while "flood" in habits:
        print("lorem ipsum " * 80)
    if "stubborn" in habits:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "child" in habits:  # it outlives us if nobody sees to it, and holds our stdout open
        subprocess.Popen(["sleep", "600"])
    if "silent" in habits:
        time.sleep(3600)


def list_tools(id: Any) -> None:
    waiting = select.poll()
    waiting.register(sys.stdin, 0)  # for nothing but that the other end is closed
    while "slow" in habits and not os.path.exists(habits["slow"]):
        if waiting.poll(20):
            sys.exit(0)
    names = ["pid", "die", "half", "silence", "huge", "odd", *habits.get("tools", "").split(",")]
    send({"id": id, "result": {"tools": [tool(name) for name in names if name]}})


def answer(id: Any, method: str, params: dict[str, Any]) -> None:
    if method == "initialize":
        result = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "plain", "version": "1"},
        }
        send({"id": id, "result": result})
    elif method == "tools/list":
        list_tools(id)
    elif method == "tools/call":
        call(id, params)
    else:
        send({"id": id, "error": {"code": -32601, "message": f"no {method}"}})


misbehave()
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        answer(message["id"], message["method"], message.get("params", {}))
if "stubborn" in habits:
    time.sleep(3600)
