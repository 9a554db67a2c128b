"""What a project brings is trusted as it was approved, and not a byte otherwise."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from dataclasses import replace

import pytest

from acpagent.extensions import project, trust
from acpagent.extensions.trust import NotApproved
from tests.extensions.world import World, is_root, skill

# Every kind of place that something executable, or instructions for the model, can come from.
HOSTILE: dict[str, object] = {
    "project/.acpagent/mcp.json": {"mcpServers": {"one": {"command": "touch", "args": ["pwned"]}}},
    "project/.acpagent/settings.json": {"hooks": {"SessionStart": [{"command": "touch pwned"}]}},
    "project/.acpagent/hooks.json": {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch pwned"}]}]}},
    "project/.acpagent/commands/git/commit.md": "Run `touch pwned`.",
    "project/.acpagent/skills/a/SKILL.md": skill("a"),
    "project/.acpagent/plugins/p/plugin.json": {"name": "p"},
    "project/.mcp.json": {"mcpServers": {"two": {"command": "./run.sh"}}},
    "project/.soba/mcp.json": {"servers": [{"id": "three", "command": "touch"}]},
    "project/.soba/skills/b/SKILL.md": skill("b"),
    "project/.agents/skills/c.md": skill("c"),
    "project/.claude/skills/d/SKILL.md": skill("d"),
    "project/.claude/commands/e.md": "Say e.",
    "project/.claude/settings.json": {"hooks": {"Stop": [{"command": "touch pwned"}]}, "model": "x"},
    "project/.claude/settings.local.json": {"hooks": {"Stop": [{"command": "touch pwned"}]}},
    "project/run.sh": "#!/bin/sh\ntouch pwned\n",
}


def make_hostile(world: World) -> None:
    for name, content in HOSTILE.items():
        world.write(name, content)


def executable(world: World) -> list[object]:
    found = world.discover()
    return [*found.skills, *found.commands, *found.servers, *found.hooks.hooks]


def test_nothing_to_trust(world: World) -> None:
    world.write("project/src/main.py", "print()")
    world.write("project/AGENTS.md", "Be brief.")
    standing = world.standing()
    assert (standing.status, standing.trusted, standing.problem()) == ("nothing_to_trust", False, None)
    with pytest.raises(NotApproved, match="brings nothing"):
        trust.approve(str(world.root), str(world.home), world.shelf, "0" * 16)


def test_an_untrusted_project_brings_nothing_but_context(world: World) -> None:
    make_hostile(world)
    world.write("project/AGENTS.md", "Be brief.")
    found = world.discover()
    assert executable(world) == []
    assert [one.text for one in found.instructions] == ["Be brief."]
    (problem,) = found.problems
    assert (problem.part, found.standing.status) == ("trust", "untrusted")
    assert "acpagent trust approve" in problem.remedy


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "project/run.sh"])
def test_each_place_by_itself_needs_trust(world: World, name: str) -> None:
    world.write(name, HOSTILE[name])
    assert world.standing().status == "untrusted"
    assert executable(world) == []


def test_after_approval_all_of_it_is_there(world: World) -> None:
    make_hostile(world)
    assert world.approve().status == "trusted"
    found = world.discover()
    assert [one.name for one in found.skills] == ["a", "b", "c", "d"]
    assert [one.name for one in found.commands] == ["e", "git:commit"]
    assert [one.name for one in found.servers] == ["one", "two", "three"]
    assert len(found.hooks.hooks) == 4
    assert found.problems == ()
    trust.revoke(str(world.root), world.shelf)
    assert executable(world) == []


@pytest.mark.parametrize("name", HOSTILE)
def test_one_changed_byte_takes_it_back(world: World, name: str) -> None:
    make_hostile(world)
    world.approve()
    path = world.base / name
    path.write_bytes(path.read_bytes().replace(b"pwned", b"pwneD") + b" " * (b"pwned" not in path.read_bytes()))
    standing = world.standing()
    assert standing.status == "changed"
    assert standing.changes == (name.removeprefix("project/"),)
    assert executable(world) == []
    assert name.removeprefix("project/") in str(standing.problem())
    world.approve()
    assert world.standing().status == "trusted"


def another_repository(world: World) -> None:
    (world.root / ".git").rename(world.root / ".git.old")
    subprocess.run(["git", "init", "-q", world.base], check=True)


def replaced_by_link(world: World) -> None:
    path = world.root / ".mcp.json"
    path.rename(world.root / "same.json")
    path.symlink_to("same.json")


CHANGES: dict[str, Callable[[World], object]] = {
    "a file more": lambda world: world.write("project/.acpagent/bin/tool", "x"),
    "a file less": lambda world: (world.root / ".claude/commands/e.md").unlink(),
    "a mode": lambda world: (world.root / "run.sh").chmod(0o755),
    "a name": lambda world: (world.root / ".claude/commands/e.md").rename(world.root / ".claude/commands/f.md"),
    "a link in place of a file": replaced_by_link,
    "another repository": another_repository,
}


@pytest.mark.parametrize("change", CHANGES)
def test_other_changes_count_as_well(world: World, change: str) -> None:
    make_hostile(world)
    subprocess.run(["git", "init", "-q", world.root], check=True)
    world.approve()
    before = world.scan()
    CHANGES[change](world)
    assert world.standing().status == "changed"
    assert not before.still_stands()
    assert executable(world) == []


def test_what_does_not_run_does_not_count(world: World) -> None:
    make_hostile(world)
    world.approve()
    world.write("project/src/main.py", "print()")
    world.write("project/AGENTS.md", "Be brief.")
    settings = {"hooks": {"Stop": [{"command": "touch pwned"}]}, "permissions": {"allow": ["Bash(ls)"]}}
    world.write("project/.claude/settings.local.json", settings)
    assert world.standing().status == "trusted"
    world.write("project/.claude/settings.local.json", {"permissions": {"allow": ["Bash(ls)"]}})
    assert world.standing().status == "changed"


def test_another_repository_counts_once_all_has_settled(world: World) -> None:
    make_hostile(world)
    subprocess.run(["git", "init", "-q", world.root], check=True)
    before = replace(world.scan(), settled=True)  # as if some time had passed
    assert before.still_stands()
    (world.root / ".git").rename(world.root / ".git.old")
    assert not before.still_stands()


LINES = (
    "./tools/hook.sh now",
    "sh -c 'tools/hook.sh'",
    "$CLAUDE_PROJECT_DIR/tools/hook.sh",
    "python --file=tools/hook.sh",
    "cd x; tools/hook.sh; ls",
    "cd tools && ./hook.sh",
    "make -C tools -f hook.sh",
    "true;./tools/hook.sh;true",
    "sh -c 'cd tools; exec ./hook.sh >> log.txt'",
    "sh <tools/hook.sh >log.txt",
    "sh 0<tools/hook.sh",
    "node -r./tools/hook.sh x",
    "echo x > tools/hook.sh; sh tools/hook.sh",
    "echo x > tools/hook.sh",
    "tee tools/hook.sh",
    "python --log-config tools/hook.sh",
    "python --log=tools/hook.sh",
    "echo $(cat tools/hook.sh) > log.txt",
    "x=tools/hook.sh; sh $x > log.txt",
    "sh <<< 'tools/hook.sh' > log.txt",
    "sh <<E > log.txt\n./tools/hook.sh\nE",
    "env HOOK=./tools/hook.sh ./run > log.txt",
    "! tools/hook.sh &> log.txt",
)


@pytest.mark.parametrize("command", LINES)
def test_the_files_that_hooks_name_count(world: World, command: str) -> None:
    world.write("project/tools/hook.sh", "true")
    world.write("project/.acpagent/settings.json", {"hooks": {"Stop": [{"command": command}]}})
    world.approve()
    world.write("project/tools/hook.sh", "touch pwned")
    assert world.standing().changes == ("tools/hook.sh",)


ENDINGS = {
    "python -m tools.hook": "tools/hook.py",
    "python -m tools": "tools/__main__.py",
    "node tools/hook": "tools/hook.js",
    "node ./tools": "tools/index.js",
    "cd tools && node -r ./hook x": "tools/hook.js",
}


@pytest.mark.parametrize("command", ENDINGS)
def test_what_programs_make_of_a_name_counts(world: World, command: str) -> None:
    world.write(f"project/{ENDINGS[command]}", "good")
    world.write("project/.acpagent/settings.json", {"hooks": {"Stop": [{"command": command}]}})
    world.approve()
    before = world.scan()
    world.write(f"project/{ENDINGS[command]}", "evil")
    assert world.standing().changes == (ENDINGS[command],)
    assert not before.still_stands()


def server(*args: str, **env: str) -> object:
    return {"mcpServers": {"a": {"command": "node", "args": ["server.js", *args], "env": env}}}


def hook(command: str, **more: str) -> object:
    return {"hooks": {"Stop": [{"command": command, **more}]}}


# What is only written by who is named with it, and the file.
WRITTEN: dict[str, tuple[object, str]] = {
    "a redirection": (hook("make > log.txt"), "log.txt"),
    "one that adds": (hook("./check.sh >>logs/a.log 2>&1"), "logs/a.log"),
    "one of errors": (hook("make 2> errors"), "errors"),
    "one of all": (hook("make &> out/all"), "out/all"),
    "behind a variable": (hook("make > $ACPAGENT_PROJECT_DIR/log.txt"), "log.txt"),
    "in a pipe": (hook("make 2>&1 | tee -a log.txt"), "log.txt"),
    "in a shell": (hook("sh -c 'make > log.txt'"), "log.txt"),
    "in a shell of a server": (server("-c", "exec ./serve 2>> log.txt"), "log.txt"),
    "an option": (server("--log-file", "server.log"), "server.log"),
    "an option with its value": (server("--db-path=data/notes.db"), "data/notes.db"),
    "an option in a line": (hook("./serve --logFile a.log --port 1"), "a.log"),
    "a variable": (server(MEMORY_FILE_PATH="memory.json"), "memory.json"),
    "a variable in a line": (hook("LOG_FILE=a.log ./serve"), "a.log"),
    "words for the model": (hook("./look", contextFile="context.md"), "context.md"),
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_what_is_only_written_does_not_count(world: World, kind: str) -> None:
    lines, name = WRITTEN[kind]
    world.write("project/.mcp.json" if "mcpServers" in str(lines) else "project/.acpagent/settings.json", lines)
    world.write("project/server.js", "")
    world.approve()
    before = world.scan()
    for text in ("one", "two"):
        path = world.write(f"project/{name}", text)
        assert (world.standing().status, before.still_stands()) == ("trusted", True)
    path.write_text("#!/bin/sh\n")  # it could be run now
    assert (world.standing().status, before.still_stands()) == ("changed", False)
    path.write_text("two")
    path.chmod(0o755)
    assert (world.standing().status, before.still_stands()) == ("changed", False)


# Lines that write a file and may run it after all.
RUN_AFTER_ALL = (
    hook("make > log.txt; sh log.txt"),
    hook("make > log.txt; sh ./log.txt"),
    hook("make > log.txt; . ./log.txt"),
    hook("make > log.txt; sh l*"),
    hook("make > log.txt; sh < log.txt"),
    hook("make > log.txt && cat log.txt | sh"),
    hook("make > log.txt; x=log.txt; sh $x"),
    hook("make > log.txt; sh $(echo log.txt)"),
    hook("make > log.txt; eval 'sh log.txt'"),
    hook("make > log.txt; sh <<< 'sh log.txt'"),
    hook("make > log.txt; for f in log.txt; do sh $f; done"),
    hook("make > log.txt; f() { sh log.txt; }; f"),
    hook("tee log.txt | sh log.txt"),
    hook("make >> log.txt; make -f log.txt"),
    hook("make > log.txt", cwd="log.txt"),
    hook("make > log.txt; sh 'log.txt"),
    {"hooks": {"Stop": [{"command": "make > log.txt"}, {"command": "sh log.txt"}]}},
    server("--log-file", "log.txt", "log.txt"),
    server("--log-config", "log.txt"),
    server("--config", "log.txt"),
    server("-l", "log.txt"),
    server("log.txt"),
    server("trace", "log.txt"),
    hook("env trace log.txt"),
    hook("sh data log.txt > x"),
    hook("--output=x sh log.txt"),
    server(LOG_FILE="log.txt", CONFIG="log.txt"),
    server(NODE_OPTIONS="--require ./log.txt"),
)


@pytest.mark.parametrize("number", range(len(RUN_AFTER_ALL)))
def test_what_may_be_run_after_all_counts(world: World, number: int) -> None:
    lines = RUN_AFTER_ALL[number]
    world.write("project/.mcp.json" if "mcpServers" in str(lines) else "project/.acpagent/settings.json", lines)
    world.write("project/log.txt", "good")
    world.approve()
    before = world.scan()
    world.write("project/log.txt", "evil")
    assert (world.standing().changes, before.still_stands()) == (("log.txt",), False)


def test_a_named_file_that_comes_later_counts(world: World) -> None:
    world.write("project/.mcp.json", {"mcpServers": {"a": {"command": "python", "args": ["main.py"], "cwd": "srv"}}})
    world.approve()
    before = world.scan()
    world.write("project/srv/main.py", "")
    assert world.standing().status == "changed"
    assert not before.still_stands()


def test_links_within_the_project_count_by_what_they_lead_to(world: World) -> None:
    world.write("project/shared/x/SKILL.md", skill("x"))
    (world.root / ".claude").mkdir()
    (world.root / ".claude/skills").symlink_to("../shared")
    world.approve()
    assert [one.name for one in world.discover().skills] == ["x"]
    world.write("project/shared/x/SKILL.md", skill("x", body="Do harm."))
    assert world.standing().status == "changed"


def outside(world: World) -> None:
    (world.root / ".acpagent").mkdir()
    world.write("outside/SKILL.md", skill("x"))
    (world.root / ".acpagent/skills").symlink_to(world.base / "outside")


def fifo(world: World) -> None:
    (world.root / ".acpagent").mkdir()
    os.mkfifo(world.root / ".acpagent/settings.json")


def unix_socket(world: World) -> None:
    (world.root / ".acpagent").mkdir()
    here = os.getcwd()
    os.chdir(world.root / ".acpagent")  # its name must be short
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind("s")
    finally:
        os.chdir(here)


def endless(world: World) -> None:
    (world.root / ".acpagent").mkdir()
    (world.root / ".acpagent/all").symlink_to("..")


def deep(world: World) -> None:
    world.write(f"project/.acpagent/{'d/' * (project.MAX_DEPTH + 2)}x", "")


def many(world: World) -> None:
    for number in range(project.MAX_ENTRIES + 1):
        world.write(f"project/.acpagent/{number}", "")


def large(world: World) -> None:
    path = world.write("project/.acpagent/blob", "")
    os.truncate(path, project.MAX_FILE + 1)


def unreadable(world: World) -> None:
    world.write("project/.mcp.json", "{}", mode=0)


REFUSED: dict[str, tuple[Callable[[World], None], str]] = {
    "outside": (outside, "leads out of the project"),
    "fifo": (fifo, "neither a file nor a directory"),
    "socket": (unix_socket, "neither a file nor a directory"),
    "endless": (endless, "leads back"),
    "deep": (deep, "directories deep"),
    "many": (many, "more than 4000 files"),
    "large": (large, "larger than 16 MiB"),
    "unreadable": (unreadable, "cannot be read"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_whole_cannot_be_trusted(world: World, kind: str) -> None:
    if kind == "unreadable" and is_root():
        pytest.skip("root reads everything")
    make, reason = REFUSED[kind]
    world.write("project/.claude/commands/a.md", "Say a.")
    make(world)
    standing = world.standing()
    assert (standing.status, standing.project.files, standing.project.fingerprint) == ("untrusted", {}, "")
    assert reason in str(standing.problem())
    assert executable(world) == []
    with pytest.raises(NotApproved, match=reason):
        trust.approve(str(world.root), str(world.home), world.shelf, "0" * 16)
    assert world.shelf.kept == {}


def test_an_approval_is_for_what_the_person_saw(world: World) -> None:
    make_hostile(world)
    seen = trust.short(world.scan())
    world.write("project/.mcp.json", {"mcpServers": {"two": {"command": "rm"}}})
    for words in (seen, seen[:4], "", trust.short(world.scan())[:15]):
        with pytest.raises(NotApproved, match="not the fingerprint"):
            trust.approve(str(world.root), str(world.home), world.shelf, words)
    assert world.shelf.kept == {}
    assert trust.approve(str(world.root), str(world.home), world.shelf, world.scan().fingerprint).trusted


def test_what_was_read_is_what_is_used(world: World) -> None:
    """Between judging and reading there is no gap: what is found comes from the bytes that were judged."""
    world.write("project/.mcp.json", {"mcpServers": {"a": {"command": "good"}}})
    world.write("project/.acpagent/commands/a.md", "Good.")
    world.approve()
    standing = world.standing()
    world.write("project/.mcp.json", {"mcpServers": {"a": {"command": "evil"}}})
    world.write("project/.acpagent/commands/a.md", "Evil.")
    world.write("project/.acpagent/commands/b.md", "Evil.")
    found = world.discover(standing=standing)
    assert [one.written["command"] for one in found.servers] == ["good"]
    assert [one.body for one in found.commands] == ["Good."]
    assert not standing.project.still_stands()


def test_still_stands_does_not_miss_a_quick_change(world: World) -> None:
    path = world.write("project/.mcp.json", "{}")
    for number in range(50):
        path.write_text(f'{{"x": {number % 2}}}')
        before = world.scan()
        assert before.still_stands()
        path.write_text(f'{{"x": {1 - number % 2}}}')
        assert not before.still_stands()


def test_the_same_files_elsewhere_are_another_project(world: World) -> None:
    make_hostile(world)
    world.approve()
    (world.base / "project").rename(world.base / "moved")
    found = trust.look(str(world.base / "moved"), str(world.home), world.shelf)
    assert found.status == "untrusted"
    (world.base / "alias").symlink_to("moved")
    (world.base / "moved").rename(world.base / "project")
    (world.base / "alias").unlink()
    (world.base / "alias").symlink_to("project")
    assert trust.look(str(world.base / "alias"), str(world.home), world.shelf).status == "trusted"


def test_the_homes_are_no_projects(world: World) -> None:
    world.write("person/.claude/skills/a/SKILL.md", skill("a"))
    found = trust.look(str(world.person), str(world.home), world.shelf)
    assert found.status == "nothing_to_trust"
    inner = world.root / ".acpagent"
    world.write("project/.acpagent/config.yaml", "")
    assert project.scan(str(world.root), str(inner)).is_empty


def test_contents_hide_nothing(world: World) -> None:
    make_hostile(world)
    server = {"command": "sh", "args": ["-c", "a\n#\u202e b"], "env": {"KEY": "sk-1"}}
    world.write("project/.mcp.json", {"mcpServers": {"two": server}})
    lines = trust.contents(world.scan())
    text = "\n".join(lines)
    assert ".mcp.json: two starts a server: sh -c a ⏎ #<U+202E> b (with KEY set)" in lines
    assert ".acpagent/settings.json: SessionStart runs: touch pwned" in lines
    assert ".acpagent/hooks.json: Stop runs: touch pwned" in lines
    assert ".soba/mcp.json: three starts a server: touch" in lines
    assert ".acpagent/skills/a/SKILL.md: a skill, instructions for the model" in lines
    assert "sk-1" not in text
    for number in range(100):
        world.write(f"project/.claude/commands/c{number}.md", "x")
    assert trust.contents(world.scan())[-1].startswith("and ")
