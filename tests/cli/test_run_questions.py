"""`acpagent run`: the model asks, and who answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.terminals import CTRL_C, CTRL_D, Terminal, call
from tests.conftest import Home

DATABASES = [{"id": "pg", "label": "PostgreSQL", "description": "A server"}, {"id": "lite", "label": "SQLite"}]
WHICH = {"question": "Which database?", "options": DATABASES}
WHERE = {"question": "Where?", "options": [{"id": "here", "label": "Here"}, {"id": "there", "label": "There"}]}


def use(home: Home, **arguments: Any) -> None:
    """A model that asks this and then is done."""
    asks = {"call": {"tool": "ask_user", "args": arguments}}
    home.use_script({"turns": [{"replies": [[asks], [{"text": "That is all."}]]}]})


def test_off_a_terminal_questions_are_declined(home: Home, workspace: Path) -> None:
    use(home, **WHICH)
    done = call(["run", "Choose"], home.env, workspace)
    assert (done.returncode, done.stderr) == (0, "")
    assert "? Which database?: declined, because there is nobody to ask" in done.stdout
    assert "Which database? Declined." in done.stdout
    assert "That is all." in done.stdout


def test_as_json_they_are_declined_beside_the_lines(home: Home, workspace: Path) -> None:
    use(home, **WHICH)
    done = call(["run", "--json", "Choose"], home.env, workspace)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines[-1]["stopReason"] == "end_turn"
    assert "? Which database?: declined" in done.stderr


def test_a_choice_by_its_number(home: Home, workspace: Path) -> None:
    use(home, **WHICH)
    with Terminal(["run", "Choose"], home.env, workspace) as terminal:
        terminal.wait_for("? Which database?")
        terminal.wait_for("1  PostgreSQL")
        terminal.wait_for("A server")
        terminal.wait_for("3  Decline to answer")
        terminal.wait_for("Number: ")
        terminal.type("7\n")
        terminal.wait_for("Write a number from 1 to 3.")
        terminal.type("2\n")
        code, shown = terminal.end()
    assert code == 0
    assert "✓ Which database? SQLite" in shown
    assert "That is all." in shown


@pytest.mark.parametrize("keys", ["3\n", CTRL_D], ids=["by choice", "end of input"])
def test_declining(keys: str, home: Home, workspace: Path) -> None:
    use(home, **WHICH)
    with Terminal(["run", "Choose"], home.env, workspace) as terminal:
        terminal.wait_for("Number: ")
        terminal.type(keys)
        code, shown = terminal.end()
    assert code == 0
    assert "Which database? Declined." in shown
    assert "That is all." in shown


def test_several_questions_with_own_words(home: Home, workspace: Path) -> None:
    own, many = {**WHICH, "allowOther": True}, {**WHERE, "multiSelect": True, "allowOther": True}
    use(home, questions=[own, many])
    with Terminal(["run", "Choose"], home.env, workspace) as terminal:
        terminal.wait_for("? 2 questions")
        terminal.wait_for("Which database?")
        terminal.wait_for("3  Other")
        terminal.wait_for("Number: ")
        terminal.type("3\n")
        terminal.wait_for("(Enter: none): ")
        terminal.type("DuckDB\n")
        terminal.wait_for("Where?")
        terminal.wait_for("decline): ")
        terminal.type("1, x\n")
        terminal.wait_for("Write numbers from 1 to 3.")
        terminal.type("2 1\n")
        code, shown = terminal.end()
    assert code == 0
    assert "2 questions: Other: DuckDB; Here, There" in shown


def test_none_of_many(home: Home, workspace: Path) -> None:
    use(home, **WHICH, multiSelect=True)
    with Terminal(["run", "Choose"], home.env, workspace) as terminal:
        terminal.wait_for("decline): ")
        terminal.type("\n")
        code, shown = terminal.end()
    assert code == 0
    assert "Which database? None of them" in shown


def test_cancelling_a_question(home: Home, workspace: Path) -> None:
    use(home, **WHICH)
    with Terminal(["run", "Choose"], home.env, workspace) as terminal:
        terminal.wait_for("Number: ")
        terminal.type(CTRL_C)
        code, shown = terminal.end()
    assert code == 130
    assert "Cancelled." in shown
    assert "That is all." not in shown
