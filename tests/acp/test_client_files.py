"""Files through the editor: whose text counts, where the bytes end, and what happens when the editor will not."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.conftest import Stage
from tests.acp.scripted_editor import Refused, ScriptedEditor, Silence
from tests.acp.seen import Call, call_in, calls, diffs, says, turn
from tests.acp.served import served
from tests.agent import Agent, Message, updates_in

CONFIG = {"tool_approval": "auto"}
ONE = {"path": "file.txt", "old": "one", "new": "uno"}
EDIT = {"path": "file.txt", "old": "two", "new": "zwei"}
SCRIPT: dict[str, Any] = {
    "turns": [
        turn("do: read", calls("read_file", path="file.txt"), says("Done.")),
        turn("do: edit", calls("edit_file", **EDIT), says("Done.")),
        turn("do: twice", calls("edit_file", **EDIT), calls("edit_file", **ONE), says("Done.")),
        turn("do: overwrite", calls("write_file", path="file.txt", content="new\ntext\n"), says("Done.")),
        turn("do: create", calls("write_file", path="deep/er/new.txt", content="one\ntwo\n"), says("Done.")),
        turn("do: below a file", calls("write_file", path="file.txt/x", content="x"), says("Done.")),
        turn("do: outside", calls("read_file", path="../outside.txt"), says("Done.")),
        turn("do: alter outside", calls("edit_file", **EDIT | {"path": "../outside.txt"}), says("Done.")),
        turn("do: through a link", calls("edit_file", **EDIT | {"path": "link.txt"}), says("Done.")),
        turn("do: directory", calls("read_file", path="."), says("Done.")),
        turn("do: see", says("Seen.")),
    ]
}  # fmt: skip
READ, WRITE, ASK = "fs/read_text_file", "fs/write_text_file", "session/request_permission"
BOTH = [(True, True), (True, False), (False, True), (False, False)]
FLAGS = ["both", "read", "write", "neither"]
NO_TEXT: list[Any] = [None, {}, [], "sorry", {"content": 5}, {"content": None}, {"text": "x"}]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


class Desk:
    """A session, its editor and the file the tests are about."""

    def __init__(self, agent: Agent, here: Path, read: bool = True, write: bool = True) -> None:
        self.editor = ScriptedEditor(agent, read=read, write=write)
        self.session = agent.new_session(here)
        self.path = here / "file.txt"

    def call(self, prompt: str) -> Call:
        return call_in(self.editor.prompt(self.session, f"do: {prompt}"))

    def dirty(self, text: str) -> None:
        self.editor.buffers[str(self.path)] = text

    def counts(self) -> tuple[int, int]:
        """Reads and writes so far."""
        return self.editor.count(READ), self.editor.count(WRITE)

    def written(self) -> list[str]:
        return [params["content"] for params in self.editor.params(WRITE)]


@pytest.fixture
def desk(stage: Stage, here: Path) -> Desk:
    return Desk(stage.agent, here)


# Whose text counts.


@pytest.mark.parametrize(("read", "write"), BOTH, ids=FLAGS)
def test_FS_01_BB_23_a_clean_file_is_edited_with_one_read_and_one_write_at_most(
    stage: Stage, here: Path, read: bool, write: bool
) -> None:
    desk = Desk(stage.agent, here, read, write)
    desk.path.write_text("one\ntwo\n")
    call = desk.call("edit")
    assert call.status == "completed", call.text
    assert desk.path.read_bytes() == b"one\nzwei\n"
    assert desk.counts() == (int(read), int(write))
    assert call.diff == {"type": "diff", "path": str(desk.path), "oldText": "one\ntwo\n", "newText": "one\nzwei\n"}


@pytest.mark.parametrize(("read", "write"), BOTH, ids=FLAGS)
def test_FS_01_FS_02_a_read_goes_through_the_editor_iff_offered(
    stage: Stage, here: Path, read: bool, write: bool
) -> None:
    desk = Desk(stage.agent, here, read, write)
    desk.path.write_text("on the disk\n")
    desk.dirty("in the editor\n")
    call = desk.call("read")
    assert ("in the editor" in call.text) == read
    assert ("on the disk" in call.text) != read
    assert ("not saved yet" in call.text) == read
    expected = [{"sessionId": desk.session, "path": str(desk.path)}] * read
    assert desk.editor.params(READ) == expected  # FS-03: no line, so none that could be wrong


@pytest.mark.parametrize(("read", "write"), BOTH, ids=FLAGS)
def test_FS_04_BB_23_an_edit_of_a_file_with_unsaved_changes_loses_nothing(
    stage: Stage, here: Path, read: bool, write: bool
) -> None:
    desk = Desk(stage.agent, here, read, write)
    desk.path.write_text("one\ntwo\n")
    desk.dirty("zero\none\ntwo\n")
    call = desk.call("edit")
    if read and write:  # the unsaved text is what is edited
        assert desk.path.read_text() == "zero\none\nzwei\n"
        assert call.diff["oldText"] == "zero\none\ntwo\n"
    elif read:  # nothing could be written that the person would not overwrite when they save
        assert call.status == "failed"
        assert "has unsaved changes in the editor" in call.text
        assert "Ask the person to save it" in call.text
        assert call.statuses == ["pending", "failed"]
        assert desk.path.read_text() == "one\ntwo\n"
        assert desk.editor.buffers[str(desk.path)] == "zero\none\ntwo\n"
    else:  # nobody told us
        assert desk.path.read_text() == "one\nzwei\n"


@pytest.mark.parametrize("prompt", ["edit", "overwrite"])
def test_BB_23_once_saved_a_file_can_be_written_by_whom_the_editor_lets_only_read(
    stage: Stage, here: Path, prompt: str
) -> None:
    desk = Desk(stage.agent, here, True, False)
    desk.path.write_text("one\ntwo\n")
    desk.dirty("zero\none\ntwo\n")
    assert desk.call(prompt).status == "failed"
    desk.path.write_text(desk.editor.buffers.pop(str(desk.path)))
    assert desk.call(prompt).status == "completed"
    assert desk.path.read_text() == ("zero\none\nzwei\n" if prompt == "edit" else "new\ntext\n")


def test_BB_23_a_file_that_only_the_editor_has_is_edited_there(desk: Desk) -> None:
    desk.dirty("one\ntwo\n")
    assert desk.call("edit").diff["oldText"] == "one\ntwo\n"
    assert desk.path.read_text() == "one\nzwei\n"


@pytest.mark.parametrize(("read", "write"), BOTH, ids=FLAGS)
def test_FS_06_DIFF_01_a_new_file_is_written_where_it_should_be(
    stage: Stage, here: Path, read: bool, write: bool
) -> None:
    desk = Desk(stage.agent, here, read, write)
    call = desk.call("create")
    assert call.status == "completed", call.text
    assert (here / "deep/er/new.txt").read_bytes() == b"one\ntwo\n"
    assert call.diff["oldText"] is None
    assert desk.counts() == (int(read), int(write))


@pytest.mark.parametrize("missing", [Refused(-32002), Refused(-32603, "ENOENT"), Refused(5), {"content": ""}, None])
def test_FS_06_however_an_editor_says_that_there_is_no_file_a_new_one_is_made(desk: Desk, missing: Any) -> None:
    desk.editor.answers[READ] = missing
    call = desk.call("create")
    assert call.status == "completed", call.text
    assert call.diff["oldText"] is None
    assert desk.written() == ["one\ntwo\n"]
    for prompt in ("edit", "read"):
        call = desk.call(prompt)
        assert call.status == "failed"
        assert "There is no file file.txt" in call.text


@pytest.mark.parametrize("prompt", ["overwrite", "edit"])
def test_FS_05_two_changes_in_a_row_need_a_read_and_a_write_each(desk: Desk, prompt: str) -> None:
    desk.path.write_text("one\ntwo\n")
    desk.call(prompt)
    desk.path.write_text("one\ntwo\n")
    desk.call(prompt)
    assert desk.counts() == (2, 2)


def test_FS_05_the_second_of_two_calls_builds_on_the_first(desk: Desk) -> None:
    desk.path.write_text("one\ntwo\n")
    desk.editor.prompt(desk.session, "do: twice")
    assert desk.path.read_text() == "uno\nzwei\n"
    assert desk.counts() == (2, 2)


def test_FS_02_paths_are_spelled_as_the_client_spells_the_working_directory(
    stage: Stage, here: Path, tmp_path: Path
) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(here)
    desk = Desk(stage.agent, alias)
    (here / "file.txt").write_text("one\ntwo\n")
    call = desk.call("edit")
    asked = desk.editor.params(READ) + desk.editor.params(WRITE)
    assert {params["path"] for params in asked} == {str(alias / "file.txt")}
    assert call.diff["path"] == call.now["locations"][0]["path"] == str(alias / "file.txt")


def test_FS_02_of_a_symbolic_link_the_target_is_asked_for(desk: Desk, here: Path) -> None:
    desk.path.write_text("one\ntwo\n")
    (here / "link.txt").symlink_to("file.txt")
    assert desk.call("through a link").status == "completed"
    assert {params["path"] for params in desk.editor.params(READ) + desk.editor.params(WRITE)} == {str(desk.path)}
    assert (here / "link.txt").is_symlink()


# What text may look like.

SPELLINGS = {
    "crlf": (b"one\r\ntwo\r\nthree\r\n", b"one\r\nzwei\r\nthree\r\n"),
    "mixed": (b"one\r\ntwo\nthree\r\n", b"one\r\nzwei\nthree\r\n"),
    "bom": (codecs.BOM_UTF8 + b"one\ntwo\n", codecs.BOM_UTF8 + b"one\nzwei\n"),
    "bom and crlf": (codecs.BOM_UTF8 + b"one\r\ntwo", codecs.BOM_UTF8 + b"one\r\nzwei"),
    "no last newline": (b"one\ntwo", b"one\nzwei"),
    "lone carriage returns": (b"one\rtwo\r", b"one\rzwei\r"),
    "wide": ("😀 two\u2028\n".encode(), "😀 zwei\u2028\n".encode()),
}


def plain(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize(("before", "after"), SPELLINGS.values(), ids=SPELLINGS.keys())
@pytest.mark.parametrize(("read", "write"), BOTH, ids=FLAGS)
def test_DIFF_04_BB_23_an_editor_that_shows_files_as_they_are_keeps_them_so(
    stage: Stage, here: Path, read: bool, write: bool, before: bytes, after: bytes
) -> None:
    desk = Desk(stage.agent, here, read, write)
    desk.path.write_bytes(before)
    assert desk.call("edit").status == "completed"
    assert desk.path.read_bytes() == after
    assert desk.counts() == (int(read), int(write))


def hides(desk: Desk, show: Callable[[str], str], save: Callable[[Desk, str], None]) -> None:
    """Make the editor one that shows files its own way."""
    desk.editor.answers[READ] = lambda params: {"content": show(Path(params["path"]).read_bytes().decode())}
    desk.editor.answers[WRITE] = lambda params: save(desk, params["content"])


def save_as_is(desk: Desk, content: str) -> None:
    desk.path.write_bytes(content.encode())


def save_in_style(desk: Desk, content: str) -> None:
    """As an editor that knows how the file was: line ends of one kind, the BOM."""
    old = desk.path.read_bytes()
    assert "\r" not in content, "what it would save with line ends of its own"
    new = content.replace("\n", "\r\n") if b"\r\n" in old else content
    new += "\n" if old.endswith(b"\n") and not content.endswith("\n") else ""
    desk.path.write_bytes((codecs.BOM_UTF8 if old.startswith(codecs.BOM_UTF8) else b"") + new.encode())


@pytest.mark.parametrize("name", ["crlf", "mixed", "bom", "bom and crlf", "no last newline", "lone carriage returns"])
def test_DIFF_04_an_editor_that_hides_line_ends_and_saves_what_it_gets_keeps_the_file_as_it_was(
    desk: Desk, name: str
) -> None:
    before, after = SPELLINGS[name]
    hides(desk, plain, save_as_is)
    desk.path.write_bytes(before)
    assert desk.call("edit").status == "completed"
    assert desk.path.read_bytes() == after
    assert len(desk.written()) == (1 if name == "no last newline" else 2)


@pytest.mark.parametrize("name", ["crlf", "bom", "bom and crlf"])
def test_DIFF_04_an_editor_that_hides_line_ends_and_puts_them_back_gets_its_own_spelling(desk: Desk, name: str) -> None:
    before, after = SPELLINGS[name]
    hides(desk, plain, save_in_style)
    desk.path.write_bytes(before)
    assert desk.call("edit").status == "completed"
    assert desk.path.read_bytes() == after
    assert len(desk.written()) == 1


@pytest.mark.parametrize("save", [save_as_is, save_in_style])
def test_DIFF_04_an_editor_that_hides_the_last_newline_keeps_it(desk: Desk, save: Callable[[Desk, str], None]) -> None:
    hides(desk, lambda text: text.removesuffix("\n"), save)
    desk.path.write_bytes(b"one\ntwo\n")
    assert desk.call("edit").status == "completed"
    assert desk.path.read_bytes() == b"one\nzwei\n"


def test_DIFF_04_unsaved_text_without_carriage_returns_goes_back_without_and_is_saved_with(desk: Desk) -> None:
    desk.path.write_bytes(b"one\r\ntwo\r\n")
    desk.dirty("zero\none\ntwo\n")
    desk.editor.answers[WRITE] = lambda params: save_in_style(desk, params["content"])
    assert desk.call("edit").status == "completed"
    assert desk.path.read_bytes() == b"zero\r\none\r\nzwei\r\n"


def test_DIFF_04_an_overwritten_file_keeps_its_line_ends(desk: Desk) -> None:
    desk.path.write_bytes(b"one\r\ntwo\r\n")
    desk.call("overwrite")
    assert desk.written() == ["new\r\ntext\r\n"]


def test_FS_05_an_editor_that_saves_later_is_not_asked_twice(desk: Desk) -> None:
    hides(desk, plain, lambda desk, content: None)
    desk.path.write_bytes(b"one\r\ntwo\r\n")
    assert desk.call("edit").status == "completed"
    assert desk.written() == ["one\nzwei\n"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("é two\n".encode("latin-1"), "é zwei\n".encode("latin-1")),
        ("two\n".encode("utf-16"), codecs.BOM_UTF16_LE + "zwei\n".encode("utf-16-le")),
        (b"two\0", None),
        (b"x" * 5_000_000 + b"two\n", b"x" * 5_000_000 + b"zwei\n"),
    ],
    ids=["latin-1", "utf-16", "binary", "too long for a line"],
)
def test_FS_08_what_is_not_utf_8_or_too_long_never_goes_through_the_editor(
    desk: Desk, before: bytes, after: bytes | None
) -> None:
    desk.path.write_bytes(before)
    call = desk.call("edit")
    assert call.status == ("failed" if after is None else "completed"), call.text
    assert desk.path.read_bytes() == (before if after is None else after)
    desk.call("read")
    assert desk.counts() == (0, 0)


@pytest.mark.parametrize("text", ["bad \ud800 half", "nul \0 inside"])
def test_FS_08_a_text_that_no_file_can_hold_is_refused(desk: Desk, text: str) -> None:
    desk.path.write_text("one\ntwo\n")
    desk.dirty(text)
    assert "cannot be used as text" in desk.call("read").text
    assert desk.call("edit").status == "failed"
    assert desk.path.read_text() == "one\ntwo\n"


def test_FS_08_a_directory_is_not_asked_for(desk: Desk) -> None:
    assert "is a directory" in desk.call("directory").text
    assert desk.counts() == (0, 0)


def test_CONT_10_escapes_in_a_buffer_are_not_shown_to_the_person(desk: Desk) -> None:
    desk.dirty("\x1b[31mred\x1b[0m\n")
    assert "1\tred" in desk.call("read").text


# An editor that will not.


@pytest.mark.parametrize("code", [-32603, -32602, -32000, 5])
@pytest.mark.parametrize("prompt", ["read", "edit", "overwrite"])
def test_FS_06_a_refused_read_is_a_failed_call_that_says_so(desk: Desk, code: int, prompt: str) -> None:
    desk.path.write_text("one\ntwo\n")
    desk.editor.answers[READ] = Refused(code, "The disk\nis on fire.")
    call = desk.call(prompt)
    assert call.statuses[-1] == "failed"
    assert call.text == "file.txt cannot be read: the editor refused: The disk is on fire."
    assert desk.path.read_text() == "one\ntwo\n"
    assert desk.counts() == (1, 0)


@pytest.mark.parametrize("answer", NO_TEXT)
@pytest.mark.parametrize("prompt", ["read", "edit"])
def test_FS_06_an_answer_without_text_is_a_failed_call(desk: Desk, answer: Any, prompt: str) -> None:
    desk.path.write_text("one\ntwo\n")
    desk.editor.answers[READ] = answer
    call = desk.call(prompt)
    assert call.status == "failed"
    assert call.text == "file.txt cannot be read: the editor's answer has no text."
    assert desk.path.read_text() == "one\ntwo\n"
    assert desk.counts() == (1, 0)


def test_FS_06_an_editor_that_cannot_read_after_all_is_as_one_that_does_not_offer_it(desk: Desk) -> None:
    desk.path.write_text("one\ntwo\n")
    desk.editor.answers[READ] = Refused(-32601)
    assert "2\ttwo" in desk.call("read").text
    assert desk.call("edit").status == "completed"
    assert desk.written() == ["one\nzwei\n"]


def test_FS_06_a_file_that_the_editor_does_not_know_is_edited_on_the_disk(desk: Desk) -> None:
    desk.path.write_text("one\ntwo\n")
    desk.editor.answers[READ] = Refused(-32002)
    assert "2\ttwo" in desk.call("read").text
    assert desk.call("edit").status == "completed"
    assert desk.path.read_text() == "one\nzwei\n"
    assert desk.written() == []


@pytest.mark.parametrize("refusal", [Refused(-32603, "outside of the project"), Refused(-32602), {}])
def test_FS_06_outside_of_the_roots_the_disk_stands_in(desk: Desk, tmp_path: Path, refusal: Any) -> None:
    (tmp_path / "outside.txt").write_text("one\ntwo\n")
    desk.editor.answers[READ] = refusal
    assert "2\ttwo" in desk.call("outside").text
    assert desk.call("alter outside").status == "completed"
    assert (tmp_path / "outside.txt").read_text() == "one\nzwei\n"
    assert desk.written() == []
    assert desk.editor.count(ASK) == 2


def test_PERM_06_nothing_is_read_before_the_person_allows_it(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("secret\n")
    desk.editor.permission = "deny"
    assert "secret" not in desk.call("outside").text
    assert desk.counts() == (0, 0)


def test_PERM_06_what_a_rule_forbids_is_not_even_asked_for(agent: Any, home: Any, here: Path) -> None:
    rules = {"deny": ["edit_file(file.txt)", "read_file(file.txt)"]}
    home.use_script(SCRIPT, tool_approval="yolo", permissions=rules)
    desk = Desk(agent(), here)
    desk.path.write_text("one\ntwo\n")
    titles = {"read": "Read file.txt", "edit": "edit_file file.txt", "overwrite": "write_file file.txt"}
    for prompt, title in titles.items():
        call = desk.call(prompt)
        assert (call.now["title"], call.status) == (title, "failed")
        assert "Not allowed: " in call.text
    assert desk.counts() == (0, 0)


@pytest.mark.parametrize("text", ["one\ntwo\n", "one\ntwo two\n", "none\n"])
def test_PERM_06_a_change_that_does_not_fit_tells_nothing_of_a_file_that_may_not_be_read(
    desk: Desk, tmp_path: Path, text: str
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text(text)
    desk.editor.permission = "deny"
    call = desk.call("alter outside")
    assert call.status == "failed"
    assert "found" not in call.text
    if text.count("two") != 1:
        assert call.text == (
            f"The call does not fit what is in {outside}, which may not be told without asking. Read it first."
        )


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Refused(-32603, "Buffer is read-only."), "the editor refused: Buffer is read-only."),
        (Refused(-32601), "the editor offers this but cannot do it."),
        (Refused(-32002), "the editor has no such file."),
        (Refused(-32000), "the editor refused: no."),
        ("Permission denied", "the editor refused: Permission denied."),
    ],
)
@pytest.mark.parametrize("prompt", ["edit", "create"])
def test_FS_05_a_refused_write_is_a_failed_call_and_never_a_silent_one(
    desk: Desk, here: Path, prompt: str, answer: Any, words: str
) -> None:
    desk.path.write_text("one\ntwo\n")
    desk.editor.answers[WRITE] = answer
    call = desk.call(prompt)
    assert call.status == "failed"
    name = "file.txt" if prompt == "edit" else "deep/er/new.txt"
    assert call.text == f"{name} was not written: {words}"
    assert desk.path.read_text() == "one\ntwo\n"
    assert not (here / "deep").exists()
    assert diffs(call.now) == []
    assert desk.counts() == (1, 1)


@pytest.mark.parametrize("answer", [None, {}, {"_meta": {"x": 1}}])
def test_FS_07_null_and_an_object_mean_that_it_was_written(desk: Desk, answer: Any) -> None:
    desk.path.write_text("one\ntwo\n")
    desk.editor.answers[WRITE] = answer
    assert desk.call("edit").status == "completed"


@pytest.mark.parametrize("answer", [5, True, ["ok"]])
def test_FS_07_an_answer_that_makes_no_sense_leaves_it_in_doubt(desk: Desk, answer: Any) -> None:
    desk.path.write_text("one\ntwo\n")
    desk.editor.answers[WRITE] = answer
    call = desk.call("edit")
    assert call.status == "failed"
    assert "It is not known whether file.txt was written" in call.text


def test_FS_05_a_path_below_a_file_is_refused_before_anybody_is_asked(desk: Desk) -> None:
    desk.path.write_text("x")
    desk.editor.answers[READ] = Refused(-32603)
    assert "a part of its path is a file" in desk.call("below a file").text
    assert desk.counts()[1] == 0


# What happens meanwhile. `auto` asks nothing, so these are sessions that ask.


@pytest.fixture
def impatient(tmp_path: Path) -> Iterator[Callable[..., Agent]]:
    """Agents that ask, and for which time runs differently: `impatient(FRESH_SECONDS=0)`."""
    stages: list[Agent] = []

    def start(**times: float) -> Agent:
        made = Stage.__new__(Stage)
        folder = tmp_path / f"impatient{len(stages)}"
        folder.mkdir()
        Stage.__init__(made, folder, SCRIPT, {"tool_approval": "ask"})
        made.agent.close()
        code = "from acpagent.acp.v1 import client_files\nfrom acpagent.toolbox import texts\n"
        for name, value in times.items():
            code += f"{'texts' if name.startswith('FRESH') else 'client_files'}.{name} = {value}\n"
        code += "import sys\nfrom acpagent.cli.main import main\nsys.argv[1:] = ['acp']\nsys.exit(main())"
        agent = Agent([sys.executable, "-c", code], cwd=made.home.path, env=made.home.env)
        stages.append(agent)
        return agent

    yield start
    for agent in stages:
        agent.close()


def test_FS_09_after_a_long_question_the_file_is_read_again(impatient: Callable[..., Agent], here: Path) -> None:
    desk = Desk(impatient(FRESH_SECONDS=0), here)
    desk.path.write_text("one\ntwo\n")
    assert desk.call("edit").status == "completed"
    assert desk.counts() == (2, 1)


def test_FS_09_text_typed_during_a_long_question_is_not_lost(impatient: Callable[..., Agent], here: Path) -> None:
    desk = Desk(impatient(FRESH_SECONDS=0), here)
    desk.path.write_text("one\ntwo\n")

    def typing(_: Message) -> str:
        desk.dirty("zero\none\ntwo\n")
        return "once"

    desk.editor.permission = typing
    call = desk.call("edit")
    assert call.status == "failed"
    assert "changed since this call was made" in call.text
    assert desk.editor.buffers == {str(desk.path): "zero\none\ntwo\n"}
    assert desk.counts() == (2, 0)


def test_FS_09_saving_during_a_long_question_changes_nothing(impatient: Callable[..., Agent], here: Path) -> None:
    desk = Desk(impatient(FRESH_SECONDS=0), here)
    desk.path.write_bytes(b"one\r\ntwo\r\n")
    desk.dirty("zero\r\none\r\ntwo\r\n")

    def saving(_: Message) -> str:
        desk.path.write_bytes(desk.editor.buffers.pop(str(desk.path)).encode())
        return "once"

    desk.editor.permission = saving
    assert desk.call("edit").status == "completed"
    assert desk.path.read_bytes() == b"zero\r\none\r\nzwei\r\n"


@pytest.mark.parametrize(("read", "write"), BOTH, ids=FLAGS)
@pytest.mark.parametrize("prompt", ["edit", "create"])
def test_FS_09_BB_23_what_another_program_writes_during_a_short_question_is_not_lost(
    impatient: Callable[..., Agent], here: Path, read: bool, write: bool, prompt: str
) -> None:
    desk = Desk(impatient(FRESH_SECONDS=60), here, read, write)
    desk.path.write_text("one\ntwo\n")
    target = desk.path if prompt == "edit" else here / "deep/er/new.txt"

    def meanwhile(_: Message) -> str:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("theirs\n")
        return "once"

    desk.editor.permission = meanwhile
    call = desk.call(prompt)
    assert call.status == "failed"
    assert "changed since this call was made" in call.text
    assert target.read_text() == "theirs\n"
    assert desk.written() == []


@pytest.mark.parametrize("fresh", [0, 60])
def test_FS_09_of_two_sessions_that_edit_one_file_the_second_is_told(
    impatient: Callable[..., Agent], here: Path, fresh: float
) -> None:
    agent = impatient(FRESH_SECONDS=fresh)
    one, other = Desk(agent, here), Desk(agent, here)
    one.path.write_text("one\ntwo\n")
    prompts = [agent.start_prompt(desk.session, "do: edit") for desk in (one, other)]
    questions = [one.editor.serve(prompt, until=ASK) for prompt in prompts]
    for question in questions:
        agent.decide(question, "once")
    for prompt in prompts:
        one.editor.serve(prompt)
    ended = [call_in(agent.updates(desk.session)) for desk in (one, other)]
    assert sorted(call.status for call in ended) == ["completed", "failed"]
    assert "changed since" in "".join(call.text for call in ended)
    assert one.path.read_text() == "one\nzwei\n"


def test_FS_06_an_editor_that_never_answers_a_read_is_given_up(impatient: Callable[..., Agent], here: Path) -> None:
    agent = impatient(READ_SECONDS=0.2)
    desk = Desk(agent, here)
    desk.path.write_text("one\ntwo\n")
    desk.editor.answers[READ] = Silence()
    for prompt in ("read", "edit", "create"):
        call = desk.call(prompt)
        assert call.status == "failed"
        assert "cannot be read: the editor did not answer within 0.2 s." in call.text
    withdrawn = [m["params"]["requestId"] for m in agent.messages if m.get("method") == "$/cancel_request"]
    assert withdrawn == [request["id"] for request in desk.editor.asked]  # CAN-08
    assert desk.path.read_text() == "one\ntwo\n"


@pytest.mark.parametrize("late", [False, True])
def test_FS_05_an_editor_that_never_answers_a_write_leaves_it_in_doubt(
    impatient: Callable[..., Agent], here: Path, late: bool
) -> None:
    agent = impatient(WRITE_SECONDS=1)
    desk = Desk(agent, here)
    desk.path.write_text("one\ntwo\n")
    desk.editor.answers[WRITE] = Silence()
    call = desk.call("edit")
    assert call.status == "failed"
    assert "It is not known whether file.txt was written: the editor did not answer within 1 s." in call.text
    if late:
        agent.reply(desk.editor.asked[-1], None)
    desk.editor.answers.clear()
    assert desk.call("edit").status == "completed"
    assert desk.path.read_text() == "one\nzwei\n"


# Cancelling.


@pytest.mark.parametrize("method", [READ, WRITE])
@pytest.mark.parametrize("answer", ["never", "late", "refused late"])
def test_CAN_01_CAN_07_a_prompt_cancelled_while_the_editor_is_asked(
    desk: Desk, stage: Stage, method: str, answer: str
) -> None:
    agent = stage.agent
    desk.path.write_text("one\ntwo\n")
    prompt = agent.start_prompt(desk.session, "do: edit")
    request = desk.editor.serve(prompt, until=method)
    since = len(agent.messages)
    agent.notify("session/cancel", {"sessionId": desk.session})
    assert agent.response(prompt, timeout=20)["result"] == {"stopReason": "cancelled"}
    after = agent.messages[since:]
    assert [m["params"] for m in after if m.get("method") == "$/cancel_request"] == [{"requestId": request["id"]}]
    assert not [m for m in after if m.get("method", "").startswith(("fs/", "terminal/"))]
    assert call_in(agent.updates(desk.session)).status == "failed"
    if answer == "late":
        agent.reply(request, {"content": "late\n"} if method == READ else None)
    elif answer == "refused late":
        agent.refuse(request, -32800)
    assert desk.path.read_text() == "one\ntwo\n"
    assert call_in(desk.editor.prompt(desk.session, "do: edit")).status == "completed"
    assert desk.path.read_text() == "one\nzwei\n"


@pytest.mark.parametrize("method", [READ, WRITE])
def test_BB_21_the_editor_goes_while_it_is_asked(agent: Any, home: Any, here: Path, method: str) -> None:
    home.use_script(SCRIPT, tool_approval="auto")
    desk = Desk(agent(), here)
    desk.path.write_text("one\ntwo\n")
    prompt = desk.editor.agent.start_prompt(desk.session, "do: edit")
    desk.editor.serve(prompt, until=method)
    desk.editor.agent.close_stdin()
    assert desk.editor.agent.wait_exit() == 0
    assert desk.path.read_text() == "one\ntwo\n"


# What a prompt links to.


def test_CONT_03_links_and_mentions_are_read_through_the_editor(stage: Stage, desk: Desk, here: Path) -> None:
    desk.path.write_text("on the disk\n")
    desk.dirty("in the editor\n")
    link = {"type": "resource_link", "uri": f"file://{desk.path}", "name": "f"}
    new = {"type": "resource_link", "uri": f"file://{here}/unsaved.txt", "name": "unsaved"}
    desk.editor.buffers[str(here / "unsaved.txt")] = "only there\n"
    desk.editor.prompt(desk.session, [{"type": "text", "text": "do: see @file.txt and @nobody"}, link, new])
    paths = [params["path"] for params in desk.editor.params(READ)]
    assert paths == [str(desk.path), str(desk.path), str(here / "unsaved.txt")]


def test_CONT_03_the_model_hears_what_the_editor_has(tmp_path: Path) -> None:
    with served(tmp_path / "served", {"turns": [turn("see", says("Seen."))]}) as made:
        desk = Desk(made.agent, made.workspace)
        desk.path.write_text("on the disk\n")
        desk.dirty("\x1b[31min the editor\n")
        link = {"type": "resource_link", "uri": f"file://{desk.path}", "name": "f"}
        desk.editor.prompt(desk.session, [{"type": "text", "text": "see @file.txt"}, link])
        assert made.heard().count("in the editor\n") == 2
        assert "on the disk" not in made.heard()


@pytest.mark.parametrize("answer", [Refused(-32603), Refused(-32002), None])
def test_CONT_03_a_link_that_the_editor_does_not_open_ends_no_prompt(desk: Desk, here: Path, answer: Any) -> None:
    desk.path.write_text("on the disk\n")
    desk.editor.answers[READ] = answer
    links = [{"type": "resource_link", "uri": f"file://{here}/{name}", "name": "f"} for name in ("file.txt", "no.txt")]
    desk.editor.prompt(desk.session, [{"type": "text", "text": "do: see"}, *links])


def test_CONT_03_an_editor_that_does_not_answer_is_asked_for_one_link_only(
    impatient: Callable[..., Agent], here: Path
) -> None:
    desk = Desk(impatient(READ_SECONDS=0.2), here)
    desk.path.write_text("on the disk\n")
    desk.editor.answers[READ] = Silence()
    link = {"type": "resource_link", "uri": f"file://{desk.path}", "name": "f"}
    desk.editor.prompt(desk.session, [{"type": "text", "text": "do: see @file.txt"}, link, link, link])
    assert desk.counts() == (1, 0)


def test_CONT_03_a_prompt_can_be_cancelled_while_its_links_are_read(desk: Desk, stage: Stage) -> None:
    desk.path.write_text("x")
    link = {"type": "resource_link", "uri": f"file://{desk.path}", "name": "f"}
    prompt = stage.agent.start_prompt(desk.session, [{"type": "text", "text": "do: see"}, link])
    desk.editor.serve(prompt, until=READ)
    stage.agent.notify("session/cancel", {"sessionId": desk.session})
    assert stage.agent.response(prompt, timeout=20)["result"] == {"stopReason": "cancelled"}
    assert not updates_in(stage.agent.messages, "nobody")
