"""The local model that runs: one process for the file in use, started by the first call that needs it."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import threading
from dataclasses import dataclass

from acpagent.core.catalogue import Phrase
from acpagent.core.phrases import why
from acpagent.providers.failures import FailedTry

_LOAD_SECONDS = 600.0
_STOP_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Running:
    """A loaded model: the address of its API, and the key that it asks for."""

    base_url: str
    key: str


class Engine:
    """Runs one model at a time: memory rarely holds two. A call for another file or window ends the one before.

    `_lock` is held while a model is loaded, by the helper threads of calls alone; a cancelled call is left behind
    there. It guards everything else here.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: tuple[str, int] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._running = Running("", "")

    def find(self, who: str, file: str, window: int) -> Running:
        """The model, loaded if it is not or has crashed. Raises `FailedTry`."""
        with self._lock:
            alive = self._process is not None and self._process.poll() is None
            if not alive or self._loaded != (file, window):
                self._stop()
                self._start(who, file, window)
            return self._running

    def close(self) -> None:
        """Give the memory back. The engine can still be used."""
        with self._lock:
            self._stop()

    def _start(self, who: str, file: str, window: int) -> None:
        key = secrets.token_hex(16)
        asked = json.dumps({"file": file, "window": window, "key": key}).encode() + b"\n"
        loud = os.environ.get("ACPAGENT_LOG") == "debug"
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "acpagent.providers.llama_server"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if loud else subprocess.DEVNULL,
                start_new_session=True,
            )
        except OSError as error:
            raise FailedTry("unavailable", who, Phrase("model_not_started", cause=why(error))) from None
        self._process = process
        answer = _ask(process, asked)
        if "address" not in answer:
            self._stop()
            cause = answer.get("fault") or Phrase("model_died")
            raise FailedTry("unavailable", who, Phrase("model_not_loaded", file=file, cause=cause), again=False)
        self._loaded, self._running = (file, window), Running(f"{answer['address']}/v1", key)

    def _stop(self) -> None:
        process, self._process, self._loaded = self._process, None, None
        if process is None:
            return
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()  # at the end of its stdin it ends itself
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _ask(process: subprocess.Popen[bytes], asked: bytes) -> dict[str, str]:
    """What the process says once the model is loaded; nothing if it died, or took too long."""
    assert process.stdin is not None
    assert process.stdout is not None
    too_late = threading.Timer(_LOAD_SECONDS, process.kill)
    too_late.daemon = True
    too_late.start()
    try:
        process.stdin.write(asked)
        process.stdin.flush()
        answer: dict[str, str] = json.loads(process.stdout.readline() or b"{}")
        return answer
    except (OSError, ValueError):
        return {}
    finally:
        too_late.cancel()


# All sessions share what runs. Nothing is started before a call.
ENGINE = Engine()
