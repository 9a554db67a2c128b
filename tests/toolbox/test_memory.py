"""Notes of a repository: what is kept, what is refused, and what of it later sessions are told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from acpagent.core import memory
from acpagent.core.memory import TEXT_CHARACTERS
from acpagent.core.repositories import repository_of
from acpagent.core.toolcalls import Effect, ToolRefusal
from acpagent.toolbox.memory import RecallMemory, Remember
from acpagent.toolbox.registry import Registry
from tests.toolbox.conftest import Bench
from tests.toolbox.notes import Notes


class Desk(Bench):
    def __init__(self, base: Path) -> None:
        super().__init__(base)
        self.notes = Notes(most=3)
        self.registry = Registry([Remember(self.notes), RecallMemory(self.notes)])

    @property
    def kept(self) -> tuple[memory.Note, ...]:
        return self.notes.notes(repository_of(str(self.root)))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_note_has_its_source(desk: Desk) -> None:
    desk.write("src/a.py", "x = 1\n")
    ctx = replace(desk.context(), session_id="s1", turn_id="t1")
    proposal = desk.prepare("remember", ctx, text="x is\n one", kind="discovery", file="src/../src/a.py")
    assert proposal.effects == (Effect("memory"),)
    assert desk.kept == ()  # nothing happens before it is applied
    desk.apply("remember", proposal, ctx)
    (note,) = desk.kept
    assert (note.text, note.kind, note.file, note.session, note.turn) == (
        "x is one",
        "discovery",
        "src/a.py",
        "s1",
        "t1",
    )
    root = memory.top(str(desk.root))
    assert memory.standing(note, root) == "current"
    desk.write("src/a.py", "x = 2\n")
    assert memory.standing(note, root) == "changed"
    assert "CHANGED" in memory.told(note, root)
    (desk.root / "src/a.py").unlink()
    assert memory.standing(note, root) == "gone"


def test_the_same_text_is_one_note_that_holds_anew(desk: Desk) -> None:
    desk.write("a", "1")
    desk.call("remember", text="same", file="a")
    desk.write("a", "2")
    desk.call("remember", text="same", file="a")
    (note,) = desk.kept
    assert memory.standing(note, memory.top(str(desk.root))) == "current"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"text": " \n"}, "text must have"),
        ({"text": "x" * (TEXT_CHARACTERS + 1)}, "text must have"),
        ({"text": "x", "file": "nowhere"}, "cannot be read"),
        ({"text": "x", "file": "../out/secret"}, "one of this repository"),
        ({"text": "x", "file": "link"}, "one of this repository"),
        ({"text": "x", "file": "\0"}, "NUL"),
        ({"text": "x", "kind": "rumour"}, "kind"),
    ],
)
def test_what_is_not_kept(desk: Desk, arguments: dict[str, str], why: str) -> None:
    (desk.base / "out/secret").write_text("s")
    (desk.root / "link").symlink_to("../out/secret")
    with pytest.raises(ToolRefusal, match=why):
        desk.call("remember", **arguments)
    assert desk.kept == ()


def test_a_full_memory_says_so(desk: Desk) -> None:
    for number in range(3):
        desk.call("remember", text=f"note {number}")
    with pytest.raises(ToolRefusal, match="full"):
        desk.call("remember", text="one more")
    desk.call("remember", text="note 1")  # an old one can be kept again


def test_recalling_finds_words_and_kinds(desk: Desk) -> None:
    assert desk.call("recall_memory").text == "Nothing was kept that fits."
    desk.call("remember", text="Use Make for checks", kind="pattern")
    desk.call("remember", text="Make fails on tabs", kind="error_fix")
    assert desk.call("recall_memory", query="make CHECKS").text.endswith("] Use Make for checks")
    assert "tabs" in desk.call("recall_memory", kind="error_fix").text
    found = desk.call("recall_memory", limit=1)
    assert (found.facts["match_count"], found.text.splitlines()[-1]) == (2, "[1 more]")
    assert desk.prepare("recall_memory").effects == (Effect("recall"),)


def test_the_first_words_of_a_session_are_bounded(tmp_path: Path) -> None:
    def note(number: int) -> memory.Note:
        return memory.Note(f"m{number:08x}", "w" * 500, "insight", "", "", "s", "t", "2030-01-01T00:00:00Z")

    assert memory.preface((), str(tmp_path)) == ""
    told = memory.preface([note(number) for number in range(100)], str(tmp_path))
    assert len(told) < 7000
    assert "older ones are left out; recall_memory finds them." in told
    few = memory.preface([note(1)], str(tmp_path))
    assert "left out" not in few


def test_worktrees_of_a_repository_share_their_notes(tmp_path: Path) -> None:
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/sub").mkdir()
    assert memory.top(str(tmp_path / "repo/sub")) == str(tmp_path / "repo")
    assert memory.top(str(tmp_path)) == str(tmp_path)


def test_a_file_of_a_note_cannot_lead_out(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text("s")
    assert memory.digest_of(str(tmp_path / "in"), "../secret") is None
