"""Turns of which it is known what they change and what they check, for `test_evidence`."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.acp.seen import calls
from tests.agent import Message

GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a",
       "GIT_COMMITTER_EMAIL": "a@b"}  # fmt: skip
MAKEFILE = """\
test:
\t@grep -q good a.txt && echo 1 passed
test-none:
\t@echo no tests ran in 0.01s
test-none5:
\t@echo no tests ran in 0.01s; exit 5
test-skipped:
\t@echo 3 skipped in 0.02s
test-fails:
\t@echo 1 failed; exit 1
lint:
\t@echo fine
"""
FILES: dict[str, str | bytes] = {
    "Makefile": MAKEFILE,
    "a.txt": "one\nbad\nthree\n",
    "b.txt": "b\n",
    "README.md": "# Title\n",
    "crlf.txt": b"one\r\ntwo\r\nthree\r\n",
    "data.bin": b"\x00\x01\x02",
}


@dataclass(frozen=True)
class Case:
    """A turn: what the model does, and what must be said of it. `files` and `checks` in short; `risks` by kind. Without
    a `status` nothing is handed over. `repository`: the files are committed first."""

    name: str
    does: list[Any]
    status: str | None
    files: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    risks: list[str] = field(default_factory=list)
    commands: int | None = None
    has: dict[str, str | bytes] = field(default_factory=dict)
    repository: bool = False
    setup: Callable[[Path], None] | None = None
    leaves: dict[str, bytes] = field(default_factory=dict)


def sh(line: str, **more: Any) -> Message:
    return calls("bash", command=line, **more)


def edit(path: str, old: str, new: str) -> Message:
    return calls("edit_file", path=path, old=old, new=new)


def write(path: str, content: str) -> Message:
    return calls("write_file", path=path, content=content)


def change_two(folder: Path) -> None:
    """Leave two files changed."""
    for name in ("a.txt", "b.txt"):
        with (folder / name).open("a") as file:
            file.write("before\n")


def inner(folder: Path) -> None:
    """A repository in it."""
    commands = "git init -q in && cd in && echo i > i.txt && git add -A && git commit -qm first"
    subprocess.run(commands, shell=True, cwd=folder, check=True, env={**os.environ, **GIT})


def module(folder: Path) -> None:
    """The same as a submodule."""
    inner(folder)
    commands = "git submodule -q add ./in in && git commit -qm module"
    subprocess.run(commands, shell=True, cwd=folder, check=True, env={**os.environ, **GIT})


FIX, BREAK, UNDO = edit("a.txt", "bad", "good"), edit("a.txt", "good", "worse"), edit("a.txt", "good", "bad")
B, TEST, LINT = edit("b.txt", "b", "c"), sh("make test"), sh("make lint")
GOOD: dict[str, str | bytes] = {"a.txt": "one\ngood\nthree\n"}
A, BB = "modified a.txt +1-1", "modified b.txt +1-1"
NONE, OPEN, SKIPPED = "Command verification not_run", "unverified_changes", "skipped_check"
PASSED, LINTED = "Tests passed", "Lint passed"

JOB = sh("while [ ! -e go ]; do sleep 0.02; done; rm go; echo x > j.txt", background=True)
LOOK = [sh("touch go"), calls("job_output", job_id="job_1", wait_seconds=10)]

CASES = [
    # Checks, and when they come.
    Case("an edit and no check", [FIX], "unverified", [A], [NONE], [OPEN]),
    Case("an edit and a check", [FIX, TEST], "verified", [A], [PASSED], commands=1),
    Case("a check that fails", [B, TEST], "partially_verified", [BB], ["Tests failed"], ["failed_check", OPEN]),
    Case("a check before the only edit", [TEST, B], "unverified", [BB], [PASSED], [OPEN], has=GOOD),
    Case("a check between edits", [FIX, TEST, B], "partially_verified", [A, BB], [PASSED], [OPEN]),
    Case("a check behind each edit", [FIX, TEST, B, LINT], "verified", [A, BB], [PASSED, LINTED]),
    Case("a failure made good", [B, TEST, FIX, TEST], "verified", [A, BB], [PASSED], commands=2),
    Case(
        "a failure not looked at again", [B, TEST, FIX, LINT], "partially_verified", [A, BB],
        ["Tests failed", LINTED], ["failed_check"],
    ),
    Case(
        "a pass and then a failure", [FIX, TEST, BREAK, TEST], "partially_verified", [A],
        ["Tests failed"], ["failed_check", OPEN],
    ),
    Case("a check alone", [TEST], "verified", [], [PASSED], has=GOOD),
    Case("a check alone that fails", [TEST], "partially_verified", [], ["Tests failed"], ["failed_check"]),
    Case("words alone", [], None),
    Case("a look alone", [calls("read_file", path="a.txt"), sh("ls")], None),
    # Statuses that say nothing.
    Case(
        "or true", [FIX, sh("make test || true")], "unverified", [A],
        ["Tests skipped check_masked"], [SKIPPED, OPEN],
    ),
    Case(
        "a pipe", [FIX, sh("make test | cat")], "unverified", [A],
        ["Tests skipped check_masked"], [SKIPPED, OPEN],
    ),
    Case(
        "something behind it", [FIX, sh("make test; echo done")], "unverified", [A],
        ["Tests skipped check_masked"], [SKIPPED, OPEN],
    ),
    Case(
        "in the background", [FIX, sh("make test && sleep 60", background=True)], "unverified", [A],
        ["Tests skipped check_in_background"], [SKIPPED, OPEN, "unknown_changed_files"],
    ),
    Case(
        "a failure, and one test that passes", [FIX, B, sh("make test-fails"), TEST], "partially_verified", [A, BB],
        ["Tests failed", PASSED], ["failed_check"],
    ),
    Case("a failure made good by another test", [B, TEST, FIX, sh("make test-skipped check")], "verified", [A, BB],
         [PASSED], has={"Makefile": MAKEFILE + "check:\n\t@echo 1 passed\n"}),
    Case("a group, and leaving with a failure", [FIX, sh("{ make test; } || exit 1")], "verified", [A], [PASSED]),
    Case("asking for a dry run", [FIX, sh("make -n test")], "unverified", [A], [NONE], [OPEN]),
    Case(
        "no rule for it", [FIX, sh("make test-typo")], "unverified", [A],
        ["Tests not_run check_not_found"], [SKIPPED, OPEN],
    ),
    Case("a pipe that fails", [FIX, sh("set -o pipefail; make test | cat")], "verified", [A], [PASSED]),
    Case(
        "no test ran", [FIX, sh("make test-none")], "unverified", [A],
        ["Tests not_run check_ran_nothing"], [SKIPPED, OPEN],
    ),
    Case(
        "no test ran, and it says so", [FIX, sh("make test-none5")], "unverified", [A],
        ["Tests not_run check_ran_nothing"], [SKIPPED, OPEN],
    ),
    Case(
        "every test skipped", [FIX, sh("make test-skipped")], "unverified", [A],
        ["Tests not_run check_ran_nothing"], [SKIPPED, OPEN],
    ),
    Case("no test ran, and then some", [FIX, sh("make test-none"), TEST], "verified", [A], [PASSED], commands=2),
    Case(
        "a program that is not there", [FIX, sh("busted")], "unverified", [A],
        ["Tests not_run check_not_found"], [SKIPPED, OPEN],
    ),
    Case(
        "a change behind the check, in one line", [sh("make test && printf c > b.txt")], "unverified",
        ["modified b.txt +1-1"], [PASSED], [OPEN], has=GOOD,
    ),
    Case(
        "a change before the check, in one line", [sh("printf c > b.txt && make test")], "verified",
        ["modified b.txt +1-1"], [PASSED], has=GOOD,
    ),
    # Changes by tools.
    Case("a new file", [write("new/n.txt", "x\ny\n")], "unverified", ["created new/n.txt +2-0"], [NONE], [OPEN]),
    Case(
        "several edits at once",
        [calls("multi_edit", path="a.txt", edits=[{"old": "one", "new": "1\n1"}, {"old": "three\n", "new": ""}])],
        "unverified", ["modified a.txt +2-2"], [NONE], [OPEN],
    ),
    Case(
        "line ends that stay", [edit("crlf.txt", "two", "2\n2")], "unverified", ["modified crlf.txt +2-1"],
        [NONE], [OPEN],
        leaves={"crlf.txt": b"one\r\n2\r\n2\r\nthree\r\n"},
    ),
    Case("a deletion", [calls("delete_file", path="a.txt")], "unverified", ["deleted a.txt +0-3"], [NONE], [OPEN]),
    Case(
        "a move and an edit", [calls("move_file", source="a.txt", target="c.txt"), edit("c.txt", "bad", "good")],
        "unverified", ["renamed a.txt > c.txt +1-1"], [NONE], [OPEN], commands=0,
    ),
    Case("there and back", [FIX, UNDO], "verified"),
    Case("made and taken away", [write("n.txt", "x"), calls("delete_file", path="n.txt")], "verified"),
    Case("words for readers, not read", [edit("README.md", "Title", "T")], "unverified", ["modified README.md +1-1"],
         [NONE], [OPEN]),
    Case("words for readers, read", [edit("README.md", "Title", "T"), calls("read_file", path="README.md")],
         "verified", ["modified README.md +1-1"], ["Manual inspection passed"]),
    Case("words for readers, and the diff of them", [edit("README.md", "Title", "T"), sh("git diff")],
         "verified", ["modified README.md +1-1"], ["Diff inspection passed"], repository=True),
    Case("words for readers among others, read", [FIX, edit("README.md", "Title", "T"), sh("git diff")],
         "unverified", [A, "modified README.md +1-1"], ["Diff inspection passed"], [OPEN], repository=True),
    Case("a call that fails", [edit("a.txt", "nowhere", "x"), FIX, TEST], "verified", [A], [PASSED]),
    Case("a command that fails", [FIX, sh("false"), TEST], "verified", [A], [PASSED], commands=2),
    # Changes by commands.
    Case("a file of the shell's", [sh("printf 'x\\ny\\n' > s.txt")], "unverified", ["created s.txt +2-0"],
         [NONE], [OPEN]),
    Case("a command that fails half-way", [sh("echo x > s.txt; false")], "unverified", ["created s.txt +1-0"],
         [NONE], [OPEN, "active_diagnostic"]),
    Case("rm", [sh("rm a.txt")], "unverified", ["deleted a.txt +0-3"], [NONE], [OPEN]),
    Case("mv", [sh("mv a.txt c.txt")], "unverified", ["renamed a.txt > c.txt +0-0"], [NONE], [OPEN]),
    Case("a new binary", [sh("printf '\\000x' > n.bin")], "unverified", ["created n.bin binary"], [NONE], [OPEN]),
    Case("a changed binary, checked", [sh("printf '\\000y' > data.bin"), LINT], "verified",
         ["modified data.bin binary"], [LINTED]),
    Case("line ends that go", [sh("printf 'one\\ntwo\\nthree\\n' > crlf.txt")], "unverified",
         ["modified crlf.txt +3-3"], [NONE], [OPEN]),
    # Changes by jobs.
    Case(
        "a job that is waited for", [JOB, LOOK], "unverified", ["created j.txt +1-0"], [NONE], [OPEN], commands=2,
    ),
    Case("a job, and then a check", [JOB, LOOK, TEST], "verified", ["created j.txt +1-0"], [PASSED], has=GOOD),
    Case("a job behind the check", [JOB, TEST, LOOK], "unverified", ["created j.txt +1-0"], [PASSED], [OPEN], has=GOOD),
    Case("a job and a tool", [JOB, FIX, LOOK, B, TEST], "verified", ["created j.txt +1-0", A, BB], [PASSED]),
    Case("a job that goes on", [sh("sleep 60", background=True)], "unverified", [], [], ["unknown_changed_files"]),
    # In a repository.
    Case("a repository: a clean file", [sh("printf 'one\\n' > a.txt")], "unverified", ["modified a.txt +0-2"],
         [NONE], [OPEN], repository=True),
    Case("a repository: what was changed before is nobody's", [sh("echo x >> b.txt")], "unverified",
         ["modified b.txt +1-0"], [NONE], [OPEN], repository=True,
         setup=change_two),
    Case("a repository: committing changes nothing", [FIX, sh("git add -A && git commit -qm x"), TEST], "verified", [A],
         [PASSED], repository=True),
    Case("a repository: what is ignored is left out", [sh("mkdir build; echo x > build/x; echo y > y.txt")],
         "unverified", ["created y.txt +1-0"], [NONE], [OPEN], repository=True, has={".gitignore": "build/\n"}),
    Case("a repository: taken back", [FIX, sh("git checkout -q -- a.txt")], "verified", repository=True),
    Case("a repository: a commit that moves", [sh("git mv a.txt c.txt && git commit -qm x")], "unverified",
         ["renamed a.txt > c.txt +0-0"], [NONE], [OPEN], repository=True),
    Case("a repository: one in it", [sh("echo x >> in/i.txt; echo y > in/n.txt")], "unverified",
         ["modified in/i.txt +1-0", "created in/n.txt +1-0"], [NONE], [OPEN], repository=True, setup=inner),
    Case("a repository: a submodule, committed", [sh("cd in && echo x >> i.txt && git commit -qam x")], "unverified",
         ["modified in/i.txt +1-0"], [NONE], [OPEN], repository=True, setup=module),
    Case("a repository: one that comes into it", [sh("git clone -q in out")], "unverified", ["created out/i.txt +1-0"],
         [NONE], [OPEN], repository=True, setup=inner),
]  # fmt: skip
