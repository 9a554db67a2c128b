"""The process that runs a local model: llama.cpp's own server on loopback, for the process that started it alone.

`python -m acpagent.providers.llama_server` reads one line of JSON with the model's file, its window and a key, loads
the model, and answers with a line that holds the server's address or what went wrong. It ends when its stdin does, so
that it cannot outlive its owner. In a process of its own because loading holds the interpreter, because native code
that crashes takes its process along, and because memory is given back for certain.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

# Tokens read at a time: a call that is given up ends between two batches.
_BATCH = 256
_PING_SECONDS = 10  # signs of life while a prompt is read, or waits for another call


def main() -> None:
    asked = json.loads(sys.stdin.buffer.readline())
    out = os.dup(1)
    os.dup2(2, 1)  # the library prints
    try:
        server = load(asked["file"], asked["window"], asked["key"])
        answer = {"address": server.listening_address}
    except Exception as fault:
        answer = {"fault": " ".join(str(fault).split()) or type(fault).__name__}
    os.write(out, json.dumps(answer).encode() + b"\n")
    while sys.stdin.buffer.read(65536):
        pass
    os._exit(0)


def load(file: str, window: int, key: str) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = file
    params.n_ctx = window
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _BATCH
    params.api_keys = [key]
    params.hostnames = ["127.0.0.1"]
    params.sse_ping_interval = _PING_SECONDS
    params.cache_ram_mib = 0
    params.ui = params.endpoint_slots = False
    params.verbosity = 0
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
