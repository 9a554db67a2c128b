"""What a hook is told: one JSON object on its stdin, in the words of both forms that hooks are written in."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.core.rules import GROUPS

# What Claude Code calls a tool, for scripts that were written for it.
_THEIRS: Mapping[str, str] = {
    "bash": "Bash",
    "read_file": "Read",
    "write_file": "Write",
    "edit_file": "Edit",
    "multi_edit": "MultiEdit",
    "list_dir": "LS",
    "glob": "Glob",
    "grep": "Grep",
    "web_fetch": "WebFetch",
    "todo_write": "TodoWrite",
    "exit_plan_mode": "ExitPlanMode",
}
_FILE_TOOLS = GROUPS["Read"] | GROUPS["Edit"] | GROUPS["Delete"]


@dataclass(frozen=True, slots=True)
class Happening:
    """One event of a session. What does not belong to the event is None. `turn` counts the session's prompts; `source`
    is why it happened, `message` what else there is to say; `again`: a Stop hook has sent the model on before."""

    event: str
    session_id: str
    cwd: str
    turn: int
    call_id: str | None = None
    tool: str | None = None
    args: Any = None
    result: str | None = None
    failed: bool = False
    prompt: str | None = None
    source: str | None = None
    text: str | None = None
    message: str | None = None
    again: bool | None = None

    @property
    def name(self) -> str:
        """What a matcher is compared with."""
        return self.tool or self.source or ""

    def spelled(self) -> bytes:
        """The object for stdin."""
        ours = {
            "event": self.event,
            "session_id": self.session_id,
            "cwd": self.cwd,
            "turn": self.turn,
            "tool_name": self.tool,
            "tool_args": self.args,
            "tool_result": self.result,
            "prompt": self.prompt,
            "source": self.source,
            "last_assistant_text": self.text,
            "message": self.message,
        }
        every = {camel(name): value for name, value in ours.items()} | self._theirs()
        return json.dumps({name: value for name, value in every.items() if value is not None}).encode()

    def _theirs(self) -> dict[str, Any]:
        """The same as Claude Code says it."""
        said: dict[str, Any] = {
            "hook_event_name": self.event,
            "session_id": self.session_id,
            "stop_hook_active": self.again,
            "last_assistant_message": self.text,
        }
        if self.tool is not None:
            said |= {"tool_name": _THEIRS.get(self.tool, self.tool), "tool_use_id": self.call_id}
            said["tool_input"] = self._input()
        if self.result is not None:
            said["tool_response"] = {"text": self.result, "success": not self.failed}
            said["error"] = self.result if self.failed else None
        if self.event == "SessionEnd":
            said["reason"] = self.source
        elif self.event == "PreCompact":
            said |= {"trigger": self.source, "custom_instructions": self.message}
        elif self.event == "Notification":
            said["notification_type"] = self.source
        elif self.event == "StopFailure":
            said["error"] = self.message
        return said

    def _input(self) -> Any:
        """The arguments, and the file as an absolute path of the name that such scripts look for."""
        path = self.args.get("path") if isinstance(self.args, dict) else None
        if self.tool not in _FILE_TOOLS or not isinstance(path, str):
            return self.args
        return {**self.args, "file_path": os.path.normpath(os.path.join(self.cwd, path))}


def camel(name: str) -> str:
    """`tool_name` as `toolName`."""
    first, *more = name.split("_")
    return first + "".join(word.title() for word in more)
