"""Messages and tools in the spelling of OpenAI-style chat completions, as canonical JSON fragments."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from acpagent.core.model import AssistantMessage, Message, ModelCall, ToolMessage, ToolSpec, UserMessage
from acpagent.providers import chat_keeping
from acpagent.providers.surrogates import repair

# Whether the reasoning of an assistant message with calls is sent back to the server: some refuse a request
# without it, some one with it; the rest takes it, and models that think between calls answer better for it.
Thoughts = Literal["never", "when_there", "always"]
_UNFIT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_NAME_LETTERS = 64


# What servers take. One image of another kind would have them refuse the rest of the session.
IMAGE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})


def unseen(media_type: str) -> str:
    return f"[An image was left out: no model takes {media_type or 'its kind'}.]"


def dump(value: Any) -> str:
    """JSON without spaces, which UTF-8 can carry."""
    return repair(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def system(text: str) -> str:
    return dump({"role": "system", "content": text})


def tools(specs: Sequence[ToolSpec]) -> str:
    """A JSON list sorted by name, with sorted keys: the same tools are the same bytes, whoever lists them."""
    listed = [_tool(spec) for spec in sorted(specs, key=lambda spec: spec.name)]
    return dump(json.loads(json.dumps(listed, sort_keys=True, default=dict)))


def message(said: Message, *, images: bool, thoughts: Thoughts = "when_there", model: str = "") -> str:
    """One message for `model`. Images are left out where the model sees none."""
    match said:
        case UserMessage():
            return dump(_user(said, images))
        case AssistantMessage():
            return dump(_assistant(said, thoughts, model))
        case ToolMessage():
            return dump({"role": "tool", "tool_call_id": said.provider_id, "content": said.text})


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": spec.schema}
    return {"type": "function", "function": function}


def _user(said: UserMessage, images: bool) -> dict[str, Any]:
    if not (images and said.images):
        return {"role": "user", "content": said.text}
    parts: list[dict[str, Any]] = [{"type": "text", "text": said.text}] if said.text else []
    for image in said.images:
        if image.media_type not in IMAGE_TYPES:
            parts.append({"type": "text", "text": unseen(image.media_type)})
            continue
        url = f"data:{image.media_type};base64,{image.data}"
        parts.append({"type": "image_url", "image_url": {"url": url}})
    return {"role": "user", "content": parts}


def _assistant(said: AssistantMessage, thoughts: Thoughts, model: str) -> dict[str, Any]:
    result: dict[str, Any] = {"role": "assistant", "content": said.text}
    if not said.calls:
        return result
    details, extras = chat_keeping.read(said.kept if said.kept_by == model else "")
    if details:
        result["reasoning_details"] = details
    elif thoughts == "always" or (thoughts == "when_there" and said.thought):
        result["reasoning_content"] = said.thought
    result["tool_calls"] = [_call(call, extras.get(str(number))) for number, call in enumerate(said.calls)]
    return result


def _call(call: ModelCall, extra: Any) -> dict[str, Any]:
    function = {"name": sound_name(call.name), "arguments": sound_arguments(call.arguments)}
    made = {"id": call.provider_id, "type": "function", "function": function}
    return made | ({"extra_content": extra} if extra else {})


def sound_name(name: str) -> str:
    """A tool's name as servers take it: models invent others, and one would make the session unusable."""
    return _UNFIT_IN_NAMES.sub("_", name)[:_NAME_LETTERS] or "nameless"


def sound_arguments(text: str) -> str:
    """Arguments as the model wrote them if they are a JSON object.

    Servers parse them again, and would refuse every later request of the session for one bad call.
    """
    try:
        if isinstance(json.loads(text), Mapping):
            return text
    except (ValueError, RecursionError):
        pass
    return dump({"unreadable_arguments": text}) if text.strip() else "{}"


def text_of(content: Any) -> str:
    """The text of a message's `content`, which is a text or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part.get("text", "") for part in parts if isinstance(part, dict) and part.get("type") == "text")
