"""What the runtime asks of the outside. One host per session: the protocol adapter's, or one of callbacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from acpagent.core.events import Event
from acpagent.core.forms import Answer, Form
from acpagent.core.scope import Scope
from acpagent.core.toolcalls import ToolCall

Choice = Literal["deny", "once", "session", "repo", "full"]
Asks = Literal["form", "choice", "none"]


@dataclass(frozen=True, slots=True)
class PermissionAsk:
    """A question to the person about one call, with the choices offered.

    `rule` is the rule that `session` or `repo` would add, in words a person reads (`Bash(npm test)`). `argv` are the
    words of a command that is a single static one, which runs in `cwd`; else they are empty.
    """

    call: ToolCall
    choices: tuple[Choice, ...]
    rule: str
    reason: str = ""
    argv: tuple[str, ...] = ()
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class Decision:
    """`choice` None: nobody there to ask, an error or a lost client, which is a refusal (PERM-06).

    `cancelled`: the person closed the question, which ends the turn (PERM-05).
    """

    choice: Choice | None
    cancelled: bool = False


class InDoubt(OSError):
    """The client did not say in time, or not clearly, whether it did what it was asked to do."""


class HostFiles(Protocol):
    """The client's view of files, unsaved buffers included. `read` or `write` is None where not offered.

    Both raise `Cancelled`, FileNotFoundError where the client knows no such file, OSError for any other refusal (its
    errno is ENOSYS where the client cannot do it although it says so), and `InDoubt`.
    """

    read: Callable[[str, int | None, int | None, Scope], str] | None
    write: Callable[[str, str, Scope], None] | None


class HostShell(Protocol):
    """Commands that run in a terminal of the client."""

    def start(self, argv: Sequence[str], cwd: str, env: Mapping[str, str], limit: int, scope: Scope) -> HostTerminal:
        """Raises OSError where the client would not, so that nothing was run; `InDoubt`, `Cancelled`."""


# How a command ended: exit code and signal, either of them None.
Exit = tuple[int | None, str | None]


class HostTerminal(Protocol):
    """A command in a client's terminal. `kill` and `release` never block and may come after a cancel."""

    id: str

    def output(self, scope: Scope) -> tuple[str, bool, Exit | None]:
        """What it printed, whether that was cut, and how it ended if it has. Raises OSError, `Cancelled`."""

    def wait(self, scope: Scope, timeout: float) -> Exit | None:
        """How it ended; None after `timeout` seconds. Raises OSError, `Cancelled`."""

    def kill(self) -> None: ...
    def release(self) -> None: ...


class Host(Protocol):
    """`emit` never blocks and may be called under the session lock; the others are called with no lock.
    An absent ability is None."""

    @property
    def language(self) -> str:
        """What acpagent speaks with the person."""

    @property
    def address(self) -> str:
        """What the outside calls the session."""

    def speak(self, language: str) -> None:
        """Speak another language from the next sentence on. Under the session lock."""

    def move(self, address: str) -> None:
        """The outside calls the session by another name from here on. Under the session lock."""

    @property
    def asks(self) -> Asks:
        """How the person can be asked: all at once in a form, one choice after another, or not at all."""

    @property
    def shows_forms(self) -> bool:
        """Whether the outside shows by itself what plugins publish, forms included, and hands in what was filled in.
        Otherwise a form is a question."""

    @property
    def files(self) -> HostFiles | None: ...
    @property
    def shell(self) -> HostShell | None: ...
    def emit(self, event: Event) -> None: ...
    def wait_room(self, scope: Scope) -> None:
        """Wait until the outside has taken enough of what was emitted. Raises `Cancelled`."""

    def permit(self, ask: PermissionAsk, scope: Scope) -> Decision:
        """Ask the person. Raises `Cancelled` when the scope is."""

    def question(self, form: Form, scope: Scope) -> Answer:
        """Ask the person what a tool call wants to know. Raises `Cancelled` when the scope is."""
