"""`acpagent acp`: the agent on stdin and stdout. All that is imported here at the top is needed for `initialize`."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time

from acpagent.acp.connection import Connection
from acpagent.acp.v1.initialize import TerminalLogin
from acpagent.cli import command
from acpagent.config import locate, startup, work_modes
from acpagent.config.problems import ConfigError
from acpagent.core import diagnostics
from acpagent.wire import stdio
from acpagent.wire.driver import Driver

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, NoReturn

    from acpagent.acp.v1.methods import Methods
    from acpagent.acp.v1.trace import Trace
    from acpagent.runtime.session.services import Observer
    from acpagent.wire.peer import Refusal

# What opening a session does without, and is slow to import.
_FIRST_TURN = (
    "requests",
    "pathspec.patterns.gitignore.spec",
    "acpagent.permission.linejudge",
    "acpagent.core.shelltree",
)
# One absolute deadline for everything that has to end (TRN-12).
SHUTDOWN_SECONDS = 4.0
NAME = "acpagent acp"


class Options:
    """The parsed flags."""

    __slots__ = ("model", "profile", "require_provider", "setup")

    def __init__(self) -> None:
        self.setup: list[str] | None = None  # the words behind `setup` (AUTH-08)
        self.model: str | None = None
        self.profile: str | None = None
        self.require_provider = False


class UsageError(Exception):
    """The command line cannot be understood; the text says why."""


def parse(words: Sequence[str]) -> Options:
    """The flags, read by hand: argparse alone would cost half of the start. Raises `UsageError`."""
    options, rest = Options(), list(words)
    while rest:
        flag, _, value = rest.pop(0).partition("=")
        if flag == "setup" and not value:
            options.setup, rest = rest, []
        elif flag == "--require-provider" and not value:
            options.require_provider = True
        elif flag in ("--model", "--profile"):
            if not value and not rest:
                raise UsageError(_say("acp_needs_value", flag=flag))
            setattr(options, flag[2:], value or rest.pop(0))
        else:
            raise UsageError(_say("acp_unknown_option", flag=flag))
    if options.profile is not None:
        profile = work_modes.named(options.profile)
        if profile is None:
            raise UsageError(_say("acp_profile", names=", ".join(work_modes.NAMES)))
        options.profile = profile
    return options


def run(words: Sequence[str]) -> int:
    """Serve until stdin closes. Returns 1 without a provider where one is required, 2 for bad flags or settings."""
    before_setup = words[: words.index("setup")] if "setup" in words else words
    if any(word in ("-h", "--help") for word in before_setup):
        sys.stdout.write(_say("acp_help"))
        return 0
    try:
        options = parse(words)
        if options.setup is not None:
            from acpagent.cli import setup

            return setup.run(options.setup)
        home = locate.home()
        known = startup.read(home, options.model)
        trace = _trace(home)
    except (UsageError, ConfigError) as error:
        diagnostics.say(NAME, _told(error))
        return 2
    if options.require_provider and not known.configured:
        diagnostics.say(NAME, _say("acp_no_provider"))
        return 1
    try:
        streams = stdio.capture()
    except OSError:
        diagnostics.say(NAME, _say("acp_no_streams"))
        return 2
    serve(streams, home, options, known, trace)


def _say(code: str, **params: str) -> str:
    from acpagent.cli.spoken import say

    return say(code, **params)


def _told(error: Exception) -> str:
    from acpagent.cli.spoken import spoken

    return "\n".join(error.lines(spoken)) if isinstance(error, ConfigError) else str(error)


def serve(
    streams: tuple[int, int], home: str, options: Options, known: startup.Startup, trace: Trace | None = None
) -> NoReturn:
    """Speak the protocol on the captured stdin and stdout; ends the process."""
    connection = Connection(known, _login(home), _methods_maker(home, options, _observer(trace)))
    driver = Driver(*streams, connection, name=NAME, check=_check(), trace=trace, on_refusal=_tell)
    connection.attach(driver)
    _end_on_signals(driver)  # before anything can be asked, so that no signal finds the process without it
    driver.start()
    threading.Thread(target=_warm_up, args=(connection,), name="acpagent-warm-up", daemon=True).start()
    driver.ended.wait()
    connection.shut_down(time.monotonic() + SHUTDOWN_SECONDS)
    diagnostics.flush()
    # A helper thread that is stuck in a system call must not keep the process alive.
    os._exit(0)


def _tell(refusal: Refusal) -> None:
    diagnostics.say(NAME, refusal.told)


def _end_on_signals(driver: Driver) -> None:
    """Signals take the same road as the end of input (TRN-14).

    A handler alone is not enough: the system may deliver a signal to another thread, and a main thread that waits
    on a lock would not notice. The byte is written whichever thread it hits; a thread of its own waits for it.
    """
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)

    def wait() -> None:
        os.read(read_end, 1)
        driver.stop_reading()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    threading.Thread(target=wait, name="acpagent-signals", daemon=True).start()


def _login(home: str) -> TerminalLogin:
    """`setup` as a client is to start it: for the home that this process uses, whatever its own environment says."""
    env = {"ACPAGENT_HOME": home} if home.isprintable() else {}
    return TerminalLogin(command.own(), ["setup"], env)


def _methods_maker(home: str, options: Options, observe: Observer | None) -> Callable[[Connection], Methods]:
    def make(connection: Connection) -> Methods:
        from acpagent.acp.v1.host import AcpHost
        from acpagent.acp.v1.log import report
        from acpagent.acp.v1.methods import Methods
        from acpagent.assembly import Assembly, Flags
        from acpagent.runtime.session.registry import Registry

        assembly = Assembly(home, Flags(options.model, options.profile), report, observe)
        registry = Registry(
            assembly.services,
            lambda session_id, lock: AcpHost(
                session_id, lock, connection.driver, lambda: connection.abilities, connection.language
            ),
        )
        return Methods(connection, registry, assembly.has_credentials, assembly.finish)

    return make


def _warm_up(connection: Connection) -> None:
    """Do ahead what the first session needs, once `initialize` was answered; and what its first turn needs, once that
    keeps no session waiting."""
    connection.answered_initialize.wait()
    _do_ahead(connection.methods)
    _do_ahead(_load_schema)
    connection.answered_more.wait()
    _do_ahead(_import_first_turn)


def _do_ahead(step: Callable[[], object]) -> None:
    """Almost nothing that this brings in is ever garbage: to look for it meanwhile, or later again and again, would
    be wasted time."""
    gc.disable()
    try:
        step()
    except Exception:
        return  # the first request that needs it meets the same failure and reports it
    finally:
        gc.freeze()
        gc.enable()


def _load_schema() -> None:
    from acpagent.wire import schema

    schema.bundle().warm_up("agent")


def _import_first_turn() -> None:
    for name in _FIRST_TURN:
        __import__(name)


def _check() -> Any:
    if os.environ.get("ACPAGENT_VALIDATE") != "all":
        return None
    from acpagent.wire.outgoing import outgoing_check

    return outgoing_check("agent")


def _trace(home: str) -> Trace | None:
    path = os.environ.get("ACPAGENT_TRACE")
    if not path:
        return None
    from acpagent.acp.v1.trace import Trace

    try:
        return Trace(path, home)
    except OSError as error:
        raise UsageError(_say("acp_trace", cause=error.strerror or str(error))) from None


def _observer(trace: Trace | None) -> Observer | None:
    """Who sees the events of the sessions' machines: the trace, the log, both or nobody."""
    if os.environ.get("ACPAGENT_LOG") != "debug":
        return None if trace is None else trace.machine
    from acpagent.acp.v1.log import debug_machine

    def observe(session_id: str, event: str, state: str) -> None:
        debug_machine(session_id, event, state)
        if trace is not None:
            trace.machine(session_id, event, state)

    return observe
