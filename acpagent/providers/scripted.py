"""A model that plays a script: no network, no key, the same answer every time."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from acpagent.core.catalogue import Phrase
from acpagent.core.model import Message, ModelEvent, ModelRequest, ToolSpec
from acpagent.providers import chat_messages, failures, usage
from acpagent.providers.failures import FailedTry
from acpagent.providers.player import Player
from acpagent.providers.retry import Policy, retried
from acpagent.providers.script import Drop, Fail, Script, Stall, Wait

if TYPE_CHECKING:
    from acpagent.config.settings import ModelSettings
    from acpagent.core.events import Usage
    from acpagent.core.scope import Scope


class Scripted:
    """`core.model.Provider` over a script. Fails, and is tried again, as a provider over HTTP."""

    def __init__(self, model: ModelSettings, script: Script, policy: Policy) -> None:
        self.name = model.id
        self.patience: float | None = None
        self.context_window = model.context_window
        self.sees_images = model.vision
        self.currency = usage.currency(model.price)
        self._price = model.price
        self._policy = policy
        self._player = Player(script)

    def encode_system(self, text: str) -> str:
        return chat_messages.system(text)

    def encode_tools(self, tools: Sequence[ToolSpec]) -> str:
        return chat_messages.tools(tools)

    def encode(self, message: Message) -> list[str]:
        return [chat_messages.message(message, images=self.sees_images)]

    def stream(self, request: ModelRequest, scope: Scope) -> Iterator[Sequence[ModelEvent]]:
        return retried(lambda: self._attempt(request, scope), scope, self._policy)

    def close(self) -> None:
        """There is nothing to let go of."""

    def cost(self, spent: Usage) -> float | None:
        return usage.cost(self._price, spent)

    def _attempt(self, request: ModelRequest, scope: Scope) -> Iterator[Sequence[ModelEvent]]:
        letters = len(request.system) + len(request.tools) + sum(map(len, request.messages))
        newest_first = (json.loads(fragment) for fragment in reversed(request.messages))
        for beat in self._player.play(newest_first, len(request.messages), letters):
            scope.check()
            match beat:
                case Wait(seconds):
                    scope.pause(seconds)
                case Fail():
                    raise failures.from_status(self.name, beat.status, beat.message, after=beat.retry_after)
                case Drop():
                    raise FailedTry("unavailable", self.name, Phrase("model_connection_lost"))
                case Stall():
                    scope.wait_for(lambda: False)
                case _:
                    yield (beat,)
