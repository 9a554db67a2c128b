"""Running hooks: the command in a process group of its own, told what happens on its stdin, nothing of it left."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from acpagent.core import bounds, files, process
from acpagent.core.catalogue import Phrase
from acpagent.core.live import LiveOutput
from acpagent.core.phrases import told
from acpagent.core.scope import Scope
from acpagent.core.shells import shell
from acpagent.extensions import hookanswers
from acpagent.extensions.happening import Happening
from acpagent.extensions.hookanswers import CONTEXT_BYTES, NOTHING, Answer, notice
from acpagent.extensions.hooks import Hook, HookSet

OUTPUT_BYTES = 65_536  # kept of what a hook prints
_LEAST_SECONDS = 0.05  # with less left a hook is not begun


@dataclass(frozen=True, slots=True)
class Place:
    """Where hooks run: the session's directory, and the variables that they may not see."""

    cwd: str
    hidden_env: frozenset[str] = frozenset()


def fire(hooks: HookSet, what: Happening, place: Place, scope: Scope, until: float | None = None) -> Answer:
    """Run the hooks that wait for this, one after the other; those behind one that refuses are not run. All end by
    `until` (monotonic). Raises `Cancelled`."""
    answer = NOTHING
    for hook in hooks.waiting_for(what.event, what.name):
        scope.check()
        if until is not None:
            left = until - time.monotonic()
            if left < _LEAST_SECONDS:
                break
            hook = replace(hook, seconds=min(hook.seconds, left))
        answer += run(hook, what, place, scope)
        if answer.refusal is not None:
            break
    return answer


def run(hook: Hook, what: Happening, place: Place, scope: Scope) -> Answer:
    """Run one hook to its end. Raises `Cancelled`."""
    if not hook.stands():
        refusal = Phrase("hook_not_run", hook=hook.label)
        return Answer(refusal if hook.kind.guards else None, notices=(notice(hook, "hook_changed"),))
    said, complained = LiveOutput(limit=OUTPUT_BYTES), LiveOutput(limit=OUTPUT_BYTES)
    cwd = os.path.join(place.cwd, os.path.expanduser(hook.cwd))
    try:
        with _readable(what.spelled()) as stdin:
            result = process.run(
                [shell(), "-c", hook.command],
                cwd=cwd,
                env=_environment(hook, place, cwd),
                output=complained,
                scope=scope,
                timeout=hook.seconds,
                stdin=stdin,
                stdout=said,
            )
    except (OSError, ValueError, RecursionError) as error:
        cause = Phrase("hook_not_started", cause=told(error))
        return Answer(notices=(notice(hook, "hook_failed", cause=cause),))
    answer = hookanswers.read(
        hook, result, said.excerpt(OUTPUT_BYTES).text, complained.excerpt(hookanswers.REASON_BYTES).text
    )
    return answer + _in_file(hook, cwd) if answer.refusal is None else answer


def _environment(hook: Hook, place: Place, cwd: str) -> dict[str, str]:
    """Ours without the secrets in it, and where things are, also by the names that scripts of other agents use."""
    ours = {name: value for name, value in os.environ.items() if name not in place.hidden_env}
    ours |= {"PWD": cwd, "ACPAGENT_PROJECT_DIR": place.cwd, "CLAUDE_PROJECT_DIR": place.cwd}
    if hook.root:
        ours |= {"ACPAGENT_PLUGIN_ROOT": hook.root, "CLAUDE_PLUGIN_ROOT": hook.root}
    return ours | dict(hook.env)


def _in_file(hook: Hook, cwd: str) -> Answer:
    """The context that a hook keeps in a file."""
    if not hook.context_file or not hook.kind.hears:
        return NOTHING
    path = os.path.join(cwd, os.path.expanduser(hook.context_file))
    try:
        data = files.read_bytes(path)
    except (OSError, ValueError, files.NotText) as error:
        cause = Phrase("hook_file", file=hook.context_file, cause=told(error))
        return Answer(notices=(notice(hook, "hook_failed", cause=cause),))
    return Answer(context=bounds.cut(bounds.clean(data.decode("utf-8-sig", "replace")).strip(), CONTEXT_BYTES).text)


@contextmanager
def _readable(data: bytes) -> Iterator[int]:
    """A descriptor to read `data` from: a file without a name, as nobody would have to wait for a hook to read it."""
    if hasattr(os, "memfd_create"):
        handle = os.memfd_create("acpagent-hook")
    else:
        with tempfile.TemporaryFile() as file:
            handle = os.dup(file.fileno())
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        os.lseek(handle, 0, os.SEEK_SET)
        yield handle
    finally:
        os.close(handle)
