"""Command files: their names, their heads, and the prompt that a call stands for."""

from __future__ import annotations

import pytest

from acpagent.extensions import commandfiles
from acpagent.extensions.commandfiles import CommandFile
from tests.extensions.world import PluginAt, World


def command(body: str) -> CommandFile:
    return commandfiles.parse("/c/x.md", "x", body.encode())[0]


CALLS = [
    ("Fix $1 in $2.", "bug main.py", "Fix bug in main.py."),
    ("Fix $1 in $2.", "'the bug' \"main file.py\" more", "Fix the bug in main file.py."),
    ("Fix $1 in $2.", "bug", "Fix bug in ."),
    ("Fix $1.", "", "Fix ."),
    ("Do: $ARGUMENTS!", " a  'b c' ", "Do: a  'b c'!"),
    ("Do: $ARGUMENTS!", "", "Do: !"),
    ("$1 $1 $10 $12", "a b c d e f g h i j", "a a j "),
    ("$$1 costs $$, $1", "x", "$1 costs $, x"),
    ("$0 $x $ARGUMENTSX ${1}", "", "$0 $x $ARGUMENTSX ${1}"),
    ("$1", "$ARGUMENTS $$ x", "$ARGUMENTS"),
    ("$ARGUMENTS", "$1 $$", "$1 $$"),
    ("Just do it.", "with care", "Just do it.\n\nArguments: with care"),
    ("Just do it, $$.", "now", "Just do it, $.\n\nArguments: now"),
    ("Just do it.", "  ", "Just do it."),
    ("[$1][$2]", "don't stop", "[don't][stop]"),
    ("[$1][$2]", "'open ended", "['open][ended]"),
    ("[$1][$2]", '"a \\"b\\" \\\\" c', '[a "b" \\][c]'),
    ("[$1][$2]", "'' x", "[][x]"),
    ("[$1][$2]", "one\n\ttwo", "[one][two]"),
    ("$99999999999999999999", "a", ""),
]


@pytest.mark.parametrize(("body", "arguments", "prompt"), CALLS)
def test_a_call_is_a_prompt(body: str, arguments: str, prompt: str) -> None:
    assert commandfiles.expanded(command(body), arguments) == prompt


def test_names_come_from_paths(world: World) -> None:
    for path in ("review.md", "git/commit.md", "a/b/c_d.e-f.md", "été.md", ".hidden.md", "notes.txt", "x/.y/z.md"):
        world.write(f"person/config/commands/{path}", "Do it.")
    found = world.discover()
    assert [one.name for one in found.commands] == ["a:b:c_d.e-f", "git:commit", "review", "été"]
    assert found.command("git:commit") is not None
    assert found.problems == ()


UNFIT = ("two words.md", "-x.md", "a:b.md", "x\u202ey.md", "x\ny.md", f"{'x' * 65}.md", "a b/c.md")


@pytest.mark.parametrize("path", UNFIT)
def test_what_cannot_be_called_is_told(world: World, path: str) -> None:
    world.write(f"person/config/commands/{path}", "Do it.")
    world.write("person/config/commands/good.md", "Do it.")
    found = world.discover()
    assert [one.name for one in found.commands] == ["good"]
    (problem,) = found.problems
    assert (problem.part, problem.fatal, "cannot be called" in problem.what) == ("command", True, True)


def test_heads(world: World) -> None:
    folder = "person/config/commands"
    world.write(f"{folder}/a.md", "---\ndescription: Does: a\nargument-hint: [file]\ncolour: x\nmodel: y\n---\nDo a.")
    world.write(f"{folder}/b.md", "\n## Do b\n\nNow.")
    world.write(f"{folder}/c.md", "---\ndescription: ''\nargument-hint: <x> [y]\n---\nDo c.")
    found = world.discover()
    assert [(one.description, one.hint) for one in found.commands] == [
        ("Does: a", "[file]"), ("Do b", None), ("Do c.", "<x> [y]"),
    ]  # fmt: skip
    assert [problem.what for problem in found.problems] == [
        "is no valid YAML, and was read as text", "colour: is not known here",
    ]  # fmt: skip
    assert not any(problem.fatal for problem in found.problems)


BROKEN = ("", "---\ndescription: a\n---\n", "---\ndescription: a\nDo.", "---\n[\n---\nDo.", "a\0")


@pytest.mark.parametrize("text", BROKEN)
def test_broken_ones(world: World, text: str) -> None:
    world.write("person/config/commands/a.md", text)
    found = world.discover()
    assert found.commands == ()
    assert [problem.fatal for problem in found.problems] == [True]


def test_who_goes_first(world: World) -> None:
    places = ("project/.acpagent/commands", "project/.claude/commands", "plugin/cmd", "person/config/commands")
    for place in places:
        world.write(f"{place}/same.md", f"From {place}.")
        world.write(f"{place}/{place.split('/')[-2].strip('.')}.md", "Own.")
    plugin = PluginAt("p", str(world.base / "plugin"), commands=[str(world.base / "plugin/cmd")])
    seen = [world.discover(plugins=[plugin]).command("same")]
    world.approve()
    found = world.discover(plugins=[plugin])
    seen.append(found.command("same"))
    assert [one.body for one in seen if one] == ["From person/config/commands.", "From project/.acpagent/commands."]
    assert [one.name for one in found.commands] == ["acpagent", "claude", "config", "p:plugin", "p:same", "same"]
    losers = [f"{world.base}/{place}/same.md" for place in ("project/.claude/commands", "person/config/commands")]
    assert [problem.file for problem in found.problems] == losers


def test_directories_have_an_end(world: World) -> None:
    world.write(f"person/config/commands/{'d/' * 8}x.md", "Do.")
    (world.home / "commands/again").symlink_to("..")
    (world.home / "commands/self").symlink_to(".")
    found = world.discover()
    assert found.commands == ()
    assert {problem.fatal for problem in found.problems} == {True}
    assert len(found.problems) < 20
