#!/usr/bin/env python3
"""Works with one agent for a long time and watches whether it grows.

    python tools/soak.py [--minutes N] [--sessions N] [--api NAME] [--seed N] [--json FILE]

Ten people at once open sessions, prompt, allow and deny, cancel, close, load and delete; the model, a process on
loopback, fails in every way it can. Every line is checked. Now and then all of them rest, and what the process holds
is looked at: memory, threads, descriptors, children, the size of the store. It fails (exit code 1) if that does not
level off, if a line is wrong, or if a turn ends as it must not. Twenty minutes of it are far more turns than two hours
of ten busy people; runs of less than four minutes say nothing about growth. Needs /proc.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TOOLS = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(TOOLS))  # for the tests' model server and terminals

from soaking import watch  # noqa: E402
from soaking.link import PATIENCE, Link, Message, environment  # noqa: E402
from soaking.person import Person, Rest  # noqa: E402
from soaking.turns import MODEL_CALLS  # noqa: E402
from soaking.watch import Sample  # noqa: E402

from tests.descendants import new_mark, survivors  # noqa: E402

SAMPLES = 24
APIS = ("openai-chat", "anthropic-messages")
# What the client offers changes at every rest.
OFFERS: tuple[Message, ...] = ({}, {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True})


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--minutes", type=float, default=20.0, metavar="N")
    parser.add_argument("--sessions", type=int, default=10, metavar="N", help="people at work at the same time")
    parser.add_argument("--api", choices=APIS, default=APIS[0], help="what the model's server speaks")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="another one makes another course")
    parser.add_argument("--json", metavar="FILE", help="write the samples here")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="acpagent-soak-") as scratch, model() as port:
        soak = Soak(Path(scratch), port, options.api, options.sessions, options.seed)
        soak.run(options.minutes)
    faults = soak.link.faults + watch.rising(soak.samples)
    if options.json:
        samples = [dataclasses.asdict(one) for one in soak.samples]
        Path(options.json).write_text(json.dumps({"samples": samples, "faults": faults}, indent=1), encoding="utf-8")
    level = "all is level" if watch.long_enough(soak.samples) else "it was too short to say more"
    print("\n".join(faults) if faults else f"every line is valid, every turn ended as it must, and {level}")
    return 1 if faults else 0


@contextmanager
def model() -> Iterator[int]:
    """The model server; its port."""
    path = os.pathsep.join((TOOLS, os.path.dirname(TOOLS)))
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "soaking.model"]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}, stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()


class Soak:
    """One run: `samples` and `link.faults` are what came of it."""

    def __init__(self, scratch: Path, port: int, api: str, people: int, seed: int) -> None:
        self.samples: list[Sample] = []
        self._home = scratch / "home"
        self._home.mkdir()
        configure(self._home, port, api)
        self._mark = new_mark()
        command = [sys.executable, "-m", "acpagent", "acp"]
        env = environment(str(self._home), self._mark)
        self.link = Link(command, env, str(self._home), self._take)
        self._rest = Rest(people)
        self.people = [Person(n, self.link, folder(scratch, n), self._rest, seed) for n in range(people)]

    def run(self, minutes: float) -> None:
        began = time.monotonic()
        self._offer()
        for person in self.people:
            person.thread.start()
        print(watch.head(), flush=True)
        while time.monotonic() < began + minutes * 60:
            self.link.failed.wait(minutes * 60 / SAMPLES)
            if not self._rest.call(self.link.failed):
                break
            self._look((time.monotonic() - began) / 60)
            self._offer()
            self._rest.resume()
        self._end()

    def _look(self, minute: float) -> None:
        turns = sum(person.turns for person in self.people)
        lines = self.link.lines
        self.samples.append(watch.sample(self.link.process.pid, str(self._home), self._mark, minute, turns, lines))
        print(watch.row(self.samples[-1]), flush=True)

    def _offer(self) -> None:
        offered = OFFERS[len(self.samples) % len(OFFERS)]
        self.link.call("initialize", {"protocolVersion": 1, "clientCapabilities": offered})

    def _end(self) -> None:
        self._rest.end()
        if not self.link.failed.is_set():
            for person in self.people:
                person.thread.join(PATIENCE)
        self.link.close()
        left = survivors(self._mark, 2.0)
        if left:
            self.link.wrong(f"left behind: {left}")

    def _take(self, message: Message) -> None:
        """Hand a message to whom it is for. What is said of a session that was deleted meanwhile is for nobody."""
        if message["method"] == "$/cancel_request":
            return
        session = message["params"]["sessionId"]
        for person in self.people:
            if person.session == session:
                person.take(message)


def folder(scratch: Path, number: int) -> Path:
    """A person's own project."""
    path = scratch / f"project-{number}"
    (path / "sub").mkdir(parents=True)
    (path / "README.md").write_text("A project.\n")
    return path


def configure(home: Path, port: int, api: str) -> None:
    provider: dict[str, Any] = {"api": api, "base_url": f"http://127.0.0.1:{port}/v1"}
    provider |= {"models": {"tiny": {"context_window": 200_000}}, "timeouts": {"connect": 5, "read": 2}}
    config = {
        "default_model": "local/tiny",
        "providers": {"local": provider},
        "limits": {"turn_requests": MODEL_CALLS},
    }
    (home / "config.yaml").write_text(json.dumps(config), encoding="utf-8")  # JSON is YAML


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
