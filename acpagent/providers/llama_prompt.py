"""How a small local model is told of tools, and made to answer in a form that can be read.

Such models do not call tools by themselves. They are made to answer in JSON of one schema: a text, or one call. What
was said before is told in the same form. Everything is kept short: a small machine reads 100 to 200 tokens a second.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from acpagent.core.model import AssistantMessage, Message, ToolMessage, ToolSpec, UserMessage
from acpagent.providers.chat_messages import dump, sound_arguments

ANSWER, TOOL, ARGUMENTS = "answer", "tool", "arguments"
_HOW = """
Reply with one JSON object: {"answer": "your text"} to speak, or {"tool": "name", "arguments": {...}} to use a tool and
see its result. The tools:
"""
_KEPT = ("type", "enum", "const", "required")  # of a schema: what a grammar is made of


def describe(specs: Sequence[ToolSpec]) -> str:
    """What stands behind the system prompt: a line for each tool."""
    if not specs:
        return ""
    return _HOW + "\n".join(_line(spec) for spec in sorted(specs, key=lambda spec: spec.name))


def schema(specs: Sequence[ToolSpec]) -> str:
    """The form of every reply, as JSON."""
    said = _object({ANSWER: {"type": "string"}}, [ANSWER])
    made = [
        _object({TOOL: {"const": spec.name}, ARGUMENTS: plain(spec.schema)}, [TOOL, ARGUMENTS])
        for spec in sorted(specs, key=lambda spec: spec.name)
    ]
    return dump({"oneOf": [said, *made]})


def plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """A schema without what only explains, or what a grammar cannot hold."""
    result: dict[str, Any] = {key: value[key] for key in _KEPT if key in value}
    if isinstance(value.get("items"), Mapping):
        result["items"] = plain(value["items"])
    if isinstance(value.get("properties"), Mapping):
        result["properties"] = {name: plain(inner) for name, inner in value["properties"].items()}
    if result.get("type") == "object" or "properties" in result:
        result = {"type": "object", "properties": {}, **result, "additionalProperties": False}
    return result


def message(said: Message, constrained: bool) -> list[dict[str, str]]:
    """One message in words alone; `constrained`: in the form that replies have."""
    if isinstance(said, UserMessage):
        return [{"role": "user", "content": said.text}]
    if isinstance(said, ToolMessage):
        return [{"role": "user", "content": f"[Result of the tool {said.name}]\n{said.text}"}]
    return [{"role": "assistant", "content": text} for text in _reply(said, constrained)]


def _reply(said: AssistantMessage, constrained: bool) -> list[str]:
    if not constrained:
        return [said.text] if said.text else []
    texts = [dump({ANSWER: said.text})] if said.text else []
    for call in said.calls:
        texts.append(dump({TOOL: call.name, ARGUMENTS: json.loads(sound_arguments(call.arguments))}))
    return texts


def _object(properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _line(spec: ToolSpec) -> str:
    names = spec.schema.get("properties") or {}
    needed = spec.schema.get("required") or ()
    listed = ", ".join(name if name in needed else f"{name}?" for name in names)
    return f"- {spec.name}({listed}): {spec.description.split('. ')[0].split(chr(10))[0].rstrip('.')}."
