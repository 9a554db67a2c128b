"""Everything that went over a connection, in order, and whether the agent's half of it is right."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable
from typing import Any

from acpagent.wire.outgoing import check_message
from acpagent.wire.pending import id_key
from acpagent.wire.schema import bundle

Message = dict[str, Any]

_SHOWN = 40


class Transcript:
    """What was sent, and the agent's lines as they came. Not locked."""

    def __init__(self) -> None:
        self.lines: list[bytes] = []
        self.messages: list[Message] = []  # the lines that are JSON objects
        self.requests: list[Message] = []  # those among them that want an answer
        self.responses: dict[Hashable, int] = {}  # id to the index in `messages` of its first answer
        self._events: list[str] = []
        self._methods: dict[Hashable, list[str]] = {}  # of our requests, by id
        self._variants = False  # we asked for what only those get who ask
        self._rest = {">": b"", "<": b""}

    def sent(self, data: bytes) -> None:
        for line in self._whole_lines(">", data):
            message = _object(line)
            if message is not None and isinstance(message.get("method"), str) and "id" in message:
                self._methods.setdefault(id_key(message["id"]), []).append(message["method"])
                self._variants = self._variants or (message["method"] == "initialize" and _asks_for_surfaces(message))

    def received(self, data: bytes) -> None:
        for line in self._whole_lines("<", data):
            self.lines.append(line)
            message = _object(line)
            if message is not None:
                self._file(message)

    def ended(self, killed: bool = False) -> None:
        """No more will come. An unterminated line counts, unless it is that of an agent that was killed."""
        if killed:
            self._rest["<"] = b""
        if self._rest[">"]:
            self.sent(b"\n")
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
        if message is None:
            return ["no JSON object"]
        if "Traceback" in str(message.get("error")):
            return ["the error holds a traceback"]
        faults: list[str] = []
        for method in self._asked(message):
            # Ids may be used again: right is what is right for one of the requests that had it.
            faults = list(map(str, check_message(bundle(), "agent", message, method, self._variants)))
            if not faults:
                break
        return faults

    def _asked(self, message: Message) -> list[str | None]:
        return [*self._methods.get(id_key(message.get("id")), [])] or [None]

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


def _asks_for_surfaces(message: Message) -> bool:
    """Whether a client says that it shows by itself what plugins publish."""
    params = message.get("params")
    if not isinstance(params, dict):
        return False
    capabilities = params.get("clientCapabilities")
    places = [params, capabilities if isinstance(capabilities, dict) else {}]
    return any('"extensionSurface": {"supported": true' in json.dumps(place.get("_meta")) for place in places)


def _object(line: bytes) -> Message | None:
    try:
        value = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
