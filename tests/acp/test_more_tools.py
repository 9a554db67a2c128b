"""Tools as a client sees them: moving, deleting, several edits, the web, pictures."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.scripted_editor import ScriptedEditor
from tests.acp.seen import call_in, calls, says, turn
from tests.acp.served import Served, served
from tests.agent import Message
from tests.toolbox.web import Web, answer, moved

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
EDITS = [{"old": "one", "new": "uno"}, {"old": "three", "new": "tre"}]
LOOK = turn("look", calls("view_image", path="pic.png"), says("I see."))


def script(*turns: Message) -> Message:
    return {"turns": [*turns, turn("hi", says("Hello."))]}


@pytest.fixture
def web() -> Iterator[Web]:
    server = Web()
    yield server
    server.close()


def questions(one: Served) -> list[Message]:
    return [m["params"] for m in one.agent.messages if m.get("method") == "session/request_permission"]


def test_several_edits_are_one_diff(tmp_path: Path) -> None:
    with served(tmp_path, script(turn("edit", calls("multi_edit", path="a", edits=EDITS), says("Done.")))) as one:
        (one.workspace / "a").write_text("one\ntwo\nthree\n")
        call = call_in(one.prompt(one.new(), "edit"))
        assert (call.status, call.now["kind"]) == ("completed", "edit")
        assert (call.diff["oldText"], call.diff["newText"]) == ("one\ntwo\nthree\n", "uno\ntwo\ntre\n")
        assert (one.workspace / "a").read_text() == "uno\ntwo\ntre\n"
        assert len(questions(one)) == 1


def test_several_edits_go_through_the_editor_as_one(tmp_path: Path) -> None:
    turns = (
        turn("edit", calls("multi_edit", path="a", edits=EDITS), says("Done.")),
        turn("start", calls("bash", command="sleep 300", background=True), says("Done.")),
        turn("delete", calls("delete_file", path="a"), says("Done.")),
    )
    with served(tmp_path, script(*turns)) as one:
        editor = ScriptedEditor(one.agent, read=True, write=True, terminal=True)
        path, session = one.workspace / "a", one.new()
        path.write_text("saved\n")
        editor.buffers[str(path)] = "one\ntwo\nthree\n"
        assert call_in(editor.prompt(session, "edit")).diff["newText"] == "uno\ntwo\ntre\n"
        assert path.read_text() == "uno\ntwo\ntre\n"
        assert (editor.count("fs/read_text_file"), editor.count("fs/write_text_file")) == (1, 1)
        assert call_in(editor.prompt(session, "start")).text == "Started as job_1."
        editor.buffers[str(path)] = "not saved\n"
        call = call_in(editor.prompt(session, "delete"))
        assert "a has unsaved changes in the editor" in call.text
        assert path.exists()
        assert editor.count("terminal/create") == 0


def test_DIFF_03_a_deletion_says_that_it_is_one(tmp_path: Path) -> None:
    with served(tmp_path, script(turn("delete", calls("delete_file", path="a"), says("Done.")))) as one:
        (one.workspace / "a").write_text("one\n")
        call = call_in(one.prompt(one.new(), "delete"))
        assert (call.status, call.now["kind"]) == ("completed", "delete")
        (asked,) = questions(one)
        for shown in (asked["toolCall"], call.now):
            diff, note = shown["content"]
            assert (diff["oldText"], diff["newText"]) == ("one\n", "")
            assert "a file of 1 line" in note["content"]["text"]
        assert "Delete" in next(o["name"] for o in asked["options"] if o["optionId"] == "session")
        assert not (one.workspace / "a").exists()


def test_a_move_is_judged_at_both_ends(tmp_path: Path) -> None:
    turns = (
        turn("move", calls("move_file", source="a", target="b"), says("Done.")),
        turn("steal", calls("move_file", source=".env", target="c"), says("Done.")),
        turn("away", calls("move_file", source="b", target=str(tmp_path / "away")), says("Done.")),
    )
    config = {"tool_approval": "auto", "permissions": {"deny": ["Read(.env)"]}}
    with served(tmp_path, script(*turns), **config) as one:
        (one.workspace / "a").write_text("one\n")
        (one.workspace / ".env").write_text("secret\n")
        session = one.new()
        call = call_in(one.prompt(session, "move"))
        assert (call.status, call.now["kind"], call.now["title"]) == ("completed", "move", "Moved a to b")
        assert call.now["locations"] == [{"path": str(one.workspace / "b")}]
        assert questions(one) == []
        call = call_in(one.prompt(session, "steal"))
        assert call.status == "failed"
        assert "Read(.env) forbids" in call.text
        call_in(one.prompt(session, "away", permission="deny"))
        assert (one.workspace / "b").exists()
        assert len(questions(one)) == 1


def test_the_web_is_asked_for_unless_a_rule_allows_it(tmp_path: Path, web: Web) -> None:
    web.pages |= {
        "/": answer(b"<h1>Hi</h1><a href=/x>there</a>", "text/html"),
        "/on": moved(f"http://localhost:{web.port}/"),
    }
    turns = (
        turn("fetch", calls("web_fetch", url=web.url), says("Done.")),
        turn("onward", calls("web_fetch", url=f"{web.url}/on"), says("Done.")),
        turn("far", calls("web_fetch", url=f"http://localhost:{web.port}/"), says("Done.")),
        turn("both", [calls("web_fetch", url=web.url)] * 2, says("Done.")),
    )
    config: dict[str, Any] = {
        "tool_approval": "auto",
        "fetch": {"allow_private": ["127.0.0.1", "localhost"]},
        "permissions": {"allow": ["Fetch(domain:127.0.0.1)"]},
    }
    with served(tmp_path, script(*turns), **config) as one:
        session = one.new()
        call = call_in(one.prompt(session, "fetch"))
        assert (call.status, call.now["kind"]) == ("completed", "fetch")
        assert call.text.endswith(f"# Hi\n\n[there]({web.url}/x)")
        assert call_in(one.prompt(session, "onward")).text.endswith("fetch that address.")
        one.prompt(session, "both")
        assert questions(one) == []
        assert call_in(one.prompt(session, "far", permission="session")).status == "completed"
        (asked,) = questions(one)
        names = [option["name"] for option in asked["options"]]
        assert any("Fetch(domain:localhost)" in name for name in names)
        assert call_in(one.prompt(session, "onward")).text.endswith(f"[there](http://localhost:{web.port}/x)")


def test_the_web_without_leave(tmp_path: Path, web: Web) -> None:
    with served(tmp_path, script(turn("fetch", calls("web_fetch", url=web.url), says("Done.")))) as one:
        call = call_in(one.prompt(one.new(), "fetch"))
        assert call.status == "failed"
        assert "127.0.0.1 is in a private network" in call.text
        assert web.asked == []


def test_a_picture_is_shown_to_a_model_that_sees(tmp_path: Path) -> None:
    with served(tmp_path, script(LOOK), model={"vision": True}) as one:
        (one.workspace / "pic.png").write_bytes(PNG)
        session = one.new()
        call = call_in(one.prompt(session, "look"))
        data = base64.b64encode(PNG).decode()
        assert call.now["content"][1]["content"] == {"type": "image", "data": data, "mimeType": "image/png"}
        result, shown = one.read()[-2:]
        assert (result["role"], result["content"]) == ("tool", f"pic.png: image/png, {len(PNG)} bytes")
        assert shown["content"][1] == {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        before = one.last.raw.decode()
        one.prompt(session, "hi")
        assert one.last.raw.decode().startswith(before[: before.rindex("}]")])
        one.agent.call("session/close", {"sessionId": session})
        since = len(one.agent.messages)
        one.agent.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
        again = call_in(u for u in one.agent.updates(session, since) if u["sessionUpdate"].startswith("tool_call"))
        assert again.now["content"] == call.now["content"]
        one.prompt(session, "hi")
        assert one.last.raw.decode().startswith(before[: before.rindex("}]")])


def test_a_picture_in_the_other_api(tmp_path: Path) -> None:
    with served(tmp_path, script(LOOK)) as one:
        provider = {"api": "anthropic-messages", "base_url": one.server.base_url, "models": {"tiny": {"vision": True}}}
        one.home.configure({"default_model": "local/tiny", "providers": {"local": provider}})
        (one.workspace / "pic.png").write_bytes(PNG)
        second = one.start()
        second.prompt(second.new_session(one.workspace), "look")
        second.close()
        *_, last = one.last.body["messages"]
        result, words, shown = last["content"]
        assert (last["role"], result["type"], words["type"]) == ("user", "tool_result", "text")
        assert shown["source"]["data"] == base64.b64encode(PNG).decode()


def test_a_blind_model_is_not_offered_to_look(tmp_path: Path) -> None:
    with served(tmp_path, script(LOOK)) as one:
        (one.workspace / "pic.png").write_bytes(PNG)
        call = call_in(one.prompt(one.new(), "look"))
        assert call.status == "failed"
        assert call.text.startswith("There is no tool named 'view_image'. The tools are: read_file, write_file, ")
        assert "view_image" not in json.dumps(one.last.body["tools"])


def test_the_first_request_is_small(tmp_path: Path) -> None:
    with served(tmp_path, script(), model={"vision": True}) as one:
        one.prompt(one.new(), "hi")
        assert len(one.last.raw) < 14_000
