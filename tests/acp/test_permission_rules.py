"""Rules, grants and approval as a person meets them: what is asked, what is remembered, and what is said of it."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.acp.seen import call_in, calls, calls_in, says, turn
from tests.acp.test_permissions import ask, make_workspace
from tests.agent import Agent, text_in
from tests.conftest import Home, StartAgent

COMMANDS = {
    "look around": "ls -l && cat file.txt | head -n 3",
    "make": "./task.sh made",
    "make more": "./task.sh made extra",
    "make and write": "./task.sh made && echo x > made/y",
    "make somewhere": "./task.sh $(cat file.txt)",
    "make with a variable": "X=1 ./task.sh made",
    "get": "curl https://example.org/x",
    "show the secret": "cat .env",
    "hide the secret": "cat .e*",
    "push": "git push origin main",
    "push hidden": "true; (cd . && env git push --force)",
    "rm in quotes": "bash -c 'rm -rf file.txt'",
    "rm plain": "rm -rf made",
    "rc": "echo 'x' >> .envrc",
    "broken": "echo 'x",
    "outside list": "ls ../outside",
}
SCRIPT: dict[str, Any] = {
    "turns": [
        *(turn(f"<{name}>", calls("bash", command=line), says("Done.")) for name, line in COMMANDS.items()),
        turn("<edit>", calls("edit_file", path="file.txt", old="one", new="uno"), says("Done.")),
        turn("<write>", calls("write_file", path="other.txt", content="x"), says("Done.")),
        turn("<envrc>", calls("write_file", path=".envrc", content="x"), says("Done.")),
        turn("<kill>", calls("job_kill", job_id="job_1"), says("Done.")),
    ]
}


class Person:
    """Somebody with one session, whose words are the names of what the model is to do."""

    def __init__(self, agent: Agent, session: str, folder: Path) -> None:
        self.agent, self.session, self.folder = agent, session, folder

    def sees(self, name: str, *answers: str) -> Any:
        """The call, after its questions were answered; each answer must have its question and the other way round."""
        self.updates, self.desk = ask(self.agent, self.session, f"<{name}>", *answers)
        return call_in(self.updates)

    def says(self, words: str) -> str:
        updates, answer = self.agent.prompt(self.session, words)
        assert answer["result"] == {"stopReason": "end_turn"}
        return text_in(updates)

    @property
    def offered(self) -> dict[str, str]:
        """The options of the last question: id -> name."""
        return {option["optionId"]: option["name"] for option in self.desk.asked[-1]["options"]}


@pytest.fixture
def person(agent: StartAgent, home: Home, tmp_path: Path) -> Any:
    """`person(**config)`: somebody with these settings. With `agent=` it is another session of that agent."""

    def start(beside: Person | None = None, folder: Path | None = None, **config: Any) -> Person:
        if config or beside is None:
            home.use_script(SCRIPT, **config)
        one = agent() if beside is None else beside.agent
        place = folder or make_workspace(tmp_path)
        task = place / "task.sh"
        task.write_text('#!/bin/sh\nfor each in "$@"; do mkdir -p "$each"; done\n')
        task.chmod(0o755)
        return Person(one, one.new_session(place), place)

    return start


def test_what_only_reads_runs_and_what_acts_is_asked(person: Any) -> None:
    one = person()
    assert "file.txt" in one.sees("look around").text
    one.sees("make", "once")
    assert list(one.offered) == ["deny", "once", "session", "repo", "full"]
    assert one.offered["session"] == "Allow Bash(./task.sh made:*) for this session"
    assert one.offered["repo"] == "Allow Bash(./task.sh made:*) in this repository"
    assert one.sees("broken", "deny").status == "failed"
    one.sees("get", "deny")


def test_auto_runs_what_stays_inside_and_asks_for_what_reaches_further(person: Any) -> None:
    one = person(tool_approval="auto")
    for name in ("look around", "make", "make and write", "rm plain"):
        assert one.sees(name).status == "completed"
    for name in ("get", "push", "push hidden", "make somewhere", "outside list", "broken"):
        one.sees(name, "deny")


def test_a_granted_prefix_goes_no_further_than_it_says(person: Any) -> None:
    one = person()
    one.sees("make", "session")
    assert one.sees("make more").status == "completed"
    for name in ("make and write", "make somewhere", "make with a variable", "rm plain"):
        one.sees(name, "deny")
    person(one).sees("make", "deny")


def test_rules_of_the_configuration_hold_for_commands(person: Any) -> None:
    rules = {
        "allow": ["Bash(./task.sh made:*)"],
        "ask": ["Bash(./task.sh made extra)"],
        "deny": ["Bash(git push:*)"],
    }
    one = person(permissions=rules)
    one.sees("make")
    one.sees("make more", "once")
    for name in ("make and write", "make somewhere", "make with a variable"):
        one.sees(name, "deny")
    for name in ("push", "push hidden"):
        call = one.sees(name)
        assert call.statuses == ["pending", "failed"]
        assert "the rule Bash(git push:*) forbids it" in call.text


def test_a_line_can_be_allowed_to_the_letter(person: Any) -> None:
    one = person(permissions={"allow": ["Bash=echo 'x"], "deny": ["Bash(git push:*)"]})
    assert one.sees("broken").statuses == ["pending", "in_progress", "failed"]
    one.sees("make", "deny")


@pytest.mark.parametrize("approval", ["ask", "auto", "yolo"])
def test_rules_about_files_hold_for_commands(person: Any, approval: str) -> None:
    one = person(tool_approval=approval, permissions={"deny": ["Read(.env)", "Edit(.envrc)"]})
    (one.folder / ".env").write_text("KEY=1\n")
    assert "the rule Read(.env) forbids it" in one.sees("show the secret").text
    assert "the rule Edit(.envrc) forbids it" in one.sees("rc").text
    one.sees("hide the secret", "deny")


def test_with_a_deny_rule_yolo_asks_for_what_may_be_hidden(person: Any) -> None:
    one = person(tool_approval="yolo", permissions={"deny": ["Bash(rm -rf:*)"]})
    assert "forbids it" in one.sees("rm plain").text
    assert "forbids it" in one.sees("rm in quotes").text
    for name in ("make", "make and write", "look around"):
        one.sees(name)
    for name in ("make somewhere", "broken"):
        one.sees(name, "deny")
    assert (one.folder / "file.txt").exists()


def test_what_is_granted_in_a_repository_is_for_all_sessions_there(
    person: Any, tmp_path: Path, agent: StartAgent
) -> None:
    first = person()
    subprocess.run(["git", "init", "-q"], cwd=first.folder, check=True)
    first = Person(first.agent, first.agent.new_session(first.folder), first.folder)
    live = person(first)
    (first.folder / "sub").mkdir()
    below = person(first, first.folder / "sub")
    elsewhere = person(first, make_workspace(tmp_path / "elsewhere"))
    first.sees("make", "repo")
    for other in (live, below):
        other.sees("make")
    elsewhere.sees("make", "deny")
    later = Person(started := agent(), started.new_session(first.folder), first.folder)
    later.sees("make")
    assert not [path for path in first.folder.rglob("*") if "grant" in path.name or path.name == ".acpagent"]
    assert later.says("/permissions").count("- allow `Bash(./task.sh made:*)`") == 1
    assert "forgotten" in later.says("/permissions clear")
    later.sees("make", "deny")
    person(later).sees("make", "deny")


def test_a_single_static_command_comes_with_its_words(person: Any) -> None:
    one = person()
    for name, argv in {
        "make": ["./task.sh", "made"],
        "get": ["curl", "https://example.org/x"],
        "make and write": None,
        "make somewhere": None,
        "make with a variable": None,
        "broken": None,
        "edit": None,
    }.items():
        one.sees(name, "deny")
        meta = one.desk.asked[-1]["toolCall"]["_meta"].get("reasonix.io")
        expected = {"commandSchemaVersion": 1, "argv": argv, "cwd": str(one.folder)} if argv else None
        assert meta == expected


def test_protected_places_are_asked_about_in_every_approval_and_never_remembered(person: Any) -> None:
    one = person(tool_approval="yolo", permissions={"allow": ["Edit", "Bash"]})
    for name in ("rc", "envrc", "rc", "envrc"):
        one.sees(name, "once")
        assert list(one.offered) == ["deny", "once"]


def test_permissions_shows_what_is_in_force_and_why(person: Any) -> None:
    one = person(permissions={"allow": ["Bash(git status:*)"], "deny": ["Read(.env)"]})
    said = one.says("/permissions")
    assert "**Approval:** `ask`" in said
    assert "- deny `Read(.env)`\n- allow `Bash(git status:*)`" in said
    assert said.count("- none") == 2
    one.sees("make", "session")
    one.sees("write", "repo")
    said = one.says("/permissions")
    assert "**Granted for this session**\n\n- allow `Bash(./task.sh made:*)`" in said
    assert "**Granted for this repository**\n\n- allow `Edit`" in said
    assert "There is no `/permissions maybe`" in one.says("/permissions maybe")


def test_permissions_sets_the_approval(person: Any) -> None:
    one = person()
    for word, approval in (("repo", "auto"), ("full", "yolo"), ("ask", "ask"), ("YOLO", "yolo")):
        since = len(one.agent.messages)
        assert f"**Approval:** `{approval}`" in one.says(f"/permissions {word}")
        changed = [m["params"]["update"] for m in one.agent.messages[since:] if m.get("method") == "session/update"]
        (options,) = [u["configOptions"] for u in changed if u["sessionUpdate"] == "config_option_update"]
        assert {o["id"]: o["currentValue"] for o in options}["tool_approval"] == approval
    one.sees("edit")
    assert "**Approval:** `ask`" in one.says("/permissions clear")
    one.sees("write", "session")
    one.says("/permissions clear")
    one.sees("write", "deny")


def receipts(home: Home, session: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(home.path / "store.sqlite3")) as store, store:
        rows = store.execute(
            "SELECT body FROM entries WHERE session = ? AND kind = 'permitted' ORDER BY seq", (session,)
        ).fetchall()
    store.close()
    return [json.loads(body) for (body,) in rows]


def test_each_question_and_refusal_leaves_a_receipt(person: Any, home: Home) -> None:
    one = person(permissions={"deny": ["Bash(git push:*)", "Edit(other.txt)"]})
    made = [
        one.sees("make", "session"),
        one.sees("get", "deny"),
        one.sees("push"),
        one.sees("write"),
        one.sees("look around"),
    ]
    kept = receipts(home, one.session)
    assert [entry["outcome"] for entry in kept] == ["session", "deny", "refused", "refused"]
    assert [entry["call_id"] for entry in kept] == [call.id for call in made[:4]]
    first = kept[0]
    assert (first["tool"], first["subject"], first["rule"]) == ("bash", "./task.sh made", "Bash(./task.sh made:*)")
    assert first["argv"] == ["./task.sh", "made"]
    assert kept[2]["rule"] == "Bash(git push:*)"
    one.agent.call("session/close", {"sessionId": one.session})
    since = len(one.agent.messages)
    one.agent.call("session/load", {"sessionId": one.session, "cwd": str(one.folder), "mcpServers": []})
    assert len(calls_in(one.agent.updates(one.session, since))) == 5


BAD_RULES: list[tuple[str, str]] = [
    ("Bsh(ls)", "did you mean Bash?"),
    ("Bash(ls", "is not closed"),
    ("rm -rf", "did you mean Bash(rm -rf:*)?"),
    ("", "is empty"),
    ("mcp__*__drop", "mcp__SERVER for all of its tools"),
]


@pytest.mark.parametrize(("rule", "said"), BAD_RULES)
def test_a_rule_that_is_none_is_reported_at_the_start(agent: StartAgent, home: Home, rule: str, said: str) -> None:
    home.use_script(SCRIPT, permissions={"allow": ["Edit", rule]})
    one = agent(exit_code=2)
    one.wait_exit()
    text = one.stderr()
    assert re.search(r"config\.yaml:\d+: permissions\.allow\.1: ", text)
    assert said in text
