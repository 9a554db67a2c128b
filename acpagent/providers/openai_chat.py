"""Models behind OpenAI-style chat completions, streamed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from acpagent.core.model import AssistantMessage, Message, ModelEvent, ModelRequest, ToolSpec
from acpagent.providers import chat_messages, habits, usage
from acpagent.providers.retry import Policy, retried

if TYPE_CHECKING:
    from acpagent.config.settings import ModelSettings, ProviderSettings
    from acpagent.core.events import Usage
    from acpagent.core.scope import Scope
    from acpagent.providers.base import KeySource
    from acpagent.providers.chat_caller import ChatCaller


class OpenAIChat:
    """`core.model.Provider` over `POST {base_url}/chat/completions`.

    The caller, with its connections, is made at the first call: sessions are opened without waiting for the import of
    `requests`, and those never prompted cost nothing.
    """

    def __init__(
        self,
        provider: ProviderSettings,
        model: ModelSettings,
        key: KeySource | None,
        effort: str | None,
        policy: Policy,
    ) -> None:
        self.name = model.id
        self.context_window = model.context_window
        self.sees_images = model.vision
        self.currency = usage.currency(model.price)
        self._provider = provider
        self._price = model.price
        self._policy = policy
        self._key = key
        self._habits = habits.of_host(urlsplit(provider.base_url or "").hostname or "")
        self._head = _head(model, effort, self._habits.output_limit)
        self._caller: ChatCaller | None = None

    def encode_system(self, text: str) -> str:
        return chat_messages.system(text)

    def encode_tools(self, tools: Sequence[ToolSpec]) -> str:
        return chat_messages.tools(tools)

    def encode(self, message: Message) -> list[str]:
        if isinstance(message, AssistantMessage) and not (message.text or message.calls):
            return []  # some servers refuse a message without content, and with it the rest of the session
        return [chat_messages.message(message, images=self.sees_images, thoughts=self._habits.thoughts)]

    def cost(self, spent: Usage) -> float | None:
        return usage.cost(self._price, spent)

    def close(self) -> None:
        """Close idle connections. The provider can still be used."""
        if self._caller is not None:
            self._caller.close()

    def stream(self, request: ModelRequest, scope: Scope) -> Iterator[Sequence[ModelEvent]]:
        caller = self._find_caller()
        return retried(lambda: caller.attempt(self._body(request), scope), scope, self._policy)

    def _find_caller(self) -> ChatCaller:
        if self._caller is None:
            from acpagent.providers.chat_caller import ChatCaller

            self._caller = ChatCaller(self.name, self._provider, self._key)
        return self._caller

    def _body(self, request: ModelRequest) -> bytes:
        """Everything stable comes first and messages last, so that each body begins with the last one's bytes
        up to its closing brackets, and the server's prefix cache holds."""
        tools = f'"tools":{request.tools},' if request.tools not in ("", "[]") else ""
        messages = ",".join((request.system, *request.messages) if request.system else request.messages)
        return f'{self._head}{tools}"messages":[{messages}]}}'.encode()


def _head(model: ModelSettings, effort: str | None, output_limit: str) -> str:
    """The beginning of every body, up to where tools or messages follow."""
    fields: dict[str, object] = {
        "model": model.name,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if model.max_output_tokens is not None:
        fields[output_limit] = model.max_output_tokens
    if effort:
        fields["reasoning_effort"] = effort
    return chat_messages.dump(fields)[:-1] + ","
