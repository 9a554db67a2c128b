"""Models behind OpenAI-style chat completions, streamed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from acpagent.core.model import AssistantMessage, Message, ModelRequest, ToolSpec
from acpagent.providers import chat_messages, habits
from acpagent.providers.over_http import OverHttp
from acpagent.providers.retry import Policy

if TYPE_CHECKING:
    from acpagent.config.settings import ModelSettings, ProviderSettings
    from acpagent.providers.base import KeySource
    from acpagent.providers.caller import Dialect
    from acpagent.providers.habits import Habits


class OpenAIChat(OverHttp):
    """`core.model.Provider` over `POST {base_url}/chat/completions`."""

    def __init__(
        self,
        provider: ProviderSettings,
        model: ModelSettings,
        key: KeySource | None,
        effort: str | None,
        policy: Policy,
    ) -> None:
        super().__init__(provider, model, key, policy)
        self._habits = habits.of_host(urlsplit(provider.base_url or "").hostname or "")
        self._head = _head(model, self._habits, habits.effort_fields(self._habits, model.efforts, effort))
        muted = not effort and re.match(self._habits.mute_with_tools or "$.", model.name)
        self._head_with_tools = _head(model, self._habits, {"reasoning_effort": "none"}) if muted else self._head

    def dialect(self) -> Dialect:
        from acpagent.providers.caller import Dialect
        from acpagent.providers.chat_reader import ChatReader

        return Dialect("/chat/completions", ChatReader)

    def spell_system(self, text: str) -> str:
        return chat_messages.system(text)

    def spell_tools(self, tools: Sequence[ToolSpec]) -> str:
        return chat_messages.tools(tools)

    def spell(self, message: Message) -> list[str]:
        if isinstance(message, AssistantMessage) and not (message.text or message.calls):
            return []  # some servers refuse a message without content, and with it the rest of the session
        said = chat_messages.message(message, images=self.sees_images, thoughts=self._habits.thoughts, model=self.name)
        return [said]

    def spell_body(self, request: ModelRequest) -> str:
        with_tools = request.tools not in ("", "[]")
        head = f'{self._head_with_tools}"tools":{request.tools},' if with_tools else self._head
        messages = ",".join((request.system, *request.messages) if request.system else request.messages)
        return f'{head}"messages":[{messages}]}}'

    def ends_in_prompt(self, request: ModelRequest) -> bool:
        return bool(request.messages) and request.messages[-1].startswith('{"role":"user"')


def _head(model: ModelSettings, habits: Habits, effort: dict[str, Any]) -> str:
    """The beginning of every body, up to where tools or messages follow."""
    fields: dict[str, object] = {
        "model": model.name,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if model.max_output_tokens is not None:
        fields[habits.output_limit] = model.max_output_tokens
    return chat_messages.dump(fields | effort)[:-1] + ","
