"""Light views over what an agent reports. `raw` is always the dict as it came; a field of the wrong shape
reads as absent, so that no agent can make reading an update raise."""

from __future__ import annotations

from typing import Any, Literal

Role = Literal["user", "assistant", "thought"]


def text_of(value: Any, key: str) -> str | None:
    """`value[key]` if `value` is a dict and that is a string."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def dicts_of(value: Any, key: str) -> list[dict[str, Any]]:
    """The dicts in the list `value[key]`; empty if there is no such list."""
    found = value.get(key) if isinstance(value, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


class Update:
    """One update of a session. `kind` is its `sessionUpdate` name; kinds without a class of their own are
    plain `Update`s."""

    __slots__ = ("raw",)
    __match_args__ = ("kind",)

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw

    @property
    def kind(self) -> str:
        return text_of(self.raw, "sessionUpdate") or ""

    @property
    def meta(self) -> dict[str, Any]:
        found = self.raw.get("_meta")
        return found if isinstance(found, dict) else {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.raw!r})"


class MessageChunk(Update):
    """A piece of a message; appends to what `message_id` already holds."""

    __slots__ = ()
    __match_args__ = ("role", "text")

    @property
    def role(self) -> Role:
        return _ROLES[self.kind]

    @property
    def block(self) -> dict[str, Any]:
        found = self.raw.get("content")
        return found if isinstance(found, dict) else {}

    @property
    def text(self) -> str:
        """Empty for a piece that is no text."""
        return text_of(self.block, "text") or ""

    @property
    def message_id(self) -> str | None:
        return text_of(self.raw, "messageId")

    @property
    def evidence(self) -> dict[str, Any] | None:
        """What the turn changed and checked, where the agent hands that over with this message."""
        found: Any = self.raw
        for name in ("_meta", "soba", "evidence"):
            found = found.get(name) if isinstance(found, dict) else None
        return found if isinstance(found, dict) and found.get("source") == "assistant_handoff" else None


class ToolUpdate(Update):
    """A tool call begun (`tool_call`) or changed (`tool_call_update`). A change names only what is new: the
    call as it stands is in `Turn.tool_calls`."""

    __slots__ = ()
    __match_args__ = ("id", "status")

    @property
    def begins(self) -> bool:
        return self.kind == "tool_call"

    @property
    def id(self) -> str:
        return text_of(self.raw, "toolCallId") or ""

    @property
    def title(self) -> str | None:
        return text_of(self.raw, "title")

    @property
    def status(self) -> str | None:
        return text_of(self.raw, "status")

    @property
    def tool_kind(self) -> str | None:
        return text_of(self.raw, "kind")

    @property
    def content(self) -> list[dict[str, Any]]:
        """Replaces all earlier content of the call when not empty."""
        return dicts_of(self.raw, "content")

    @property
    def diffs(self) -> list[dict[str, Any]]:
        """The diffs in `content`: `path`, `oldText` (None for a new file), `newText`."""
        return [item for item in self.content if item.get("type") == "diff"]

    @property
    def text(self) -> str:
        """The text in `content`."""
        return "".join(text_of(item.get("content"), "text") or "" for item in self.content)


class PlanUpdate(Update):
    """The whole plan anew."""

    __slots__ = ()
    __match_args__ = ("entries",)

    @property
    def entries(self) -> list[dict[str, Any]]:
        return dicts_of(self.raw, "entries")


class CommandsUpdate(Update):
    """All slash commands anew."""

    __slots__ = ()
    __match_args__ = ("commands",)

    @property
    def commands(self) -> list[dict[str, Any]]:
        return dicts_of(self.raw, "availableCommands")


class ModeUpdate(Update):
    """Another mode is the current one."""

    __slots__ = ()
    __match_args__ = ("mode",)

    @property
    def mode(self) -> str:
        return text_of(self.raw, "currentModeId") or ""


class OptionsUpdate(Update):
    """All options anew, with what they are set to."""

    __slots__ = ()
    __match_args__ = ("options",)

    @property
    def options(self) -> list[dict[str, Any]]:
        return dicts_of(self.raw, "configOptions")


class InfoUpdate(Update):
    """The session's title or time changed; what is not named stays, null clears."""

    __slots__ = ()
    __match_args__ = ("title",)

    @property
    def title(self) -> str | None:
        return text_of(self.raw, "title")


class UsageUpdate(Update):
    """Tokens `used` of the context window's `size`, and the session's cost so far."""

    __slots__ = ()
    __match_args__ = ("used", "size")

    @property
    def used(self) -> int:
        return _whole(self.raw.get("used"))

    @property
    def size(self) -> int:
        return _whole(self.raw.get("size"))

    @property
    def cost(self) -> dict[str, Any] | None:
        found = self.raw.get("cost")
        return found if isinstance(found, dict) else None


def view(raw: dict[str, Any]) -> Update:
    """The view that fits an update."""
    return _VIEWS.get(text_of(raw, "sessionUpdate") or "", Update)(raw)


def _whole(value: Any) -> int:
    return value if isinstance(value, int) else 0


_ROLES: dict[str, Role] = {
    "user_message_chunk": "user",
    "agent_message_chunk": "assistant",
    "agent_thought_chunk": "thought",
}
_VIEWS: dict[str, type[Update]] = {
    **dict.fromkeys(_ROLES, MessageChunk),
    "tool_call": ToolUpdate,
    "tool_call_update": ToolUpdate,
    "plan": PlanUpdate,
    "available_commands_update": CommandsUpdate,
    "current_mode_update": ModeUpdate,
    "config_option_update": OptionsUpdate,
    "session_info_update": InfoUpdate,
    "usage_update": UsageUpdate,
}
