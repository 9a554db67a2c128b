"""One model call: a helper thread that reads the provider, a bounded hand-off, and the reply put together."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from acpagent.core.catalogue import Phrase
from acpagent.core.events import Usage
from acpagent.core.model import (
    CallDelta,
    Finished,
    Kept,
    ModelCall,
    ModelEvent,
    ModelRequest,
    Provider,
    ProviderFault,
    Reason,
    Retrying,
    TextDelta,
    ThoughtDelta,
    UsageReport,
)
from acpagent.core.scope import Cancelled, Scope
from acpagent.runtime.turn.speaker import Speaker

# Batches that may wait between the helper and the worker; a full hand-off makes the helper stop reading,
# and the model's server feel it.
HANDOFF_BATCHES = 32


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A complete reply of the model. `kept` is what its provider wants back with it, empty for most; `text` is what it
    said, thoughts aside."""

    reason: Reason
    calls: tuple[ModelCall, ...]
    usage: UsageReport
    kept: str = ""
    text: str = ""


class Handoff:
    """What the helper has read and the worker has not handled. Lives on the turn's condition, so that chunks,
    tool results, answers and a cancel wake the same wait."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._batches: list[Sequence[ModelEvent]] = []
        self._fault: BaseException | None = None
        self._ended = False

    def read_all(self, provider: Provider, request: ModelRequest) -> None:
        """Body of the model helper thread. A cancel that comes before the headers leaves it behind; whatever it
        brings then is dropped."""
        fault: BaseException | None = None
        try:
            for batch in provider.stream(request, self._scope):
                self._put(batch)
        except BaseException as error:
            fault = error
        with self._scope.lock:
            self._fault, self._ended = fault, True
            self._scope.changed.notify_all()

    def _put(self, batch: Sequence[ModelEvent]) -> None:
        self._scope.wait_for(lambda: len(self._batches) < HANDOFF_BATCHES)
        with self._scope.open():
            self._batches.append(batch)
            self._scope.changed.notify_all()

    def take(self, timeout: float | None) -> list[Sequence[ModelEvent]] | None:
        """Everything read so far, after waiting at most `timeout` seconds for some; None at the end.

        Raises `Cancelled`, or what the provider raised once everything before it was taken.
        """
        self._scope.wait_for(lambda: bool(self._batches) or self._ended, timeout)
        with self._scope.open():
            taken, self._batches = self._batches, []
            if taken:
                self._scope.changed.notify_all()
                return taken
            if self._fault is not None:
                raise self._fault
            return None if self._ended else []


@dataclass(slots=True)
class _CallParts:
    provider_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class ReplyBuilder:
    """Puts a reply together from events, speaking text and thought as they come."""

    def __init__(self, speaker: Speaker, on_retry: Callable[[Retrying], None]) -> None:
        self._speaker = speaker
        self._on_retry = on_retry
        self._calls: dict[int, _CallParts] = {}
        self._reason: Reason | None = None
        self._kept = ""
        self._text: list[str] = []
        self._usage = UsageReport(Usage())
        self._handlers: dict[type[ModelEvent], Callable[..., None]] = {
            TextDelta: self._take_text,
            ThoughtDelta: lambda event: speaker.say("thought", event.text),
            CallDelta: self._take_call,
            UsageReport: self._take_usage,
            Kept: self._take_kept,
            Finished: self._take_finish,
            Retrying: on_retry,
        }

    def take(self, event: ModelEvent) -> None:
        self._handlers[type(event)](event)

    def _take_text(self, event: TextDelta) -> None:
        self._text.append(event.text)
        self._speaker.say("assistant", event.text)

    def _take_call(self, event: CallDelta) -> None:
        parts = self._calls.setdefault(event.index, _CallParts())
        parts.provider_id = parts.provider_id or event.provider_id or f"call_{event.index}"
        parts.name = parts.name or event.name or ""
        parts.arguments.append(event.arguments)

    def _take_usage(self, event: UsageReport) -> None:
        self._usage = event

    def _take_kept(self, event: Kept) -> None:
        self._kept = event.data

    def _take_finish(self, event: Finished) -> None:
        self._reason = event.reason

    def finish(self) -> ModelReply:
        """The reply. Raises `ProviderFault` when the stream ended without saying why."""
        self._speaker.end_message()
        if self._reason is None:
            raise ProviderFault("broken", Phrase("model_cut_off"))
        calls = tuple(
            ModelCall(parts.provider_id, parts.name, "".join(parts.arguments))
            for _, parts in sorted(self._calls.items())
        )
        # A reply cut at its length may end in half a call: none of its calls is run.
        calls = () if self._reason == "length" else calls
        return ModelReply(self._reason, calls, self._usage, self._kept, "".join(self._text))


class Silence:
    """The time before the first thing that a call brings."""

    def __init__(self, patience: float | None, tell: Callable[[float], None]) -> None:
        self._patience = patience
        self._ends = None if patience is None else time.monotonic() + patience
        self._tell = tell

    def cut(self, timeout: float | None) -> float | None:
        """A timeout that is no longer than the patience lasts."""
        if self._ends is None:
            return timeout
        left = max(0.0, self._ends - time.monotonic())
        return left if timeout is None else min(timeout, left)

    def note(self, came: bool) -> None:
        """Something came, or did not until now."""
        if self._patience is None or self._ends is None:
            return
        if came:
            self._ends = None
        elif time.monotonic() >= self._ends:
            self._ends = None
            self._tell(self._patience)


def call_model(
    provider: Provider,
    request: ModelRequest,
    scope: Scope,
    speaker: Speaker,
    wait_room: Callable[[Scope], None],
    on_retry: Callable[[Retrying], None],
    on_silence: Callable[[float], None],
) -> ModelReply:
    """Make one model call on a helper thread and speak what it brings. Runs on the session worker.

    `on_silence` is told once, with the seconds, if nothing came for as long as the provider has patience. Raises
    `Cancelled` as soon as the scope is, `ProviderFault` when the call failed; what was shown stays shown.
    """
    handoff = Handoff(scope)
    helper = threading.Thread(target=handoff.read_all, args=(provider, request), name="acpagent-model", daemon=True)
    helper.start()
    builder = ReplyBuilder(speaker, on_retry)
    silence = Silence(provider.patience, on_silence)
    try:
        while (batches := handoff.take(silence.cut(speaker.due_in()))) is not None:
            silence.note(bool(batches))
            for batch in batches:
                for event in batch:
                    builder.take(event)
            wait_room(scope)
            speaker.tick()
        return builder.finish()
    except (Cancelled, ProviderFault):
        speaker.end_message()
        raise
