"""Everything that went over a connection, in order, and whether the agent's half of it is right."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable
from typing import Any

from acpagent.wire.pending import id_key
from acpagent.wire.schema import bundle

Message = dict[str, Any]

_SHOWN = 40
_ENVELOPES = (
    ({"jsonrpc", "method", "id"}, {"params"}),
    ({"jsonrpc", "method"}, {"params"}),
    ({"jsonrpc", "id", "result"}, set[str]()),
    ({"jsonrpc", "id", "error"}, set[str]()),
)


class Transcript:
    """What was sent, and the agent's lines as they came. Not locked."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.messages: list[Message] = []  # the lines that are JSON objects
        self.requests: list[Message] = []  # those among them that want an answer
        self.responses: dict[Hashable, int] = {}  # id to the index in `messages` of its first answer
        self._events: list[str] = []
        self._methods: dict[Hashable, list[str]] = {}  # of our requests, by id
        self._rest = {">": b"", "<": b""}

    def sent(self, data: bytes) -> None:
        for line in self._whole_lines(">", data):
            message = _object(line)
            if message is not None and isinstance(message.get("method"), str) and "id" in message:
                self._methods.setdefault(id_key(message["id"]), []).append(message["method"])

    def received(self, data: bytes) -> None:
        for line in self._whole_lines("<", data):
            self.lines.append(line)
            message = _object(line)
            if message is not None:
                self._file(message)

    def ended(self) -> None:
        """No more will come; an unterminated line counts."""
        if self._rest["<"]:
            self.received(b"\n")

    def story(self) -> str:
        """The last lines of both directions, for a failure's text."""
        return "\n".join(self._events[-_SHOWN:])

    def check(self) -> None:
        """Raise AssertionError unless every line of the agent is one valid message, no request of ours has
        two answers, and nothing answers what was not asked."""
        wrong = [f"{line[:300]!r}: {text}" for line in self.lines for text in self._faults(line)]
        wrong += self._surplus_answers()
        assert not wrong, "\n".join(wrong[:10]) + f"\n(of {len(wrong)})\n{self.story()}"

    def _file(self, message: Message) -> None:
        if "method" not in message:
            self.responses.setdefault(id_key(message.get("id")), len(self.messages))
        elif "id" in message:
            self.requests.append(message)
        self.messages.append(message)

    def _whole_lines(self, way: str, data: bytes) -> list[bytes]:
        *lines, self._rest[way] = (self._rest[way] + data).split(b"\n")
        self._events += [f"{way} {line[:400].decode('utf-8', 'replace')}" for line in lines]
        return lines

    def _faults(self, line: bytes) -> list[str]:
        message = _object(line)
        if message is None or message.get("jsonrpc") != "2.0":
            return ["no JSON-RPC message"]
        if not any(must <= message.keys() <= must | may for must, may in _ENVELOPES):
            return ["no envelope has these keys"]
        if "method" in message:
            return self._method_faults(message)
        if "error" in message:
            return _error_faults(message["error"])
        return self._result_faults(message)

    def _method_faults(self, message: Message) -> list[str]:
        method = message["method"]
        if method not in bundle().methods("client"):
            return [f"{method} is no method of a client"]
        if ("id" in message) == (method in bundle().notifications("client")):
            return [f"{method} with, or without, an id"]
        return list(map(str, bundle().check_params("client", method, message.get("params"))))

    def _result_faults(self, message: Message) -> list[str]:
        """Right for one of the requests that had this id."""
        problems = [f"answers nothing: id {message['id']!r}"]
        for method in self._methods.get(id_key(message["id"]), []):
            if method not in bundle().methods("agent"):
                problems = [f"a result for {method}, which no agent has"]
                continue
            problems = list(map(str, bundle().check_result("agent", method, message["result"])))
            if not problems:
                break
        return problems

    def _surplus_answers(self) -> list[str]:
        answers = Counter(
            id_key(message["id"])
            for message in self.messages
            if "method" not in message and message.get("id") is not None
        )
        asked = {key: len(methods) for key, methods in self._methods.items()}
        return [
            f"{count} answers to {asked.get(key, 0)} requests with id {key}"
            for key, count in answers.items()
            if count > asked.get(key, 0)
        ]


def _error_faults(error: Any) -> list[str]:
    if not isinstance(error, dict) or not {"code", "message"} <= error.keys() <= {"code", "message", "data"}:
        return ["an error is code, message and perhaps data"]
    code, text = error["code"], error["message"]
    if not isinstance(code, int) or isinstance(code, bool) or not isinstance(text, str) or not text:
        return ["an error has a whole number as code and a sentence as message"]
    return ["the message holds a traceback"] if "Traceback" in text or len(text) > 500 else []


def _object(line: bytes) -> Message | None:
    try:
        value = json.loads(line.decode("utf-8"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None
