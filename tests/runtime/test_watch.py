"""Looking before and after a call: what is found, what is left out, and that nothing of the project's runs."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from acpagent.core.paths import Roots
from acpagent.core.toolcalls import Effect, Proposal
from acpagent.runtime.evidence import bases, contents
from acpagent.runtime.evidence.account import Account
from acpagent.runtime.evidence.contents import Changes, of_bytes
from acpagent.runtime.evidence.watch import Watch, row
from acpagent.toolbox.shell import Bash

ENV = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
       "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}  # fmt: skip
COMMAND = Proposal("", "execute", (Effect("execute", command="make"),))


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True, env=ENV, capture_output=True)


def repository(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "first")


def watched(folder: Path, act: Callable[[], Any], proposal: Proposal = COMMAND, watch: Watch | None = None) -> Changes:
    found = (watch or Watch(Roots(str(folder)))).begin(Bash(), proposal, False)
    assert found is not None
    act()
    return found.end(failed=False)


def rows(folder: Path, changes: Changes) -> list[list[Any]]:
    """What changed: operation, name, lines."""
    assert changes.complete
    return sorted([row(one)[1], os.path.relpath(one.path, folder), *row(one)[2:4]] for one in changes.files)


@pytest.fixture(params=[False, True], ids=["folder", "repository"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """With files in it, outside of any repository or in one of its own."""
    (tmp_path / "a.txt").write_text("1\n2\n3\n")
    (tmp_path / "b.txt").write_text("b\n")
    (tmp_path / ".gitignore").write_text("out/\n")
    if request.param:
        repository(tmp_path)
    return tmp_path


def test_every_way_to_change_a_file(folder: Path) -> None:
    def act() -> None:
        (folder / "a.txt").write_text("1\n2\nthree\n4\n")
        (folder / "b.txt").unlink()
        (folder / "deep").mkdir()
        (folder / "deep" / "n.txt").write_text("n")

    assert rows(folder, watched(folder, act)) == [
        ["created", "deep/n.txt", 1, 0], ["deleted", "b.txt", 0, 1], ["modified", "a.txt", 2, 1],
    ]  # fmt: skip


def test_a_rename_is_seen_as_one(folder: Path) -> None:
    changes = watched(folder, lambda: os.replace(folder / "a.txt", folder / "c.txt"))
    assert ["renamed", "c.txt", 3, 0] in rows(folder, changes)
    account = Account()
    account.changed("c", changes)
    (file,) = account.files(Roots(str(folder))).values()
    assert (file.operation, file.old_path, file.path, file.added, file.removed) == ("renamed", "a.txt", "c.txt", 0, 0)


def test_what_does_not_change_anything(folder: Path) -> None:
    def act() -> None:
        os.utime(folder / "a.txt")
        (folder / "b.txt").write_text("b\n")
        for name in ("out", "__pycache__", ".pytest_cache"):
            (folder / name).mkdir()
            (folder / name / "x").write_text("x")

    assert rows(folder, watched(folder, act)) == []


def test_links_are_themselves(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "o.txt"
    outside.write_text("o\n")
    changes = watched(folder, lambda: (folder / "l").symlink_to(outside))
    assert [one[:2] for one in rows(folder, changes)] == [["created", "l"]]
    assert rows(folder, watched(folder, lambda: outside.write_text("p\n"))) == []


def test_the_same_size_in_the_same_moment(folder: Path) -> None:
    watch = Watch(Roots(str(folder)))
    for text in ("x\n", "y\n", "z\n"):
        assert len(watched(folder, lambda text=text: (folder / "b.txt").write_text(text), watch=watch).files) == 1


def test_a_first_commit_and_what_was_changed_before(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    assert rows(tmp_path, watched(tmp_path, lambda: repository(tmp_path))) == []
    (tmp_path / "a.txt").write_text("b\n")
    assert rows(tmp_path, watched(tmp_path, lambda: git(tmp_path, "commit", "-qam", "2"))) == []
    assert rows(tmp_path, watched(tmp_path, lambda: git(tmp_path, "checkout", "-q", "HEAD~1"))) == [
        ["modified", "a.txt", 1, 1]
    ]


def test_line_ends_that_git_converts_are_no_change(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"1\r\n2\r\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "core.autocrlf", "true")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "1")
    changes = watched(tmp_path, lambda: (tmp_path / "a.txt").write_bytes(b"1\r\n2\r\n3\r\n"))
    assert rows(tmp_path, changes) == [["modified", "a.txt", 1, 0]]


def test_a_folder_of_a_repository_is_not_the_whole(tmp_path: Path) -> None:
    for name in ("in", "beside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("a\n")
    repository(tmp_path)

    def act() -> None:
        for name in ("in", "beside"):
            (tmp_path / name / "a.txt").write_text("b\n")
        git(tmp_path, "commit", "-qam", "2")

    assert rows(tmp_path / "in", watched(tmp_path / "in", act)) == [["modified", "a.txt", 1, 1]]


def test_nothing_that_a_repository_brings_is_run(tmp_path: Path) -> None:
    """Filters, monitors and hooks name programs; git runs them when it looks at a working tree."""
    trap = tmp_path.parent / f"{tmp_path.name}-trap"
    script = tmp_path / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {trap}\ncat\n")
    script.chmod(0o755)
    (tmp_path / "a.txt").write_text("a\n")
    repository(tmp_path)
    (tmp_path / ".gitattributes").write_text("*.txt filter=evil diff=evil\n")
    programs = ("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv")
    for name in (*programs, "core.fsmonitor"):
        git(tmp_path, "config", name, str(script))
    git(tmp_path, "config", "filter.evil.required", "true")
    git(tmp_path, "config", "core.hooksPath", str(tmp_path))
    os.link(script, tmp_path / "post-index-change")
    changes = watched(tmp_path, lambda: (tmp_path / "a.txt").write_text("b\n"))
    assert rows(tmp_path, changes) == [["modified", "a.txt", 1, 1]]
    assert not trap.exists()


def test_too_much_to_look_at_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bases, "MOST_FILES", 3)
    watch = Watch(Roots(str(tmp_path)))
    for number in range(5):
        (tmp_path / str(number)).write_text("x")
    assert not watched(tmp_path, lambda: None, watch=watch).complete
    assert not watched(tmp_path, lambda: (tmp_path / "6").write_text("x"), watch=watch).complete


@pytest.mark.parametrize("line", ["ls", "cat a.txt | head -3", "git status", "grep -r x . && git log"])
def test_commands_that_only_read_are_not_watched(tmp_path: Path, line: str) -> None:
    proposal = Proposal("", "execute", (Effect("execute", command=line),))
    assert Watch(Roots(str(tmp_path))).begin(Bash(), proposal, False) is None


def test_what_may_do_anything_is_watched(folder: Path) -> None:
    """As tools of servers and plugins may."""
    anything = Proposal("", "other", (Effect("network"),), facts={"server": "s"})
    changes = watched(folder, lambda: (folder / "m.txt").write_text("m\n"), anything)
    assert [(one.source, os.path.basename(one.path)) for one in changes.files] == [("mcp", "m.txt")]


def test_lines_are_counted_exactly() -> None:
    def common(old: list[str], new: list[str]) -> int:
        table = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
        for i, one in enumerate(old):
            for j, other in enumerate(new):
                table[i + 1][j + 1] = table[i][j] + 1 if one == other else max(table[i][j + 1], table[i + 1][j])
        return table[-1][-1]

    draw = random.Random(7)
    for _ in range(2000):
        old, new = ([draw.choice("abc") for _ in range(draw.randrange(12))] for _ in range(2))
        counted = contents.counted(*(of_bytes("".join(f"{x}\n" for x in side).encode()) for side in (old, new)))
        expected = common(old, new)
        assert (counted.added, counted.removed) == (len(new) - expected, len(old) - expected)


def test_a_large_file_is_counted_quickly_or_not_at_all() -> None:
    old = of_bytes(b"".join(b"%d\n" % n for n in range(9000)))
    new = of_bytes(b"".join(b"%d\n" % n for n in range(9000) if n % 7))
    assert contents.counted(old, new).removed == 1286
    assert contents.counted(old, of_bytes(b"x" * (contents.KEPT_BYTES + 1))).added is None
