"""An agent's question whether it may do something, and the answer when nobody gives a usable one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Event
from typing import TYPE_CHECKING, Any

from acpagent.client.updates import dicts_of, text_of

if TYPE_CHECKING:
    from acpagent.client.session import Session


class Option:
    """One answer on offer: `kind` is allow_once, allow_always, reject_once or reject_always."""

    __slots__ = ("id", "kind", "name", "raw")

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        self.id = text_of(raw, "optionId") or ""
        self.name = text_of(raw, "name") or ""
        self.kind = text_of(raw, "kind") or ""

    @property
    def allows(self) -> bool:
        return self.kind.startswith("allow")

    def __repr__(self) -> str:
        return f"Option({self.id!r}, kind={self.kind!r})"


class PermissionRequest:
    """What a permission callback decides on. It returns an option of `options`, or the option's id.

    `withdrawn` is set as soon as nobody waits for the answer any longer (the turn was cancelled, the agent
    took the question back or ended): a dialog may close itself then; what the callback returns is dropped.
    """

    __slots__ = ("_cancel", "options", "raw", "session", "withdrawn")

    def __init__(self, session: Session, raw: dict[str, Any], withdrawn: Event, cancel: Callable[[], None]) -> None:
        self.session = session
        self.raw = raw
        self.options = [option for option in map(Option, dicts_of(raw, "options")) if option.id]
        self.withdrawn = withdrawn
        self._cancel = cancel

    @property
    def tool_call(self) -> dict[str, Any]:
        """The call it is about: `toolCallId`, and what the agent says of it (`title`, `content`, ...)."""
        found = self.raw.get("toolCall")
        return found if isinstance(found, dict) else {}

    @property
    def title(self) -> str:
        return text_of(self.tool_call, "title") or ""

    def option(self, kind: str) -> Option | None:
        """The first option of that kind, such as `allow_once`."""
        return next((option for option in self.options if option.kind == kind), None)

    def cancel(self) -> None:
        """Close the question unanswered. Agents end the turn then."""
        self._cancel()


def chosen(answer: object, options: Sequence[Option]) -> Option | None:
    """The option that a callback's answer names; if it names none, a rejection: never an approval
    (PERM-06). `reject_once` comes before `reject_always`, which agents remember. None if nothing on offer
    rejects."""
    wanted = answer.id if isinstance(answer, Option) else answer
    for option in options:
        if option.id == wanted:
            return option
    for prefix in ("reject_once", "reject"):
        for option in options:
            if option.kind.startswith(prefix):
                return option
    return None


def outcome(option: Option | None) -> dict[str, Any]:
    """The answer on the wire; None is a question closed unanswered."""
    if option is None:
        return {"outcome": {"outcome": "cancelled"}}
    return {"outcome": {"outcome": "selected", "optionId": option.id}}
