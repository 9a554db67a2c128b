"""The words between the turn and a model provider: messages in, a stream of small events out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from acpagent.core.blocks import Image
from acpagent.core.events import Usage

if TYPE_CHECKING:
    from acpagent.core.scope import Scope


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told of it; `schema` is a JSON schema object."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call the model made: `provider_id` serves the provider alone, `arguments` is its JSON text as received."""

    provider_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class UserMessage:
    text: str
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """`kept` is what the model named `kept_by` wants back with this reply (see `Kept`); empty for most."""

    text: str = ""
    thought: str = ""
    calls: tuple[ModelCall, ...] = ()
    kept: str = ""
    kept_by: str = ""


@dataclass(frozen=True, slots=True)
class ToolMessage:
    """The answer to one call."""

    provider_id: str
    name: str
    text: str
    failed: bool = False


Message = UserMessage | AssistantMessage | ToolMessage


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request, in JSON fragments already spelled in the provider's dialect.

    `messages` only ever grows between two requests of a session, so each body extends the last one's bytes.
    """

    system: str
    tools: str
    messages: Sequence[str]


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ThoughtDelta:
    text: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of the call number `index` of this reply; `arguments` appends."""

    index: int
    provider_id: str | None = None
    name: str | None = None
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class UsageReport:
    """`estimated`: the server counted nothing, and this was guessed from sizes."""

    usage: Usage
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """What the provider needs back, word for word, to say this reply again: signed thoughts, say. Only the provider
    that made it can read it; it is stored with the reply."""

    data: str


# `paused`: the model is not done and wants to be asked again, with what it said so far.
Reason = Literal["stop", "calls", "length", "refusal", "paused"]


@dataclass(frozen=True, slots=True)
class Finished:
    """Why the model stopped. A stream that ends without one was cut short."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class Retrying:
    """The call failed before any output and is tried again after `seconds`."""

    attempt: int
    limit: int
    seconds: float
    cause: str


ModelEvent = TextDelta | ThoughtDelta | CallDelta | UsageReport | Kept | Finished | Retrying


class ProviderFault(Exception):
    """The provider failed for good. `kind` says what a person can do about it; `message` is one sentence with the
    cause and never holds a key."""

    def __init__(
        self,
        kind: Literal["auth", "payment", "too_long", "rate", "unavailable", "rejected", "broken"],
        message: str,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


class Provider(Protocol):
    """One configured model behind one API. Built per loadout; safe to use from one call at a time per session.

    `patience`: seconds without a word of the model after which the person is told that it is waited for; None: never.
    """

    name: str
    patience: float | None
    context_window: int
    sees_images: bool

    def encode_system(self, text: str) -> str:
        """The system prompt as a JSON fragment."""

    def encode_tools(self, tools: Sequence[ToolSpec]) -> str:
        """The tool list as a JSON fragment, in canonical order and spacing."""

    def encode(self, message: Message) -> list[str]:
        """A message as JSON fragments (some dialects need several, or none)."""

    def stream(self, request: ModelRequest, scope: Scope) -> Iterator[Sequence[ModelEvent]]:
        """Make the call; yields what each network read brought, at least one event each.

        Runs on the model helper thread. Registers closers on `scope`, so that a cancel ends a blocked read at once.
        Raises `ProviderFault`, or `Cancelled`.
        """

    def close(self) -> None:
        """Let go of idle connections. Never blocks; the provider can still be used."""

    def cost(self, usage: Usage) -> float | None:
        """What `usage` cost in `currency`, None where no price is known."""

    currency: str
