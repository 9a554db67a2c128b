#!/usr/bin/env python3
"""Meters how much of what an agent sends to its model a prefix cache could serve.

    python tools/prefix_meter.py --upstream URL [--port N] [--report text|json]
    python tools/prefix_meter.py --rehearse [--api NAME] [--report text|json]

The first form is a proxy on loopback. Start it, give any agent the address that it prints in place of URL, work with
the agent, and end the proxy with Ctrl-C, SIGTERM or the end of its input: the report is on stdout. URL is what the
agent had as its base URL. Requests and answers are passed on unchanged and as they come. The second form plays a long
session with acpagent itself and a pretended model.

The report says of each conversation how many system messages and tool lists there were, how many requests begin with
all bytes of the one before, where that first failed, and which share of the bytes that the model read it had read just
before. Conversations are told apart by what they continue.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from metering import report
from metering.conversations import Meter
from metering.proxy import Proxy

APIS = ("openai-chat", "anthropic-messages")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--upstream", metavar="URL", help="the model's server, as the agent would be given it")
    what.add_argument("--rehearse", action="store_true", help="play a session with acpagent and meter that")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="listen here; by default on a free port")
    parser.add_argument("--api", choices=APIS, default=APIS[0], help="what the pretended model speaks")
    parser.add_argument("--report", choices=("text", "json"), default="text")
    options = parser.parse_args(arguments)
    meter = Meter()
    more: dict[str, Any] = {}
    if options.rehearse:
        more = rehearse(meter, options.api)
    else:
        try:
            proxy = Proxy(options.upstream, meter, options.port)
        except (OSError, ValueError) as error:
            parser.error(str(error))
        with proxy:
            wait_for_the_end(f"give the agent {proxy.base_url} in place of {options.upstream}")
    told = report.figures(meter)
    print(report.text(told) if options.report == "text" else json.dumps(told | more, indent=1))
    return 0


def rehearse(meter: Meter, api: str) -> dict[str, Any]:
    """Play the session through a proxy; what happened in it."""
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))  # for the tests' client and server
    from metering.rehearsal import play

    with tempfile.TemporaryDirectory(prefix="acpagent-rehearsal-") as scratch:
        return {"happened": play(Path(scratch), meter, api)}


def wait_for_the_end(beginning: str) -> None:
    """Until a signal that ends, or the end of stdin where somebody holds its other end; both count once the beginning
    was said."""
    reading, writing = os.pipe()

    def end(_number: int, _frame: FrameType | None) -> None:
        os.write(writing, b"!")

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    signal.signal(signal.SIGTTIN, signal.SIG_IGN)  # in the background of a terminal reading it would stop us
    say(beginning)
    watched = [reading, 0] if held(0) else [reading]
    while reading not in (ready := select.select(watched, [], [])[0]):
        try:
            if ready and not os.read(0, 4096):
                return
        except OSError:
            watched.remove(0)


def held(fd: int) -> bool:
    """Whether it is open, and not the null device, which is at its end from the start."""
    try:
        return not os.path.samestat(os.fstat(fd), os.stat(os.devnull))
    except OSError:
        return False


def say(text: str) -> None:
    print(f"prefix_meter.py: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
