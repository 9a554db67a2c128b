"""For models that cannot call tools: they are told so, and what other models did with tools is retold in words."""

from __future__ import annotations

from acpagent.core.model import AssistantMessage, Message, ToolMessage, UserMessage

_NOTE = """
You have no tools in this session: you cannot read or change files and cannot run commands, whatever is said above. Work
with what the person shows you, and say so when something needs a tool. Never claim to have used one.
"""


def system(text: str) -> str:
    return text + _NOTE


def message(said: Message) -> Message:
    """The same message without calls and results, which such a model's server may refuse."""
    if isinstance(said, ToolMessage):
        return UserMessage(f"[Result of the tool {said.name}]\n{said.text}")
    if isinstance(said, AssistantMessage) and said.calls:
        made = "\n".join(f"[Called the tool {call.name} with {call.arguments or '{}'}]" for call in said.calls)
        return AssistantMessage(f"{said.text}\n{made}".strip(), said.thought)
    return said
