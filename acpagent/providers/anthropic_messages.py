"""Messages and tools in the spelling of Anthropic messages, as canonical JSON fragments.

Each fragment is a whole message. `joined` puts neighbours of one role into one message, as the API wants the results of
parallel calls; it only ever adds behind what was there, so that a longer conversation begins with the bytes of the
shorter one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from acpagent.core.model import AssistantMessage, Message, ModelCall, ToolMessage, ToolSpec, UserMessage
from acpagent.providers import anthropic_keeping
from acpagent.providers.chat_messages import IMAGE_TYPES, dump, sound_arguments, sound_name, unseen

_CACHED = {"type": "ephemeral"}
_HEADS = {role: f'{{"role":"{role}","content":[' for role in ("user", "assistant")}
_TAIL = "]}"
_RESULT = _HEADS["user"] + '{"type":"tool_result"'
_UNFIT_IN_IDS = re.compile(r"[^A-Za-z0-9_-]")


def system(text: str) -> str:
    """Cached up to its end, tools included: those stand before it."""
    return dump([{"type": "text", "text": text, "cache_control": _CACHED}]) if text.strip() else ""


def tools(specs: Sequence[ToolSpec]) -> str:
    """A JSON list sorted by name, with sorted keys: the same tools are the same bytes, whoever lists them."""
    listed = [
        {"name": spec.name, "description": spec.description, "input_schema": {"type": "object"} | dict(spec.schema)}
        for spec in sorted(specs, key=lambda spec: spec.name)
    ]
    return dump(json.loads(json.dumps(listed, sort_keys=True, default=dict)))


def message(said: Message, *, images: bool, model: str) -> list[str]:
    """One message for `model`, or none where it holds nothing. Images are left out where the model sees none."""
    match said:
        case UserMessage():
            return _fragment("user", _user(said, images))
        case AssistantMessage():
            return _fragment("assistant", _assistant(said, model))
        case ToolMessage():
            return _fragment("user", [_result(said)])


def joined(fragments: Iterable[str]) -> str:
    """The fragments as a JSON list, neighbours of one role in one message."""
    messages: list[str] = []
    role = ""
    for fragment in fragments:
        if role and fragment.startswith(role):
            messages[-1] = messages[-1][: -len(_TAIL)]
            messages.append("," + fragment[len(role) :])
            continue
        role = next((head for head in _HEADS.values() if fragment.startswith(head)), "")
        messages.append(fragment if not messages else "," + fragment)
    return f"[{''.join(messages)}]"


def is_prompt(fragment: str) -> bool:
    """Whether a fragment is what a person said."""
    return fragment.startswith(_HEADS["user"]) and not fragment.startswith(_RESULT)


def without_thoughts(fragments: Iterable[str]) -> list[str]:
    """The fragments without any thought, for where the server does not take back what it signed."""
    result: list[str] = []
    for fragment in fragments:
        value = json.loads(fragment)
        left = [block for block in value["content"] if block["type"] not in ("thinking", "redacted_thinking")]
        result += _fragment(value["role"], left)
    return result


def _fragment(role: str, blocks: Sequence[Mapping[str, Any]]) -> list[str]:
    return [_HEADS[role] + dump(blocks)[1:-1] + _TAIL] if blocks else []


def _user(said: UserMessage, images: bool) -> list[dict[str, Any]]:
    shown = [_image(image.media_type, image.data) for image in said.images] if images else []
    text = said.text if said.text.strip() or shown else "(nothing)"  # the API refuses blank texts
    return [{"type": "text", "text": text}, *shown] if text.strip() else shown


def _image(media_type: str, data: str) -> dict[str, Any]:
    if media_type not in IMAGE_TYPES:
        return {"type": "text", "text": unseen(media_type)}
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _assistant(said: AssistantMessage, model: str) -> list[dict[str, Any]]:
    calls = [_call(call) for call in said.calls]
    if said.kept and said.kept_by == model:
        blocks = anthropic_keeping.read(said.kept, said.text, calls)
        if blocks is not None:
            return blocks
    return [*([{"type": "text", "text": said.text}] if said.text.strip() else []), *calls]


def _call(call: ModelCall) -> dict[str, Any]:
    name, made = sound_name(call.name), json.loads(sound_arguments(call.arguments))
    return {"type": "tool_use", "id": _id(call.provider_id), "name": name, "input": made}


def _result(said: ToolMessage) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": _id(said.provider_id)}
    if said.text.strip():
        block["content"] = said.text
    return block | ({"is_error": True} if said.failed else {})


def _id(provider_id: str) -> str:
    """An id of a call as the API takes it; other servers make up others."""
    return _UNFIT_IN_IDS.sub("_", provider_id) or "call"
