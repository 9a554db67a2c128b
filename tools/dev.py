#!/usr/bin/env python3
"""Everything a checkout needs, with nothing but a Python that has venv, and a package index.

    python tools/dev.py test [PYTEST ARGUMENTS]    run the tests
    python tools/dev.py demo                       watch acpagent at work
    python tools/dev.py check                      style and types
    python tools/dev.py build FOLDER               build the sdist and the wheel into FOLDER

The first run makes `.venv`; later ones use it, and install again only when the metadata has changed.
"""

# Kept within the grammar of older Pythons 3, so that they reach the message below instead of a SyntaxError.
import sys

if sys.version_info < (3, 11):  # noqa: UP036
    sys.exit("tools/dev.py needs Python 3.11 or newer; this is " + sys.version.split()[0])

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
STAMP = os.path.join(VENV, "acpagent-installed.json")
# The whole suite, a file at a time on each of a few workers: most tests wait for other processes.
EVERYTHING = ("-n", str((os.cpu_count() or 1) + 1), "--dist", "loadfile")
MAKING = os.path.join(VENV, "acpagent-making")


def main(arguments: Sequence[str]) -> int:
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if verb == "test":
        return prepare("test") or run(PYTHON, "-m", "pytest", *(rest or EVERYTHING))
    if verb == "demo":
        return prepare("test") or run(PYTHON, "-m", "acpagent", "demo", *rest)
    if verb == "check" and not rest:
        return prepare("dev") or run(PYTHON, "-m", "ruff", "check", ".") or run(PYTHON, "-m", "mypy")
    if verb == "build" and len(rest) == 1:
        return prepare("dev") or run(PYTHON, "-m", "build", "--outdir", os.path.abspath(rest[0]), ROOT)
    print(__doc__, file=sys.stderr)
    return 2


def prepare(extra: str) -> int:
    """Make `.venv` if it is missing or broken, and install the project with an extra. 0, or an exit code."""
    with alone():
        if not works():
            code = make()
            if code:
                return code
        stamp = {"root": ROOT, "metadata": digest(), "extras": sorted({extra, *installed()})}
        if read_stamp() == stamp:
            return 0
        say("installing acpagent and what it needs")
        target = "{}[{}]".format(ROOT, ",".join(stamp["extras"]))
        pip = (PYTHON, "-m", "pip", "--quiet", "--disable-pip-version-check")
        code = run(*pip, "install", "--editable", target)
        if code:
            say("the installation failed; is a package index within reach?")
            return code
        write_stamp(stamp)
        return 0


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Hold other runs in the same checkout off. The lock is on a folder, so that no file stays behind."""
    folder = os.open(os.path.join(ROOT, "tools"), os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def works() -> bool:
    """Whether `.venv` is whole: made to the end, in this place, by a Python that is there and new enough."""
    stamp = read_stamp()
    if os.path.exists(MAKING) or (stamp and stamp.get("root") != ROOT) or not os.path.exists(PYTHON):
        return False
    probe = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
    return subprocess.run([PYTHON, "-c", probe], stderr=subprocess.DEVNULL, check=False).returncode == 0


def make() -> int:
    say("making .venv")
    shutil.rmtree(VENV, ignore_errors=True)
    os.mkdir(VENV)
    # A run that is killed before this mark is gone leaves a folder that the next run throws away.
    with open(MAKING, "w", encoding="utf-8"):
        pass
    try:
        import venv

        # In this process, because `sys.executable` may be the one of the broken `.venv` just removed.
        venv.EnvBuilder(with_pip=True, symlinks=True).create(VENV)
    except (ImportError, OSError, subprocess.CalledProcessError) as error:
        shutil.rmtree(VENV, ignore_errors=True)
        say("cannot make a virtual environment; on Debian and Ubuntu install python3-venv")
        say(str(error))
        return 1
    os.remove(MAKING)
    return 0


def digest() -> str:
    """What an installation depends on."""
    whole = hashlib.sha256()
    for name in ("setup.cfg", "pyproject.toml"):
        with open(os.path.join(ROOT, name), "rb") as file:
            whole.update(file.read())
    return whole.hexdigest()


def installed() -> Sequence[str]:
    return read_stamp().get("extras", [])


def read_stamp() -> dict:
    try:
        with open(STAMP, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def write_stamp(stamp: dict) -> None:
    with open(STAMP + ".new", "w", encoding="utf-8") as file:
        json.dump(stamp, file)
    os.replace(STAMP + ".new", STAMP)


def run(*command: str) -> int:
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def say(text: str) -> None:
    print("dev.py: " + text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
