"""One or more valid payloads for every method of the bundled schemas, without unknown keys."""

from __future__ import annotations

from typing import Any

from acpagent.wire.schema import PARAMS, RESULT

SESSION = {"sessionId": "s"}
BLOCKS: list[dict[str, Any]] = [
    {"type": "text", "text": "hello", "annotations": {"audience": ["user"], "priority": 0.5}},
    {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "file:///a", "name": "a", "size": 3},
    {"type": "resource", "resource": {"uri": "file:///a", "text": "content", "mimeType": "text/plain"}},
    {"type": "resource", "resource": {"uri": "file:///b", "blob": "aGk=", "_meta": {"x": 1}}},
]
SERVERS: list[dict[str, Any]] = [
    {"name": "local", "command": "/bin/server", "args": ["-v"], "env": [{"name": "A", "value": "b"}]},
    {"type": "http", "name": "web", "url": "http://127.0.0.1", "headers": [{"name": "A", "value": "b"}]},
    {"type": "sse", "name": "old", "url": "http://127.0.0.1", "headers": []},
]
CHOICES = {"type": "select", "id": "mode", "name": "Mode", "category": "mode", "currentValue": "a"}
OPTIONS: list[dict[str, Any]] = [
    {**CHOICES, "options": [{"value": "a", "name": "A", "description": "first"}]},
    {**CHOICES, "options": [{"group": "g", "name": "G", "options": [{"value": "a", "name": "A"}]}]},
    {"type": "boolean", "id": "fast", "name": "Fast", "category": "_own", "currentValue": True},
]
MODES = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}]}
CONTENT: list[dict[str, Any]] = [
    {"type": "content", "content": BLOCKS[0]},
    {"type": "diff", "path": "/a", "oldText": None, "newText": "x"},
    {"type": "terminal", "terminalId": "t"},
]
CALL = {"toolCallId": "c", "title": "Read", "kind": "read", "status": "pending", "content": CONTENT,
        "locations": [{"path": "/a", "line": 3}], "rawInput": {"any": ["thing"]}}  # fmt: skip
FORM = {"type": "object", "required": ["a"], "properties": {
    "a": {"type": "string", "title": "A", "minLength": 1},
    "b": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
    "c": {"type": "integer", "minimum": 1}, "d": {"type": "boolean", "default": True},
}}  # fmt: skip


def update(variant: str, /, **fields: Any) -> dict[str, Any]:
    return {**SESSION, "update": {"sessionUpdate": variant, **fields}}


SAMPLES: dict[tuple[str, str, str], list[Any]] = {
    ("agent", "initialize", PARAMS): [
        {"protocolVersion": 1},
        {
            "protocolVersion": 1,
            "clientCapabilities": {
                "fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True,
                "elicitation": {"form": {}, "url": {}}, "session": {"notices": {}, "compaction": {}},
            },
            "clientInfo": {"name": "editor", "version": "1", "title": None},
        },
    ],
    ("agent", "initialize", RESULT): [
        {
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": True, "promptCapabilities": {"image": True},
                "sessionCapabilities": {"list": {}, "delete": {}, "close": {}, "resume": {}},
                "auth": {"logout": {}}, "_meta": {"own": 1},
            },
            "authMethods": [
                {"id": "key", "name": "Key"},
                {"id": "setup", "name": "Set up", "type": "terminal", "args": ["setup"]},
            ],
            "agentInfo": {"name": "acpagent", "version": "0"},
        },
    ],
    ("agent", "authenticate", PARAMS): [{"methodId": "key"}],
    ("agent", "authenticate", RESULT): [{}],
    ("agent", "logout", PARAMS): [{}],
    ("agent", "logout", RESULT): [{}],
    ("agent", "session/new", PARAMS): [{"cwd": "/", "mcpServers": SERVERS, "additionalDirectories": ["/a"]}],
    ("agent", "session/new", RESULT): [{**SESSION, "modes": MODES, "configOptions": OPTIONS}, SESSION],
    ("agent", "session/load", PARAMS): [{**SESSION, "cwd": "/", "mcpServers": []}],
    ("agent", "session/load", RESULT): [{"modes": None, "configOptions": OPTIONS}],
    ("agent", "session/resume", PARAMS): [{**SESSION, "cwd": "/"}],
    ("agent", "session/resume", RESULT): [{"modes": MODES}],
    ("agent", "session/list", PARAMS): [{}, {"cwd": "/", "cursor": "x"}],
    ("agent", "session/list", RESULT): [
        {"sessions": [{**SESSION, "cwd": "/", "title": "T", "updatedAt": "2026-01-01T00:00:00Z"}], "nextCursor": "x"}
    ],
    ("agent", "session/close", PARAMS): [SESSION],
    ("agent", "session/close", RESULT): [{}],
    ("agent", "session/delete", PARAMS): [SESSION],
    ("agent", "session/delete", RESULT): [{}],
    ("agent", "session/set_mode", PARAMS): [{**SESSION, "modeId": "a"}],
    ("agent", "session/set_mode", RESULT): [{}],
    ("agent", "session/set_config_option", PARAMS): [
        {**SESSION, "configId": "mode", "value": "a"},
        {**SESSION, "configId": "fast", "type": "boolean", "value": True},
    ],
    ("agent", "session/set_config_option", RESULT): [{"configOptions": OPTIONS}],
    ("agent", "session/prompt", PARAMS): [{**SESSION, "prompt": BLOCKS}],
    ("agent", "session/prompt", RESULT): [{"stopReason": "end_turn"}],
    ("agent", "session/cancel", PARAMS): [SESSION],
    ("agent", "$/cancel_request", PARAMS): [{"requestId": 1}, {"requestId": "a"}, {"requestId": None}],
    ("client", "$/cancel_request", PARAMS): [{"requestId": 1}],
    ("client", "session/update", PARAMS): [
        update("agent_message_chunk", content=BLOCKS[0], messageId="m"),
        update("user_message_chunk", content=BLOCKS[3]),
        update("agent_thought_chunk", content=BLOCKS[0]),
        update("tool_call", **CALL),
        update("tool_call_update", toolCallId="c", status="completed", content=CONTENT, rawOutput=3),
        update("plan", entries=[{"content": "do", "priority": "high", "status": "pending"}]),
        update("available_commands_update", availableCommands=[
            {"name": "help", "description": "Help"}, {"name": "do", "description": "Do", "input": {"hint": "what"}},
        ]),
        update("current_mode_update", currentModeId="a"),
        update("config_option_update", configOptions=OPTIONS),
        update("session_info_update", title="T", updatedAt="2026-01-01T00:00:00Z"),
        update("usage_update", used=1, size=2, cost={"amount": 0.1, "currency": "USD"}),
    ],
    ("client", "session/request_permission", PARAMS): [
        {**SESSION, "toolCall": CALL, "options": [{"optionId": "once", "name": "Once", "kind": "allow_once"}]}
    ],
    ("client", "session/request_permission", RESULT): [
        {"outcome": {"outcome": "cancelled"}},
        {"outcome": {"outcome": "selected", "optionId": "once"}},
    ],
    ("client", "fs/read_text_file", PARAMS): [{**SESSION, "path": "/a", "line": 1, "limit": 2}],
    ("client", "fs/read_text_file", RESULT): [{"content": "x"}],
    ("client", "fs/write_text_file", PARAMS): [{**SESSION, "path": "/a", "content": "x"}],
    ("client", "fs/write_text_file", RESULT): [{}],
    ("client", "terminal/create", PARAMS): [
        {**SESSION, "command": "ls", "args": ["-l"], "env": [{"name": "A", "value": "b"}], "cwd": "/",
         "outputByteLimit": 10}
    ],
    ("client", "terminal/create", RESULT): [{"terminalId": "t"}],
    ("client", "terminal/output", PARAMS): [{**SESSION, "terminalId": "t"}],
    ("client", "terminal/output", RESULT): [
        {"output": "x", "truncated": False, "exitStatus": {"exitCode": 0, "signal": None}}
    ],
    ("client", "terminal/wait_for_exit", PARAMS): [{**SESSION, "terminalId": "t"}],
    ("client", "terminal/wait_for_exit", RESULT): [{"exitCode": 1}, {"signal": "KILL"}],
    ("client", "terminal/kill", PARAMS): [{**SESSION, "terminalId": "t"}],
    ("client", "terminal/kill", RESULT): [{}],
    ("client", "terminal/release", PARAMS): [{**SESSION, "terminalId": "t"}],
    ("client", "terminal/release", RESULT): [{}],
    ("client", "elicitation/create", PARAMS): [
        {**SESSION, "mode": "form", "message": "m", "requestedSchema": FORM, "toolCallId": "c"},
        {"requestId": 1, "mode": "form", "message": "m", "requestedSchema": FORM},
        {**SESSION, "mode": "url", "message": "m", "elicitationId": "e", "url": "http://127.0.0.1"},
    ],
    ("client", "elicitation/create", RESULT): [
        {"action": "accept", "content": {"a": "x", "b": ["x"], "c": 1, "d": True, "e": 0.5}},
        {"action": "decline"},
        {"action": "cancel"},
    ],
    ("client", "elicitation/complete", PARAMS): [{"elicitationId": "e"}],
    ("agent", "_reasonix.io/session/steer", PARAMS): [{**SESSION, "prompt": BLOCKS}],
    ("agent", "_reasonix.io/session/steer", RESULT): [{}],
    ("agent", "_reasonix.io/session/reloadExtensions", PARAMS): [SESSION],
    ("agent", "_reasonix.io/session/reloadExtensions", RESULT): [{}, {"queued": True}],
    ("agent", "_reasonix.io/session/submitSurface", PARAMS): [
        {**SESSION, "formInstanceId": "form-1-1", "values": {"a": "x", "b": True, "c": ["x"]}}
    ],
    ("agent", "_reasonix.io/session/submitSurface", RESULT): [{}],
    ("agent", "session/set_model", PARAMS): [{**SESSION, "modelId": "local/tiny"}],
    ("agent", "session/set_model", RESULT): [{}],
}  # fmt: skip
