"""The one way to a model provider: from settings to a `core.model.Provider`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from acpagent.providers.retry import Policy

if TYPE_CHECKING:
    from acpagent.config.credentials import Secret
    from acpagent.config.settings import ModelSettings, ProviderSettings
    from acpagent.core.model import Provider

# Asked before each call and not kept, so that a corrected key is found by the next prompt.
KeySource = Callable[[], "Secret | None"]


def build(
    provider: ProviderSettings,
    model: ModelSettings,
    key: KeySource | None = None,
    effort: str | None = None,
    *,
    policy: Policy | None = None,
) -> Provider:
    """The provider of one model. `effort` is one of the model's efforts, or None for the server's own choice.

    `key` finds the key each time it is needed. Calls go out without one where there is none and the settings
    ask for none. Nothing is connected here. Raises `ConfigError` for a script that cannot be used.
    """
    policy = policy or Policy(provider.retries.tries, provider.retries.base_seconds)
    if provider.api == "scripted":
        from acpagent.providers import script_reader
        from acpagent.providers.scripted import Scripted

        return Scripted(model, script_reader.load(provider.script or "hello.yaml"), policy)
    if provider.api == "openai-chat":
        from acpagent.providers.openai_chat import OpenAIChat

        return OpenAIChat(provider, model, key, effort, policy)
    if provider.api == "anthropic-messages":
        from acpagent.providers.anthropic import AnthropicMessages

        return AnthropicMessages(provider, model, key, effort, policy)
    if provider.api == "llama-cpp":
        from acpagent.providers.llama_cpp import LlamaCpp

        return LlamaCpp(provider, model, policy)
    raise ValueError(f"no provider speaks {provider.api}")
