"""Diffs: what the person is shown of a change before and after it, against what is on the disk."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any

import pytest

from tests.acp.conftest import Stage
from tests.acp.seen import Call, call_in, calls, calls_in, diffs, says, turn
from tests.agent import Message, updates_in

# A model that one call of a megabyte does not fill.
CONFIG = {"tool_approval": "ask", "window": 2_000_000}
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("create", calls("write_file", path="deep/er/new.txt", content="one\ntwo\n"), says("Done.")),
        turn("overwrite", calls("write_file", path="file.txt", content="new text\n"), says("Done.")),
        turn("make empty", calls("write_file", path="file.txt", content=""), says("Done.")),
        turn("edit", calls("edit_file", path="file.txt", old="two", new="zwei"), says("Done.")),
        turn("all of them", calls("edit_file", path="file.txt", old="a", new="b", replace_all=True), says("Done.")),
        turn("not there", calls("edit_file", path="file.txt", old="absent", new="b"), says("Done.")),
        turn("through a link", calls("edit_file", path="link.txt", old="two", new="zwei"), says("Done.")),
        turn("very much", calls("write_file", path="file.txt", content="much " * 300_000), says("Done.")),
        turn("two files", [calls("edit_file", path="file.txt", old="two", new="zwei"),
                           calls("write_file", path="other.txt", content="other\n")], says("Done.")),
    ]
}  # fmt: skip


@pytest.fixture
def here(stage: Stage, tmp_path: Path) -> Path:
    """A workspace of the test's own."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def change(stage: Stage, here: Path, prompt: str, permission: str = "once") -> Call:
    """Prompt for one change, and answer its question."""
    return call_in(stage.prompt(stage.new(here), prompt, permission))


def assert_diff(call: Call, path: Path, old: str | None, new: str) -> None:
    """The call shows this one diff, from its report to its end."""
    wanted = {"type": "diff", "path": str(path), "oldText": old, "newText": new}
    assert diffs(call.first) == [wanted]
    assert diffs(call.now) == [wanted]


def test_DIFF_01_a_new_file_has_no_old_text(stage: Stage, here: Path) -> None:
    call = change(stage, here, "create")
    assert_diff(call, here / "deep/er/new.txt", None, "one\ntwo\n")
    assert call.now["title"] == "Created deep/er/new.txt"
    assert (here / "deep/er/new.txt").read_text() == "one\ntwo\n"


def test_DIFF_01_an_edit_has_old_text_and_an_empty_file_an_empty_one(stage: Stage, here: Path) -> None:
    path = here / "file.txt"
    path.write_text("")
    assert_diff(change(stage, here, "overwrite"), path, "", "new text\n")
    call = change(stage, here, "overwrite")
    assert_diff(call, path, "new text\n", "new text\n")
    assert call.now["title"] == "Updated file.txt"


def test_DIFF_02_the_texts_are_the_whole_file_as_it_was_and_as_it_is(stage: Stage, here: Path) -> None:
    path = here / "file.txt"
    path.write_text("one\ntwo\nthree\n")
    assert_diff(change(stage, here, "edit"), path, "one\ntwo\nthree\n", "one\nzwei\nthree\n")
    assert path.read_text() == "one\nzwei\nthree\n"


def test_DIFF_02_a_change_that_came_in_between_stops_the_edit(stage: Stage, here: Path) -> None:
    path = here / "file.txt"
    path.write_text("one\ntwo\n")

    def meanwhile(_: Message) -> str:
        path.write_text("one\ntwo\nby another hand\n")
        return "once"

    session = stage.new(here)
    updates, answer = stage.agent.prompt(session, "edit", permission=meanwhile)
    assert answer["result"] == {"stopReason": "end_turn"}
    call = call_in(updates)
    assert call.status == "failed"
    assert "changed since this call was made" in call.text
    assert path.read_text() == "one\ntwo\nby another hand\n"


def test_DIFF_03_emptying_a_file_is_an_edit_with_an_empty_new_text(stage: Stage, here: Path) -> None:
    path = here / "file.txt"
    path.write_text("gone soon\n")
    call = change(stage, here, "make empty")
    assert_diff(call, path, "gone soon\n", "")
    assert call.now["kind"] == "edit"
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"one\r\ntwo\r\nthree\r\n", b"one\r\nzwei\r\nthree\r\n"),
        (b"one\ntwo", b"one\nzwei"),
        (b"one\r\ntwo\nthree\r\n", b"one\r\nzwei\nthree\r\n"),
        (codecs.BOM_UTF8 + b"one\r\ntwo", codecs.BOM_UTF8 + b"one\r\nzwei"),
        (codecs.BOM_UTF16_LE + "é two\n".encode("utf-16-le"), codecs.BOM_UTF16_LE + "é zwei\n".encode("utf-16-le")),
        ("é two\n".encode("latin-1"), "é zwei\n".encode("latin-1")),
    ],
)
def test_DIFF_04_line_ends_bom_encoding_and_a_missing_last_newline_stay(
    stage: Stage, here: Path, before: bytes, after: bytes
) -> None:
    path = here / "file.txt"
    path.write_bytes(before)
    call = change(stage, here, "edit")
    assert path.read_bytes() == after
    assert ("\r\n" in call.diff["oldText"]) == (b"\r\n" in before)
    assert call.diff["oldText"].replace("two", "zwei") == call.diff["newText"]
    assert not call.diff["oldText"].startswith("\ufeff")


def test_DIFF_04_an_overwritten_file_keeps_its_line_ends_and_mode(stage: Stage, here: Path) -> None:
    path = here / "file.txt"
    path.write_bytes(b"old\r\ntext\r\n")
    path.chmod(0o750)
    change(stage, here, "overwrite")
    assert path.read_bytes() == b"new text\r\n"
    assert path.stat().st_mode & 0o777 == 0o750


def test_DIFF_05_the_diff_is_shown_before_and_with_the_question(stage: Stage, here: Path) -> None:
    path = here / "file.txt"
    path.write_text("one\ntwo\n")
    session = stage.new(here)
    since = len(stage.agent.messages)
    prompt = stage.agent.start_prompt(session, "edit")
    question = stage.agent.expect_request("session/request_permission")
    (shown,) = calls_in(updates_in(stage.agent.messages[since:], session))
    assert shown.statuses == ["pending"]
    assert diffs(question["params"]["toolCall"]) == diffs(shown.first)
    assert shown.diff["newText"] == "one\nzwei\n"
    assert path.read_text() == "one\ntwo\n"
    stage.agent.decide(question, "once")
    assert stage.agent.response(prompt)["result"] == {"stopReason": "end_turn"}


def test_DIFF_05_a_refused_change_is_not_shown_as_done(stage: Stage, here: Path) -> None:
    (here / "file.txt").write_text("one\ntwo\n")
    call = change(stage, here, "edit", permission="deny")
    assert call.statuses == ["pending", "failed"]
    assert diffs(call.now) == []
    assert call.now["title"] == "Edit file.txt"


def test_DIFF_06_one_diff_for_one_file(stage: Stage, here: Path) -> None:
    path = here / "file.txt"
    path.write_text("a b a\nc a\n")
    call = change(stage, here, "all of them")
    assert_diff(call, path, "a b a\nc a\n", "b b b\nc b\n")
    assert call.now["title"] == "Edited file.txt (3 edits)"
    path.write_text("one two\n")
    made = calls_in(stage.prompt(stage.new(here), "two files"))
    assert [call.diff["path"] for call in made] == [str(path), str(here / "other.txt")]


def test_DIFF_06_a_change_too_large_to_show_is_told_in_words(stage: Stage, here: Path) -> None:
    call = change(stage, here, "very much")
    assert diffs(call.first) == diffs(call.now) == []
    assert call.text == "Created file.txt (1500000 bytes, 1 line)."


def test_DIFF_01_a_change_that_cannot_be_has_no_diff(stage: Stage, here: Path) -> None:
    (here / "file.txt").write_text("one\n")
    call = call_in(stage.prompt(stage.new(here), "not there"))
    assert call.statuses == ["pending", "failed"]
    assert diffs(call.first) == diffs(call.now) == []
    assert "old was not found in file.txt" in call.text


def test_DIFF_01_the_path_is_the_file_that_changes_also_behind_a_symbolic_link(stage: Stage, here: Path) -> None:
    (here / "file.txt").write_text("one two\n")
    (here / "link.txt").symlink_to("file.txt")
    call = change(stage, here, "through a link")
    assert_diff(call, here / "file.txt", "one two\n", "one zwei\n")
    assert (here / "link.txt").is_symlink()


def test_DIFF_01_paths_are_spelled_as_the_client_spells_the_working_directory(
    stage: Stage, here: Path, tmp_path: Path
) -> None:
    (here / "file.txt").write_text("one two\n")
    alias = tmp_path / "alias"
    alias.symlink_to(here)
    call = change(stage, alias, "edit")
    assert_diff(call, alias / "file.txt", "one two\n", "one zwei\n")
    assert call.now["locations"] == [{"path": str(alias / "file.txt"), "line": 1}]
