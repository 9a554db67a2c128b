"""What the model reads of a session: history entries folded into messages, spelled once in the provider's dialect.

Append-only: the fragments of one request are a prefix of the next one's, except after a tombstone or a new provider.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from acpagent.core.blocks import Image
from acpagent.core.history import CallMade, CallSettled, Entry, HostSaid, ReplyKept, Said, Tombstone, UserSaid
from acpagent.core.model import AssistantMessage, Message, ModelCall, Provider, ToolMessage, UserMessage

_Reply = Said | ReplyKept | CallMade | CallSettled
_REPLY = (Said, ReplyKept, CallMade, CallSettled)  # isinstance does not narrow by a name of a union

INTERRUPTED = "The call was interrupted before it finished; nothing is known of its outcome."


class Conversation:
    """The fold, fed entry by entry. Owned by the session worker; needs no lock."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._messages: list[tuple[str, Message]] = []
        self._fragments: list[str] = []
        self._spelled = 0
        self._open = _OpenReply()

    def feed(self, entries: Iterable[Entry]) -> None:
        """Take entries in the order they happened."""
        for entry in entries:
            if isinstance(entry, _REPLY):
                if self._open.ends_before(entry):
                    self._finish_reply()
                self._open.take(entry)
            elif isinstance(entry, UserSaid):
                self._finish_reply()
                images = tuple(block for block in entry.blocks if isinstance(block, Image))
                self._messages.append((entry.turn_id, UserMessage(entry.text, images)))
            elif isinstance(entry, HostSaid):
                self._finish_reply()
                self._messages.append((entry.turn_id, UserMessage(entry.text)))
            elif isinstance(entry, Tombstone):
                self._bury(entry.turn_id)

    def fragments(self) -> list[str]:
        """Every message so far as JSON fragments. Any call without a result gets one that says so (CAN-15)."""
        self._finish_reply()
        for _, message in self._messages[self._spelled :]:
            self._fragments.extend(self._provider.encode(message))
        self._spelled = len(self._messages)
        return self._fragments

    def messages(self) -> list[Message]:
        """The messages so far, in neutral form."""
        self._finish_reply()
        return [message for _, message in self._messages]

    def rebind(self, provider: Provider) -> None:
        """Spell everything anew for another provider or model."""
        self._provider = provider
        self._fragments, self._spelled = [], 0

    def _finish_reply(self) -> None:
        self._messages.extend(self._open.close())

    def _bury(self, turn_id: str) -> None:
        self._finish_reply()
        kept = [pair for pair in self._messages if pair[0] != turn_id]
        if len(kept) != len(self._messages):
            self._messages = kept
            self._fragments, self._spelled = [], 0


class _OpenReply:
    """One model reply while its pieces come in: text, thought, what is kept of it, calls, and the calls' results."""

    def __init__(self) -> None:
        self._turn_id = ""
        self._kept: ReplyKept | None = None
        self._said: dict[str, list[str]] = {"assistant": [], "thought": []}
        self._calls: dict[str, CallMade] = {}
        self._results: dict[str, CallSettled] = {}

    def ends_before(self, entry: _Reply) -> bool:
        """Anything but one more result after a result belongs to the next reply, as does what is said after the
        keeping: that comes once all was said."""
        if self._kept is not None and isinstance(entry, Said | ReplyKept):
            return True
        return bool(self._results) and not isinstance(entry, CallSettled)

    def take(self, entry: _Reply) -> None:
        self._turn_id = entry.turn_id
        if isinstance(entry, Said):
            self._said[entry.role].append(entry.text)
        elif isinstance(entry, ReplyKept):
            self._kept = entry
        elif isinstance(entry, CallMade):
            self._calls[entry.call_id] = entry
        elif entry.call.id in self._calls:
            self._results[entry.call.id] = entry

    def _shown(self) -> Iterator[Message]:
        """The images among the results, behind all of them: most APIs take text alone as the result of a call."""
        for call_id, made in self._calls.items():
            content = self._results[call_id].call.content if call_id in self._results else ()
            images = tuple(item for item in content if isinstance(item, Image))
            if images:
                kinds = ", ".join(image.media_type for image in images)
                yield UserMessage(f"[Shown by {made.name}: {kinds}]", images)

    def close(self) -> list[tuple[str, Message]]:
        """The finished messages; results in the order of the calls, and the reply is empty again."""
        text, thought = ("".join(self._said[role]) for role in ("assistant", "thought"))
        if not (text or thought or self._calls or self._kept):
            return []
        calls = tuple(ModelCall(made.provider_id, made.name, made.arguments) for made in self._calls.values())
        kept = (self._kept.data, self._kept.model) if self._kept else ("", "")
        messages: list[Message] = [AssistantMessage(text, thought, calls, *kept)]
        for call_id, made in self._calls.items():
            settled = self._results.get(call_id)
            words = settled.text if settled else INTERRUPTED
            failed = settled is None or settled.call.status == "failed"
            messages.append(ToolMessage(made.provider_id, made.name, words, failed))
        messages += self._shown()
        turn_id = self._turn_id
        self._said, self._calls, self._results = {"assistant": [], "thought": []}, {}, {}
        self._kept = None
        return [(turn_id, message) for message in messages]
