"""The model server as a process of its own: prints its port, and serves until its stdin ends."""

from __future__ import annotations

import select
import sys

from acpagent.providers import script_reader
from acpagent.providers.player import Player
from soaking import turns
from tests.model_server import ModelServer

# Seconds until what fails for the first tries fails anew: longer than all tries of a call take.
RENEWED_EVERY = 10.0


def main() -> int:
    script = script_reader.from_value(turns.script())
    with ModelServer(turns.script(), keep=False) as server:
        print(server.port, flush=True)
        while not select.select([sys.stdin], [], [], RENEWED_EVERY)[0]:
            server.player = Player(script)
    return 0


if __name__ == "__main__":
    sys.exit(main())
