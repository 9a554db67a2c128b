"""Calls over the network: one try of a call, from the key to the last event, whatever the API.

Importing this file imports `requests`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from acpagent.config.problems import ConfigError
from acpagent.core.catalogue import Phrase
from acpagent.core.events import Usage
from acpagent.core.model import CallDelta, Finished, ModelEvent, ProviderFault, TextDelta, ThoughtDelta, UsageReport
from acpagent.providers import call, failures, usage
from acpagent.providers.chat_errors import Told, read_error
from acpagent.providers.failures import FailedTry, Scrubber, says
from acpagent.providers.lost import lost
from acpagent.providers.reader import AnswerReader, Unreadable, is_whole
from acpagent.providers.sse import Decoder, Oversized
from acpagent.version import __version__

if TYPE_CHECKING:
    from acpagent.config.settings import ProviderSettings
    from acpagent.core.scope import Scope
    from acpagent.providers.base import KeySource

_ERROR_BYTES = 65536
_BODY_BYTES = 32 * 1024 * 1024
_ATTACHED = re.compile(rb"[A-Za-z0-9+/=]{4096,}")  # an image in base64, whose tokens are no matter of its letters


@dataclass(frozen=True, slots=True)
class Dialect:
    """What the calls of an API have of their own: its path below `base_url`, the header that takes the key and what
    stands before the key there, headers of every call, and what reads an answer."""

    path: str
    make_reader: Callable[[], AnswerReader]
    key_header: tuple[str, str] = ("Authorization", "Bearer ")
    headers: Mapping[str, str] = field(default_factory=dict)


class Caller:
    """Makes the calls of one model, called `name` in what goes wrong.

    Owns its connections, which its calls use one after the other; an abandoned call may be left beside them.
    """

    def __init__(self, name: str, provider: ProviderSettings, key: KeySource | None, dialect: Dialect) -> None:
        self.name = name
        self._key = key
        self._key_env = provider.api_key_env or ""
        self._timeouts = provider.timeouts
        self._hidden = tuple(provider.headers.values())
        self._make_reader = dialect.make_reader
        address = provider.base_url or ""
        self._host = urlsplit(address).netloc
        own = {
            "Accept": "text/event-stream",
            "Content-Type": "application/json",
            "User-Agent": f"acpagent/{__version__}",
            **dialect.headers,
        }
        url = address.rstrip("/") + dialect.path
        times = provider.timeouts
        headers = {**own, **provider.headers}
        self._line = call.Line(url, headers, times.connect, times.read, dialect.key_header)

    def close(self) -> None:
        """Close idle connections; they are opened again when needed."""
        self._line.close()

    def attempt(self, body: bytes, scope: Scope, may_be_empty: bool) -> Iterator[Sequence[ModelEvent]]:
        """One try. Raises `FailedTry` where another may do better, `ProviderFault`, `Cancelled`.

        An answer of nothing at all is a failure, unless it `may_be_empty`.
        """
        key = self._find_key()
        scrub = Scrubber((key or "", *self._hidden))
        said = _Measured(body)
        try:
            with self._line.post(body, key, scope) as answer:
                if answer.status // 100 != 2:
                    raise self._refused(answer, scrub)
                for events in self._read(answer, scrub):
                    measured = said.measure(events)
                    if said.reason == "stop" and not (said.letters or may_be_empty):
                        raise FailedTry("broken", self.name, Phrase("model_empty"))
                    yield measured
        except call.ERRORS as error:
            raise lost(error, self.name, self._host, self._timeouts) from None

    def _find_key(self) -> str | None:
        try:
            secret = self._key() if self._key else None
        except ConfigError as error:
            raise ProviderFault(
                "auth", says(self.name, Phrase("model_key_unreadable", cause=error.problems[0].told))
            ) from None
        if secret is None and self._key_env:
            raise failures.no_key(self.name, self._key_env)
        return secret.reveal() if secret else None

    def _read(self, answer: call.Answer, scrub: Scrubber) -> Iterator[Sequence[ModelEvent]]:
        reader = self._make_reader()
        try:
            for payloads in _payloads(answer):
                events, fault = reader.take_all(payloads)
                if events:
                    yield events
                if fault is not None:
                    raise fault
                if reader.done:
                    break
        except (Told, Unreadable, Oversized, *call.ERRORS) as fault:
            if not reader.complete:
                raise self._broken(fault, scrub) from None
        if not reader.complete:
            raise FailedTry("broken", self.name, Phrase("model_ended_early"))
        yield reader.end()
        answer.drain()

    def _broken(self, fault: Exception, scrub: Scrubber) -> Exception:
        """What went wrong inside an answer that began well."""
        if not isinstance(fault, Told):
            if isinstance(fault, call.ERRORS):
                return lost(fault, self.name, self._host, self._timeouts)
            return FailedTry("broken", self.name, Phrase("model_no_answer"))
        said = scrub(fault.said)
        status = fault.status or (400 if failures.is_too_long(400, fault.code, said) else 0)
        if status:
            return failures.from_status(self.name, status, said, code=fault.code, key_from=self._key_env)
        return ProviderFault("broken", says(self.name, Phrase("model_broke_off", said=said)))

    def _refused(self, answer: call.Answer, scrub: Scrubber) -> FailedTry | ProviderFault:
        body = answer.beginning(_ERROR_BYTES)
        try:
            told = read_error(json.loads(body)) or Told("")
        except (ValueError, RecursionError):
            told = Told(body.decode("utf-8", "replace"))
        if answer.status // 100 == 3:
            return failures.from_status(self.name, answer.status, Phrase("model_redirects"))
        return failures.from_status(
            self.name,
            answer.status,
            scrub(told.said),
            code=told.code,
            after=failures.retry_after(answer.headers.get("Retry-After")),
            key_from=self._key_env,
        )


class _Measured:
    """The size of a call, for where the server does not count tokens."""

    def __init__(self, body: bytes) -> None:
        self._body = body
        self.letters = 0
        self.reason: str | None = None
        self._counted = False

    def measure(self, events: Sequence[ModelEvent]) -> Sequence[ModelEvent]:
        """The events, with a guess at the usage before an end that comes without one."""
        for event in events:
            if isinstance(event, TextDelta | ThoughtDelta):
                self.letters += len(event.text)
            elif isinstance(event, CallDelta):
                self.letters += len(event.name or "") + len(event.arguments) + 1
            elif isinstance(event, UsageReport):
                self._counted = True
            elif isinstance(event, Finished):
                self.reason = event.reason
        if self.reason is None or self._counted:
            return events
        spent = Usage(usage.estimate(len(_ATTACHED.sub(b"", self._body))), 0, usage.estimate(self.letters))
        return [UsageReport(spent, estimated=True), *events]


def _payloads(answer: call.Answer) -> Iterator[list[bytes]]:
    """The JSON payloads that each read completes. Some servers answer in one piece whatever was asked for."""
    if "application/json" in answer.headers.get("Content-Type", ""):
        yield [answer.beginning(_BODY_BYTES)]
        return
    decoder = Decoder()
    while data := answer.read():
        if payloads := decoder.feed(data):
            yield payloads
    yield [payload for payload in decoder.end() if is_whole(payload)]
