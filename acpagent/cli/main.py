"""The command line: one table of commands, each in a file of its own, imported only when it is the one called."""

from __future__ import annotations

import os
import sys

from acpagent.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# command -> (module, what it does). `acp` must start fast, so nothing here imports more than it needs.
COMMANDS: dict[str, tuple[str, str]] = {
    "setup": ("acpagent.cli.setup", "choose a provider and a model, and store the key"),
    "editors": ("acpagent.cli.editors", "print what to paste into an editor's settings"),
    "acp": ("acpagent.cli.acp", "serve an editor over stdin and stdout"),
    "run": ("acpagent.cli.run", "run one prompt in this folder and print what happens"),
    "sessions": ("acpagent.cli.sessions", "list, show, export or delete stored sessions"),
    "proof": ("acpagent.cli.proof", "list, show, verify or explain receipts of what was done"),
    "trust": ("acpagent.cli.trust", "show, approve or revoke what a project brings that can run"),
    "plugin": ("acpagent.cli.plugin", "install, list, check or remove plugins"),
    "demo": ("acpagent.cli.demo", "watch a shipped script at work; needs no key and no network"),
    "doctor": ("acpagent.cli.doctor", "see what works and what does not; pack a bug report"),
    "completion": ("acpagent.cli.completion", "print a script that completes these words in a shell"),
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
        sys.stderr.write(f"acpagent: there is no command {words[0]!r}\n{usage()}")
        return USAGE
    module = __import__(COMMANDS[words[0]][0], fromlist=["run"])
    code: int = module.run(words[1:])
    return code


def _open_missing_streams() -> None:
    """A standard stream that the caller closed is the null device: nothing to read, and nobody who reads."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open for good


def usage() -> str:
    """The overview that `--help` prints."""
    lines = [f"  {name:<11} {does}" for name, (_, does) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: acpagent COMMAND [OPTIONS]",
            "",
            "A coding agent for editors, over stdio, with the Agent Client Protocol.",
            "",
            *lines,
            "",
            "  --version       print the version",
            "  COMMAND --help  the options of a command",
            "",
        ]
    )
