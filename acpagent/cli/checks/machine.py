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
from acpagent.core.shells import shell
from acpagent.version import __version__
from acpagent.wire import schema

_OLDEST = (3, 11)
_SECONDS = 10
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9._-]+)\s*(?:>=\s*([0-9.]+))?")
_REINSTALL = "install acpagent anew, with the pip of the Python above"


def python(case: Case) -> Iterator[Finding]:
    version = f"{sys.version.split()[0]}, {sys.executable}"
    if sys.version_info < _OLDEST:
        yield fail("python", version, f"use Python {'.'.join(map(str, _OLDEST))} or newer")
    else:
        yield ok("python", version)


def installation(case: Case) -> Iterator[Finding]:
    """Everything that acpagent needs is there, new enough, and so are its own data files."""
    missing = list(_missing())
    if missing:
        yield fail("installation", f"acpagent {__version__} lacks {', '.join(missing)}", _REINSTALL)
    try:
        for name in ("acp-v1.json", "config.json"):
            schema.load(name)
    except (OSError, ValueError, ImportError) as error:
        yield fail("installation", f"a data file cannot be read ({type(error).__name__})", _REINSTALL)
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
            yield f"{name} {oldest} (there is {version})"


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version.split("+")[0])[:3])


def _on_path() -> Iterator[Finding]:
    found, own = shutil.which("acpagent"), command.own()
    if found is None:
        text = "`acpagent` is not on the PATH here"
        yield warn("path", text, f"write {' '.join(own)}, as `acpagent editors` does, or add its folder to PATH")
    elif len(own) == 1 and os.path.realpath(found) != os.path.realpath(own[0]):
        yield warn("path", f"`acpagent` is another installation here: {found}", f"call this one as {own[0]}")
    else:
        yield ok("path", found)


def commands(case: Case) -> Iterator[Finding]:
    """The shell that the agent's commands run in, and git."""
    path = shell()
    said = _output([path, "-c", "echo ready"])
    if said == "ready":
        yield ok("shell", path)
    elif said is None:
        yield fail("shell", f"{path} does not run", "install bash")
    else:
        advice = "make sure that nothing it reads when it starts (BASH_ENV, ENV) prints anything"
        yield warn("shell", f"{path} says more than it is told to", advice)
    git = _output(["git", "--version"])
    if git is None:
        yield warn("git", "git is not there", "install it; the agent works without, but cannot look at history")
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
