"""What the ledger reads off a history: changes, looks, checks, sign-offs, and where a task ends."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from acpagent.core.history import CallSettled, PlanSet, TurnOpened
from acpagent.core.paths import Roots
from acpagent.core.toolcalls import Kind, Location, PlanEntry, ToolCall
from acpagent.runtime.evidence.checks import Check
from acpagent.runtime.evidence.ledger import Ledger, Passed, quotes

OPEN, DONE = PlanEntry("a", status="pending"), PlanEntry("a", status="completed")


class World:
    """A folder, and a ledger of what is done in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.roots = Roots(str(folder))
        self.ledger = Ledger()
        self._numbers = count()

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def prompt(self) -> None:
        self.ledger.feed([TurnOpened(f"t{next(self._numbers)}")])

    def plan(self, *entries: PlanEntry) -> None:
        self.ledger.feed([PlanSet("t", entries)])

    def call(self, name: str, kind: Kind, *files: str, failed: bool = False, **rest: Any) -> None:
        places = tuple(Location(self.path(file)) for file in files)
        call = ToolCall("c", name, name, kind, "failed" if failed else "completed", locations=places, **rest)
        self.ledger.feed([CallSettled("t", call, "")])
        self.ledger.read(self.roots)

    def edit(self, *files: str, failed: bool = False) -> None:
        for file in files:
            (self.folder / file).write_text("x")
        self.call("edit_file", "edit", *files, failed=failed)

    def look(self, *files: str) -> None:
        self.call("read_file", "read", *files)

    def run(self, command: str, code: int | None = 0) -> None:
        self.call("bash", "execute", failed=code != 0, raw_input={"command": command}, facts={"exit_code": code})

    def sign(self, *evidence: str) -> None:
        self.call("complete_step", "think", raw_output={"evidence": list(evidence)})


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.prompt()
    world.plan(OPEN)
    return world


def test_a_changed_file_is_to_be_looked_at(world: World) -> None:
    world.look("a.py")
    world.edit("a.py", "b.py")
    assert world.ledger.unreviewed() == [world.path("a.py"), world.path("b.py")]
    world.look("a.py")
    assert world.ledger.unreviewed() == [world.path("b.py")]
    world.edit("a.py")
    assert world.ledger.unreviewed() == [world.path("a.py"), world.path("b.py")]
    world.run("git diff")
    assert world.ledger.unreviewed() == []
    world.edit("b.py")
    assert world.ledger.unreviewed() == [world.path("b.py")]


def test_a_call_that_failed_changed_nothing(world: World) -> None:
    world.edit("a.py", failed=True)
    assert not world.ledger.changed
    assert not world.ledger.changed_in_turn


def test_what_is_gone_cannot_be_looked_at(world: World) -> None:
    world.call("delete_file", "delete")
    world.edit("a.py")
    (world.folder / "a.py").unlink()
    assert len(world.ledger.changed) == 2
    assert world.ledger.unreviewed() == []


@pytest.mark.parametrize(("command", "code"), [("pytest", 1), ("pytest", None), ("pytest || true", 0), ("ls", 0)])
def test_what_proves_nothing(world: World, command: str, code: int | None) -> None:
    world.edit("a.py")
    world.run(command, code)
    assert world.ledger.proofs() == []


def test_a_check_proves_what_was_changed_before_it(world: World) -> None:
    world.edit("a.py")
    world.run("cd . && timeout 60 pytest -q")
    (proof,) = world.ledger.proofs()
    assert proof.check == Check("test", "pytest -q")
    world.edit("a.py")
    assert world.ledger.proofs() == []


def test_a_sign_off_comes_after_the_check_and_quotes_it(world: World) -> None:
    world.edit("a.py")
    world.sign("pytest: fine")
    world.run("pytest")
    (proof,) = world.ledger.proofs()
    assert not world.ledger.signed_for(proof)
    world.sign("all is fine")
    assert not world.ledger.signed_for(proof)
    world.sign("`pytest`: 3 passed")
    assert world.ledger.signed_for(proof)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("`pytest  -k 'a b'` printed 3 passed", True),
        ('timeout 9 pytest -k "a b"', True),
        ("PYTEST -K a b", True),
        ("pytest -k a", False),
        ("all tests pass", False),
    ],
)
def test_what_quotes_a_check(words: str, expected: bool) -> None:
    proof = Passed(1, Check("test", "pytest -k a b"), 'timeout 9 pytest -k "a b"')
    assert quotes(words, proof) is expected


def test_documents_and_nothing_else(world: World) -> None:
    world.edit("README.md", "b.rst")
    assert world.ledger.only_documents()
    world.edit("requirements.txt")
    assert not world.ledger.only_documents()


def test_a_task_ends_when_its_plan_is_done(world: World) -> None:
    world.edit("a.py")
    world.prompt()
    assert world.ledger.plan == (OPEN,)
    assert world.ledger.changed
    assert not world.ledger.changed_in_turn
    world.plan(DONE)
    world.edit("a.py")
    assert world.ledger.changed_in_turn
    world.prompt()
    assert world.ledger.plan == ()
    assert not world.ledger.changed


def test_calls_nobody_asked_about_are_forgotten_with_their_task(world: World) -> None:
    call = ToolCall("c", "edit_file", "e", "edit", "completed", locations=(Location(world.path("a.py")),))
    world.ledger.feed([CallSettled("t", call, ""), PlanSet("t", (DONE,)), TurnOpened("u")])
    world.ledger.read(world.roots)
    assert not world.ledger.changed
