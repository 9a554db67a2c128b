from __future__ import annotations

import os

import pytest

from acpagent.core.paths import Roots, unmoved, within


@pytest.fixture
def world(tmp_path):
    """A root `in` with a file, a neighbour `inside-out` whose name begins alike, and links across."""
    base = tmp_path.resolve()
    for name in ("in/sub", "inside-out", "more"):
        (base / name).mkdir(parents=True)
    (base / "in" / "file").write_text("")
    (base / "in" / "to-outside").symlink_to(base / "inside-out")
    (base / "in" / "to-sub").symlink_to("sub")
    (base / "in" / "dangling").symlink_to(base / "inside-out" / "none")
    (base / "in" / "loop").symlink_to("loop")
    return base


@pytest.mark.parametrize(
    ("text", "expected", "contained"),
    [
        ("file", "in/file", True),
        (".", "in", True),
        ("./sub//deep/../x", "in/sub/x", True),
        ("to-sub/new", "in/sub/new", True),
        ("new/dir/file", "in/new/dir/file", True),
        ("../inside-out", "inside-out", False),
        ("sub/../../inside-out/x", "inside-out/x", False),
        ("to-outside", "inside-out", False),
        ("to-outside/new/file", "inside-out/new/file", False),
        ("to-outside/../in/file", "in/file", True),  # the link is followed before the dots are
        ("dangling", "inside-out/none", False),
        ("loop", "in/loop", True),
        ("file with ünïcode ", "in/file with ünïcode ", True),
    ],
)
def test_resolve(world, text, expected, contained):
    roots = Roots(str(world / "in"))
    resolved = roots.resolve(text)
    assert resolved == str(world / expected)
    assert roots.contains(resolved) is contained


@pytest.mark.parametrize("text", ["", "a\0b", "bad \ud800", "also \udce9"])
def test_what_can_be_no_path_is_refused(world, text):
    with pytest.raises(ValueError, match="path"):
        Roots(str(world)).resolve(text)


def test_home_is_meant_by_a_tilde(world, monkeypatch):
    monkeypatch.setenv("HOME", str(world / "more"))
    roots = Roots(str(world / "in"))
    assert roots.resolve("~/x") == str(world / "more" / "x")
    assert roots.resolve("~") == str(world / "more")
    assert roots.resolve("~x") == str(world / "in" / "~x")


def test_additional_directories_count_and_are_shown_absolute(world):
    (world / "link").symlink_to(world / "more")
    roots = Roots(str(world / "in"), [str(world / "link"), str(world / "in")])
    assert roots.all == (str(world / "in"), str(world / "more"))
    assert roots.contains(str(world / "more" / "x"))
    assert not roots.contains(str(world / "inside-out"))
    assert roots.relative(str(world / "in" / "sub" / "x")) == "sub/x"
    assert roots.relative(str(world / "in")) == "."
    assert roots.relative(str(world / "more" / "x")) == str(world / "more" / "x")


def test_paths_are_shown_as_the_client_spells_its_directory(world):
    (world / "alias").symlink_to(world / "in")
    roots = Roots(str(world / "alias") + "/")
    assert roots.cwd == str(world / "alias")
    assert roots.shown(str(world / "in" / "file")) == str(world / "alias" / "file")
    assert roots.shown(str(world / "in")) == str(world / "alias")
    assert roots.shown(str(world / "more")) == str(world / "more")


def test_a_directory_spelled_with_dots_is_shown_resolved(world):
    assert Roots(str(world / "in" / "to-outside" / "..")).cwd == str(world)


def test_within_the_root_of_all():
    assert within("/etc", "/")
    assert within("/", "/")
    assert Roots("/").relative("/etc/hosts") == "etc/hosts"


def test_a_path_moves_when_a_link_comes_in_between(world):
    resolved = str(world / "in" / "sub" / "x")
    assert unmoved(resolved)
    os.rmdir(world / "in" / "sub")
    os.symlink(world / "inside-out", world / "in" / "sub")
    assert not unmoved(resolved)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("file", "one/file"),
        ("link", "one/link"),
        ("link/", "one/link"),
        ("sub/../link", "one/link"),
        ("link/x", "out/x"),
        ("link/..", ""),
        ("sub/", "one/sub"),
        ("sub/.", "one/sub"),
        (".", "one"),
    ],
)
def test_an_entry_is_the_link_and_not_what_it_leads_to(tmp_path, text, expected):
    base = tmp_path.resolve()
    for name in ("one/sub", "out"):
        (base / name).mkdir(parents=True)
    (base / "one" / "link").symlink_to("../out")
    roots = Roots(str(base / "one"))
    assert roots.entry(text) == str(base / expected)
    assert roots.entry("/") == "/"
