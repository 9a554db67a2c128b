"""The agent as an editor meets it: a process of its own that has to answer, in time and with nothing else on stdout."""

from __future__ import annotations

import json
import os
import queue
import tempfile
import threading
import time
from collections.abc import Iterator
from typing import Any

from acpagent.cli import command
from acpagent.cli.checks.finding import Case, Finding, fail, ok, warn
from acpagent.cli.spoken import say, spoken
from acpagent.client.process import Process
from acpagent.core.bounds import one_line
from acpagent.core.phrases import told
from acpagent.version import __version__
from acpagent.wire.codes import AUTH_REQUIRED

_INITIALIZE_SECONDS, _NEW_SECONDS, _EXIT_SECONDS = 10.0, 20.0, 6.0
_SLOW = 2.0


class Dialogue:
    """Lines to and from a process. A thread of its own reads them, until its stdout ends."""

    def __init__(self, process: Process) -> None:
        self.garbage: list[bytes] = []
        self._process = process
        self._answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, name="acpagent doctor", daemon=True).start()

    def ask(self, id: int, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """The response to a request; None if there is none in time."""
        message = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        try:
            os.write(self._process.write_fd, json.dumps(message).encode() + b"\n")
        except OSError:
            return None
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                answer = self._answers.get(timeout=left)
            except queue.Empty:
                return None
            if answer is None or answer.get("id") == id:
                return answer
        return None

    def _read(self) -> None:
        with open(self._process.read_fd, "rb", closefd=True) as stream:
            for line in stream:
                try:
                    message = json.loads(line)
                except ValueError:
                    message = None
                if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
                    self.garbage.append(line)
                elif "method" not in message:
                    self._answers.put(message)
        self._answers.put(None)


def agent(case: Case) -> Iterator[Finding]:
    """Start the agent, shake hands, open a session in an empty folder, and end it by closing its stdin."""
    if case.settings is None:
        yield warn("agent", say("check_not_started"), say("check_see_above"))
        return
    environment = {**os.environ, "ACPAGENT_HOME": case.home}
    if case.trace is not None:
        environment["ACPAGENT_TRACE"] = case.trace
    with tempfile.TemporaryDirectory(prefix="acpagent-doctor-") as folder:
        try:
            process = Process([*command.own(), "acp"], cwd=folder, env=environment)
        except OSError as error:
            yield fail("agent", say("check_cannot_start", cause=spoken(told(error))), say("check_install_anew"))
            return
        try:
            dialogue = Dialogue(process)
            yield from _talk(dialogue, process, folder, bool(case.settings.models))
            yield from _end(process)
            yield from _stdout(dialogue)
        finally:
            process.stop(0)
            case.stderr = process.stderr_tail(1.0)


def _talk(dialogue: Dialogue, process: Process, folder: str, configured: bool) -> Iterator[Finding]:
    began = time.monotonic()
    hello = {
        "protocolVersion": 1,
        "clientInfo": {"name": "acpagent-doctor", "version": __version__},
        "clientCapabilities": {},
    }
    answer = dialogue.ask(1, "initialize", hello, _INITIALIZE_SECONDS)
    took = time.monotonic() - began
    if answer is None:
        process.ended.wait(1.0)
        last = one_line(process.stderr_tail(1.0).strip().rpartition("\n")[2], 200)
        yield fail("agent", _silent(took, last), say("check_report"))
        return
    if "result" not in answer:
        yield fail("agent", say("check_initialize_refused", said=_message(answer)), say("check_report"))
        return
    if took > _SLOW:
        advice = say("check_slow_cause")
        yield warn("agent", say("check_initialize_slow", seconds=f"{took:.1f}"), advice)
    else:
        yield ok("agent", say("check_initialize", seconds=f"{took:.1f}"))
    if configured:
        yield from _session(dialogue, folder)


def _session(dialogue: Dialogue, folder: str) -> Iterator[Finding]:
    began = time.monotonic()
    answer = dialogue.ask(2, "session/new", {"cwd": folder, "mcpServers": []}, _NEW_SECONDS)
    took = time.monotonic() - began
    if answer is None:
        yield fail(
            "agent", say("check_no_session_in", method="session/new", seconds=f"{took:.0f}"), say("check_report")
        )
    elif "result" in answer:
        yield ok("agent", say("check_session", seconds=f"{took:.1f}"))
    else:
        code = (answer.get("error") or {}).get("code")
        text = say("check_no_session", said=_message(answer))
        yield fail("agent", text, say("remedy_setup") if code == AUTH_REQUIRED else say("check_wrong_above"))


def _message(answer: dict[str, Any]) -> str:
    error = answer.get("error")
    return one_line(str(error.get("message", "")) if isinstance(error, dict) else "", 300)


def _end(process: Process) -> Iterator[Finding]:
    os.close(process.write_fd)
    began = time.monotonic()
    if not process.ended.wait(_EXIT_SECONDS):
        yield fail("agent", say("check_no_end", seconds=f"{_EXIT_SECONDS:.0f}"), say("check_report"))
    elif process.exit_code == 0:
        yield ok("agent", say("check_end", seconds=f"{time.monotonic() - began:.1f}"))
    elif process.exit_code != 2:  # which is a wrong configuration, told above
        yield fail("agent", say("check_exit", code=process.exit_code), say("check_report"))


def _stdout(dialogue: Dialogue) -> Iterator[Finding]:
    if not dialogue.garbage:
        yield ok("stdout", say("check_clean"))
        return
    first = one_line(dialogue.garbage[0].decode("utf-8", "replace"), 80)
    advice = say("check_dirty_remedy")
    yield fail("stdout", say("check_dirty", said=first), advice)


def _silent(took: float, last: str) -> str:
    said = say("check_no_initialize", seconds=f"{took:.0f}")
    return say("cause_said", cause=said, said=last) if last else said
