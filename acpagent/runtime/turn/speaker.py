"""The speaker: streamed text joined into chunks for the person and pieces for the journal."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from acpagent.core.blocks import Text
from acpagent.core.events import Chunk, Event, Notice
from acpagent.core.history import Entry, Said, Told

# A message's first chunk leaves at once; later ones are joined until this long after the last one sent.
JOIN_SECONDS = 0.015
# A killed process loses no more than this much of what was streamed.
SAVE_SECONDS = 0.4

Voice = Literal["assistant", "thought"]


class Speaker:
    """Owned by the session worker, as every event of a turn is; needs no lock."""

    def __init__(self, turn_id: str, emit: Callable[[Event], None], record: Callable[[Entry], None]) -> None:
        self._turn_id = turn_id
        self._emit = emit
        self._record = record
        self._voice: Voice = "assistant"
        self._message_id = ""
        self._unsent: list[str] = []
        self._unsaved: list[str] = []
        self._sent_at = 0.0
        self._saved_at = 0.0

    def say(self, voice: Voice, text: str) -> None:
        """Add a delta. Thought and answer never share a message (MSG-02), and no chunk is empty (TURN-19)."""
        if not text:
            return
        if voice != self._voice or not self._message_id:
            self.end_message()
            self._voice = voice
            self._message_id = new_id("msg")
            self._sent_at = 0.0
            self._saved_at = time.monotonic()
        self._unsent.append(text)
        if self._sent_at == 0.0:
            self.flush()

    def due_in(self) -> float | None:
        """Seconds until `tick` has something to do; None while there is nothing."""
        now, due = time.monotonic(), []
        if self._unsent:
            due.append(self._sent_at + JOIN_SECONDS - now)
        if self._unsaved or self._unsent:
            due.append(self._saved_at + SAVE_SECONDS - now)
        return max(0.0, min(due)) if due else None

    def tick(self) -> None:
        """Send and save what is due."""
        now = time.monotonic()
        if self._unsent and now >= self._sent_at + JOIN_SECONDS:
            self.flush()
        if self._unsaved and now >= self._saved_at + SAVE_SECONDS:
            self._save()

    def flush(self) -> None:
        """Send what is joined so far; comes before every other event of the turn."""
        if self._unsent:
            text = "".join(self._unsent)
            self._unsent.clear()
            self._unsaved.append(text)
            self._sent_at = time.monotonic()
            self._emit(Chunk(self._message_id, self._voice, Text(text)))

    def end_message(self) -> None:
        """The message is complete: send and save the rest; what follows is a new message (MSG-01)."""
        self.flush()
        self._save()
        self._message_id = ""

    def tell(self, notice: Notice) -> None:
        """Say something of acpagent's own to the person, and keep it for the replay."""
        self.flush()
        notice = replace(notice, message_id=new_id("msg"))
        self._record(Told(self._turn_id, notice.level, notice.code, notice.params, notice.message_id))
        self._emit(notice)

    def _save(self) -> None:
        if self._unsaved:
            self._record(Said(self._turn_id, self._message_id, self._voice, "".join(self._unsaved)))
            self._unsaved.clear()
        self._saved_at = time.monotonic()


def new_id(prefix: str) -> str:
    """An opaque id, unique in practice and stable once stored (TOOL-02, MSG-03)."""
    return f"{prefix}_{os.urandom(9).hex()}"
