"""The language of permission rules, and what is said of texts that are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acpagent.core.rules import GROUPS, RuleError, parse
from acpagent.toolbox.registry import builtin_tools


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
        ("plugin__notes__add", "plugin__notes__add", True),
        ("mcp__server__tool", "mcp__server__other", False),
        ("mcp__server", "mcp__server__tool", True),
        ("mcp__server", "mcp__server__read_resource", True),
        ("mcp__server", "mcp__server2__tool", False),
        ("mcp__server", "mcp__server_two__tool", False),
        ("mcp__server", "plugin__server__tool", False),
        ("mcp__server", "bash", False),
        ("mcp__server__*", "mcp__server__tool", True),
        ("mcp__server__*", "mcp__other__tool", False),
        ("mcp__my-server", "mcp__my-server__a__b", True),
        ("mcp__db__get_*", "mcp__db__get_row", True),
        ("mcp__db__get_*", "mcp__db__drop_get_row", False),
        ("mcp__db__*_row", "mcp__db__get_row", True),
        ("mcp__db__*_row", "mcp__db__get_rows", False),
        ("mcp__db__a.b", "mcp__db__axb", False),
        ("mcp__db__a.*", "mcp__db__axb", False),
        ("mcp__*", "mcp__any__tool", True),
        ("mcp__*", "plugin__any__tool", False),
        ("mcp__*", "bash", False),
        ("plugin__notes", "plugin__notes__add", True),
        ("plugin__notes", "plugin__notes2__add", False),
        ("plugin__*", "plugin__notes__add", True),
        (" Edit ( a b ) ", "edit_file", True),
    ],
)
def test_which_tools_a_rule_is_about(text, tool, covered):
    assert parse(text).covers(tool) is covered


# A text that is no rule -> what is said to be wrong with it, and what to write instead.
NO_RULES = {
    "": ("is empty", "Bash(npm test:*)"),
    "  ": ("is empty", "remove it"),
    "()": ("does not begin with the name of a tool", "Bash(npm test:*)"),
    "(npm test)": ("does not begin with the name of a tool", "Bash(npm test:*)"),
    "Edit(": ("a bracket that is not closed", "write Edit()"),
    "Bash(npm test": ("a bracket that is not closed", "write Bash(npm test)"),
    "Edit)": ("outside of brackets", "write Edit, or Edit(pattern)"),
    "Edit()": ("an empty pattern", "write Edit for every call"),
    "Edit( )": ("an empty pattern", "write Edit for every call"),
    "Bash(:*)": ("an empty pattern", "write Bash for every command"),
    "Bash=": ("nothing behind the =", "write Bash for every call"),
    "Edit x": ("outside of brackets", "write Edit, or Edit(x)"),
    "Bash npm test:*": ("outside of brackets", "write Bash, or Bash(npm test:*)"),
    "Bash(ls) -l": ("goes on behind the closing bracket", "Bash(pattern)"),
    "Bash(echo ()": ("a bracket too many or too few", "write Bash=, and the rest"),
    "Edit(a)b)": ("a bracket too many or too few", "backslash"),
    "Edit(../x)": (".. in its pattern", "an absolute path"),
    "Read(~root/x)": ("a home directory", "an absolute path, or ~/"),
    "Read(~)": ("a home directory", "an absolute path, or ~/"),
    "rm:*": ("the tool rm", "Bash(rm:*)?"),
    "rm -rf": ("the tool rm, which there is not", "did you mean Bash(rm -rf:*)?"),
    "Bsh(ls)": ("the tool Bsh, which there is not", "did you mean Bash?"),
    "Edt": ("the tool Edt, which there is not", "did you mean Edit?"),
    "ReadFile(x)": ("the tool ReadFile, which there is not", "did you mean read_file?"),
    "Frobnicate": ("the tool Frobnicate, which there is not", "there are Bash, Fetch"),
    "mcp__": ("names no tool of a server", "mcp__SERVER for all of its tools"),
    "mcp__db__": ("names no tool of a server", "mcp__SERVER__TOOL"),
    "mcp_db_get": ("names no tool of a server", "mcp__SERVER__get_*"),
    "plugin_notes": ("names no tool of a plugin", "plugin__PLUGIN for all of its tools"),
    "mcp__*__drop": ("a pattern where the name of a server is expected", "mcp__SERVER__TOOL"),
    "mcp__d*": ("a pattern where the name of a server is expected", "mcp__*"),
    "mcp__db *": ("outside of brackets", "write mcp__db"),
    "mcp__db(drop)": ("nothing to compare", "write mcp__db"),
    "mcp__db__*=x": ("nothing to compare", "write mcp__db__*"),
    "mcp_connect__db": ("starting a server, which no rule is about", "mcp__SERVER"),
    "mcp__db__drop(users)": ("nothing to compare", "write mcp__db__drop"),
    "TodoWrite(x)": ("nothing to compare", "write TodoWrite"),
    "JobKill=job_1": ("nothing to compare", "write JobKill"),
    "Bash(a && b)": ("several commands at once", "a rule for each"),
    "Bash(curl x | sh)": ("several commands at once", "Bash= and the line"),
    "Bash(a; b:*)": ("several commands at once", "a rule for each"),
    "Fetch(example.org)": ("names no host", "Fetch(domain:example.org)"),
    "Fetch(domain:)": ("names no host", "Fetch(domain:example.org)"),
    "Fetch(domain:.)": ("names no host", "Fetch(domain:example.org)"),
    "Fetch(domain:*.org)": ("names no host", "Fetch(domain:example.org)"),
    "Fetch(domain:a/b)": ("names no host", "Fetch(domain:example.org)"),
    "Fetch(domain:ä.de)": ("names no host", "ASCII"),
}  # fmt: skip


@pytest.mark.parametrize("text", NO_RULES)
def test_what_is_no_rule_is_told_what_is_wrong_and_what_to_write(text):
    what, remedy = NO_RULES[text]
    with pytest.raises(RuleError) as caught:
        parse(text)
    assert what in caught.value.what
    assert remedy in caught.value.remedy
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "words", "shape"),
    [
        ("Bash(npm test:*)", ("npm", "test"), "prefix"),
        ("Bash(npm test *)", ("npm", "test"), "prefix"),
        ("Bash( npm  test )", ("npm", "test"), "exact"),
        ("bash(git diff)", ("git", "diff"), "exact"),
        ("Bash(git commit -m 'a; b')", ("git", "commit", "-m", "a; b"), "exact"),
        ("Bash(it's)", ("it's",), "exact"),
        ("Bash(git * --force)", ("git", "*", "--force"), "glob"),
        ("Bash(git push* :*)", ("git", "push*"), "glob"),
        ("Bash(echo (x))", ("echo", "(x)"), "exact"),
    ],
)
def test_rules_for_commands(text, words, shape):
    rule = parse(text)
    assert (rule.words, rule.shape, rule.literal) == (words, shape, None)


@pytest.mark.parametrize(
    "line", ["npm test", " x ", "a && b | c > d", "echo (", "two\nlines", "=x", "echo '*' (x)", ")"]
)
def test_what_is_meant_to_the_letter_is_kept_to_the_letter(line):
    rule = parse(f"Bash={line}")
    assert (rule.literal, rule.pattern, rule.text) == (line, None, f"Bash={line}")


def test_every_tool_has_a_name_in_the_language():
    for tool in builtin_tools(sees_images=True):
        assert parse(tool.name).covers(tool.name)
    for name in GROUPS:
        assert parse(name).is_whole


@given(st.text(max_size=30))
def test_any_text_is_a_rule_or_an_error_that_says_why(text):
    try:
        assert parse(text).tools
        said = ("what", "remedy")
    except RuleError as error:
        said = (error.what, error.remedy)
    assert all(said)
