"""Skills: what their files may say, where they are found, and what the model reads of them."""

from __future__ import annotations

import os

import pytest

from acpagent.config.problems import ConfigError
from acpagent.extensions import skills
from acpagent.extensions.frontmatter import MAX_BYTES
from acpagent.extensions.skills import Skill
from tests.extensions.world import PluginAt, World, skill

FULL = """\
---
name: full
description: >-
  Does everything,
  when asked to.
license: MIT
compatibility: needs git
metadata: {author: somebody, size: 3}
allowed-tools: Read, Grep Bash(git diff:*)
argument-hint: [what] [where]
disable-model-invocation: true
soba:
  version: 2
  triggers: [release, "ship it"]
  required-sections: [Summary]
  memory-policy: read
---

# Full

Do $ARGUMENTS.
"""


def parsed(text: str, called: str = "a") -> tuple[Skill, list[str]]:
    one, remarks = skills.parse("/s/SKILL.md", text.encode(), called)
    return one, [f"{problem.line}: {problem.what}" for problem in remarks if not problem.fatal]


def test_every_field() -> None:
    one, remarks = parsed(FULL, "full")
    assert (one.name, one.description, one.hint) == ("full", "Does everything, when asked to.", "[what] [where]")
    assert (one.license, one.compatibility, dict(one.metadata)) == (
        "MIT", "needs git", {"author": "somebody", "size": "3"},
    )  # fmt: skip
    assert one.allowed_tools == ("Read", "Grep", "Bash(git diff:*)")
    assert (one.for_model, one.for_person) == (False, True)
    assert (one.version, one.triggers, one.required_sections) == ("2", ("release", "ship it"), ("Summary",))
    assert (one.memory_policy, one.body) == ("read", "# Full\n\nDo $ARGUMENTS.")
    assert remarks == ["10: is no valid YAML, and was read as text"]


REMARKED = {
    "colour: red": "4: colour: is not known here",
    "description: Use it so: like this": "3: is no valid YAML, and was read as text",
    "name: other": "2: name: differs from a, as it is called on the disk",
    "name: Not_So_Good": "2: name: should have only small letters, digits and single hyphens",
    f"description: {'x' * 1100}": "3: description: is longer than 1024 letters and was cut",
    f"compatibility: {'x' * 501}": "4: compatibility: is not a short text and does not count",
    "metadata: [1]": "4: metadata: is not a map and does not count",
    "metadata: {a: [1]}": "4: metadata: has values that are no texts, which do not count",
    "allowed-tools: {a: 1}": "4: allowed-tools: is not a list of texts and does not count",
    "disable-model-invocation: maybe": "4: disable-model-invocation: is neither true nor false and counts as true",
    "user-invocable: maybe": "4: user-invocable: is neither true nor false and counts as false",
    "soba: yes": "4: soba: is not a map and does not count",
    "soba: {memory-policy: all}": "4: soba: memory-policy does not count",
    "soba: {wheels: 4}": "4: soba: wheels is not known here",
}


@pytest.mark.parametrize("line", REMARKED)
def test_what_is_remarked_on_and_read_past(line: str) -> None:
    lines = {"name": "name: a", "description": "description: Does."} | {line.partition(":")[0]: line}
    one, remarks = parsed("\n".join(["---", *lines.values(), "---", "Do."]))
    assert remarks == [REMARKED[line]]
    assert one.body == "Do."
    assert one.for_model is not line.startswith("disable")


BROKEN = {
    "no head": ("Just text.", "description: is missing"),
    "no end": ("---\nname: a\ndescription: b\n", "the head never ends"),
    "bad yaml": ("---\nname: a\ndescription: [b\n---\nDo.", ":3: is not valid YAML"),
    "a list": ("---\n- a\n---\nDo.", "must hold keys and values"),
    "no description": ("---\nname: a\n---\nDo.", "description: is missing"),
    "empty description": ("---\nname: a\ndescription: ' '\n---\nDo.", ":3: description: is missing"),
    "a twice": ("---\nname: a\ndescription: b\nname: c\n---\nDo.", "given twice"),
    "no text": ("---\nname: a\ndescription: b\n---\n\n", "has no text after it"),
    "spaces": ("---\nname: a b\ndescription: b\n---\nDo.", "cannot be used as a name"),
    "traversal": ("---\nname: ../../x\ndescription: b\n---\nDo.", "cannot be used as a name"),
    "long name": (f"---\nname: {'a' * 65}\ndescription: b\n---\nDo.", "cannot be used as a name"),
    "number": ("---\nname: 5\ndescription: b\n---\nDo.", "cannot be used as a name"),
    "alias": ("---\na: &x [1, 1]\nb: [*x, *x]\n---\nDo.", "has an alias"),
    "long head": (f"---\nx: {'y' * 20_000}\n---\nDo.", "longer than 16 KiB"),
    "nul": ("---\nname: a\ndescription: b\n---\nDo\0.", "NUL"),
    "large": ("x" * (MAX_BYTES + 1), "larger than 256 KiB"),
    "deep": (f"---\nx: {'[' * 5000}\n---\nDo.", ""),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_no_skill(kind: str, world: World) -> None:
    text, said = BROKEN[kind]
    with pytest.raises(ConfigError, match=r"SKILL\.md") as raised:
        parsed(text)
    assert said in str(raised.value)
    world.write("person/config/skills/a/SKILL.md", text)
    found = world.discover()
    assert found.skills == ()
    (problem,) = found.problems
    assert (problem.fatal, problem.part, problem.file) == (True, "skill", f"{world.home}/skills/a/SKILL.md")


def test_not_utf8(world: World) -> None:
    world.write("person/config/skills/a/SKILL.md", b"---\nname: a\ndescription: b\n---\n\xff\xfe")
    assert "SKILL.md:5: is not UTF-8" in str(world.discover().problems[0])


def test_windows_line_ends_and_a_mark_at_the_start() -> None:
    one, remarks = parsed("\ufeff" + skill("a", body="One.\nTwo.").replace("\n", "\r\n"))
    assert (one.body, remarks) == ("One.\nTwo.", [])


def test_where_they_lie(world: World) -> None:
    folder = "person/config/skills"
    for name in ("a/SKILL.md", "b.md", ".hidden/SKILL.md", "not-one/notes.md", "README.md", "c/sub/SKILL.md"):
        world.write(f"{folder}/{name}", skill(name.partition("/")[0].removesuffix(".md")))
    world.write(f"{folder}/a/scripts/run.py", "")
    world.write(f"{folder}/a/forms.md", "")
    world.write(f"{folder}/a/.git/config", "")
    found = world.discover()
    assert [(one.name, one.path) for one in found.skills] == [
        ("a", f"{world.home}/skills/a/SKILL.md"),
        ("b", f"{world.home}/skills/b.md"),
    ]
    assert found.skills[0].beside == ("forms.md", "scripts/run.py")
    assert found.problems == ()


ROOTS = (
    "project/.acpagent/skills", "project/.agents/skills", "project/.claude/skills", "project/.soba/skills",
    "plugin/skills", "shared", "person/config/skills", "person/.agents/skills", "person/.claude/skills",
)  # fmt: skip


@pytest.mark.parametrize("first", range(len(ROOTS)))
def test_the_order_of_the_roots(world: World, first: int) -> None:
    for number, place in enumerate(ROOTS[first:]):
        world.write(f"{place}/same/SKILL.md", skill("same", body=f"Number {first + number}."))
    if first < 4:
        world.approve()
    plugin = PluginAt("p", str(world.base / "plugin"), [str(world.base / "plugin/skills")])
    shared = [str(world.base / "shared")] if first < 6 else []
    found = world.discover(shared, [plugin])
    (one,) = found.skills
    assert one.body == f"Number {first}."
    assert one.scope == ("project", "project", "project", "project", "plugin", "config", "user", "user", "user")[first]
    assert one.owner == ("p" if first == 4 else "")
    assert [problem.fatal for problem in found.problems] == [False] * (len(ROOTS) - first - 1)
    assert all(f"{one.path} has the same name and goes first" in problem.what for problem in found.problems)


def test_a_broken_skill_shadows_nothing(world: World) -> None:
    world.write("person/config/skills/a/SKILL.md", "broken")
    world.write("person/.claude/skills/a/SKILL.md", skill("a"))
    found = world.discover()
    assert [one.path for one in found.skills] == [f"{world.person}/.claude/skills/a/SKILL.md"]
    assert len(found.problems) == 1


def test_links(world: World) -> None:
    """Between the person's own roots they are how tools install skills; anywhere else they are refused."""
    world.write("person/.agents/skills/a/SKILL.md", skill("a"))
    world.write("elsewhere/b/SKILL.md", skill("b"))
    world.write("elsewhere/c.md", skill("c"))
    world.write("elsewhere/SKILL.md", skill("d"))
    root = world.person / ".claude/skills"
    (root / "d").mkdir(parents=True)
    (root / "a").symlink_to("../../.agents/skills/a")
    (root / "b").symlink_to(world.base / "elsewhere/b")
    (root / "c.md").symlink_to(world.base / "elsewhere/c.md")
    (root / "d/SKILL.md").symlink_to(world.base / "elsewhere/SKILL.md")
    (root / "gone.md").symlink_to("nowhere.md")
    (root / "loop").symlink_to("loop")
    found = world.discover()
    assert [one.name for one in found.skills] == ["a"]
    assert [os.path.basename(problem.file) for problem in found.problems] == ["b", "c.md", "SKILL.md", "gone.md"]
    assert all("leads out" in problem.what for problem in found.problems[:3])
    (world.base / "link").symlink_to("elsewhere")
    assert [one.name for one in world.discover([str(world.base / "link")]).skills] == ["a", "b", "c", "d"]


def test_plugins_keep_to_themselves(world: World) -> None:
    world.write("plugin/lib/a/SKILL.md", skill("a"))
    world.write("outside/b/SKILL.md", skill("b"))
    (world.base / "plugin/skills").mkdir()
    (world.base / "plugin/skills/a").symlink_to("../lib/a")
    (world.base / "plugin/skills/b").symlink_to("../../outside/b")
    paths = [str(world.base / "plugin/skills")]
    found = world.discover(plugins=[PluginAt("p", str(world.base / "plugin"), paths)])
    assert [one.name for one in found.skills] == ["a"]
    assert len(found.problems) == 1


def test_strange_places(world: World) -> None:
    os.mkfifo(world.write("person/config/skills/x.md", "").parent / "pipe.md")
    (world.home / "skills/x.md").unlink()
    (world.home / "skills/d.md").mkdir()
    found = world.discover(["/nowhere/at/all", "/a\0b", str(world.home / "skills/pipe.md")])
    assert found.skills == ()
    assert len(found.problems) == 4
    assert [problem.part for problem in found.problems] == ["skill"] * 4


def test_a_directory_that_is_too_full(world: World) -> None:
    for number in range(2001):
        world.write(f"person/config/skills/{number}.txt", "")
    (problem,) = world.discover().problems
    assert "more than 2000 names" in problem.what


def found_skills(world: World, *texts: str) -> tuple[Skill, ...]:
    for number, text in enumerate(texts):
        world.write(f"person/config/skills/s{number}/SKILL.md", text)
    return world.discover().skills


def test_the_catalogue_names_what_the_model_may_call(world: World) -> None:
    assert skills.catalogue(()) == ""
    found = found_skills(world, skill("s0", "Zero."), skill("s1", disable_model_invocation="true"), skill("s2", "Two."))
    text = skills.catalogue(found, tool="use_skill")
    assert text.splitlines()[1:] == ["- s0: Zero.", "- s2: Two."]
    assert "`use_skill`" in text
    assert f"- s0: Zero. ({world.home}/skills/s0/SKILL.md)" in skills.catalogue(found)
    assert skills.catalogue(found[1:2]) == ""


def test_the_catalogue_is_bounded(world: World) -> None:
    found = found_skills(world, *(skill(f"s{number}", "x" * 900) for number in range(60)))
    text = skills.catalogue(found, tool="t")
    assert len(text) <= skills.MAX_CATALOGUE
    assert all(f"- s{number}: x" in text for number in range(60))
    short = skills.catalogue(found, tool="t", limit=400)
    assert len(short) <= 400
    assert short.splitlines()[-1].endswith("more")
    left = int(short.splitlines()[-1].split()[2])
    assert left + len(short.splitlines()) - 2 == 60


def test_what_a_call_says(world: World) -> None:
    world.write("person/config/skills/s0/run.py", "")
    one, other = found_skills(world, skill("s0", "Zero.", "Do $ARGUMENTS now, for $1."), skill("s1", "One.", "Do it."))
    text = skills.invoked(one, "a $ARGUMENTS b")
    assert text.startswith("# Skill: s0\n\n> Zero.\n\n(user · ")
    assert "\n\nDo a $ARGUMENTS b now, for $1.\n\n" in text
    assert text.endswith("- run.py")
    assert skills.invoked(other, "this one").endswith("\n\nDo it.\n\nArguments: this one")
    assert skills.invoked(other).endswith("\n\nDo it.")


def test_description_cannot_forge_lines(world: World) -> None:
    (one,) = found_skills(world, '---\nname: s0\ndescription: "a\\n- evil: b\\x1b[2J"\n---\nDo.\n')
    assert one.description == "a - evil: b"
    assert len(skills.catalogue([one]).splitlines()) == 2
