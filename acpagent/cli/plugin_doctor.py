"""`acpagent plugin doctor`: whether plugins can be used, their programs started and spoken with."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from acpagent.cli.checks.finding import Finding, Level, fail, ok, warn
from acpagent.cli.main import FAILED, OK
from acpagent.cli.spoken import say, spoken
from acpagent.cli.terminal import Terminal
from acpagent.config import settings
from acpagent.core.bounds import asked_line
from acpagent.extensions import manifest, plugins
from acpagent.extensions.manifest import Manifest
from acpagent.extensions.plugins import Installed, Plugin
from acpagent.extensions.sidecar import HANDSHAKE_SECONDS, Sidecar, Site

_STYLES: dict[Level, str] = {"ok": "green", "warn": "yellow", "fail": "red"}
_END_SECONDS = 3.0
_LINES = 5  # of what a program that does not start says on stderr


def look(home: str, name: str | None) -> int:
    """Look at one plugin, or at all that are in use. Raises `PluginError`, `ConfigError`."""
    found: Sequence[Installed]
    if name is None:
        found = [one for one in plugins.installed(home) if one.record.enabled]
    else:
        found = [plugins.find(home, name)]
    terminal, failed = Terminal(sys.stdout), False
    providers = settings.load(home).providers.values()
    keys = frozenset(one.api_key_env for one in providers if one.api_key_env)
    for one in found:
        for finding in _findings(one, keys):
            failed = failed or finding.level == "fail"
            _show(finding, terminal)
    if not found:
        terminal.line(say("plugin_doctor_none"))
    return FAILED if failed else OK


def _findings(one: Installed, keys: frozenset[str]) -> Iterator[Finding]:
    name = one.record.name
    if one.manifest is None:
        for problem in one.problems:
            yield fail(name, f"{problem.place}: {spoken(problem.what)}", problem.remedy)
        return
    yield ok(
        name, say("plugin_doctor_right", version=one.manifest.version, path=os.path.join(one.root, manifest.MANIFEST))
    )
    if not one.record.enabled:
        yield warn(name, say("plugin_doctor_unused"), say("plugin_doctor_enable", name=name))
    if one.manifest.runtime is not None:
        yield from _program(name, one.root, one.manifest, keys)


def _program(name: str, root: str, found: Manifest, keys: frozenset[str]) -> Iterator[Finding]:
    """Start the program as a session would, and end it."""
    runtime = found.runtime
    assert runtime is not None
    command = manifest.program(root, runtime)
    if shutil.which(command) is None:
        advice = say("plugin_doctor_install", command=command) if "/" not in command else say("plugin_doctor_add")
        yield fail(name, say("plugin_doctor_program", command=command), advice)
        return
    said: list[str] = []
    began = time.monotonic()
    site = Site("doctor", os.getcwd(), hidden_env=keys, log=said.append)
    sidecar = Sidecar(Plugin(name, root, found), runtime, site, _Nobody())
    sidecar.start()
    sidecar.await_settled(HANDSHAKE_SECONDS + 1)
    took, state = time.monotonic() - began, sidecar.state
    gone = sidecar.close(time.monotonic() + _END_SECONDS)
    if state != "ready":
        told = "".join(f"\n      {asked_line(line, 200)}" for line in said[-_LINES:])
        yield fail(name, say("plugin_doctor_fails", cause=spoken(sidecar.cause)) + told, say("plugin_doctor_tell"))
    elif not gone:
        yield fail(name, say("plugin_doctor_no_end"), say("plugin_doctor_tell"))
    else:
        yield ok(name, say("plugin_doctor_answers", ms=f"{took * 1000:.0f}"))


class _Nobody:
    """Takes what a program shows and asks, for nobody is there."""

    def publish(self, sidecar: Sidecar, params: dict[str, Any]) -> None: ...

    def request(self, sidecar: Sidecar, request_id: Any, params: dict[str, Any]) -> None:
        sidecar.respond(request_id, {"cancelled": True, "values": {}, "reason": "nobody"})

    def stopped(self, sidecar: Sidecar, cause: str) -> None: ...


def _show(finding: Finding, terminal: Terminal) -> None:
    terminal.line(f"{terminal.paint(f'{finding.level:<5}', _STYLES[finding.level])} {finding.subject}  {finding.text}")
    if finding.advice:
        terminal.line(f"      {terminal.sign('→')} {finding.advice}")
