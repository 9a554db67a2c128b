"""What a plugin can do, in words for the person who decides about it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping

from acpagent.cli.spoken import say
from acpagent.core import bounds
from acpagent.extensions.manifest import Manifest, Runtime

_LINE = 300

_EVENTS = {
    "session.start": "event_sessions",
    "session.end": "event_sessions",
    "turn.start": "event_turns",
    "turn.end": "event_turns",
    "tool.start": "event_calls",
    "tool.end": "event_calls",
}


def abilities(manifest: Manifest) -> Iterator[str]:
    """All that a package will be able to do, a line each, with nothing hidden in it."""
    for kind, paths in manifest.contributes.items():
        yield _line(say("can_line", what=say(f"can_{kind}"), paths=", ".join(paths)))
    if manifest.runtime is not None:
        yield from _program(manifest.runtime)


def _program(runtime: Runtime) -> Iterator[str]:
    command = shlex.join([runtime.command, *runtime.args])
    yield _line(say("can_program", command=_with_env(command, runtime.env)))
    for event in runtime.intercepts:
        yield say(f"can_{event.replace('.', '_')}")
    if runtime.intercepts and runtime.required:
        yield say("can_stop_all")
    if told := sorted({_EVENTS[event] for event in runtime.events}):
        yield say("can_hear", events=", ".join(say(code) for code in told))
    if runtime.ui:
        yield say("can_show")
    if runtime.actions:
        yield _line(say("can_commands_of", names=", ".join(f"{one.id} ({one.label})" for one in runtime.actions)))
    for tool in runtime.tools:
        code = "can_tool_reads" if tool.reads_only else "can_tool"
        yield _line(say(code, name=tool.name, about=tool.description))


def _with_env(command: str, env: Mapping[str, str]) -> str:
    return say("trust_with", line=command, names=", ".join(env)) if env else command


def _line(text: str) -> str:
    return bounds.asked_line(text, _LINE)
