"""Programs that tests run as real processes: `python -m tests.store.children NAME HOME ...`.

They talk to the test in lines, over stdin and stdout.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

from acpagent.core.history import Entry, Said, TurnOpened
from acpagent.store import entries, sessions
from acpagent.store.database import Store, StoreFault, together
from acpagent.store.leases import Held, Leases
from acpagent.store.sessions import SessionRow

ROOT = Path(__file__).parents[2]


class Child:
    """A running program of this file."""

    def __init__(self, name: str, home: Path, *rest: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "tests.store.children", name, str(home), *rest],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self) -> str:
        """The next line it says; empty when it has ended."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        self.process.kill()
        self.process.wait(30)
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()

    def finish(self) -> None:
        assert self.process.wait(60) == 0


def path_in(home: str | Path) -> str:
    return os.path.join(home, "store.sqlite3")


def say(*words: object) -> None:
    print(*words, flush=True)


def row(session_id: str, cwd: str = "/", prompts: int = 1, updated_at: str | None = None) -> SessionRow:
    stamp = updated_at or sessions.now()
    return SessionRow(session_id, cwd, None, stamp, stamp, prompts=prompts, cwd_resolved=cwd)


def create(home: str) -> None:
    """Open a store that may not be there yet, together with others."""
    say("ready")
    sys.stdin.readline()
    store = Store(path_in(home))
    store.apply(sessions.save_new(row(str(os.getpid()))))
    say(store.close(10))


def keep_writing(home: str) -> None:
    """Append numbered entries for ever; say each number once it is committed."""
    store = Store(path_in(home))
    Leases(store, home).take("s")
    store.apply(sessions.save_new(row("s")))
    room = threading.Semaphore(50)

    def then(number: int, fault: BaseException | None) -> None:
        say(number, fault)
        room.release()

    for number in range(1_000_000):
        room.acquire()
        batch: list[Entry] = [TurnOpened(str(number)), Said(str(number), "m", "assistant", "x" * 500)]
        store.submit(entries.append("s", batch), partial(then, number))


def hold(home: str) -> None:
    """Take the session, say so, and hold it until killed or told to end in order."""
    store = Store(path_in(home))
    leases = Leases(store, home)
    leases.take("s")
    say("held")
    sys.stdin.readline()
    leases.close()
    store.close(10)


def hold_with_program(home: str) -> None:
    """Hold the session and start a program that survives us and is given every descriptor it can get."""
    store = Store(path_in(home))
    Leases(store, home).take("s")
    program = [sys.executable, "-c", "import sys; print('up', flush=True); sys.stdin.read()"]
    subprocess.Popen(program, close_fds=False)
    sys.stdin.read()


def hold_with_fork(home: str) -> None:
    """Hold the session and fork a copy of us that survives us."""
    store = Store(path_in(home))
    leases = Leases(store, home)
    leases.take("s")
    store.close(10)
    if os.fork() == 0:
        leases.close()  # as a copy of our own clean-up would
        say("up")
    sys.stdin.read()


def contend(home: str, rounds: str) -> None:
    """Take and release one session until both contenders together had it `rounds` times.

    Whoever has it makes a file that must not be there and counts in another, so an overlap fails loudly.
    """
    store = Store(path_in(home))
    leases = Leases(store, home)
    inside, count = Path(home, "inside"), Path(home, "count")
    mine, refused, done = 0, 0, False
    say("ready")
    sys.stdin.readline()
    while not done:
        try:
            leases.take("s")
        except Held:
            refused += 1
            continue
        inside.touch(exist_ok=False)
        total = int(count.read_text())
        done = total >= int(rounds)
        if not done:
            count.write_text(str(total + 1))
            mine += 1
        inside.unlink()
        leases.release("s")
    say(mine, refused)
    leases.close()
    store.close(10)


def fill_up(home: str) -> None:
    """Store, meet a limit on the size of files (as a full quota does it), make room, store again."""
    path = path_in(home)
    store = Store(path)
    store.apply(together(sessions.save_new(row("s")), entries.append("s", [TurnOpened("before")])))
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(path + "-wal") + 20_000, hard))
    try:
        store.apply(entries.append("s", [Said("t", "m", "assistant", "x" * 1_000_000)]))
    except StoreFault as fault:
        say(fault)
    say(entries.read(store, "s") == [TurnOpened("before")])
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    store.apply(entries.append("s", [TurnOpened("after")]))
    say(entries.read(store, "s") == [TurnOpened("before"), TurnOpened("after")])
    say(store.close(10))


PROGRAMS = {
    program.__name__: program
    for program in (create, keep_writing, hold, hold_with_program, hold_with_fork, contend, fill_up)
}

if __name__ == "__main__":
    PROGRAMS[sys.argv[1]](*sys.argv[2:])
