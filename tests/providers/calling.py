"""Calls of a provider, and everything that came of them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from acpagent.config.credentials import Secret
from acpagent.config.settings import ModelSettings, ProviderSettings, Timeouts
from acpagent.core.events import Usage
from acpagent.core.model import (
    CallDelta,
    Finished,
    Kept,
    Message,
    ModelEvent,
    ModelRequest,
    Provider,
    ProviderFault,
    Retrying,
    TextDelta,
    ThoughtDelta,
    ToolSpec,
    UsageReport,
    UserMessage,
)
from acpagent.core.scope import Cancelled, Scope, run_closers
from acpagent.providers import base
from acpagent.providers.retry import Policy

KEY = "sk-Zq7~kept/out+of=sight"
QUICK = Policy(base=0.01)
ONCE = Policy(tries=1)
PATIENT = Timeouts(5, 60)
TOOL = ToolSpec("read_file", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})


APIS = ("openai-chat", "anthropic-messages")


def over_http(
    base_url: str,
    *,
    api: str = "openai-chat",
    key: str | None = None,
    effort: str | None = None,
    policy: Policy = QUICK,
    api_key_env: str | None = None,
    headers: dict[str, str] | None = None,
    timeouts: Timeouts = PATIENT,
    **model: Any,
) -> Provider:
    """A provider as the settings would make it. Closed by nobody: garbage collection does."""
    settings = ModelSettings("local", "tiny", **model)
    provider = ProviderSettings("local", api, base_url, api_key_env, headers or {}, timeouts, None, {"tiny": settings})
    source = None if key is None else lambda: Secret(key)
    return base.build(provider, settings, source, effort, policy=policy)


def scripted(script: str, policy: Policy = QUICK, **model: Any) -> Provider:
    settings = ModelSettings("rehearsal", "hello", **model)
    return base.build(ProviderSettings("rehearsal", "scripted", script=script), settings, policy=policy)


def ask(provider: Provider, *messages: Message, system: str = "Help.", tools: Sequence[ToolSpec] = ()) -> ModelRequest:
    """A request of these messages, or of a greeting."""
    fragments = [part for one in messages or (UserMessage("hi"),) for part in provider.encode(one)]
    return ModelRequest(provider.encode_system(system), provider.encode_tools(tools), fragments)


@dataclass(slots=True)
class Outcome:
    """Everything a call yielded, and how it ended."""

    batches: list[Sequence[ModelEvent]] = field(default_factory=list)
    fault: ProviderFault | None = None
    cancelled: bool = False

    @property
    def events(self) -> list[ModelEvent]:
        return [event for batch in self.batches for event in batch]

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def thought(self) -> str:
        return "".join(event.text for event in self.events if isinstance(event, ThoughtDelta))

    @property
    def calls(self) -> list[tuple[str, str, str]]:
        """(id, name, arguments) of each call, put together as a turn does."""
        calls: dict[int, list[str]] = {}
        for event in self.events:
            if isinstance(event, CallDelta):
                parts = calls.setdefault(event.index, ["", "", ""])
                parts[0] = parts[0] or event.provider_id or ""
                parts[1] = parts[1] or event.name or ""
                parts[2] += event.arguments
        return [(parts[0], parts[1], parts[2]) for _, parts in sorted(calls.items())]

    @property
    def report(self) -> UsageReport | None:
        reports = [event for event in self.events if isinstance(event, UsageReport)]
        assert len(reports) <= 1
        return reports[0] if reports else None

    @property
    def usage(self) -> Usage | None:
        return self.report.usage if self.report else None

    @property
    def kept(self) -> str:
        (kept,) = [event.data for event in self.events if isinstance(event, Kept)] or [""]
        return kept

    @property
    def reason(self) -> str | None:
        reasons = [event.reason for event in self.events if isinstance(event, Finished)]
        assert not reasons or self.events[-1] == Finished(reasons[0])
        return reasons[0] if reasons else None

    @property
    def retries(self) -> list[Retrying]:
        return [event for event in self.events if isinstance(event, Retrying)]


def call(provider: Provider, request: ModelRequest | None = None, scope: Scope | None = None) -> Outcome:
    """Make the call and wait for its end."""
    outcome = Outcome()
    _collect(outcome, threading.Condition(), provider, request or ask(provider), scope or Scope())
    return outcome


class Running:
    """A call on a thread of its own, as a turn makes it."""

    def __init__(self, provider: Provider, request: ModelRequest | None = None) -> None:
        self.scope = Scope()
        self.outcome = Outcome()
        self._came = threading.Condition()
        arguments = (self.outcome, self._came, provider, request or ask(provider), self.scope)
        self._thread = threading.Thread(target=_collect, args=arguments)
        self._thread.start()

    def wait_for_batch(self, number: int = 1, seconds: float = 60) -> None:
        with self._came:
            assert self._came.wait_for(lambda: len(self.outcome.batches) >= number, seconds)

    def cancel(self) -> None:
        run_closers(self.scope.cancel())

    def end(self, timeout: float = 30) -> Outcome:
        self._thread.join(timeout)
        assert not self._thread.is_alive(), "the call did not end"
        return self.outcome


def _collect(
    outcome: Outcome, came: threading.Condition, provider: Provider, request: ModelRequest, scope: Scope
) -> None:
    try:
        for batch in provider.stream(request, scope):
            assert batch, "an empty batch"
            with came:
                outcome.batches.append(batch)
                came.notify_all()
    except ProviderFault as fault:
        outcome.fault = fault
    except Cancelled:
        outcome.cancelled = True
