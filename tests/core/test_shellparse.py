"""Reading command lines: what is found in them, what is doubted, and that bash reads their words alike."""

from __future__ import annotations

import os
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acpagent.core import shells
from acpagent.core.shellparse import LONGEST, Redirect, Word, parse

BASH = "/bin/bash"


def read(text):
    return parse(text, BASH)


def words(text):
    return [[word.text for word in command.words] for command in read(text).commands]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a b", [["a", "b"]]),
        ("a; b && c || d | e & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a\nb", [["a"], ["b"]]),
        ("(a; { b; })", [["a"], ["b"]]),
        ("! a", [["a"]]),
        ("if a; then b; elif c; then d; else e; fi", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("while a; do b; done; until c; do d; done", [["a"], ["b"], ["c"], ["d"]]),
        ("for i in x $(a); do b; done", [["a"], [], ["b"]]),
        ("case $(a) in x) b;; (y|$(c)) d;; esac", [["a"], ["b"], ["c"], ["d"]]),
        ("f() { a; }", [["a"]]),
        ("x $(a $(b)) `c`", [["b"], ["a", "$(b)"], ["c"], ["x", "$(a $(b))", "`c`"]]),
        ('x "$(a "$(b)")"', [["b"], ["a", '"$(b)"'], ["x", '"$(a "$(b)")"']]),
        ("x <(a) >(b)", [["a"], ["b"], ["x", "<(a)", ">(b)"]]),
        ("x=$(a)", [["a"], []]),
        ("x=(1 $(a))", [["a"], []]),
        ("x=$(a) b", [["a"], ["b"]]),
        ("a > $(b)", [["b"], ["a"]]),
        ("a <<< $(b)", [["b"], ["a"]]),
        ("a <<E\n$(b)\nE\nc", [["b"], ["a"], ["c"]]),
        ("a <<'E'\n$(b)\nE\nc", [["a"], ["c"]]),
        ("a <<E | b > f && c\nx\nE\nd", [["b"], ["c"], ["a"], ["d"]]),
        ("[ -f a ] && [[ b == c* ]]", [["[", "-f", "a", "]"], ["[[", "b", "==", "c*", "]]"]]),
        ("export A=b", [["export", "A=b"]]),
        ("echo ${x:-$(a)}", [["a"], ["echo", "${x:-$(a)}"]]),
        ("a # b\nc", [["a"], ["c"]]),
        ("a > b c d", [["a", "c", "d"]]),
        ("x | y > b c", [["x"], ["y", "c"]]),
        (r"a \;b", [["a", ";b"]]),
        ("a '; b'", [["a", "; b"]]),
    ],
)
def test_every_command_is_found(text, found):
    assert words(text) == found


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("ls -la", ("ls", "-la")),
        (" ls\t-la \\\n x\n", ("ls", "-la", "x")),
        ("git commit -m 'a b' \"c\\\"d\" e\\ f $'g\\n'", ("git", "commit", "-m", "a b", 'c"d', "e f", "g\n")),
        ("r''m \"\"", ("rm", "")),
        ("echo é $'\\u00e9' {} a@{0}", ("echo", "é", "é", "{}", "a@{0}")),
        ("ls;", None), ("ls &", None), ("! ls", None), ("(ls)", None), ("ls | cat", None), ("ls > x", None),
        ("ls *", None), ("ls [a]", None), ("ls ~", None), ("ls {a,b}", None), ("ls {1..2}", None), ("ls $x", None),
        ("A=1 ls", None), ("ls # x", None), ("time ls", None), ("x=1", None), ("", None), ("ls\0", None),
        ("ls\r", None), ("$(ls)", None), ("a=~/x", None), ("make x=~/y", None), ("echo $\"x\"", None),
    ],
)  # fmt: skip
def test_argv_of_one_static_command(text, argv):
    assert read(text).argv == argv


@pytest.mark.parametrize(
    "text",
    [
        "echo 'x", 'echo "x', "a |", "a &&", "if a", "a )", "(a", "$((a); b)", "a <<E\nx", "a <<E <<F\n1\nE\n2\nF",
        "a\rb", "a\0b", "a\u00a0b", "a\u200bb", "f() { a; }", "function f { a; }", "l\\\ns", "x\\\ny z", "a$\\\n(b)",
        "`a \\`b\\``", "[ a > b ]", "a \x1b[2J", "echo $[1+1]", "{fd}>x a", "time { a; }", "a <<E\n`b`\nE",
        "$'a\\0b'", "a 3<>b", "a" * (LONGEST + 1), "a;" + "(" * 500 + ")" * 500, "<" * 4000,
    ],
)  # fmt: skip
def test_what_is_not_sure_is_a_doubt(text):
    script = read(text)
    assert script.doubts
    assert script.argv is None


@pytest.mark.parametrize(
    "text",
    [
        "ls && cd src; git log | head -n 3 || true", "for f in *.py; do wc -l \"$f\"; done",
        "echo $((1 + 2)) ${x} ${y:-z}",
        "git commit -m \"$(cat <<'EOF'\nFix (it)\n\nBody\nEOF\n)\"", "cat > x <<'EOF'\n$(a) `b` \\\nEOF",
        "cat <<-EOF\n\tx $y\n\tEOF\nls", "if [ -f x ]; then\n  a\nelif ! b; then\n  c\nfi # d", "x=1; y=(a b) z= w",
        "find . -name '*.py' -exec grep -l foo {} +", "find . \\( -name a -o -name b \\) -print0 | xargs -0 ls",
        "[[ $x =~ ^(a|b)$ && ! -f y ]] && a", "a 2>&1 >/dev/null &", "set -e\n\n\nmake -j4", "diff <(a) <(b)",
        "case x in\n  a|b) c;;\n  *) d;;\nesac", "while read -r l; do echo \"$l\"; done < f", "echo a#b 'c'#d",
    ],
)  # fmt: skip
def test_ordinary_lines_are_read_without_a_doubt(text):
    assert read(text).doubts == ()


def test_another_shell_is_a_doubt(monkeypatch):
    assert parse("ls", "/bin/sh").doubts == ("/bin/sh may read it otherwise than bash",)
    monkeypatch.setattr(shells, "shell", lambda: "/bin/sh")
    assert parse("ls").doubts
    assert parse("ls").argv is None


def test_redirections():
    script = read("a <b >c 2>>d >|e &>f 2>&1 <&4")
    [command] = script.commands
    assert script.doubts == ()
    assert [(each.operator, each.fd, each.target and each.target.text) for each in command.redirects] == [
        ("<", None, "b"), (">", None, "c"), (">>", 2, "d"), (">|", None, "e"), ("&>", None, "f"),
        (">&", 2, "1"), ("<&", None, "4"),
    ]  # fmt: skip
    assert read("a <<<h").commands[0].redirects == (Redirect("<<<", None, None),)
    assert read("a >&-").commands[0].redirects == (Redirect(">&-", None, None),)
    assert read("> x").commands[0].redirects == (Redirect(">", None, Word("x", True, lead="x")),)


def test_surroundings():
    script = read("a | b; c & (d); for i in 1; do e; done; x $(f)")
    found = {command.words[0].text: command for command in script.commands if command.words}
    assert (found["a"].piped_from, found["a"].piped_to) == (False, True)
    assert (found["b"].piped_from, found["b"].piped_to) == (True, False)
    assert [name for name, command in found.items() if command.background] == ["c"]
    assert {name: command.within for name, command in found.items() if command.within} == {
        "d": ("subshell",), "e": ("loop",), "f": ("substitution",),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kinds", "lead"),
    [
        ("a*", {"glob"}, "a"), ("~/a", {"tilde"}, ""), ("x=~", {"tilde"}, "x="), ("a$x", {"variable"}, "a"),
        ('"a b$x"', {"variable"}, "a b"), ("a`b`", {"substitution"}, "a"), ("$((1))", {"arithmetic"}, ""),
        ("$((x))", {"arithmetic", "computed"}, ""), ("${x@P}", {"computed"}, ""), ("${!x}", {"computed"}, ""),
        ("a{b,c}", {"brace"}, "a"), ('$"a"', {"translated"}, ""), ("<(b)", {"process"}, ""),
        ("${x:-y}", {"variable"}, ""), ("${x[1]}", {"computed"}, ""),
    ],
)  # fmt: skip
def test_what_makes_a_word_dynamic(text, kinds, lead):
    commands = read(f"c {text}").commands
    word = commands[-1].words[1]
    if text != '$"a"':
        assert (word.static, word.kinds, word.lead, word.text) == (False, kinds, lead, text)
    else:
        assert read(f"c {text}").doubts


@pytest.mark.skipif(not os.access(BASH, os.X_OK), reason="needs bash")
class TestWithBash:
    """`printf` shows what bash makes of the words."""

    @staticmethod
    def really(line):
        environment = {"LC_ALL": "C.UTF-8"}
        ran = subprocess.run([BASH, "-c", line], capture_output=True, check=True, timeout=10, env=environment)
        return tuple(ran.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1])

    @pytest.mark.parametrize(
        "spelled",
        [
            "a 'b c' \"d e\" f\\ g", "r''m \"r\"m r\\m", "$'a\\tb' $'\\x41' $'\\101' $'\\u00e9' $'\\'' $'\\q'",
            "\"\\$x\" '$x' \\$x",
            "\"a\\b\" \"a\\\\b\" \"\\`\" \"\\\"\"", "'' \"\" $''", "a#b '#' \\#", "{} {a} a}b x{ }", "a=b =c d=",
            "\"a\nb\"",
            "\"a\\\nb\"",
            "é 日本 $'\\U0001F600'", "- -- -a", "%s %d \\%", "'*' \"?\" \\[a]", "\"$\" '$(' \\`", "'a'\\''b'",
            "a \\\n b",
            "^ @ + , . : / _", "\"!\" '!'", "'~' \\~ a~", "if then in",
        ],
    )  # fmt: skip
    def test_words(self, spelled):
        line = f"printf '%s\\0' {spelled}"
        assert read(line).argv == ("printf", "%s\\0", *self.really(line))

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(st.text(alphabet="ab 'é\"\\$`#=-{}~,.!^%@+:/|;&<>()\n*?[]", max_size=8), min_size=1, max_size=4).map(
            " ".join
        )
    )
    def test_any_text_is_read_as_bash_reads_it_or_doubted(self, text):
        line = f"printf '%s\\0' {text}"
        argv = read(line).argv
        if argv is not None:
            assert argv[2:] == self.really(line) or argv[2:] == ()
