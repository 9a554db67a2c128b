"""The snapshot is what validly lies on the disk, whatever was there before."""

from __future__ import annotations

import random
import shutil
import time
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from acpagent.extensions.discovery import Extensions
from tests.extensions.world import PluginAt, World, skill

SERVERS = {
    "broken.json": ("{", "1: is not valid JSON"),
    "list.json": ("[]", "1: must hold one object"),
    "twice.json": ('{"mcpServers": {"a": {}, "a": {}}}', "has the key a twice"),
    "both.json": ('{"mcpServers": {},\n"servers": {}}', "2: servers: stands beside mcpServers"),
    "entry.json": ('{"mcpServers": {\n"a": {"command": "x"},\n"b": 5}}', "3: mcpServers.b: must be an object"),
    "nameless.json": ('{"servers": [\n{"command": "x"}]}', "2: servers.0: is a server without a name"),
    "double.json": ('{"servers": [{"id": "a"},\n{"name": "a"}]}', "2: servers.1: is a second server of its name"),
    "text.json": ('{"mcpServers": "a"}', "must hold servers"),
    "bytes.json": (b'{"mcpServers": {"\xff": {}}}', "is not UTF-8"),
    "deep.json": ("[" * 100_000, ": "),
}


@pytest.mark.parametrize("kind", SERVERS)
def test_a_broken_server_file_names_none(world: World, kind: str) -> None:
    content, said = SERVERS[kind]
    world.write("project/.mcp.json", content)
    world.write("project/.soba/mcp.json", {"servers": [{"id": "good", "command": "x"}]})
    world.approve()
    found = world.discover()
    assert [one.name for one in found.servers] == ["good"]
    (problem,) = found.problems
    assert said in str(problem)
    assert (problem.part, problem.file) == ("server", f"{world.root}/.mcp.json")


def test_servers_merge_by_name(world: World) -> None:
    world.write("project/.soba/mcp.json", {"version": 1, "servers": [{"id": "a", "command": "third"}]})
    world.write("project/.mcp.json", {"mcpServers": {"a": {"command": "second"}, "b": {"url": "https://x.example"}}})
    own = {"a": {"command": "first", "name": "z"}, "off": {"command": "x", "enabled": False}, "no": {"disabled": True}}
    world.write("project/.acpagent/mcp.json", {"mcpServers": own})
    world.approve()
    found = world.discover()
    assert [(one.name, one.source, one.written) for one in found.servers] == [
        ("a", ".acpagent/mcp.json", {"command": "first", "name": "a"}),
        ("b", ".mcp.json", {"url": "https://x.example", "name": "b"}),
    ]
    assert [problem.fatal for problem in found.problems] == [False, False]
    assert "https" not in repr(found)


def test_hooks_come_as_they_were_judged(world: World) -> None:
    def hooks(command: str) -> dict[str, object]:
        return {"hooks": {"Stop": [{"command": command}]}}

    world.write("project/.acpagent/settings.json", hooks("one"))
    world.write("project/.claude/settings.json", hooks("two") | {"other": 1})
    world.write("person/config/settings.json", hooks("three"))
    world.write("person/config/hooks.json", "x" * (1 << 20 | 1))
    found = world.discover()
    assert [(one.origin, one.command) for one in found.hooks.hooks] == [("user", "three")]
    assert [problem.part for problem in found.problems] == ["trust", "hook"]
    world.approve()
    found = world.discover()
    assert [(one.origin, one.command) for one in found.hooks.hooks] == [
        ("project", "one"), ("project", "two"), ("user", "three"),
    ]  # fmt: skip
    assert [one.stands() for one in found.hooks.hooks] == [True, True, True]
    world.write("project/.acpagent/run.sh", "")
    assert [one.stands() for one in found.hooks.hooks] == [False, False, True]


def test_plugins_bring_hooks_and_servers(world: World) -> None:
    hooks = str(world.write("plugin/hooks.json", {"hooks": {"Stop": [{"command": "true"}]}}))
    servers = str(world.write("plugin/mcp.json", {"mcpServers": {"a": {"command": "./a"}, "b": {"command": "b"}}}))
    world.write("elsewhere.json", {"mcpServers": {"c": {"command": "c"}}})
    (world.base / "plugin/link.json").symlink_to("../elsewhere.json")
    link = str(world.base / "plugin/link.json")
    world.write("project/.mcp.json", {"mcpServers": {"b": {"command": "mine"}}})
    world.approve()
    plugin = PluginAt("p", str(world.base / "plugin"), hooks=[hooks, link], servers=[servers, link, "/nowhere"])
    found = world.discover(plugins=[plugin])
    assert [(one.origin, one.root, one.file) for one in found.hooks.hooks] == [("plugin", plugin.root, hooks)]
    assert [(one.name, one.owner, one.folder, one.source) for one in found.servers] == [
        ("b", "", str(world.root), ".mcp.json"),
        ("a", "p", plugin.root, "mcp.json"),
    ]
    assert sorted(problem.what for problem in found.problems) == [
        "b: is named in .mcp.json as well, which counts",
        *["leads out of its plugin"] * 3,
    ]


def test_it_is_frozen_and_the_same_each_time(world: World) -> None:
    for name in ("b", "a", "c"):
        world.write(f"project/.acpagent/skills/{name}/SKILL.md", skill(name))
        world.write(f"person/config/commands/{name}.md", f"Do {name}.")
    world.approve()
    one, other = world.discover(), world.discover()
    assert one == other
    with pytest.raises(FrozenInstanceError):
        one.skills = ()  # type: ignore[misc]


def test_where_there_is_nothing_it_costs_next_to_nothing(world: World) -> None:
    world.discover()
    began = time.thread_time()
    for _ in range(20):
        found = world.discover()
    assert (time.thread_time() - began) / 20 < 0.02
    assert found == Extensions(found.standing)


# What an edit writes, and whether that is valid.
PLACES = {
    "skill": ("project/.acpagent/skills", "project/.claude/skills", "person/config/skills", "person/.agents/skills"),
    "command": ("project/.acpagent/commands", "project/.claude/commands", "person/config/commands"),
    "server": ("project/.acpagent/mcp.json", "project/.mcp.json", "project/.soba/mcp.json"),
}
BAD_SKILLS = ("", "Just text.", "---\nname: x\n", "---\nname: [\ndescription: x\n---\nDo.", "---\nname: x\n---\nDo.")
BAD_COMMANDS = ("", "---\ndescription: x", "---\n- x\n---\nDo.")
BAD_SERVERS = ("", "{", "[]", '{"mcpServers": {"good": {"command": "x"}, "bad": 1}}')


class Expected:
    """What should be found, worked out from the edits alone."""

    def __init__(self) -> None:
        self.valid: dict[tuple[str, str, str], str] = {}  # kind, place, name -> text, or names of servers

    def names(self, kind: str, trusted: bool) -> dict[str, str]:
        found: dict[str, str] = {}
        for place in PLACES[kind]:
            if trusted or not place.startswith("project/"):
                for (one, where, name), text in sorted(self.valid.items()):
                    if (one, where) == (kind, place):
                        found.setdefault(name, text)
        return found


@pytest.mark.parametrize("seed", range(2))
def test_200_random_edits(world: World, seed: int) -> None:
    choose = random.Random(seed)
    expected = Expected()
    trusted = True
    for step in range(200):
        edited = edit(world, expected, choose, step)
        if edited.startswith("project/"):
            standing = world.standing()
            assert standing.status in ("nothing_to_trust", "untrusted", "trusted", "changed")
            trusted = standing.trusted
            if not trusted and standing.status != "nothing_to_trust" and choose.random() < 0.7:
                trusted = world.approve().trusted
        found = world.discover()
        assert {one.name: one.body for one in found.skills} == expected.names("skill", trusted), (step, edited)
        assert {one.name: one.body for one in found.commands} == expected.names("command", trusted), (step, edited)
        servers = {one.name: one.written["command"] for one in found.servers}
        assert servers == expected.names("server", trusted), (step, edited)


def edit(world: World, expected: Expected, choose: random.Random, step: int) -> str:
    """Add, change, break or remove one file."""
    kind = choose.choice(list(PLACES))
    place = choose.choice(PLACES[kind])
    if kind == "server":
        return edit_servers(world, expected, choose, place, step)
    name = choose.choice("abc")
    path = f"{place}/{name}/SKILL.md" if kind == "skill" else f"{place}/{name}.md"
    expected.valid.pop((kind, place, name), None)
    action = choose.random()
    if action < 0.25:
        remove(world.base / path)
    elif action < 0.6:
        world.write(path, choose.choice(BAD_SKILLS if kind == "skill" else BAD_COMMANDS))
    else:
        body = f"Text of step {step}."
        world.write(path, skill(name, body=body) if kind == "skill" else body)
        expected.valid[kind, place, name] = body
    return path


def edit_servers(world: World, expected: Expected, choose: random.Random, place: str, step: int) -> str:
    for key in [key for key in expected.valid if key[:2] == ("server", place)]:
        del expected.valid[key]
    action = choose.random()
    if action < 0.25:
        remove(world.base / place)
    elif action < 0.6:
        world.write(place, choose.choice(BAD_SERVERS))
    else:
        named = choose.sample("abc", 2)
        world.write(place, {"mcpServers": {name: {"command": f"{name}{step}"} for name in named}})
        expected.valid |= {("server", place, name): f"{name}{step}" for name in named}
    return place


def remove(path: Path) -> None:
    if path.name == "SKILL.md":
        shutil.rmtree(path.parent, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
