"""What is granted for a session, and for a repository."""

from __future__ import annotations

import subprocess

import pytest

from acpagent.core.faults import OurFault
from acpagent.core.paths import Roots
from acpagent.core.repositories import repository_of
from acpagent.core.rules import RuleError
from acpagent.permission import rules
from acpagent.permission.gate import Gate
from tests.permission.world import Settings, World, judge


@pytest.fixture
def world(tmp_path):
    return World(tmp_path.resolve())


def test_all_sessions_of_a_repository_share_its_grants(world):
    one, other = world.gate(), world.gate()
    one.grant_repository("Edit")
    assert judge(world, other, "write", "src/a").action == "allow"
    assert judge(world, world.gate(), "write", "src/a").action == "allow"
    assert (one.session_rules, [rule.text for rule in other.repository_rules]) == ((), ["Edit"])
    other.clear()
    assert judge(world, one, "write", "src/a").action == "ask"
    assert world.shelf.rules == {}


def test_what_another_process_granted_is_there_for_the_next_session(world):
    first = world.gate()
    (repository,) = world.repositories._known
    world.shelf.add(repository, "Edit")
    world.shelf.add(repository, "Spell(from the future)")
    assert judge(world, first, "write", "src/a").action == "ask"
    assert judge(world, world.gate(), "write", "src/a").action == "allow"


def test_what_cannot_be_stored_is_not_granted(world):
    gate = world.gate()
    world.shelf.broken = True
    with pytest.raises(OurFault):
        gate.grant_repository("Edit")
    assert judge(world, gate, "write", "src/a").action == "ask"


def test_a_grant_is_a_rule_and_kept_once(world):
    gate = world.gate()
    for _ in range(2):
        gate.grant_session("Edit")
        gate.grant_repository("Bash(npm test:*)")
    assert len(gate.session_rules) == len(gate.repository_rules) == 1
    with pytest.raises(RuleError):
        gate.grant_session("rm -rf")
    gate.clear()
    assert gate.session_rules == gate.repository_rules == ()


def test_rules_are_exchanged_and_grants_stay(world):
    gate = world.gate()
    gate.grant_session("Edit")
    gate.rules = rules.read(Settings(deny=("Edit(*.lock)",)))
    assert judge(world, gate, "write", "a.lock").action == "deny"
    assert judge(world, gate, "write", "a.txt").action == "allow"


def test_without_a_store_nothing_is_offered_for_the_repository(tmp_path):
    world = World(tmp_path.resolve())
    gate = Gate(rules.Rules(), world.roots)
    assert judge(world, gate, "write", "a").choices == ("deny", "once", "session", "full")


def git(folder, *words):
    folder.mkdir(exist_ok=True, parents=True)
    identity = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def test_which_repository_a_directory_is_of(tmp_path):
    base = tmp_path.resolve()
    main, tree = base / "main", base / "tree"
    git(main, "init")
    git(main, "commit", "--allow-empty", "-m", "x")
    git(main, "worktree", "add", str(tree))
    (main / "a" / "b").mkdir(parents=True)
    (base / "plain" / "sub").mkdir(parents=True)
    (base / "link").symlink_to(main)
    home = str(main / ".git")
    for directory in (main, main / "a" / "b", tree, base / "link" / "a"):
        assert repository_of(str(directory)) == home
    assert repository_of(str(base / "plain" / "sub")) == str(base / "plain" / "sub")


def test_no_project_passes_itself_off_as_another(tmp_path):
    base = tmp_path.resolve()
    trusted = base / "trusted"
    git(trusted, "init")
    git(trusted, "commit", "--allow-empty", "-m", "x")
    git(trusted, "worktree", "add", str(base / "tree"))
    for name, body in {
        "file": f"gitdir: {trusted}/.git\n",
        "worktree": f"gitdir: {trusted}/.git/worktrees/tree\n",
        "own": "gitdir: fake\n",
        "odd": "gitdir: /nowhere\n",
        "empty": "",
    }.items():
        evil = base / name
        (evil / "fake").mkdir(parents=True)
        (evil / ".git").write_text(body)
        (evil / "fake" / "gitdir").write_text(f"{evil}/.git\n")
        (evil / "fake" / "commondir").write_text(f"{trusted}/.git\n")
        assert repository_of(str(evil)) == str(evil)
    linked = base / "linked"
    linked.mkdir()
    (linked / ".git").symlink_to(trusted / ".git")
    assert repository_of(str(linked)) == str(linked)
    assert Roots(str(linked)).all == (str(linked),)
