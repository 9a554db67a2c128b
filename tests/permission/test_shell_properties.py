"""What holds for all lines: harmless syntax around one hides nothing, and no spelling makes it look better."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acpagent.core.paths import Roots
from acpagent.core.shellparse import parse
from acpagent.permission.commands import weigh
from tests.permission.shell_lines import LEVELS, lines, workspace, worst

ALL = [line for _, line in lines()]
REFUSED = [line for level, line in lines() if level != "reads" and not parse(line, "/bin/bash").doubts]
STATIC = [line for line in ALL if parse(line, "/bin/bash").argv]
AROUND = [
    "true && {}", "true; {}", "true\n{}", "{}\n", "  {}", "( {}\n)", "{{ {}\n}}", "if true; then {}\nfi",
    "if {}\nthen :; fi", "echo $({}\n)", "echo \"$({}\n)\"", "x=$({}\n)", "{} | cat", "echo | {}", "{} &", "! {}",
    "time {}", "for i in 1; do {}\ndone", "while {}\ndo :; done", "case x in x) {}\nesac", "{} # rm", "# rm\n{}",
    "cat <({}\n)", "{} || true", "{}; true", "{} 2>&1", "{} > /dev/null",
    "cd src; {}", "set -e; {}", "export CI=1; {}", "cat <<E\n$({}\n)\nE", "[ -n \"$({}\n)\" ]",
    "echo `{}`", "echo $(( $({}\n) ))", "echo ${{x:-$({}\n)}}",
]  # fmt: skip
BEFORE = ["timeout 5 {}", "nice {}", "env {}", "command {}", "nohup {}", "xargs {}", "time -p {}", "env CI=1 {}"]
ODD = st.text(alphabet=" \t\n\r\0;&|<>(){}$`\"'\\abe=#*?[]!~-+:,.@%^/0129_é\u200b", max_size=80)
QUIET = settings(
    max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.fixture(scope="module")
def roots(tmp_path_factory):
    return workspace(tmp_path_factory.mktemp("properties").resolve())


def height(line: str, roots: Roots) -> int:
    return LEVELS.index(worst(line, roots).level)


@QUIET
@given(line=st.sampled_from(REFUSED), around=st.lists(st.sampled_from(AROUND), min_size=1, max_size=3))
def test_harmless_syntax_around_a_line_hides_nothing(line, around, roots):
    wrapped = line
    for each in around:
        wrapped = each.format(wrapped)
    assert height(wrapped, roots) >= height(line, roots), wrapped


@pytest.mark.parametrize("around", AROUND)
def test_nothing_is_hidden_in_any_line(around, roots):
    hidden = [line for line in REFUSED if height(around.format(line), roots) < height(line, roots)]
    assert hidden == []


@pytest.mark.parametrize("before", BEFORE)
def test_nothing_is_hidden_behind_another_program(before, roots):
    hidden = [line for line in STATIC if height(before.format(line), roots) < height(line, roots)]
    assert hidden == []


@st.composite
def respelled(draw):
    """A line of static words, and the same words with other quotes and blanks."""
    line = draw(st.sampled_from(STATIC))
    argv = parse(line, "/bin/bash").argv or ()
    blanks = st.sampled_from([" ", "  ", "\t", " \\\n", "\\\n ", " \\\n\t"])
    spelled = draw(st.sampled_from(["", " ", "\n", "\t"]))
    for place, word in enumerate(argv):
        spelled += (draw(blanks) if place else "") + "".join(_spelled(draw, word))
    return line, argv, spelled + draw(st.sampled_from(["", " ", "\n", " # x", "\n# x\n"]))


def _spelled(draw, word):
    """The word in pieces, each quoted in a way of its own."""
    at = 0
    if not word:
        yield draw(st.sampled_from(["''", '""', "$''"]))
    while at < len(word):
        piece = word[at : at + draw(st.integers(1, max(1, len(word))))]
        at += len(piece)
        how = draw(st.sampled_from(["single", "double", "escaped", "ansi"]))
        if how == "single" and "'" not in piece:
            yield f"'{piece}'"
        elif how == "double":
            yield '"' + "".join(f"\\{char}" if char in '$`"\\' else char for char in piece) + '"'
        elif how == "escaped" and "\n" not in piece:
            yield "".join(f"\\{char}" for char in piece)
        else:
            yield "$'" + "".join(f"\\x{byte:02x}" for byte in piece.encode()) + "'"


@QUIET
@given(respelled())
def test_quotes_and_blanks_change_nothing(roots, spelling):
    line, argv, spelled = spelling
    script = parse(spelled, "/bin/bash")
    if not script.doubts:  # bash agrees, as the tests of the parse say
        assert tuple(word.text for word in script.commands[0].words) == argv
    assert height(spelled, roots) >= height(line, roots), spelled


@QUIET
@given(text=st.one_of(ODD, st.text(max_size=60), st.lists(st.sampled_from(ALL), max_size=4).map(" ".join)))
def test_no_text_is_too_odd(text, roots):
    script = parse(text, "/bin/bash")
    assert all(step.level in LEVELS for step in weigh(script, roots, roots.all[0], "/home/somebody"))


REPEATED = {
    "words": "a ", "commands": "ls; ", "lists": "ls && ", "pipes": "ls | ", "substitutions": "$(ls) ", "open": "$(",
    "quotes": '"a$x" ', "redirections": "> a ", "paths": "a/", "signs": "a=", "variables": "$x", "patterns": "b* ",
    "here": "<<E\nx\nE\n", "braces": "{a,b}", "sums": "$((1+1)) ", "ranges": "a..b ", "broken": ")[",
}  # fmt: skip


@pytest.mark.parametrize("unit", REPEATED.values(), ids=REPEATED)
def test_long_lines_take_time_in_proportion(unit, roots):
    def taken(size: int) -> float:
        line = "frobnicate " + unit * (size // len(unit))
        began = time.process_time()
        weigh(parse(line, "/bin/bash"), roots, roots.all[0], "/home/somebody")
        return time.process_time() - began

    small, large = max(min(taken(12_500) for _ in range(2)), 0.02), taken(100_000)
    assert large / small < 8 * 5 or large < 1.5  # broken lines are given up after a second
