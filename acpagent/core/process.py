"""Commands in their own process groups: output pumped while they run, nothing of the group left afterwards.

A process that moves to a session of its own on purpose (`setsid`) has left the group and is not followed.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from acpagent.core.scope import Cancelled, Scope

GRACE_SECONDS = 0.3  # between SIGTERM and SIGKILL
SETTLE_SECONDS = 0.1  # for what still writes when the command ended (`make > >(tee log)`), before SIGTERM
DEATH_SECONDS = 2.0  # a killed process that is not gone by then hangs in the kernel; its watcher reaps it
_READ_BYTES = 65_536
MARK = "ACPAGENT_RUN_BY"  # a variable that every command inherits: the process that started it
_MOST_ANCESTORS = 100

# Owner: this module. Every group that may be alive, for `sweep`; `_running_lock` is a leaf.
_running: set[Group] = set()
_running_lock = threading.Lock()


class Sink(Protocol):
    """Where output goes: a `LiveOutput`, or anything else whose `write` never blocks."""

    def write(self, data: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class Result:
    """How a command ended: by `exit_code`, or by `signal` (`SIGKILL`); both None if it would not die.

    `timed_out` says that it was us who ended it.
    """

    exit_code: int | None
    signal: str | None = None
    timed_out: bool = False
    seconds: float = 0.0


def run(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    output: Sink,
    scope: Scope,
    timeout: float | None = None,
    stdin: int | None = None,
    stdout: Sink | None = None,
) -> Result:
    """Run a command to its end, stdout and stderr merged into `output`, or stdout apart into `stdout`; `stdin` is a
    descriptor, None is the null device: no child ever reads our stdin (TRN-06) or writes to our stdout (TRN-05).

    Whatever ends it, its group gets SIGTERM, and SIGKILL 300 ms later at most. Raises `Cancelled` once the
    group is dead if the scope was cancelled (CAN-03), OSError if it cannot start.
    """
    group = Group(output, apart=stdout)
    forget = scope.add_closer(group.stop)
    timed_out = False
    try:
        group.start(argv, cwd, env, stdin)
        try:
            timed_out = not group.wait(timeout) and not group.stopped
        finally:
            result = group.finish(timed_out)
    finally:
        forget()
    if group.stopped:
        raise Cancelled
    return result


def ancestors() -> Iterator[list[str]]:
    """The command lines of the processes above this one, the nearest first, as far as they can be seen."""
    pid = os.getppid()
    for _ in range(_MOST_ANCESTORS):
        if pid <= 1:
            return
        found = _above(pid)
        if found is None:
            return
        pid, words = found
        yield words


def sweep() -> int:
    """SIGKILL every group still alive, at exit (TRN-12). Returns how many there were. Waits only for commands
    that are being started this moment, a second at most."""
    with _running_lock:
        left = list(_running)
    for group in left:
        group.kill()
    deadline = time.monotonic() + 1.0
    for group in left:
        group.begun.wait(max(0.0, deadline - time.monotonic()))
    return len(left)


class Group:
    """One command with all its children that stay in its process group. Used by one thread; `stop`, `kill` and
    `send` may be called from any.

    Two threads of its own: the pump reads the output, the watcher waits for the leader to exit. The leader is
    not reaped before its group is dead: while it is a zombie, no other process can get its id, so a signal to
    the group never hits a stranger. `_lock` guards just that and is a leaf. `on_exit` is called by the watcher once the
    leader has exited, and must not block. `apart` takes stdout, so that only stderr is the output.
    """

    def __init__(self, output: Sink, on_exit: Callable[[], None] | None = None, apart: Sink | None = None) -> None:
        self._output = output
        self._on_exit = on_exit
        self._apart = apart
        self._lock = threading.Lock()
        self._leader: subprocess.Popen[bytes] | None = None
        self._reaped = False
        self._abandoned = False
        self._started_at = 0.0
        self.begun = threading.Event()  # `start` is done, well or not
        self._killed = False
        self._stopped = threading.Event()
        self._ended = threading.Event()  # the leader exited, or somebody wants it to
        self._exited = threading.Event()
        self._drained = threading.Event()
        self._enough: int | None = None  # closing this end tells the pump to stop

    @property
    def stopped(self) -> bool:
        """Whether `stop` was called."""
        return self._stopped.is_set()

    def start(
        self,
        argv: Sequence[str],
        cwd: str,
        env: Mapping[str, str],
        stdin: int | None = None,
        stdout: int | None = None,
    ) -> None:
        """Start the command. Where `stdout` is a descriptor of its own, only stderr is the output. Raises OSError."""
        with _running_lock:
            _running.add(self)
        try:
            self._begin(argv, cwd, env, stdin, stdout)
        except BaseException:
            with _running_lock:
                _running.discard(self)
            raise
        finally:
            self.begun.set()

    def _begin(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], stdin: int | None, stdout: int | None
    ) -> None:
        read_end, write_end = os.pipe()
        sinks, writers = {read_end: self._output}, [write_end]
        if self._apart is not None:
            apart_end, stdout = os.pipe()
            sinks[apart_end] = self._apart
            writers.append(stdout)
        enough_read, self._enough = os.pipe()
        for handle in sinks:
            os.set_blocking(handle, False)
        self._started_at = time.monotonic()
        try:
            _thread("acpagent-pump", lambda: self._pump(sinks, enough_read))
        except RuntimeError:
            _close(*sinks, *writers, enough_read, self._enough)
            raise OSError("no thread can be started for its output") from None
        try:
            self._spawn(argv, cwd, env, (stdin, stdout, write_end))
        except BaseException:
            self._stop_pump()
            raise
        finally:
            _close(*writers)
        if self._killed or self._stopped.is_set():  # that came before there was anything to signal
            self.send(signal.SIGKILL if self._killed else signal.SIGTERM)

    def wait(self, timeout: float | None = None) -> bool:
        """True once the leader exited by itself, False if `stop` was called or `timeout` seconds passed."""
        self._ended.wait(timeout)
        return self._exited.is_set() and not self._stopped.is_set()

    def stop(self) -> None:
        """Ask the group to end: SIGTERM now, the rest in `finish`. Never blocks; fits a scope's closer."""
        self._stopped.set()
        self._ended.set()
        self.send(signal.SIGTERM)

    def kill(self) -> None:
        """End the group at once. Never blocks."""
        self._killed = True
        self._stopped.set()
        self._ended.set()
        self.send(signal.SIGKILL)

    def finish(self, timed_out: bool = False) -> Result:
        """End what is left of the group and say how the leader ended. Takes three seconds at most."""
        assert self._leader is not None
        if self._exited.is_set():
            self._drained.wait(SETTLE_SECONDS)
        self.send(signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        if self._exited.wait(GRACE_SECONDS):
            self._drained.wait(max(0.0, deadline - time.monotonic()))
        self.send(signal.SIGKILL)
        if self._exited.wait(DEATH_SECONDS):
            self._drained.wait(GRACE_SECONDS)
            self._reap()
            _wait_dead(self._leader.pid)
        else:
            self._abandon()
        self._stop_pump()
        seconds = time.monotonic() - self._started_at
        status = self._leader.returncode
        if status is not None and status < 0:
            return Result(None, _signal_name(-status), timed_out, seconds)
        return Result(status, None, timed_out, seconds)

    def send(self, number: int) -> None:
        """Signal the whole group, if it can still be there."""
        with self._lock:
            if self._leader is None or self._reaped:
                return
            try:
                os.killpg(self._leader.pid, number)
            except (ProcessLookupError, PermissionError):
                return

    def _spawn(
        self, argv: Sequence[str], cwd: str, env: Mapping[str, str], streams: tuple[int | None, int | None, int]
    ) -> None:
        stdin, stdout, output = streams
        leader = self._leader = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env={**env, MARK: str(os.getpid())},
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=output if stdout is None else stdout,
            stderr=output,
            start_new_session=True,
        )
        try:
            _thread("acpagent-watch", lambda: self._watch(leader.pid))
        except RuntimeError:
            self.send(signal.SIGKILL)
            self._reap()
            raise OSError("no thread can be started to watch it") from None

    def _watch(self, pid: int) -> None:
        """Body of the watcher."""
        _wait_unreaped(pid)
        self._exited.set()
        self._ended.set()
        if self._on_exit is not None:
            self._on_exit()
        if self._abandoned:
            self._reap()

    def _abandon(self) -> None:
        self._abandoned = True
        if self._exited.is_set():  # in the last moment, when the watcher may not have seen the flag
            self._reap()

    def _reap(self) -> None:
        assert self._leader is not None
        with self._lock:
            self._leader.wait()
            self._reaped = True
        with _running_lock:
            _running.discard(self)

    def _pump(self, sinks: dict[int, Sink], enough: int) -> None:
        """Body of the pump: until every writer closed its end, or until there is `_enough`. A child that left
        the group may hold a pipe open for ever, and may write for ever."""
        poll = select.poll()
        for handle in (*sinks, enough):
            poll.register(handle, select.POLLIN)
        unended = set(sinks)
        try:
            while unended:
                ready = {handle for handle, _ in poll.poll()}
                for handle in ready & unended:
                    if not _pass_on(handle, sinks[handle]):
                        unended.discard(handle)
                        poll.unregister(handle)
                if enough in ready:
                    return
        finally:
            _close(*sinks, enough)
            self._drained.set()

    def _stop_pump(self) -> None:
        if self._enough is not None:
            os.close(self._enough)
            self._enough = None
        self._drained.wait()


def _pass_on(handle: int, sink: Sink) -> bool:
    """Hand on what one read brings; False at the end of all output."""
    try:
        data = os.read(handle, _READ_BYTES)
    except BlockingIOError:
        return True
    if data:
        sink.write(data)
    return bool(data)


def _wait_unreaped(pid: int) -> None:
    """Wait until the process has exited, and leave it a zombie."""
    if sys.platform == "linux":
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        return
    queue = select.kqueue()
    flags = select.KQ_EV_ADD | select.KQ_EV_ONESHOT
    try:
        queue.control([select.kevent(pid, select.KQ_FILTER_PROC, flags, select.KQ_NOTE_EXIT)], 1, None)
    except ProcessLookupError:
        return
    finally:
        queue.close()


def _wait_dead(group: int) -> None:
    """Wait until the killed members of a group whose leader is reaped are dead, too: a signal takes a moment."""
    try:
        os.killpg(group, 0)
    except OSError:
        return  # the usual case: there is nobody
    if sys.platform != "linux":
        return
    deadline = time.monotonic() + DEATH_SECONDS
    poll, handles = select.poll(), set(_exit_handles(group))
    for handle in handles:
        poll.register(handle, select.POLLIN)
    while handles:
        dead = {handle for handle, _ in poll.poll(max(0.0, deadline - time.monotonic()) * 1000)}
        for handle in dead or handles:
            poll.unregister(handle)
            os.close(handle)
        handles -= dead or set(handles)


def _exit_handles(group: int) -> Iterator[int]:
    """For each living process of a group a descriptor that becomes readable when it exits."""
    for entry in filter(str.isdecimal, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as status:
                state, _, member_of = status.read().rpartition(")")[2].split()[:3]
            if int(member_of) == group and state != "Z":
                yield os.pidfd_open(int(entry))
        except OSError:  # it is gone, or the system is too old to tell
            continue


def _above(pid: int) -> tuple[int, list[str]] | None:
    """The parent of a process, and the words of its own command line."""
    try:
        if sys.platform != "linux":
            told = subprocess.run(
                ["ps", "-o", "ppid=,args=", "-p", str(pid)], capture_output=True, text=True, check=True
            ).stdout.split()
            return int(told[0]), told[1:]
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as status:
            parent = int(status.read().rpartition(")")[2].split()[1])
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as line:
            return parent, line.read().split("\0")
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return None


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


def _thread(name: str, body: Callable[[], None]) -> None:
    threading.Thread(target=body, name=name, daemon=True).start()


def _close(*handles: int) -> None:
    for handle in handles:
        os.close(handle)
