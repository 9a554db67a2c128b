from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.core.paths import Roots
from acpagent.permission.rules import parse, path_rule


@pytest.fixture
def world(tmp_path, monkeypatch):
    base = tmp_path.resolve()
    for name in ("one", "two", "out", "home"):
        (base / name).mkdir()
    (base / "etc").symlink_to(base / "out")
    monkeypatch.setenv("HOME", str(base / "home"))
    return base


@pytest.fixture
def roots(world):
    return Roots(str(world / "one"), [str(world / "two")])


@pytest.mark.parametrize(
    ("text", "tool", "covered"),
    [
        ("Bash", "bash", True),
        ("bash", "bash", True),
        ("Bash(npm test:*)", "bash", True),
        ("Edit", "write_file", True),
        ("Edit", "edit_file", True),
        ("Write", "edit_file", True),
        ("Read", "grep", True),
        ("read_file", "read_file", True),
        ("read_file", "grep", False),
        ("Grep(x)", "read_file", False),
        ("Read", "view_image", True),
        ("Edit", "multi_edit", True),
        ("Edit", "move_file", True),
        ("Edit", "delete_file", False),
        ("Delete(build/)", "delete_file", True),
        ("Move", "move_file", True),
        ("MultiEdit", "edit_file", False),
        ("Fetch(domain:example.org)", "web_fetch", True),
        ("WebFetch", "web_fetch", True),
        ("mcp__server__tool", "mcp__server__tool", True),
        ("mcp__server__tool", "mcp__server__other", False),
        (" Edit ( a b ) ", "edit_file", True),
    ],
)
def test_which_tools_a_rule_is_about(text, tool, covered):
    assert parse(text).covers(tool) is covered


@pytest.mark.parametrize(
    "text", ["", "()", "Edit(", "Edit)", "Edit()", "Edit( )", "Edit x", "Edit(../x)", "rm -rf"]
)
def test_what_is_no_rule(text):
    with pytest.raises(ValueError, match=r"rule|pattern"):
        parse(text)


@pytest.mark.parametrize(
    ("rule", "path", "matches"),
    [
        ("Edit", "one/x", True),
        ("Edit(*.md)", "one/a/b.md", True),
        ("Edit(*.md)", "two/b.md", True),
        ("Edit(*.md)", "one/b.txt", False),
        ("Edit(docs/**)", "one/docs/a/b", True),
        ("Edit(docs/**)", "two/docs/a", True),
        ("Edit(docs/**)", "one/x/docs/a", False),
        ("Edit(docs/)", "one/docs/a/b", True),
        ("Edit(docs/)", "one/docs", True),
        ("Edit(docs)", "one/docs/a/b", True),
        ("Edit(docs)", "one/x/docs", True),
        ("Edit(./docs)", "one/x/docs", False),
        ("Edit(./docs)", "one/docs/y", True),
        ("Edit(src/*.py)", "one/src/a.py", True),
        ("Edit(src/*.py)", "one/src/x/a.py", False),
        ("Edit(**/a.py)", "one/src/x/a.py", True),
        ("Edit(.env)", "one/deep/.env", True),
        ("Edit(.env*)", "one/.env.local", True),
        ("Edit(!x)", "one/!x", True),
        ("Edit(#x)", "one/#x", True),
        ("Read(~/.ssh)", "home/.ssh/id", True),
        ("Read(~/.ssh/**)", "home/.ssh/id", True),
        ("Read(~/.ssh)", "home/.sshx", False),
    ],
)
def test_paths(roots, world, rule, path, matches):
    assert parse(rule).matches_path(str(world / path), roots, anywhere=False) is matches


def test_absolute_patterns_follow_links(roots, world):
    for rule in (
        f"Read({world}/etc/**)",
        f"Read({world}/etc)",
        f"Read({world}/etc/)",
        f"Read({world}/out/secret)",
    ):
        assert parse(rule).matches_path(str(world / "out" / "secret"), roots, anywhere=False), rule
    assert not parse(f"Read({world}/etc/*.pem)").matches_path(str(world / "out" / "x"), roots, anywhere=False)


@pytest.mark.parametrize(
    ("rule", "loosely", "strictly"),
    [
        ("Read", True, False),
        ("Read(.env)", True, False),
        ("Read(a/.env)", False, False),
        ("Read(*)", True, False),
    ],
)
def test_outside_the_roots_relative_patterns_forbid_but_do_not_allow(roots, world, rule, loosely, strictly):
    path = str(world / "out" / ".env")
    assert parse(rule).matches_path(path, roots, anywhere=True) is loosely
    assert parse(rule).matches_path(path, roots, anywhere=False) is strictly


@pytest.mark.parametrize(
    ("rule", "command", "matches"),
    [
        ("Bash", "anything", True),
        ("Bash(rm -rf:*)", "rm -rf /", True),
        ("Bash(rm -rf:*)", "rm  -rf", True),
        ("Bash(rm -rf:*)", "rm -rfv /", False),
        ("Bash(rm:*)", "rmdir x", False),
        ("Bash(rm:*)", "cd x && rm y", True),
        ("Bash(rm:*)", "true; rm y", True),
        ("Bash(rm:*)", "true\nrm y", True),
        ("Bash(rm:*)", "find | rm", True),
        ("Bash(rm:*)", "sleep 1 & rm y", True),
        ("Bash(git push *)", "git push origin", True),
        ("Bash(npm test)", "npm test", True),
        ("Bash(npm test)", "npm test x", False),
        ("Bash(echo (x))", "echo (x)", True),
    ],
)
def test_commands(rule, command, matches):
    assert parse(rule).matches_command(command) is matches


@pytest.mark.parametrize(
    ("domain", "host", "matches"),
    [
        ("example.org", "example.org", True),
        ("example.org", "a.b.example.org", True),
        ("Example.ORG.", "example.org", True),
        ("example.org", "badexample.org", False),
        ("example.org", "example.org.evil.com", False),
        ("a.example.org", "example.org", False),
        ("127.0.0.1", "127.0.0.1", True),
        ("::1", "::1", True),
    ],
)
def test_hosts(domain, host, matches):
    assert parse(f"Fetch(domain:{domain})").matches_host(host) is matches


@pytest.mark.parametrize("pattern", ["example.org", "domain:", "domain:.", "domain:*.org", "domain:a/b", "domain:ä.de"])
def test_what_names_no_host(pattern):
    with pytest.raises(ValueError, match="names no host"):
        parse(f"Fetch({pattern})")


@pytest.mark.parametrize(
    ("rule", "directory", "possible"),
    [
        ("Read(.env)", "one/src", True),
        ("Read(secret/**)", "one/src", False),
        ("Read(secret/**)", "one", True),
        ("Read(secret/**)", "one/secret/deep", True),
        ("Read(**/x.pem)", "one/src", True),
        ("Read(~/.ssh/**)", "one", False),
        ("Read(~/.ssh/**)", "home", True),
    ],
)
def test_whether_a_rule_can_be_about_what_is_below(roots, world, rule, directory, possible):
    assert parse(rule).may_match_below(str(world / directory), roots) is possible


LETTERS = st.sampled_from("abAB.*?[]!#\\ -^{}()$~éß日")
NAMES = st.text(LETTERS, min_size=1, max_size=12).filter(lambda name: name not in (".", ".."))


@given(st.lists(NAMES, min_size=1, max_size=3), NAMES)
def test_the_rule_for_one_path_is_for_that_path_alone(parts, other):
    roots = Roots("/some/place")
    path = "/".join(parts)
    for relative, absolute in ((path, f"/some/place/{path}"), (f"/else/{path}", f"/else/{path}")):
        rule = parse(path_rule("Read", relative))
        assert rule.matches_path(absolute, roots, anywhere=False)
        assert rule.matches_path(f"{absolute}/below", roots, anywhere=False)
        assert not rule.matches_path(f"{absolute}x", roots, anywhere=False)
        if other != parts[0]:
            assert not rule.matches_path(f"/some/place/{other}", roots, anywhere=False)
            assert not rule.matches_path(f"/some/place/{other}/{path}", roots, anywhere=False)
