"""Models behind Anthropic messages, streamed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from acpagent.config.settings import NO_THOUGHT, THOUGHT_TOKENS
from acpagent.core.model import Message, ModelEvent, ModelRequest, ProviderFault, ToolSpec
from acpagent.providers import anthropic_messages, habits
from acpagent.providers.chat_messages import dump
from acpagent.providers.over_http import OverHttp
from acpagent.providers.retry import Policy

if TYPE_CHECKING:
    from acpagent.config.settings import ModelSettings, ProviderSettings
    from acpagent.core.scope import Scope
    from acpagent.providers.base import KeySource
    from acpagent.providers.caller import Dialect

VERSION = "2023-06-01"
OUTPUT_TOKENS = 8192  # of an answer, where the settings do not say: the API wants a number
_LEAST_BUDGET = 1024


class AnthropicMessages(OverHttp):
    """`core.model.Provider` over `POST {base_url}/v1/messages`, whether `base_url` ends in `/v1` or not."""

    def __init__(
        self,
        provider: ProviderSettings,
        model: ModelSettings,
        key: KeySource | None,
        effort: str | None,
        policy: Policy,
    ) -> None:
        super().__init__(provider, model, key, policy)
        host = urlsplit(provider.base_url or "").hostname or ""
        self._head = _head(model, host, effort)
        self._thoughtless_head = _head(model, host, None, thinks=False)
        self._forgets = False  # the server did not take its own thoughts back

    def dialect(self) -> Dialect:
        from acpagent.providers.anthropic_reader import AnthropicReader
        from acpagent.providers.caller import Dialect

        base_url = (self._provider.base_url or "").rstrip("/")
        path = "/messages" if base_url.endswith("/v1") else "/v1/messages"
        return Dialect(path, AnthropicReader, ("x-api-key", ""), {"anthropic-version": VERSION})

    def spell_system(self, text: str) -> str:
        return anthropic_messages.system(text)

    def spell_tools(self, tools: Sequence[ToolSpec]) -> str:
        return anthropic_messages.tools(tools)

    def spell(self, message: Message) -> list[str]:
        return anthropic_messages.message(message, images=self.sees_images, model=self.name)

    def spell_body(self, request: ModelRequest) -> str:
        fragments: Sequence[str] = request.messages
        head = self._head
        if self._forgets:
            fragments, head = anthropic_messages.without_thoughts(fragments), self._thoughtless_head
        tools = f'"tools":{request.tools},' if request.tools not in ("", "[]") else ""
        system = f'"system":{request.system},' if request.system else ""
        return f'{head}{tools}{system}"messages":{anthropic_messages.joined(fragments)}}}'

    def ends_in_prompt(self, request: ModelRequest) -> bool:
        return bool(request.messages) and anthropic_messages.is_prompt(request.messages[-1])

    def stream(self, request: ModelRequest, scope: Scope) -> Iterator[Sequence[ModelEvent]]:
        """As any; but where the server refuses thoughts that it signed (they are bound to a conversation that a
        rebuild may have changed), goes on without them instead of failing for the rest of the session."""
        try:
            yield from super().stream(request, scope)
            return
        except ProviderFault as fault:
            said = fault.message.removeprefix(self.name)  # the name may have the word in it
            if self._forgets or fault.kind != "rejected" or "thinking" not in said:
                raise
        self._forgets = True
        yield from super().stream(request, scope)


def _head(model: ModelSettings, host: str, effort: str | None, thinks: bool = True) -> str:
    """The beginning of every body, up to where tools, the system prompt or messages follow."""
    thinking, budget = _thinking(model, habits.thinking_of(host, model.name), effort) if thinks else ({}, 0)
    limit = model.max_output_tokens or OUTPUT_TOKENS + budget
    fields: dict[str, Any] = {"model": model.name, "max_tokens": limit, "stream": True}
    if habits.caches_by_itself(host):
        fields["cache_control"] = {"type": "ephemeral"}
    return dump(fields | thinking)[:-1] + ","


def _thinking(model: ModelSettings, how: habits.Thinking, effort: str | None) -> tuple[dict[str, Any], int]:
    """The fields that make the model think, and the tokens set aside for that."""
    if effort in NO_THOUGHT:
        return ({} if how == "budget" else {"thinking": {"type": "disabled"}}), 0
    asked: dict[str, Any] = {"output_config": {"effort": effort}} if effort else {}
    if how == "adaptive":
        version = habits.claude_version(model.name) or (0, 0)
        shown = {"display": "summarized"} if version >= habits.SUMMARIES_SINCE else {}
        return {"thinking": {"type": "adaptive", **shown}, **asked}, 0
    if how == "effort" or not effort:
        return asked, 0
    budget = THOUGHT_TOKENS.get(effort, THOUGHT_TOKENS["medium"])
    if model.max_output_tokens is not None:
        budget = min(budget, model.max_output_tokens * 3 // 4)
    if budget < _LEAST_BUDGET:
        return {}, 0
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}, budget
