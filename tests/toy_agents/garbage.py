"""Writes lines between its messages that are none, and updates of the wrong shape."""

import sys

from echo import Echo

RUBBISH = [
    b"hello from a library\n",
    b"\xff\xfe\n",
    b"[1, 2]\n",
    b"42\n",
    b'{"jsonrpc": "2.0", "method": 7}\n',
    b'{"jsonrpc": "2.0", "method": "session/update"}\n',
    b'{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": 3}}\n',
    b'{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": ["s1"], "update": {}}}\n',
    b'{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": {"sessionUpdate": 1}}}\n',
    b'{"jsonrpc": "2.0", "id": 999, "result": {}}\n',
    b'{"jsonrpc": "2.0", "id": {}, "result": {}}\n',
    b"\r\n",
]


class Garbage(Echo):
    def send(self, **message):
        for line in RUBBISH:
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        super().send(**message)

    def receive(self, message):
        if "error" not in message:  # what it is told about its rubbish
            super().receive(message)


Garbage().run()
