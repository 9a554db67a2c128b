from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.core.paths import Roots
from acpagent.core.rules import parse
from acpagent.permission.rules import matches_host, matches_path, may_match_below, path_rule


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
    assert matches_path(parse(rule), str(world / path), roots, anywhere=False) is matches


def test_absolute_patterns_follow_links(roots, world):
    for rule in (
        f"Read({world}/etc/**)",
        f"Read({world}/etc)",
        f"Read({world}/etc/)",
        f"Read({world}/out/secret)",
    ):
        assert matches_path(parse(rule), str(world / "out" / "secret"), roots, anywhere=False), rule
    assert not matches_path(parse(f"Read({world}/etc/*.pem)"), str(world / "out" / "x"), roots, anywhere=False)


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
    assert matches_path(parse(rule), path, roots, anywhere=True) is loosely
    assert matches_path(parse(rule), path, roots, anywhere=False) is strictly


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
    assert matches_host(parse(f"Fetch(domain:{domain})"), host) is matches


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
    assert may_match_below(parse(rule), str(world / directory), roots) is possible


LETTERS = st.sampled_from("abAB.*?[]!#\\ -^{}()$~éß日")
NAMES = st.text(LETTERS, min_size=1, max_size=12).filter(lambda name: name not in (".", ".."))


@given(st.lists(NAMES, min_size=1, max_size=3), NAMES)
def test_the_rule_for_one_path_is_for_that_path_alone(parts, other):
    roots = Roots("/some/place")
    path = "/".join(parts)
    for relative, absolute in ((path, f"/some/place/{path}"), (f"/else/{path}", f"/else/{path}")):
        rule = parse(path_rule("Read", relative))
        assert matches_path(rule, absolute, roots, anywhere=False)
        assert matches_path(rule, f"{absolute}/below", roots, anywhere=False)
        assert not matches_path(rule, f"{absolute}x", roots, anywhere=False)
        if other != parts[0]:
            assert not matches_path(rule, f"/some/place/{other}", roots, anywhere=False)
            assert not matches_path(rule, f"/some/place/{other}/{path}", roots, anywhere=False)
