"""What a provider is, whatever HTTP API it speaks. How a request is spelled is left to those who speak one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from acpagent.core.model import Message, ModelEvent, ModelRequest, ToolSpec
from acpagent.providers import toolless, usage
from acpagent.providers.retry import Policy, retried

if TYPE_CHECKING:
    from acpagent.config.settings import ModelSettings, ProviderSettings
    from acpagent.core.events import Usage
    from acpagent.core.scope import Scope
    from acpagent.providers.base import KeySource
    from acpagent.providers.caller import Caller, Dialect


_PATIENCE = 0.25  # of the time that a server may be silent


class OverHttp:
    """`core.model.Provider` over HTTP.

    The caller, with its connections, is made at the first call: sessions are opened without waiting for the import of
    `requests`, and those never prompted cost nothing.
    """

    def __init__(self, provider: ProviderSettings, model: ModelSettings, key: KeySource | None, policy: Policy) -> None:
        self.name = model.id
        self.patience: float | None = provider.timeouts.read * _PATIENCE
        self.context_window = model.context_window
        self.sees_images = model.vision
        self.currency = usage.currency(model.price)
        self.calls_tools = model.tools
        self._provider = provider
        self._price = model.price
        self._policy = policy
        self._key = key
        self._caller: Caller | None = None

    # What an API spells its own way.

    def dialect(self) -> Dialect:
        raise NotImplementedError

    def spell_system(self, text: str) -> str:
        raise NotImplementedError

    def spell_tools(self, tools: Sequence[ToolSpec]) -> str:
        raise NotImplementedError

    def spell(self, message: Message) -> list[str]:
        raise NotImplementedError

    def spell_body(self, request: ModelRequest) -> str:
        """Everything stable comes first and messages last, so that each body begins with the last one's bytes up to
        its closing brackets, and the server's prefix cache holds."""
        raise NotImplementedError

    def ends_in_prompt(self, request: ModelRequest) -> bool:
        """Whether the last thing the model is to read is what a person said. To results of its calls it may have
        nothing to add; to a person an answer of nothing is a failure."""
        raise NotImplementedError

    # What `Provider` asks for.

    def encode_system(self, text: str) -> str:
        return self.spell_system(text if self.calls_tools else toolless.system(text))

    def encode_tools(self, tools: Sequence[ToolSpec]) -> str:
        return self.spell_tools(tools if self.calls_tools else ())

    def encode(self, message: Message) -> list[str]:
        return self.spell(message if self.calls_tools else toolless.message(message))

    def cost(self, spent: Usage) -> float | None:
        return usage.cost(self._price, spent)

    def close(self) -> None:
        """Close idle connections. The provider can still be used."""
        if self._caller is not None:
            self._caller.close()

    def stream(self, request: ModelRequest, scope: Scope) -> Iterator[Sequence[ModelEvent]]:
        caller = self._find_caller()
        body = self.spell_body(request).encode()
        may_be_empty = not self.ends_in_prompt(request)
        return retried(lambda: caller.attempt(body, scope, may_be_empty), scope, self._policy)

    def _find_caller(self) -> Caller:
        if self._caller is None:
            from acpagent.providers.caller import Caller

            self._caller = Caller(self.name, self._provider, self._key, self.dialect())
        return self._caller
