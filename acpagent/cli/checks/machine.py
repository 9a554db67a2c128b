"""The machine: Python, what is installed, the shell and git."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata

from acpagent.cli import command
from acpagent.cli.checks.finding import Case, Finding, fail, ok, warn
from acpagent.cli.spoken import say
from acpagent.core.shells import shell
from acpagent.version import __version__
from acpagent.wire import schema

_OLDEST = (3, 11)
_SECONDS = 10
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9._-]+)\s*(?:>=\s*([0-9.]+))?")


def python(case: Case) -> Iterator[Finding]:
    version = f"{sys.version.split()[0]}, {sys.executable}"
    if sys.version_info < _OLDEST:
        yield fail("python", version, say("check_python", version=".".join(map(str, _OLDEST))))
    else:
        yield ok("python", version)


def installation(case: Case) -> Iterator[Finding]:
    """Everything that acpagent needs is there, new enough, and so are its own data files."""
    missing = list(_missing())
    if missing:
        yield fail(
            "installation", say("check_lacks", version=__version__, names=", ".join(missing)), say("check_reinstall")
        )
    try:
        for name in ("acp-v1.json", "config.json"):
            schema.load(name)
    except (OSError, ValueError, ImportError) as error:
        yield fail("installation", say("check_data_file", kind=type(error).__name__), say("check_reinstall"))
        return
    if not missing:
        yield ok("installation", f"acpagent {__version__}, {' '.join(command.own())}")
    yield from _on_path()


def _missing() -> Iterator[str]:
    try:
        wanted = metadata.requires("acpagent") or []
    except metadata.PackageNotFoundError:
        return  # run from a checkout: what is missing is found by importing it
    for line in wanted:
        found = _REQUIREMENT.match(line)
        if found is None or "extra ==" in line:
            continue
        name, oldest = found[1], found[2]
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name
            continue
        if oldest and _numbers(version) < _numbers(oldest):
            yield say("check_there_is", name=name, oldest=oldest, version=version)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.split("+")[0])[:3])


def _on_path() -> Iterator[Finding]:
    found, own = shutil.which("acpagent"), command.own()
    if found is None:
        text = say("check_not_on_path")
        yield warn("path", text, say("check_path_remedy", command=" ".join(own)))
    elif len(own) == 1 and os.path.realpath(found) != os.path.realpath(own[0]):
        yield warn("path", say("check_other_install", path=found), say("check_call_this", command=own[0]))
    else:
        yield ok("path", found)


def commands(case: Case) -> Iterator[Finding]:
    """The shell that the agent's commands run in, and git."""
    path = shell()
    said = _output([path, "-c", "echo ready"])
    if said == "ready":
        yield ok("shell", path)
    elif said is None:
        yield fail("shell", say("check_shell_dead", path=path), say("check_bash"))
    else:
        advice = say("check_shell_quiet")
        yield warn("shell", say("check_shell_loud", path=path), advice)
    git = _output(["git", "--version"])
    if git is None:
        yield warn("git", say("check_no_git"), say("check_git_remedy"))
    else:
        yield ok("git", git.removeprefix("git version "))


def _output(words: list[str]) -> str | None:
    """What a command prints; None if it cannot be run, fails, or takes too long."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=_SECONDS, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
