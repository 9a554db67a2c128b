"""Going back to before an earlier prompt: the model forgets what came since, and files come back all or not at all."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.acp.editor import READ, WRITE, Editor, Refusal
from tests.acp.long_model import LongModel
from tests.agent import Message, text_in
from tests.conftest import Home, StartAgent
from tests.model_server import ModelServer

Serve = Callable[..., ModelServer]


def write(path: str, content: str) -> Message:
    return {"tool": "write_file", "args": {"path": path, "content": content}}


def run(command: str) -> Message:
    return {"tool": "bash", "args": {"command": command}}


PLAN: dict[int, Message | str] = {
    1: "Hello.",
    2: write("made.txt", "made\n"),
    3: write("README.md", "changed\n"),
    4: {"tool": "edit_file", "args": {"path": "tool.sh", "old": "one", "new": "two"}},
    5: {"tool": "delete_file", "args": {"path": "gone.bin"}},
    6: {"tool": "move_file", "args": {"source": "old.txt", "target": "sub/new.txt"}},
    7: write("README.md", "changed again\n"),
}


class Trial:
    """A session in a workspace with files of several kinds."""

    def __init__(self, agent: StartAgent, serve: Serve, workspace: Path, plan: dict[int, Message | str]) -> None:
        self.workspace, self.start = workspace, agent
        (workspace / "tool.sh").write_bytes(b"#!/bin/sh\r\necho one\r\n")
        (workspace / "tool.sh").chmod(0o755)
        (workspace / "gone.bin").write_bytes(bytes(range(256)))
        (workspace / "gone.bin").chmod(0o640)
        (workspace / "old.txt").write_text("old\n")
        self.model = LongModel(64_000, plan, filling=20)
        serve(self.model, model={"context_window": 64_000}, tool_approval="yolo", compaction={"keep": 0.001})
        self.one = agent()
        self.session = self.one.new_session(workspace)

    def step(self, *numbers: int) -> None:
        for number in numbers:
            _, answer = self.one.prompt(self.session, f"step {number}", permission="once")
            assert answer["result"] == {"stopReason": "end_turn"}

    def says(self, words: str) -> str:
        updates, answer = self.one.prompt(self.session, words)
        assert answer["result"] == {"stopReason": "end_turn"}
        return text_in(updates)

    def files(self) -> dict[str, tuple[bytes, int]]:
        found = {}
        for folder, _, names in os.walk(self.workspace):
            for name in names:
                path = Path(folder, name)
                found[str(path.relative_to(self.workspace))] = (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        return found

    def read(self) -> str:
        """What the model reads at the next prompt."""
        self.step(99)
        assert self.model.faults == []
        return json.dumps(self.model.seen)

    def load(self) -> list[Message]:
        """Another process opens the session; what it shows."""
        self.one.close()
        self.one = self.start()
        self.one.initialize()
        asked = {"sessionId": self.session, "cwd": str(self.workspace), "mcpServers": []}
        self.one.call("session/load", asked)
        return self.one.updates(self.session)


@pytest.fixture
def trial(agent: StartAgent, serve: Serve, workspace: Path) -> Trial:
    return Trial(agent, serve, workspace, PLAN)


def test_prompts_are_listed_and_what_came_since_is_forgotten(trial: Trial) -> None:
    trial.step(1, 2, 3)
    listed = trial.says("/rewind")
    assert re.findall(r"^- (\d)\. `turn_\w+` [\d-]+ [\d:]+ step (\d)$", listed, re.MULTILINE) == [
        ("1", "1"), ("2", "2"), ("3", "3"),
    ]  # fmt: skip
    assert "goes on from before: step 2" in trial.says("/rewind 2")
    read = trial.read()
    assert "step 1" in read
    assert "step 2" not in read
    assert "step 3" not in read
    assert "/rewind" not in read
    assert (trial.workspace / "README.md").read_text() == "changed\n"


def test_a_prompt_is_named_by_its_id_and_no_other_word(trial: Trial) -> None:
    trial.step(1, 2)
    (found,) = re.findall(r"^- 2\. `(turn_\w+)`", trial.says("/rewind"), re.MULTILINE)
    for words in ("9", "turn_", "x" * 9, "1 2", "--all"):
        assert "There is no" in trial.says(f"/rewind {words}")
    assert "goes on" in trial.says(f"/rewind {found}")
    assert "step 2" not in trial.read()


def test_LOAD_the_live_branch_is_what_is_loaded(trial: Trial) -> None:
    trial.step(1, 2, 3)
    trial.says("/rewind 3")
    trial.step(4)
    trial.says("/rewind 2")
    trial.step(5)
    replayed = trial.load()
    said = [u["content"]["text"] for u in replayed if u["sessionUpdate"] == "user_message_chunk"]
    assert [words for words in said if words.startswith("step")] == ["step 1", "step 5"]
    read = json.loads(trial.read())
    assert [message["content"] for message in read if message["role"] == "user"][1:] == ["step 5", "step 99"]


def test_files_come_back_with_their_exact_bytes_and_modes(trial: Trial) -> None:
    trial.step(1)
    before = trial.files()
    trial.step(2, 3, 4, 5, 6, 7)
    after = trial.files()
    assert after != before
    said = trial.says("/rewind 2 --files")
    assert "These files are as they were then" in said
    assert trial.files() == before
    assert not [name for name in os.listdir(trial.workspace) if name.startswith(".acpagent-")]
    # And once more, over what was rewound.
    trial.step(3, 7)
    trial.says("/rewind 2 --files")
    assert trial.files() == before


def test_part_of_the_way_back(trial: Trial) -> None:
    trial.step(1, 2, 3)
    before = trial.files()
    trial.step(7, 5)
    trial.says("/rewind 4 --files")
    assert trial.files() == before
    trial.load()
    trial.says("/rewind 1 --files")
    assert (trial.workspace / "README.md").read_text().startswith("# Greeter")
    assert not (trial.workspace / "made.txt").exists()


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda folder: (folder / "README.md").write_text("mine\n"), "something else since"),
        (lambda folder: (folder / "gone.bin").write_bytes(b"new"), "something else since"),
        (lambda folder: (folder / "tool.sh").unlink(), "something else since"),
        (lambda folder: _as_link(folder / "README.md"), "no regular file"),
    ],
)
def test_it_is_refused_as_a_whole_where_a_file_changed_meanwhile(
    trial: Trial, spoil: Callable[[Path], Any], why: str
) -> None:
    trial.step(1, 2, 3, 4, 5)
    spoil(trial.workspace)
    before = trial.files()
    said = trial.says("/rewind 2 --files")
    assert "Nothing was changed" in said
    assert why in said
    assert trial.files() == before
    assert "step 5" in trial.read()


def _as_link(path: Path) -> None:
    path.rename(path.with_suffix(".moved"))
    path.symlink_to(path.with_suffix(".moved"))


def test_what_commands_changed_comes_back_where_it_is_known(agent: StartAgent, serve: Serve, workspace: Path) -> None:
    plan: dict[int, Message | str] = {
        1: "Hello.",
        2: run("echo more >> README.md && echo new > created.txt"),
        3: write("README.md", "all new\n"),
        4: run("rm old.txt"),
    }
    trial = Trial(agent, serve, workspace, plan)
    trial.step(1)
    before = trial.files()
    trial.step(2, 3)
    assert "goes on" in trial.says("/rewind 2 --files")
    assert trial.files() == before
    trial.step(4)
    after = trial.files()
    assert "its permissions are not known" in trial.says("/rewind 2 --files")
    assert trial.files() == after


def test_what_the_person_changed_between_is_not_lost(trial: Trial) -> None:
    trial.step(1, 3)
    (trial.workspace / "README.md").write_text("the person's\n")
    trial.step(7)
    before = trial.files()
    assert "between two changes" in trial.says("/rewind 2 --files")
    assert trial.files() == before
    assert "goes on" in trial.says("/rewind 3 --files")
    assert (trial.workspace / "README.md").read_text() == "the person's\n"


def test_a_failure_on_the_way_leaves_everything_as_it_was(trial: Trial) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    trial.step(1, 2, 3, 6)
    before = trial.files()
    (trial.workspace / "sub").chmod(0o555)
    try:
        assert "could not be brought back" in trial.says("/rewind 2 --files")
        assert trial.files() == before
    finally:
        (trial.workspace / "sub").chmod(0o755)
    assert "step 6" in trial.read()


def test_old_contents_are_private_and_go_with_the_session(trial: Trial, home: Home) -> None:
    trial.step(1, 3, 5)
    kept = [path for path in (home.path / "contents").rglob("*") if path.is_file()]
    assert len(kept) == 2
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o600}
    trial.one.call("session/delete", {"sessionId": trial.session})
    assert [path for path in (home.path / "contents").rglob("*") if path.is_file()] == []


def test_a_checkpoint_is_a_place_to_go_back_to(agent: StartAgent, serve: Serve, workspace: Path) -> None:
    trial = Trial(agent, serve, workspace, {n: f"Said {n}." for n in range(20)})
    trial.step(1, 2, 3)
    assert "was summarised" in trial.says("/compact")
    (found,) = re.findall(r"^- `(compaction_\w+)`", trial.says("/rewind"), re.MULTILINE)
    assert "Nothing came after" in trial.says(f"/rewind {found}")
    trial.step(4, 5)
    assert "from that checkpoint" in trial.says(f"/rewind {found}")
    read = trial.read()
    assert "conversation-summary" in read
    assert "step 4" not in read


def test_rewinding_before_a_summary_brings_the_words_back(agent: StartAgent, serve: Serve, workspace: Path) -> None:
    trial = Trial(agent, serve, workspace, {n: f"Said the word number {n}." for n in range(20)})
    trial.step(1, 2, 3, 4)
    assert "was summarised" in trial.says("/compact")
    assert "word number 2" not in trial.read()
    trial.says("/rewind 4")
    read = trial.read()
    assert "word number 3" in read
    assert "conversation-summary" not in read


def test_usage_follows_and_cost_stays(trial: Trial) -> None:
    trial.step(1, 2, 3)
    updates, _ = trial.one.prompt(trial.session, "/rewind 2")
    (now,) = [update for update in updates if update["sessionUpdate"] == "usage_update"]
    before = [u["used"] for u in trial.one.updates(trial.session) if u["sessionUpdate"] == "usage_update"]
    trial.says("/budget")
    assert before
    replayed = [u for u in trial.load() if u["sessionUpdate"] == "usage_update"]
    assert len(replayed) == 1
    assert replayed[0]["used"] == now["used"] < max(before)


def test_open_todo_entries_and_goal_follow(agent: StartAgent, serve: Serve, workspace: Path) -> None:
    todo = {"tool": "todo_write", "args": {"todos": [{"content": "a thing", "status": "pending"}]}}
    trial = Trial(agent, serve, workspace, {1: "Hello.", 2: todo})
    trial.step(1, 2)
    updates, _ = trial.one.prompt(trial.session, "/rewind 2")
    plans = [update["entries"] for update in updates if update["sessionUpdate"] == "plan"]
    assert plans == [[]]


def test_a_session_that_begins_has_nothing_to_go_back_to(trial: Trial) -> None:
    assert "nothing to go back to" in trial.says("/rewind")


def test_the_prompt_that_was_left_is_shown_to_be_sent_again(trial: Trial) -> None:
    trial.step(1)
    words = "step 2\nwith ```` fences ````\nand  more" + " words" * 50
    link = {"type": "resource_link", "uri": "file:///some/notes.txt", "name": "notes"}
    _, answer = trial.one.prompt(trial.session, [{"type": "text", "text": words}, link], permission="once")
    assert answer["result"] == {"stopReason": "end_turn"}
    said = trial.says("/rewind 2")
    assert f"`````text\n{words}\n`````" in said
    assert "`file:///some/notes.txt`" in said


def folder_plan(*calls: Message) -> dict[int, Message | str]:
    return {1: "Hello.", **dict(enumerate(calls, 2))}


def test_folders_come_back_with_all_that_was_in_them(agent: StartAgent, serve: Serve, workspace: Path) -> None:
    inner = workspace / "whole" / "inner"
    inner.mkdir(parents=True)
    (inner / "run.sh").write_bytes(b"#!/bin/sh\r\n")
    (inner / "run.sh").chmod(0o750)
    (workspace / "whole" / "data.bin").write_bytes(bytes(range(256)) * 40_000)  # 10 MB
    calls = [
        {"tool": "move_file", "args": {"source": "whole", "target": "else/where"}},
        {"tool": "edit_file", "args": {"path": "else/where/inner/run.sh", "old": "bin", "new": "usr/bin"}},
        {"tool": "delete_file", "args": {"path": "else/where", "recursive": True}},
    ]
    trial = Trial(agent, serve, workspace, folder_plan(*calls))
    trial.step(1)
    before = trial.files()
    trial.step(2)
    moved = trial.files()
    assert "else/where/inner/run.sh" in moved
    trial.step(3, 4)
    assert not [name for name in trial.files() if name.startswith(("whole", "else"))]
    trial.says("/rewind 3 --files")
    assert trial.files() == moved
    trial.says("/rewind 2 --files")
    assert trial.files() == before


def test_a_link_in_a_folder_stands_in_the_way(agent: StartAgent, serve: Serve, workspace: Path) -> None:
    (workspace / "whole").mkdir()
    (workspace / "whole" / "file.txt").write_text("x")
    (workspace / "whole" / "link").symlink_to(workspace)
    calls = [{"tool": "delete_file", "args": {"path": "whole", "recursive": True}}]
    trial = Trial(agent, serve, workspace, folder_plan(*calls))
    trial.step(1, 2)
    before = trial.files()
    said = trial.says("/rewind 2 --files")
    assert "`whole/link`: it is no regular file" in said
    assert trial.files() == before


class Edited:
    """A trial whose files the client keeps."""

    def __init__(self, agent: StartAgent, serve: Serve, workspace: Path) -> None:
        self.trial = Trial(agent, serve, workspace, PLAN)
        one = self.trial.one
        one.call("session/close", {"sessionId": self.trial.session})
        self.editor = Editor(one, reads=True, writes=True)
        one.initialize({"fs": {"readTextFile": True, "writeTextFile": True}})
        self.trial.session = one.new_session(workspace)
        self.readme = workspace / "README.md"
        self.path = str(self.readme)

    def prompt(self, words: str) -> str:
        updates, answer = self.editor.turn(self.trial.session, words)
        assert answer["result"] == {"stopReason": "end_turn"}
        return text_in(updates)


@pytest.fixture
def edited(agent: StartAgent, serve: Serve, workspace: Path) -> Edited:
    return Edited(agent, serve, workspace)


def test_what_the_editor_has_saved_comes_back(edited: Edited) -> None:
    before = edited.trial.files()
    edited.prompt("step 3")
    assert edited.readme.read_text() == "changed\n"
    edited.prompt("/rewind 1 --files")
    assert edited.trial.files() == before


def test_unsaved_text_is_never_written_over(edited: Edited) -> None:
    edited.prompt("step 3")
    edited.editor.buffers[edited.path] = "the person goes on\n"
    said = edited.prompt("/rewind 1 --files")
    assert "`README.md`: the editor has changes of it that are not saved" in said
    assert edited.readme.read_text() == "changed\n"
    edited.editor.buffers.clear()
    edited.prompt("/rewind 1 --files")
    assert edited.readme.read_text().startswith("# Greeter")


def test_an_editor_that_does_not_say_is_no_yes(edited: Edited) -> None:
    edited.prompt("step 3")

    def refuse(request: Message, params: Message) -> Any:
        raise Refusal(-32603, "busy")

    edited.editor.handlers[READ] = refuse
    assert "or does not say" in edited.prompt("/rewind 1 --files")
    assert edited.readme.read_text() == "changed\n"


def test_text_that_was_in_the_editor_alone_is_not_taken_for_what_the_file_held(edited: Edited) -> None:
    edited.editor.buffers[edited.path] = "typed and not saved\n"
    edited.prompt("step 3")  # is written over it, and saved
    said = edited.prompt("/rewind 1 --files")
    assert "had text of it that was not saved when acpagent changed it" in said
    assert edited.readme.read_text() == "changed\n"


def test_a_change_that_the_editor_keeps_to_itself_cannot_come_back(edited: Edited) -> None:
    def keep(request: Message, params: Message) -> Any:
        edited.editor.buffers[params["path"]] = params["content"]
        return {}

    edited.editor.handlers[WRITE] = keep
    before = edited.readme.read_text()
    edited.prompt("step 3")
    said = edited.prompt("/rewind 1 --files")
    assert "Nothing was changed" in said
    assert edited.readme.read_text() == before
    assert edited.editor.buffers[edited.path] == "changed\n"
