"""What single lines come to: the table in shell_lines.py, and the rest of what a step says."""

from __future__ import annotations

import os
import time

import pytest

from acpagent.core.shellparse import parse
from acpagent.permission.commands import weigh
from tests.permission.shell_lines import lines, workspace, worst


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    return workspace(tmp_path_factory.mktemp("lines").resolve())


def steps(line, roots):
    return weigh(parse(line, "/bin/bash"), roots, roots.all[0], "/home/somebody")


@pytest.mark.parametrize(("level", "line"), lines(), ids=[repr(line) for _, line in lines()])
def test_level(level, line, roots):
    step = worst(line, roots)
    assert (step.level, line) == (level, line), step.reason


def test_the_table_is_large_and_says_each_thing_once():
    found = [line for _, line in lines()]
    assert len(found) == len(set(found)) >= 220


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("curl x", "it uses the network"),
        ("sudo ls", "it runs with the rights of somebody else"),
        ("sh -c ls", "sh runs what stands in the line itself, or takes other orders"),
        ("cat /etc/passwd", "it reads outside the working directories"),
        ("echo x > ../x", "it changes what is outside the working directories"),
        ("cat $x", "it is not known what it reads"),
        ("$x", "it is not known what it runs"),
        ("git lg", "it may be an alias, which can run anything"),
        ("PATH=x ls", "PATH changes what programs run or do"),
        ("echo 'x", "it cannot be read for sure: it is no complete command"),
        ("rm a.txt", "it deletes files"),
    ],
)
def test_reason(line, reason, roots):
    assert worst(line, roots).reason == reason


@pytest.mark.parametrize(
    ("line", "prefix"),
    [
        ("npm test", ("npm", "test")),
        ("npm run build", ("npm", "run", "build")),
        ("cargo test --all", ("cargo", "test")),
        ("git commit -m x", ("git", "commit")),
        ("python3 x.py a", ("python3", "x.py")),
        ("python3 -m pytest", ("python3", "-m", "pytest")),
        ("make test", ("make", "test")),
        ("./x.sh", ("./x.sh",)),
        ("timeout 5 npm test", ("npm", "test")),
        ("git push origin main", ("git", "push")),
        ("git push https://example.org/x main", None),
        ("git push --receive-pack=x origin", None),
        ("npm ci", ("npm", "ci")),
        ("npm install x", None),
        ("npm test $x", None),
        ("npm test --prefix /x", None),
        ("FOO=1 npm test", None),
        ("curl x", None),
        ("rm a.txt", None),
        ("bash -c ls", None),
        ("frobnicate /etc", None),
        ("sudo npm test", ("npm", "test")),
    ],
)
def test_what_may_be_granted(line, prefix, roots):
    assert steps(line, roots)[-1].prefix == prefix


def test_a_wrapper_that_reaches_has_no_prefix_of_its_own(roots):
    outer, inner = steps("sudo npm test", roots)
    assert (outer.level, outer.prefix) == ("reaches", None)
    assert inner.words == ("npm", "test")


def test_paths_are_resolved(roots):
    root = roots.all[0]
    found = steps("grep -f b.txt src/../a.txt > links/out/new", roots)
    assert set(found[0].reads) == {f"{root}/b.txt", f"{root}/a.txt"}
    assert found[1].writes == (os.path.join(os.path.dirname(root), "out", "new"),)
    assert found[1].words == ()


def test_each_command_and_each_written_file_is_a_step(roots):
    found = steps("ls > x; echo $(git status) 2>&1 | tee y", roots)
    assert [step.words[:1] or step.writes for step in found] == [
        ("ls",),
        (f"{roots.all[0]}/x",),
        ("git",),
        ("echo",),
        ("tee",),
    ]


def test_hosts_are_named(roots):
    assert worst("curl https://Example.org/x", roots).hosts == ("example.org",)
    assert worst("git clone git@example.org:x/y", roots).hosts == ("example.org",)


@pytest.mark.parametrize("piece", ["a", "a.", "a@", "-", "/a", "a://", "a=", "a,"])
def test_long_words_are_read_in_time(piece, roots):
    word = piece * (90_000 // len(piece))
    began = time.thread_time()
    assert len(steps(f"echo {word}; frobnicate {word}", roots)) == 2
    assert time.thread_time() - began < 5  # far more than it takes, and less than every letter with every other would


def test_another_shell_is_a_doubt(roots):
    found = weigh(parse("ls", "/bin/sh"), roots, roots.all[0], "/home/somebody")
    assert "reaches" in [step.level for step in found]


def test_a_program_of_the_workspace_may_go_by_the_name_of_another(roots, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"tools:{os.environ['PATH']}")
    assert worst("ls", roots).level == "reads"
    tool = os.path.join(roots.all[0], "tools", "ls")
    with open(tool, "w", encoding="utf-8"):
        pass
    monkeypatch.setenv("PATH", f"{roots.all[0]}/tools:{os.environ['PATH']}")
    try:
        assert worst("ls", roots).level == "acts"
    finally:
        os.unlink(tool)


def test_additional_directories_count(roots, tmp_path):
    from acpagent.core.paths import Roots

    both = Roots(roots.all[0], [str(tmp_path)])
    assert worst(f"cat {tmp_path}/x", both).level == "reads"
    assert worst(f"cat {tmp_path}/x", roots).level == "reaches"
