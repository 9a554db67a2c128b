"""Jobs: commands that a session runs in the background, whatever its turns do meanwhile."""

from __future__ import annotations

import codecs
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from acpagent.core.bounds import Excerpt
from acpagent.core.live import LiveOutput
from acpagent.core.process import Group, Result, Sink
from acpagent.core.scope import Scope

MAX_RUNNING = 16
KEPT = 32  # jobs that ended and can still be asked for
OUTPUT_BYTES = 65_536  # kept of what a job printed and nobody has looked at


class NotStarted(Exception):
    """The session takes no further job; the text says why."""


class Job:
    """A command in the background. Made by `Jobs`; any thread may use it. `told`: whoever has to know of its end does.

    Its thread, the keeper, waits for the end and sees to it that nothing of the process group is left. `_lock` is a
    leaf and guards who waits for the end.
    """

    def __init__(self, id: str, command: str) -> None:
        self.id = id
        self.command = command
        self.started = time.monotonic()
        self.result: Result | None = None
        self.told = False
        self._output = _Output()
        self._group = Group(self._output)
        self._lock = threading.Lock()
        self._waiting: list[Callable[[], None]] = []
        self._ended = threading.Event()

    @property
    def running(self) -> bool:
        return not self._ended.is_set()

    def begin(self, argv: Sequence[str], cwd: str, env: Mapping[str, str], seconds: float | None) -> None:
        """Start the command, to be ended after `seconds`, if that is a number. Raises OSError."""
        try:
            self._group.start(argv, cwd, env)
        except BaseException:
            self._end()
            raise
        try:
            threading.Thread(target=self._keep, args=(seconds,), name=f"acpagent-{self.id}", daemon=True).start()
        except RuntimeError:
            self._group.kill()
            self._group.finish()
            self._end()
            raise OSError("no thread can be started to keep it") from None

    def take(self, limit: int) -> Excerpt:
        """What it printed since this was asked last, at most `limit` bytes; the middle of more is left out."""
        return self._output.take(limit)

    @contextmanager
    def followed_by(self, sink: Sink) -> Iterator[None]:
        """Meanwhile `sink` gets what nobody has taken yet, and whatever is printed."""
        self._output.follow(sink)
        try:
            yield
        finally:
            self._output.follow(None)

    def wait(self, seconds: float, scope: Scope) -> bool:
        """Wait for its end; False if it still runs after `seconds`. Raises `Cancelled`."""
        wake = threading.Event()
        forget = scope.add_closer(wake.set)
        with self._lock:
            if self.running:
                self._waiting.append(wake.set)
            else:
                wake.set()
        try:
            wake.wait(seconds)
        finally:
            forget()
            with self._lock:
                self._waiting = [other for other in self._waiting if other != wake.set]
        scope.check()
        return not self.running

    def wait_ended(self, seconds: float) -> bool:
        """Like `wait`, whatever is cancelled."""
        return self._ended.wait(seconds)

    def stop(self) -> None:
        """End it: SIGTERM now, SIGKILL to what is left a moment later. Never blocks."""
        self._group.stop()

    def _keep(self, seconds: float | None) -> None:
        """Body of the keeper."""
        timed_out = not self._group.wait(seconds) and not self._group.stopped
        self.result = self._group.finish(timed_out)
        self._end()

    def _end(self) -> None:
        self._output.end()
        with self._lock:
            self._ended.set()
            waiting, self._waiting = self._waiting, []
        for wake in waiting:
            wake()


class Jobs:
    """The jobs of one session, which owns it: they outlive its turns and loadouts, and end with it. Any thread may use
    it; its lock is a leaf."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}
        self._count = 0
        self._closed = False

    def start(
        self,
        command: str,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        seconds: float | None = None,
    ) -> Job:
        """Start a job, to be ended after `seconds`, if that is a number. Raises `NotStarted`, OSError."""
        with self._lock:
            self._check_room()
            self._count += 1
            job = Job(f"job_{self._count}", command)
            self._jobs[job.id] = job
        try:
            job.begin(argv, cwd, env, seconds)
        except BaseException:
            with self._lock:
                self._jobs.pop(job.id, None)
            raise
        if self._closed:  # while it began
            job.stop()
        return job

    def get(self, id: str) -> Job | None:
        with self._lock:
            return self._jobs.get(id)

    def all(self) -> list[Job]:
        """The jobs that run, and the last of those that ended, oldest first."""
        with self._lock:
            return list(self._jobs.values())

    def take_ended(self) -> list[Job]:
        """The jobs that ended and nobody was told of; they count as told from here on."""
        ended = [job for job in self.all() if not job.running and not job.told]
        for job in ended:
            job.told = True
        return ended

    def stop(self) -> None:
        """End all jobs, and start no more. Never blocks."""
        with self._lock:
            self._closed = True
        for job in self.all():
            job.stop()

    def close(self, deadline: float) -> bool:
        """`stop`, and wait until nothing is left or it is `deadline` by the monotonic clock; whether nothing is."""
        self.stop()
        return all([job.wait_ended(max(0.0, deadline - time.monotonic())) for job in self.all()])

    def _check_room(self) -> None:
        if self._closed:
            raise NotStarted("the session is being closed")
        if sum(job.running for job in self._jobs.values()) >= MAX_RUNNING:
            raise NotStarted(f"{MAX_RUNNING} jobs run already; end one with job_kill")
        ended = [job.id for job in self._jobs.values() if not job.running]
        for id in ended[: max(0, len(ended) - KEPT + 1)]:
            del self._jobs[id]


class _Output:
    """What a job printed and nobody has taken. Its lock is a leaf; a follower is written to with no lock held."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._untaken = LiveOutput(limit=OUTPUT_BYTES)
        self._follower: Sink | None = None

    def write(self, data: bytes) -> None:
        self._put(data)

    def end(self) -> None:
        self._put(b"", final=True)

    def take(self, limit: int) -> Excerpt:
        with self._lock:
            taken, self._untaken = self._untaken, LiveOutput(limit=OUTPUT_BYTES)
        return taken.excerpt(limit)

    def follow(self, sink: Sink | None) -> None:
        with self._lock:
            self._follower = sink
            so_far = self._untaken.snapshot() if sink is not None else ""
        if sink is not None:
            sink.write(so_far.encode())

    def _put(self, data: bytes, final: bool = False) -> None:
        with self._lock:  # only whole characters: the next ones may be taken apart from these
            whole = self._decoder.decode(data, final).encode()
            self._untaken.write(whole)
            follower = self._follower
        if follower is not None:
            follower.write(whole)
