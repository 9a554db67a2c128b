"""Reads a reply that comes as JSON, piece by piece: its text is passed on while it is written."""

from __future__ import annotations

import json
import os
import re
from typing import Literal

from acpagent.core.model import CallDelta, Finished, ModelEvent, TextDelta
from acpagent.providers.chat_reader import ChatReader
from acpagent.providers.llama_prompt import ANSWER, ARGUMENTS, TOOL
from acpagent.providers.surrogates import Joiner

_CALL = rf'{TOOL}"\s*:\s*"((?:[^"\\]|\\.)*)"\s*,\s*"{ARGUMENTS}"\s*:\s*'
_BEGINNING = re.compile(rf'\s*\{{\s*"(?:{ANSWER}"\s*:\s*"|{_CALL})')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class LlamaReader(ChatReader):
    """Reads an answer whose text is a reply in the form of `llama_prompt.schema`."""

    def __init__(self) -> None:
        super().__init__()
        self._form = Form()

    def take(self, payload: bytes) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        for event in super().take(payload):
            events += self._form.take(event.text) if isinstance(event, TextDelta) else [event]
        return events

    def end(self) -> list[ModelEvent]:
        *counted, last = super().end()
        rest = self._form.end()
        if self._form.is_call and last == Finished("stop"):
            last = Finished("calls")
        return [*rest, *counted, last]


class Form:
    """The reply so far. What does not have the form is taken for a text: no model's words are lost."""

    def __init__(self) -> None:
        self._kind: Literal["", "text", "call", "over"] = ""
        self._held = ""
        self._joiner = Joiner()
        self.is_call = False

    def take(self, piece: str) -> list[ModelEvent]:
        self._held += piece
        events: list[ModelEvent] = []
        if self._kind == "":
            found = _BEGINNING.match(self._held)
            if found is None:
                return []
            self._held = self._held[found.end() :]
            self._kind = "text" if found[1] is None else "call"
            if self._kind == "call":
                self.is_call = True
                events.append(CallDelta(0, f"call_{os.urandom(9).hex()}", json.loads(f'"{found[1]}"')))
        if self._kind == "text" and (text := self._joiner.take(self._text())):
            events.append(TextDelta(text))
        return events

    def end(self) -> list[ModelEvent]:
        """What only the end of the reply tells."""
        if self._kind == "call":
            arguments = self._held.rstrip()
            return [CallDelta(0, arguments=arguments.removesuffix("}") if _is_whole(arguments) else arguments)]
        if self._kind == "" and self._held.strip():
            return [TextDelta(self._held)]
        return []

    def _text(self) -> str:
        """The letters of the string that are whole, up to its end."""
        held, letters, place = self._held, [], 0
        while place < len(held):
            if held[place] == '"':
                self._kind = "over"
                break
            if held[place] != "\\":
                letters.append(held[place])
                place += 1
                continue
            escape = held[place : place + (6 if held[place + 1 : place + 2] == "u" else 2)]
            if len(escape) < 2 or (escape[1] == "u" and len(escape) < 6):
                break
            letters.append(chr(int(escape[2:], 16)) if escape[1] == "u" else _ESCAPES.get(escape[1], escape[1]))
            place += len(escape)
        self._held = held[place:]
        return "".join(letters)


def _is_whole(arguments: str) -> bool:
    """Whether the arguments are followed by the brace that ends the reply."""
    try:
        json.loads(arguments.removesuffix("}"))
    except ValueError:
        return False
    return arguments.endswith("}")
