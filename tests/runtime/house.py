"""Sessions as the product makes them: real store, real crew, scripted models; a host and replies that keep a log."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from acpagent.assembly import Assembly, Flags
from acpagent.core.blocks import Text
from acpagent.core.events import Chunk, Event
from acpagent.core.faults import Fault
from acpagent.core.forms import Answer, Form
from acpagent.core.host import Decision, PermissionAsk
from acpagent.core.scope import Scope
from acpagent.runtime.session.registry import Registry
from acpagent.runtime.session.session import Session
from acpagent.runtime.session.works import Opening
from acpagent.store.database import Store

DEADLINE = 20.0


class Told:
    """A reply that waits for its one answer."""

    def __init__(self, house: House, name: str) -> None:
        self._house, self.name = house, name
        self.outcome: Any = None
        self.fault: Fault | None = None
        self._answered = threading.Event()

    def done(self, outcome: Any) -> None:
        assert not self._answered.is_set(), f"{self.name} was answered twice"
        self.outcome = outcome
        self._house.note(self.name)
        self._answered.set()

    def fail(self, fault: Fault) -> None:
        assert not self._answered.is_set(), f"{self.name} was answered twice"
        self.fault = fault
        self._house.note(f"{self.name} {fault.code}")
        self._answered.set()

    @property
    def answered(self) -> bool:
        return self._answered.is_set()

    def wait(self) -> Any:
        """The outcome. Fails on a fault."""
        self.settle()
        assert self.fault is None, self.fault.message
        return self.outcome

    def wait_fault(self) -> Fault:
        """The fault. Fails on an outcome."""
        self.settle()
        assert self.fault is not None, self.outcome
        return self.fault

    def settle(self) -> None:
        assert self._answered.wait(DEADLINE), f"{self.name} was not answered"


class House:
    """One process's worth of services over `home`, and the log of all that its sessions say and answer."""

    asks: Literal["form", "choice", "none"] = "none"
    language = "en"
    address = ""
    files = None
    shell = None

    def __init__(self, home: Path) -> None:
        self.log: list[Event | str] = []
        self.reports: list[str] = []
        self.changed = threading.Condition()
        self.assembly = Assembly(str(home), Flags(), lambda what, error: self.reports.append(f"{what}: {error!r}"))
        self.services = self.assembly.services
        self.registry = Registry(self.services, lambda _id, _lock: self)

    @property
    def store(self) -> Store:
        return self.services.store

    def reply(self, name: str = "reply") -> Told:
        return Told(self, name)

    def open(self, kind: Any, session_id: str, cwd: Path, directories: tuple[str, ...] = ()) -> Told:
        reply = self.reply(kind)
        self.registry.open(session_id, Opening(kind, str(cwd), directories, (), reply))
        return reply

    def new(self, cwd: Path, session_id: str = "s") -> Session:
        self.open("new", session_id, cwd).wait()
        return self.session(session_id)

    def session(self, session_id: str = "s") -> Session:
        found = self.registry.get(session_id)
        assert found is not None
        return found

    def prompt(self, text: str = "hi", session_id: str = "s") -> Told:
        reply = self.reply("prompt")
        self.session(session_id).prompt((Text(text),), reply)
        return reply

    def close(self, session_id: str = "s") -> Told:
        reply = self.reply("close")
        self.session(session_id).close(reply)
        return reply

    def set(self, name: str, value: str, session_id: str = "s") -> Told:
        """Set a control that needs no rebuild."""
        reply = self.reply(name)
        self.session(session_id).adjust({name: value}, reply)
        return reply

    def said(self) -> str:
        """What the agent said so far."""
        chunks = [event for event in self.log if isinstance(event, Chunk) and event.role == "assistant"]
        return "".join(chunk.block.text for chunk in chunks if isinstance(chunk.block, Text))

    def await_log(self, seen: Callable[[], bool]) -> None:
        """Wait until what is logged is as it should be."""
        with self.changed:
            assert self.changed.wait_for(seen, DEADLINE), self.log

    def note(self, item: Event | str) -> None:
        with self.changed:
            self.log.append(item)
            self.changed.notify_all()

    def finish(self) -> None:
        deadline = time.monotonic() + DEADLINE
        assert self.registry.close_all(lambda: deadline - time.monotonic())
        self.assembly.finish(deadline)
        assert not self.reports, self.reports

    # The host.

    def speak(self, language: str) -> None:
        self.language = language

    def move(self, address: str) -> None:
        self.address = address

    def emit(self, event: Event) -> None:
        self.note(event)

    def wait_room(self, scope: Scope) -> None:
        scope.check()

    def permit(self, ask: PermissionAsk, scope: Scope) -> Decision:
        return Decision("once")

    def question(self, form: Form, scope: Scope) -> Answer:
        return Answer("nobody")


def furnish(home: Path) -> None:
    """Configure two scripted models, `one` and `two`, which say their names; asked to wait, `one` never ends. A third,
    `three`, lacks its script."""
    home.mkdir(parents=True, exist_ok=True)
    scripts = {
        "one": {"turns": [{"prompt": "wait", "replies": [[{"text": "waiting"}, {"stall": True}]]}, _says("one")]},
        "two": {"turns": [_says("two")]},
    }
    for name, script in scripts.items():
        (home / f"{name}.yaml").write_text(json.dumps(script))
    providers = {name: {"api": "scripted", "script": str(home / f"{name}.yaml")} for name in (*scripts, "three")}
    (home / "config.yaml").write_text(json.dumps({"default_model": "one", "providers": providers}))


def _says(name: str) -> dict[str, Any]:
    return {"replies": [[{"text": f"I am {name}. "}]]}


def hold_writer(store: Store) -> threading.Event:
    """Stop the store's thread until the event is set."""
    reached, go_on = threading.Event(), threading.Event()

    def write(_: sqlite3.Connection) -> None:
        reached.set()
        assert go_on.wait(DEADLINE)

    store.submit(write)
    assert reached.wait(DEADLINE)
    return go_on
