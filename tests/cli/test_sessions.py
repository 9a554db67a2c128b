"""`acpagent sessions`: there and back again."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.cli.terminals import Terminal, call
from tests.conftest import Home, StartAgent


@pytest.fixture
def stored(home: Home, workspace: Path, tmp_path: Path) -> Home:
    """Two sessions in two folders."""
    home.use_script("hello.yaml")
    for prompt, folder in (("First of all", workspace), ("Second to none", tmp_path)):
        assert call(["run", prompt], home.env, folder).returncode == 0
    return home


def listed(home: Home, folder: Path, *flags: str) -> list[dict[str, str]]:
    done = call(["sessions", "list", "--json", *flags], home.env, folder)
    assert (done.returncode, done.stderr) == (0, "")
    found: list[dict[str, str]] = json.loads(done.stdout)
    return found


def test_list(stored: Home, workspace: Path, tmp_path: Path) -> None:
    done = call(["sessions", "list"], stored.env, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    header, newest, oldest = done.stdout.splitlines()
    assert header.split() == ["ID", "UPDATED", "FOLDER", "TITLE"]
    assert newest.endswith(f"  {tmp_path}{' ' * (len(str(workspace)) - len(str(tmp_path)))}  Second to none")
    assert oldest.endswith(f"  {workspace}  First of all")


def test_list_as_json(stored: Home, workspace: Path, tmp_path: Path) -> None:
    newest, oldest = listed(stored, tmp_path)
    assert [one["title"] for one in (newest, oldest)] == ["Second to none", "First of all"]
    assert set(newest) == {"id", "updated", "cwd", "title"}
    assert oldest["cwd"] == str(workspace)
    assert listed(stored, tmp_path, "--cwd", str(workspace)) == [oldest]
    assert listed(stored, workspace, "--cwd", ".") == [oldest]


def test_none(home: Home, tmp_path: Path) -> None:
    assert listed(home, tmp_path) == []
    done = call(["sessions", "list"], home.env, tmp_path)
    assert (done.returncode, done.stdout) == (0, "No sessions are stored.\n")


def test_delete(stored: Home, tmp_path: Path) -> None:
    newest, oldest = listed(stored, tmp_path)
    short = call(["sessions", "delete", newest["id"][:8]], stored.env, tmp_path)
    assert (short.returncode, short.stdout) == (2, "")
    assert f"give its whole id: {newest['id']}" in short.stderr
    done = call(["sessions", "delete", newest["id"]], stored.env, tmp_path)
    assert (done.returncode, done.stdout) == (0, f"Deleted {newest['id']}.\n")
    assert listed(stored, tmp_path) == [oldest]
    again = call(["sessions", "delete", newest["id"]], stored.env, tmp_path)
    assert again.returncode == 2
    assert f"there is no session {newest['id']}" in again.stderr


def test_a_session_in_use_stays(stored: Home, workspace: Path, tmp_path: Path, agent: StartAgent) -> None:
    oldest = listed(stored, tmp_path, "--cwd", str(workspace))[0]
    editor = agent()
    editor.initialize()
    editor.call("session/load", {"sessionId": oldest["id"], "cwd": str(workspace), "mcpServers": []})
    done = call(["sessions", "delete", oldest["id"]], stored.env, tmp_path)
    assert done.returncode == 1
    assert "in use by process" in done.stderr
    assert len(listed(stored, tmp_path)) == 2


def test_lines_fit_a_terminal(home: Home, tmp_path: Path) -> None:
    home.use_script("hello.yaml")
    assert call(["run", "word " * 30], home.env, tmp_path).returncode == 0
    with Terminal(["sessions", "list"], home.env, tmp_path) as terminal:
        code, shown = terminal.end()
    assert code == 0
    assert all(len(line) < 90 for line in shown.splitlines()[1:])
    assert "…" in shown


EDIT = {"call": {"tool": "edit_file", "args": {"path": "src/greeter.py", "old": "hello", "new": "good day"}}}
REPAIR = {
    "turns": [
        {
            "replies": [
                [
                    {"thought": "Let me see."},
                    {"text": "I will *edit*.\n"},
                    EDIT,
                    {"call": {"tool": "bash", "args": {"command": "printf '```\\nfenced\\n'; exit 3"}}},
                    {"call": {"tool": "read_file", "args": {"path": "nowhere.py"}}},
                ],
                [{"text": "Done.\x1b[31m"}],
            ],
            "loop": True,
        }
    ]
}


class TestPast:
    """`show` and `export`."""

    @pytest.fixture
    def repaired(self, home: Home, workspace: Path) -> Home:
        home.use_script(REPAIR, tool_approval="yolo")
        assert call(["run", "Be polite,\nplease"], home.env, workspace).returncode == 0
        return home

    def only(self, home: Home, folder: Path) -> str:
        (found,) = listed(home, folder)
        return found["id"]

    def test_show(self, repaired: Home, workspace: Path, tmp_path: Path) -> None:
        id = self.only(repaired, tmp_path)
        done = call(["sessions", "show", id], repaired.env, tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        first, _, *rest = done.stdout.splitlines()
        assert first.startswith(id)
        assert first.endswith(str(workspace))
        assert rest[:2] == ["› Be polite,", "please"]
        for line in (
            "[thought] Let me see.", "I will *edit*.", "✓ Edited src/greeter.py", '+    return "good day, " + name',
            "  │ fenced", "✗ Read nowhere.py", "Done.",
        ):  # fmt: skip
            assert line in done.stdout
        assert "\x1b" not in done.stdout

    def test_show_on_a_terminal(self, repaired: Home, tmp_path: Path) -> None:
        with Terminal(["sessions", "show", self.only(repaired, tmp_path)], repaired.env, tmp_path) as terminal:
            terminal.wait_for("› Be polite,")
            terminal.wait_for("Done.")
            assert terminal.end()[0] == 0

    def test_the_beginning_of_an_id_is_enough(self, repaired: Home, tmp_path: Path) -> None:
        id = self.only(repaired, tmp_path)
        assert call(["sessions", "show", id[:8]], repaired.env, tmp_path).returncode == 0
        for unknown in (id[:3], "nobody", f"{id}x", "%"):
            done = call(["sessions", "show", unknown], repaired.env, tmp_path)
            assert (done.returncode, done.stdout) == (2, "")
            assert f"there is no session {unknown}" in done.stderr

    def test_as_json_it_is_what_an_editor_would_get(
        self, repaired: Home, workspace: Path, tmp_path: Path, agent: StartAgent
    ) -> None:
        id = self.only(repaired, tmp_path)
        shown = json.loads(call(["sessions", "show", id, "--json"], repaired.env, tmp_path).stdout)
        exported = json.loads(call(["sessions", "export", id, "--format", "json"], repaired.env, tmp_path).stdout)
        assert shown == exported
        assert (shown["id"], shown["cwd"], shown["model"]) == (id, str(workspace), "rehearsal/script")
        one = agent()
        one.initialize()
        one.call("session/load", {"sessionId": id, "cwd": str(workspace), "mcpServers": []})
        kinds = {update["sessionUpdate"] for update in shown["updates"]}
        told = [update for update in one.updates(id) if update["sessionUpdate"] in kinds - {"usage_update"}]
        assert [update for update in shown["updates"] if update["sessionUpdate"] != "usage_update"] == told

    def test_markdown(self, repaired: Home, workspace: Path, tmp_path: Path) -> None:
        done = call(["sessions", "export", self.only(repaired, tmp_path)], repaired.env, tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        page = done.stdout
        assert page.startswith("# Be polite, please\n\nSession `")
        assert f"folder `{workspace}`" in page
        said = ("## You", "Be polite,\nplease", "## acpagent", "> Let me see.", "I will *edit*.")
        places = [page.index(part) for part in (*said, "**Edited src/greeter.py**")]
        assert places == sorted(places)
        assert '```diff\n@@ -1,2 +1,2 @@\n def greet(name):\n-    return "hello, " + name\n+    return "good' in page
        assert "````\n```\nfenced\n[exit 3]\n````" in page
        assert "(failed)" in page
        assert "\x1b" not in page

    def test_into_a_file_that_is_not_there(self, repaired: Home, tmp_path: Path) -> None:
        id = self.only(repaired, tmp_path)
        for _ in range(2):
            done = call(["sessions", "export", id, "--output", "page.md"], repaired.env, tmp_path)
        assert done.returncode == 2
        assert "is there already" in done.stderr
        assert (tmp_path / "page.md").read_text().startswith("# Be polite, please")

    def test_one_that_an_editor_has_open_and_without_any_model(
        self, repaired: Home, workspace: Path, tmp_path: Path, agent: StartAgent
    ) -> None:
        id = self.only(repaired, tmp_path)
        editor = agent()
        editor.initialize()
        editor.call("session/load", {"sessionId": id, "cwd": str(workspace), "mcpServers": []})
        (repaired.path / "config.yaml").unlink()
        assert call(["sessions", "show", id], repaired.env, tmp_path).returncode == 0

    def test_a_call_that_runs_is_not_taken_for_abandoned(
        self, home: Home, workspace: Path, tmp_path: Path, agent: StartAgent
    ) -> None:
        home.use_script({"turns": [{"replies": [[EDIT]]}]})
        one = agent(exit_code=None)
        session = one.new_session(workspace)
        one.start_prompt(session, "go")
        one.expect_request("session/request_permission")
        assert "stopped before" not in call(["sessions", "show", session], home.env, tmp_path).stdout
        one.process.signal(signal.SIGKILL)
        assert one.process.ended.wait(60)
        assert "stopped before" in call(["sessions", "show", session], home.env, tmp_path).stdout

    def test_nothing_stored(self, home: Home, tmp_path: Path) -> None:
        done = call(["sessions", "show", "anything"], home.env, tmp_path)
        assert done.returncode == 2
        assert not (home.path / "store.sqlite3").exists()

    def test_a_store_that_cannot_be_read(self, repaired: Home, tmp_path: Path) -> None:
        id = self.only(repaired, tmp_path)
        for path in repaired.path.glob("store.sqlite3*"):
            path.write_bytes(b"noise" * 1000)
        done = call(["sessions", "show", id], repaired.env, tmp_path)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert "move it away" in done.stderr
