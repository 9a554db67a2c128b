"""What a plugin can do, in words for the person who decides about it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from acpagent.core import bounds
from acpagent.extensions.manifest import Manifest, Runtime

_LINE = 300

_CONTRIBUTES = {
    "skills": "add skills",
    "commands": "add commands",
    "prompts": "add prompts",
    "hooks": "run commands at what happens in a session (hooks)",
    "mcpServers": "start MCP servers",
}
_INTERCEPTS = {
    "input.receive": "read, change and stop what you write",
    "tool.before": "read, change and stop each tool call",
    "tool.after": "read and change what each tool call gives the model",
    "permission.decision": "refuse what is allowed, or have you asked; it can allow nothing",
}
_EVENTS = {
    "session.start": "sessions",
    "session.end": "sessions",
    "turn.start": "turns",
    "turn.end": "turns",
    "tool.start": "tool calls",
    "tool.end": "tool calls",
}


def abilities(manifest: Manifest) -> Iterator[str]:
    """All that a package will be able to do, a line each, with nothing hidden in it."""
    for kind, paths in manifest.contributes.items():
        yield _line(f"{_CONTRIBUTES[kind]}: {', '.join(paths)}")
    if manifest.runtime is not None:
        yield from _program(manifest.runtime)


def _program(runtime: Runtime) -> Iterator[str]:
    command = shlex.join([runtime.command, *runtime.args])
    yield _line(f"run a program beside each session, with all your rights: {_with_env(command, runtime.env)}")
    for event in runtime.intercepts:
        yield _INTERCEPTS[event]
    if runtime.intercepts and runtime.required:
        yield "stop all of that where its program does not answer"
    if told := sorted({_EVENTS[event] for event in runtime.events}):
        yield f"be told of {' and '.join(told)}"
    if runtime.ui:
        yield "show you things, and ask you"
    if runtime.actions:
        yield _line(f"answer commands: {', '.join(f'{one.id} ({one.label})' for one in runtime.actions)}")
    for tool in runtime.tools:
        says = "says that it changes nothing" if tool.reads_only else "may do anything, and is asked about"
        yield _line(f"give the model the tool {tool.name}, which {says}: {tool.description}")


def _with_env(command: str, env: Mapping[str, str]) -> str:
    return f"{command} (with {', '.join(env)} set)" if env else command


def _line(text: str) -> str:
    return bounds.asked_line(text, _LINE)
