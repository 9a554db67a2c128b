"""What a server offers, in words of our own: nothing here knows the package that speaks to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from acpagent.core import bounds

DESCRIPTION_LETTERS = 4000  # more is no help to a model, and it pays for it with every request
TITLE_LETTERS = 120
_ANYTHING: Mapping[str, Any] = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class ToolOffer:
    """`reads_only` is what the server says of it; `destroys` only where it says so outright."""

    name: str
    title: str
    description: str
    schema: Mapping[str, Any] = field(hash=False)
    reads_only: bool
    destroys: bool


@dataclass(frozen=True, slots=True)
class ArgumentOffer:
    name: str
    description: str
    required: bool


@dataclass(frozen=True, slots=True)
class PromptOffer:
    name: str
    description: str
    arguments: tuple[ArgumentOffer, ...]


@dataclass(frozen=True, slots=True)
class ResourceOffer:
    """`uri` of a template has placeholders in braces."""

    uri: str
    name: str
    description: str
    media_type: str | None
    size: int | None = None
    is_template: bool = False


@dataclass(frozen=True, slots=True)
class Offers:
    """Everything one server offers at one moment. `has_resources`: they can be read, listed or not."""

    tools: tuple[ToolOffer, ...] = ()
    prompts: tuple[PromptOffer, ...] = ()
    resources: tuple[ResourceOffer, ...] = ()
    has_resources: bool = False


def tool(listed: Any) -> ToolOffer:
    """A tool as the package lists it."""
    hints = listed.annotations
    destroys = bool(hints is not None and hints.destructive_hint is True)
    return ToolOffer(
        name=listed.name,
        title=_line(listed.title or (hints.title if hints else None) or listed.name),
        description=_text(listed.description),
        schema=_schema(listed.input_schema),
        reads_only=bool(hints is not None and hints.read_only_hint is True and not destroys),
        destroys=destroys,
    )


def prompt(listed: Any) -> PromptOffer:
    """A prompt as the package lists it."""
    arguments = tuple(
        ArgumentOffer(one.name, _line(one.description or ""), one.required is True) for one in listed.arguments or ()
    )
    return PromptOffer(listed.name, _line(listed.description or listed.title or listed.name), arguments)


def resource(listed: Any) -> ResourceOffer:
    """A resource as the package lists it."""
    name = _line(listed.title or listed.name or listed.uri)
    return ResourceOffer(listed.uri, name, _line(listed.description or ""), listed.mime_type, listed.size)


def template(listed: Any) -> ResourceOffer:
    """A template of resources as the package lists it."""
    name = _line(listed.title or listed.name or listed.uri_template)
    return ResourceOffer(listed.uri_template, name, _line(listed.description or ""), listed.mime_type, is_template=True)


def _schema(written: Any) -> Mapping[str, Any]:
    """Every provider wants an object with properties."""
    if not isinstance(written, dict) or written.get("type") != "object":
        return _ANYTHING
    return written if isinstance(written.get("properties"), dict) else {**written, "properties": {}}


def _line(text: str) -> str:
    return bounds.one_line(text, TITLE_LETTERS)


def _text(text: str | None) -> str:
    cleaned = bounds.clean(text or "").strip()
    return cleaned if len(cleaned) <= DESCRIPTION_LETTERS else cleaned[: DESCRIPTION_LETTERS - 1] + "…"
