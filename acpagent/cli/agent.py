"""The agent behind a command: a process of its own, and how its failures become messages and exit codes."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from acpagent.cli.main import FAILED, USAGE
from acpagent.cli.spoken import say, spoken
from acpagent.client.callbacks import Permission, Question
from acpagent.client.client import Client
from acpagent.client.faults import AgentEnded, AgentFault
from acpagent.client.process import STOP_SECONDS
from acpagent.config.problems import ConfigError
from acpagent.core.faults import Fault
from acpagent.core.phrases import told
from acpagent.wire.codes import AUTH_REQUIRED

STOPPED, CANCELLED = 3, 130

# -P: the folder that the command is called in may hold modules of any name, which must not be imported.
COMMAND = (sys.executable, "-P", "-m", "acpagent", "acp")

# For an agent that a person has no patience with any more.
_HURRY_SECONDS = 0.3
_MARK = "[acpagent acp] "


class UsageError(Exception):
    """What was asked for cannot be; the text says what to do instead."""


@contextmanager
def running(
    flags: Sequence[str] = (),
    permission: Permission | None = None,
    env: Mapping[str, str] | None = None,
    question: Question | None = None,
) -> Iterator[Client]:
    """An agent process for as long as the block lasts. What it said on stderr comes last, unless it ended by
    itself: then the fault tells it. Raises as `Client.launch`."""
    client = Client.launch([*COMMAND, *flags], permission=permission, question=question, env=env)
    patience, told = STOP_SECONDS, False
    try:
        yield client
    except KeyboardInterrupt:
        patience = _HURRY_SECONDS
        raise
    except AgentEnded:
        told = True
        raise
    finally:
        client.close(patience)
        if not told:
            sys.stderr.write(client.stderr)


def dispatched(parser: argparse.ArgumentParser, words: Sequence[str]) -> int:
    """Run the `command` that a parser sets for these words, guarded."""
    options = parser.parse_args(words)
    command: Callable[[argparse.Namespace], int] = options.command
    return guarded(lambda: command(options))


def guarded(command: Callable[[], int]) -> int:
    """Run a command; what it raises becomes a message on stderr and an exit code."""
    try:
        return command()
    except ConfigError as error:
        return complain("\n".join(error.lines(spoken)), USAGE)
    except UsageError as error:
        return complain(told(error), USAGE)
    except AgentEnded as fault:
        if fault.exit_code == USAGE:
            return complain(fault.stderr.replace(_MARK, "").strip(), USAGE)
        return complain(fault.message, FAILED)
    except AgentFault as fault:
        return complain(fault.message, USAGE if fault.code == AUTH_REQUIRED else FAILED)
    except Fault as fault:
        return complain(fault.message, FAILED)
    except BrokenPipeError:
        # Nobody reads any more; without this, Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return FAILED
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return complain(f"{where}{spoken(told(error))}", FAILED)
    except KeyboardInterrupt:
        return complain(say("interrupted"), CANCELLED)


def complain(text: str, code: int) -> int:
    """Say on stderr what is wrong; returns the exit code."""
    sys.stderr.write(f"acpagent: {spoken(text)}\n")
    return code
