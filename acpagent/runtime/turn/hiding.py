"""Taking acpagent's own secrets out of what a call brought, before the model, the journal or the client has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from acpagent.core.blocks import Text
from acpagent.core.toolcalls import Content, Diff, ToolResult

Hide = Callable[[str], str]


def without_secrets(result: ToolResult, hide: Hide) -> ToolResult:
    """The result as it may be told."""
    content = tuple(_content(item, hide) for item in result.content)
    return replace(result, text=_text(result.text, hide), content=content, raw=_raw(result.raw, hide))


def _text(text: str, hide: Hide) -> str:
    """A text that holds no secret stays the very one, be it a sentence that is still to be said in a language."""
    told = hide(text)
    return text if told == text else told


def _content(item: Content, hide: Hide) -> Content:
    if isinstance(item, Text):
        return replace(item, text=_text(item.text, hide))
    if isinstance(item, Diff):
        return replace(item, old=None if item.old is None else hide(item.old), new=hide(item.new))
    return item


def _raw(value: Any, hide: Hide) -> Any:
    if isinstance(value, dict):
        return {name: _raw(item, hide) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_raw(item, hide) for item in value]
    return _text(value, hide) if isinstance(value, str) else value
