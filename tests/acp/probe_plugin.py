"""The program of a plugin that does as a file says, for tests of sessions with plugins: `probe_plugin.py NAME`.

NAME.json in acpagent's home is read at every message: `answers` maps a method, or the event of an intercept, to rules
`[text, answer]` or `[text, answer, messages]`; the first whose text is in the params counts. An answer that is a word
is something to do instead. What was read is noted in NAME.log, with the process that read it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from typing import Any

HOME, NAME = os.environ["ACPAGENT_HOME"], sys.argv[1]
ANSWERS: dict[str, Any] = {
    "initialize": {"api": 1, "name": NAME},
    "intercept": {"decision": "continue"},
    "tool/call": {"text": "Called."},
}


def rules() -> dict[str, Any]:
    with open(os.path.join(HOME, f"{NAME}.json"), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def note(message: dict[str, Any]) -> None:
    with open(os.path.join(HOME, f"{NAME}.log"), "a", encoding="utf-8") as file:
        file.write(json.dumps({"pid": os.getpid(), **message}) + "\n")


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def misbehave(how: str) -> None:
    if how == "crash":
        os._exit(3)
    if how == "hang":
        time.sleep(600)
    if how == "stay":  # whatever it is told or sent
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        time.sleep(600)


def answered(message: dict[str, Any]) -> tuple[Any, list[Any]]:
    """The answer, and what is sent before it."""
    params, method = message.get("params", {}), message["method"]
    event = params.get("event", method)
    for text, answer, *more in rules().get("answers", {}).get(event, ()):
        if text in json.dumps(params):
            return answer, more[0] if more else []
    return ANSWERS.get(method, {}), []


def main() -> None:
    note({"method": "environment", "params": dict(os.environ)})
    for line in sys.stdin:
        message = json.loads(line)
        note(message)
        if "method" not in message:
            continue
        answer, before = answered(message)
        for one in before:
            send(**one)
        if isinstance(answer, str):
            misbehave(answer)
        elif "id" in message:
            send(id=message["id"], result=answer)


main()
