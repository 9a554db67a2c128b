"""Plugins for tests: packages with programs of any character, and a host that keeps what it is shown and asked."""

from __future__ import annotations

import json
import textwrap
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from acpagent.core.events import Event, Notice, Surface
from acpagent.core.forms import Answer, Form
from acpagent.core.host import Asks
from acpagent.core.scope import Scope
from acpagent.extensions import manifest
from acpagent.extensions.plugin_host import PluginHost
from acpagent.extensions.plugins import Plugin
from acpagent.extensions.sidecar import Site
from tests.descendants import new_mark, survivors
from tests.repository.sources import ROOT
from tests.settling import PATIENCE, left_of

EXAMPLE = ROOT / "docs" / "example-plugin"

# What every program below begins with: reading and writing messages, and shaking hands.
PRELUDE = """
import json, os, sys, time

def send(**message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\\n")
    sys.stdout.flush()

def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)

def greet(name="probe"):
    first = read()
    assert first["method"] == "initialize", first
    send(id=first["id"], result={"api": 1, "name": name})
    return first["params"]

def wait_for(method):
    while True:
        message = read()
        if message.get("method") == method:
            return message

def call(id, method, **params):
    send(id=id, method=method, params=params)
    while True:
        message = read()
        if message.get("id") == id and "method" not in message:
            return message
"""


def package(folder: Path, program: str, name: str = "probe", required: bool = False, **able: Any) -> Plugin:
    """A package whose program is `program`, after the prelude. `able` are its capabilities, and `timeout`."""
    root = folder / name
    root.mkdir(parents=True)
    runtime: dict[str, Any] = {"command": "python3", "args": ["program.py"], "required": required}
    if "timeout" in able:
        runtime["timeout"] = able.pop("timeout")
    written = {
        "api": 1,
        "name": name,
        "version": "1.0.0",
        "description": "A probe",
        "runtime": {**runtime, "capabilities": able},
    }
    (root / manifest.MANIFEST).write_text(json.dumps(written))
    (root / "program.py").write_text(PRELUDE + textwrap.dedent(program))
    return Plugin(name, str(root), manifest.read(str(root)))


class Screen:
    """A host: keeps events, and answers forms by `answer`, which may block."""

    def __init__(self, asks: Asks = "form", shows_forms: bool = False) -> None:
        self.asks = asks
        self.language, self.address = "en", ""
        self.shows_forms = shows_forms
        self.files = self.shell = None
        self.events: list[Event] = []
        self.forms: list[Form] = []
        self.answer: Callable[[Form, Scope], Answer] = lambda form, scope: Answer("decline")
        self.changed = threading.Condition()

    def speak(self, language: str) -> None:
        self.language = language

    def move(self, address: str) -> None:
        self.address = address

    def emit(self, event: Event) -> None:
        with self.changed:
            self.events.append(event)
            self.changed.notify_all()

    def wait_room(self, scope: Scope) -> None:
        scope.check()

    def permit(self, ask: Any, scope: Scope) -> Any:
        raise AssertionError("plugins ask for no permission")

    def question(self, form: Form, scope: Scope) -> Answer:
        with self.changed:
            self.forms.append(form)
            self.changed.notify_all()
        return self.answer(form, scope)

    def wait_for(self, ready: Callable[[], Any]) -> Any:
        with self.changed:
            assert self.changed.wait_for(lambda: bool(ready()), PATIENCE), (self.events[-20:], self.forms)
            return ready()

    def surface(self, kind: str) -> Surface:
        """Wait for the first thing shown of a kind."""
        found: Surface = self.wait_for(lambda: next((one for one in self.surfaces() if one.kind == kind), None))
        return found

    def surfaces(self) -> list[Surface]:
        return [event for event in self.events if isinstance(event, Surface)]

    def notices(self) -> dict[str, Mapping[str, Any]]:
        return {event.code: event.params for event in self.events if isinstance(event, Notice)}

    def notice(self, code: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.wait_for(lambda: self.notices().get(code))
        return found


class Troupe:
    """Plugins at work. Use as a context manager: at its end nothing may be left of them."""

    at_work = 0

    def __init__(self, *plugins: Plugin, screen: Screen | None = None, opened: bool = True, **site: Any) -> None:
        self.screen = screen or Screen()
        self.logged: list[str] = []
        self.mark = new_mark()
        marked = [_marked(plugin, self.mark) for plugin in plugins]
        self.host = PluginHost(marked, Site("s1", "/", log=self._log, **site), self.screen)
        self._opened = opened

    def __enter__(self) -> Troupe:
        Troupe.at_work += 1
        self.host.start()
        if self._opened:
            self.host.open()
        return self

    def __exit__(self, *_: object) -> None:
        Troupe.at_work -= 1
        self.close()

    def close(self) -> None:
        began = time.monotonic()
        assert self.host.close(began + 8.0)
        assert time.monotonic() - began < 8.0
        assert not survivors(self.mark, 5.0)
        others = {thread for thread in threading.enumerate() if "plugin" not in thread.name}
        assert Troupe.at_work or not left_of(others)

    def _log(self, line: str) -> None:
        with self.screen.changed:
            self.logged.append(line)
            self.screen.changed.notify_all()

    def await_log(self, part: str, times: int = 1) -> None:
        """Wait until as many lines hold that."""
        self.screen.wait_for(lambda: sum(part in line for line in self.logged) >= times)

    def intercept(self, event: str = "tool.before", scope: Scope | None = None, **payload: Any) -> Any:
        return self.host.intercept(event, payload, scope or Scope())

    def health(self, name: str = "probe") -> tuple[str, str]:
        one = self.host._sidecars[name]
        return one.state, one.cause

    def await_state(self, state: str, name: str = "probe") -> str:
        """Wait until a program is ready, or has stopped by itself, which is told; its cause."""
        if state == "ready":
            assert self.host._sidecars[name].await_settled(PATIENCE)
            assert self.health(name)[0] == state, self.health(name)
        else:
            self.screen.wait_for(lambda: self.health(name)[0] == state)
        return self.health(name)[1]


def _marked(plugin: Plugin, mark: Mapping[str, str]) -> Plugin:
    """The plugin, its program to be found again by a variable that all its children inherit."""
    runtime = plugin.manifest.runtime
    assert runtime is not None
    found = replace(plugin.manifest, runtime=replace(runtime, env={**runtime.env, **mark}))
    return replace(plugin, manifest=found)


def example() -> Plugin:
    return Plugin("tally", str(EXAMPLE), manifest.read(str(EXAMPLE)))
