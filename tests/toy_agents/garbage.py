"""Writes lines between its messages that are none, and updates of the wrong shape."""

import sys

from echo import Echo


def update(params):
    return b'{"jsonrpc": "2.0", "method": "session/update", "params": ' + params + b"}\n"


RUBBISH = [
    b"hello from a library\n",
    b"\xff\xfe\n",
    b"[1, 2]\n",
    b"42\n",
    b'{"jsonrpc": "2.0", "method": 7}\n',
    b'{"jsonrpc": "2.0", "method": "session/update"}\n',
    update(b'{"sessionId": "s1", "update": 3}'),
    update(b'{"sessionId": ["s1"], "update": {}}'),
    update(b'{"sessionId": "s1", "update": {"sessionUpdate": 1}}'),
    update(b'{"sessionId": "s1", "update": {"sessionUpdate": "agent_message_chunk", "content": []}}'),
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
