from __future__ import annotations

import os
import random
import subprocess
import sys
import threading

import pytest

from acpagent.core.scope import Cancelled, Scope, run_closers
from acpagent.core.toolcalls import Effect, Location
from acpagent.toolbox import search, walk
from acpagent.toolbox.ignore import Ignored
from acpagent.toolbox.patterns import matcher


def found(bench, pattern, **more):
    text = bench.call("glob", pattern=pattern, **more).text
    return [] if text == "No file matches." else text.split("\n")


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*.py", "a.py", True),
        ("*.py", "deep/in/a.py", True),
        ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/x/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/x/y/a.py", True),
        ("**/test/**", "test/a", True),
        ("**/test/**", "x/test/y/a", True),
        ("**/test/**", "test", False),
        ("src/**", "src/x/y", True),
        ("./src/*", "src/a", True),
        ("a?.txt", "ab.txt", True),
        ("a?.txt", "a.txt", False),
        ("[ab].txt", "b.txt", True),
        ("[!ab].txt", "b.txt", False),
        ("[!ab].txt", "c.txt", True),
        ("[a-c]x", "bx", True),
        ("x[", "x[", True),
        ("*.{ts,tsx}", "a.tsx", True),
        ("{a,b/{c,d}}/*", "b/d/x", True),
        ("{a,b/{c,d}}/*", "b/x", False),
        ("a+(b).txt", "a+(b).txt", True),
        (r"\*.txt", "*.txt", True),
        (r"\*.txt", "a.txt", False),
        ("*", ".hidden", True),
        ("**", "x/y", True),
        ("**.py", "x.py", True),
        ("ünï*", "ünïcode", True),
    ],
)
def test_glob_patterns(pattern, path, matches):
    assert matcher(pattern)(path) is matches


@pytest.mark.parametrize("pattern", ["", "/abs/*", "~/x", "../x", "a/../b", "x" * 501, "{a,b}" * 10, "[b-a]"])
def test_what_is_no_glob_pattern(bench, pattern):
    assert "glob pattern" in bench.refusal("glob", pattern=pattern)


def test_files_are_found_by_name(bench):
    for path in ("b.py", "a.py", "src/c.py", "src/c.txt", ".github/x.py", ".git/hook.py"):
        bench.write(path)
    (bench.root / "link.py").symlink_to(bench.base / "out")
    proposal = bench.prepare("glob", pattern="*.py")
    assert (proposal.title, proposal.kind) == ('Find "*.py" in .', "search")
    assert proposal.effects == (Effect("read", str(bench.root)),)
    result = bench.apply("glob", proposal)
    assert result.text.split("\n") == [".github/x.py", "a.py", "b.py", "link.py", "src/c.py"]
    assert result.title == 'Find "*.py" in . (5 matches)'
    assert result.facts == {"path": ".", "query": "*.py", "match_count": 5, "truncated": False}
    assert result.locations[0] == Location(str(bench.root / ".github/x.py"))
    assert found(bench, "*.py", path="src") == ["src/c.py"]
    assert found(bench, "*.rs") == []
    assert "There is no directory none" in bench.refusal("glob", pattern="*", path="none")


def test_found_files_are_bounded(bench, monkeypatch):
    for number in range(1005):
        (bench.root / f"{number:04}").touch()
    result = bench.call("glob", pattern="*")
    assert "[stopped at 1000 matches" in result.text
    assert (result.facts["truncated"], result.title) == (True, 'Find "*" in . (1000+ matches)')
    monkeypatch.setattr(walk, "MAX_ENTRIES", 10)
    assert "too many files" in bench.call("glob", pattern="*").text
    assert "not all were searched" in bench.call("grep", pattern="x").text


IGNORING = {
    ".gitignore": "*.log\nbuild/\n/only-top\n!keep.log\n# comment\n\ntmp*\n\\#odd\n",
    "a.log": "",
    "keep.log": "",
    "a.txt": "",
    "only-top": "",
    "tmpfile": "",
    "#odd": "",
    "build/x.txt": "",
    "sub/build/x.txt": "",
    "sub/only-top": "",
    "sub/.gitignore": "!tmpfile\nmine\n",
    "sub/tmpfile": "",
    "sub/mine": "",
    "sub/deep/mine": "",
    "other/mine": "",
    "excluded/x": "",
    "lists/.gitignore": "*\n!*/\n!*.py\n",
    "lists/a.py": "",
    "lists/x/b.py": "",
    "lists/x/b.txt": "",
}


def git_lists(bench):
    """The files that git does not ignore."""
    command = ["git", "ls-files", "--others", "--exclude-standard"]
    plain = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    listed = subprocess.run(command, cwd=bench.root, env=plain, capture_output=True, text=True, check=True)
    return sorted(listed.stdout.splitlines())


def test_what_git_ignores_is_not_found(bench):
    for path, text in IGNORING.items():
        bench.write(path, text)
    subprocess.run(["git", "init", "-q", str(bench.root)], check=True)
    bench.write(".git/info/exclude", "excluded/\n")
    expected = git_lists(bench)
    assert "sub/tmpfile" in expected
    assert found(bench, "*") == expected
    assert found(bench, "*", path="sub") == [path for path in expected if path.startswith("sub/")]
    # who names an ignored directory wants to see into it
    assert found(bench, "*", path="build") == ["build/x.txt"]


LINES = (
    "* !*/ !*.py *.py *.txt build/ /build a/ a !a /a/* !/a/b a/** **/b a/**/c !a/ b/ !b/ /* !/a c/* !c/x.py "
    "build !build/ x.* [ab] ? !y.txt a/b/ **/build/ !**/x.py a\\b"
)


@pytest.mark.parametrize("seed", range(12))
def test_we_and_git_agree(bench, seed):
    chance = random.Random(seed)
    subprocess.run(["git", "init", "-q", str(bench.root)], check=True)
    places = [""]
    for _ in range(8):
        places.append(f"{chance.choice(places)}{chance.choice(['a', 'b', 'c', 'build'])}/")
    for place in places:
        for name in ("x.py", "y.txt", "k"):
            bench.write(place + name)
    for place in chance.sample(places, 3):
        bench.write(f"{place}.gitignore", "\n".join(chance.choices(LINES.split(), k=3)))
    assert found(bench, "*") == git_lists(bench)


def test_without_a_repository_the_rules_count_as_well(bench):
    bench.write(".gitignore", "*.log\n")
    bench.write("a.log")
    bench.write("b")
    assert found(bench, "*") == [".gitignore", "b"]


def test_a_worktree_has_the_excludes_of_its_repository(bench):
    bench.write("main/.git/info/exclude", "secret\n")
    bench.write("main/.git/worktrees/w/commondir", "../..\n")
    bench.write("tree/.git", "gitdir: ../main/.git/worktrees/w\n")
    bench.write("tree/secret")
    bench.write("tree/open")
    assert found(bench, "*", path="tree") == ["tree/open"]


def test_a_bad_line_spoils_no_other(bench):
    bench.write(".gitignore", b"!\n\xff\xfe\n***/\n*.log\n/\n")
    bench.write("a.log")
    bench.write("b")
    assert found(bench, "[ab]*") == ["b"]


def test_a_deep_tree_and_a_loop_of_links_are_walked(bench):
    deep = bench.root
    for _ in range(300):
        deep = deep / "d"
    os.makedirs(deep)
    (deep / "x").touch()
    (bench.root / "d" / "loop").symlink_to(bench.root)
    assert found(bench, "x") == ["d/" * 300 + "x"]
    assert not Ignored.root(str(bench.root)).hides(str(bench.root / "d"), is_directory=True)


def test_lines_are_found(bench):
    bench.write("src/a.py", "import os\n\ndef run():\n    pass\n")
    bench.write("src/b.txt", b"def\r\nRUN\r\n")
    bench.write("binary", b"run\x00")
    bench.write("wide", b"\xff\xfe" + "run".encode("utf-16-le"))
    bench.write("latin", b"caf\xe9 run")
    proposal = bench.prepare("grep", pattern=r"\brun\b")
    assert (proposal.title, proposal.kind) == (r'Search "\brun\b" in .', "search")
    result = bench.apply("grep", proposal)
    assert result.text.split("\n") == ["latin:1: café run", "wide:1: run", "src/a.py:3: def run():"]
    assert result.title == r'Search "\brun\b" in . (3 matches)'
    assert result.facts == {"path": ".", "query": r"\brun\b", "match_count": 3, "truncated": False}
    assert Location(str(bench.root / "src/a.py"), 3) in result.locations
    assert bench.call("grep", pattern="run$", path="src", ignore_case=True).text.split("\n") == ["src/b.txt:2: RUN"]
    assert bench.call("grep", pattern="e", glob="*.py").facts["match_count"] == 1
    assert bench.call("grep", pattern="def", path="src/b.txt").text == "src/b.txt:1: def"
    none = bench.call("grep", pattern="nowhere")
    assert (none.text, none.locations) == ("No line matches.", ())


def test_an_empty_file_has_no_line_and_a_blank_one_has(bench):
    bench.write("empty")
    bench.write("blank", "\n")
    assert bench.call("grep", pattern="^$").text == "blank:1: "


def test_links_are_not_searched(bench):
    (bench.base / "out" / "x").write_text("secret")
    (bench.root / "file").symlink_to(bench.base / "out" / "x")
    (bench.root / "dir").symlink_to(bench.base / "out")
    assert bench.call("grep", pattern="secret").text == "No line matches."
    assert bench.prepare("grep", pattern="x", path="dir").effects == (Effect("read", str(bench.base / "out")),)


def test_matches_are_bounded(bench):
    bench.write("a", "match\n" * 500)
    result = bench.call("grep", pattern="match", limit=50)
    assert result.facts["match_count"] == 50
    assert result.text.endswith("a:50: match\n[stopped at 50 matches; narrow the search]")
    assert result.title.endswith("(50+ matches)")
    assert bench.call("grep", pattern="match", limit=500).facts == {
        "path": ".", "query": "match", "match_count": 500, "truncated": False,
    }  # fmt: skip
    bench.output_bytes = 1000
    result = bench.call("grep", pattern="match", limit=500)
    assert len(result.text) <= 1000
    assert result.facts["truncated"]


def test_a_long_line_is_shown_around_its_match(bench):
    bench.write("a", "x" * 10_000 + "needle" + "y" * 10_000)
    text = bench.call("grep", pattern="needle").text
    assert len(text) < 400
    assert "xneedley" in text


def test_a_file_that_is_too_large_is_left_out_unless_it_is_named(bench, monkeypatch):
    monkeypatch.setattr(search, "FILE_BYTES", 10_000)
    bench.write("large", "needle" + " " * 10_000)
    result = bench.call("grep", pattern="needle")
    assert result.text == "No line matches.\n[1 files left out: too large]"
    assert bench.call("grep", pattern="needle", path="large").facts["match_count"] == 1


@pytest.mark.parametrize("pattern", ["(", "[", "*x", "(?P<n", "a{2,1}"])
def test_what_is_no_regular_expression(bench, pattern):
    assert "not a usable regular expression" in bench.refusal("grep", pattern=pattern)


def test_odd_but_usable_patterns(bench):
    bench.write("a", "[[x]]\n")
    assert bench.call("grep", pattern="[[]").facts["match_count"] == 1
    assert "pattern is empty" in bench.refusal("grep", pattern="")


def test_odd_file_names(bench):
    for name in ("new\nline", "sp ace", "-dash", os.fsdecode(b"bad\xff")):
        (bench.root / name).write_text("needle")
    rows = bench.call("grep", pattern="needle").text.split("\n")
    assert sorted(rows) == sorted(
        ["new\ufffdline:1: needle", "sp ace:1: needle", "-dash:1: needle", "bad\ufffd:1: needle"]
    )


ENDLESS = {"pattern": r"(x+x+)+y", "text": "x" * 60}


def test_a_search_without_end_can_be_cancelled(bench):
    bench.write("a", ENDLESS["text"])
    scope = Scope()
    ctx = bench.context(scope)
    outcome: list[object] = []
    proposal = bench.prepare("grep", ctx, pattern=ENDLESS["pattern"])

    def run():
        try:
            outcome.append(bench.apply("grep", proposal, ctx))
        except Cancelled:
            outcome.append(Cancelled)

    thread = threading.Thread(target=run)
    thread.start()
    run_closers(scope.cancel())
    thread.join(60)
    assert outcome == [Cancelled]


def test_a_search_without_end_is_ended_and_tells_what_it_had(bench, monkeypatch):
    monkeypatch.setattr(search, "SECONDS", 3.0)
    bench.write("a", "xxy")
    bench.write("b", ENDLESS["text"])
    result = bench.call("grep", pattern=ENDLESS["pattern"])
    assert result.text == "a:1: xxy\n[stopped after 3 s; narrow the search or simplify the pattern]"
    assert result.facts["truncated"]


def test_inside_another_program_the_search_runs_here(bench, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/opt/editor/bin/editor")
    bench.write("a", "needle\n" * 3)
    result = bench.call("grep", pattern="needle", limit=2)
    assert result.text == "a:1: needle\na:2: needle\n[stopped at 2 matches; narrow the search]"
    assert "not a usable regular" in bench.refusal("grep", pattern="(")
