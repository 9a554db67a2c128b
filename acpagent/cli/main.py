"""The command line: one table of commands, each in a file of its own, imported only when it is the one called."""

from __future__ import annotations

import os
import sys

from acpagent.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# command -> module; what it does is `usage_NAME` of the catalogue. `acp` must start fast, so nothing here imports more
# than it needs.
COMMANDS: dict[str, str] = {
    "setup": "acpagent.cli.setup",
    "editors": "acpagent.cli.editors",
    "acp": "acpagent.cli.acp",
    "run": "acpagent.cli.run",
    "sessions": "acpagent.cli.sessions",
    "proof": "acpagent.cli.proof",
    "trust": "acpagent.cli.trust",
    "plugin": "acpagent.cli.plugin",
    "demo": "acpagent.cli.demo",
    "doctor": "acpagent.cli.doctor",
    "completion": "acpagent.cli.completion",
}

# Exit codes, the same for every command.
OK, FAILED, USAGE = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 done, 1 failed, 2 wrong usage or configuration."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] != ["acp"]:  # which says itself what it needs
        _open_missing_streams()
    if not words or words[0] in ("-h", "--help", "help"):
        sys.stdout.write(usage())
        return OK if words else USAGE
    if words[0] in ("-V", "--version"):
        sys.stdout.write(f"acpagent {__version__}\n")
        return OK
    if words[0] not in COMMANDS:
        from acpagent.cli.spoken import say

        sys.stderr.write(f"acpagent: {say('usage_no_command', name=words[0])}\n{usage()}")
        return USAGE
    module = __import__(COMMANDS[words[0]], fromlist=["run"])
    code: int = module.run(words[1:])
    return code


def _open_missing_streams() -> None:
    """A standard stream that the caller closed is the null device: nothing to read, and nobody who reads."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open for good


def usage() -> str:
    """The overview that `--help` prints."""
    from acpagent.cli.spoken import say

    lines = [f"  {name:<11} {say(f'usage_{name}')}" for name in COMMANDS]
    return "\n".join(
        [
            say("usage_line"),
            "",
            say("usage_about"),
            "",
            *lines,
            "",
            f"  --version       {say('usage_version')}",
            f"  COMMAND --help  {say('usage_help')}",
            "",
        ]
    )
