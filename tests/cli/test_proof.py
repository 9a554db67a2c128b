"""`acpagent proof`: receipts of a real turn, listed, shown, verified and explained."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpagent.runtime.evidence import receipts
from tests.acp.seen import calls, says, turn
from tests.acp.served import served
from tests.cli.terminals import call
from tests.conftest import Home

EDIT, TEST = calls("edit_file", path="a.txt", old="bad", new="good"), calls("bash", command="make test")
MASKED = calls("bash", command="make test | cat")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str], str]]:
    """A home with a session of three receipts: (the home, its environment, the session)."""
    folder = tmp_path_factory.mktemp("proof")
    again = calls("edit_file", path="a.txt", old="good", new="fine")
    turns = [
        turn("one", EDIT, TEST, says("Fixed.")), turn("two", again, MASKED, says("Changed.")),
        turn("three", TEST, says("No.")),
    ]  # fmt: skip
    with served(folder, {"turns": turns}, tool_approval="yolo") as one:
        (one.workspace / "a.txt").write_text("bad\n")
        (one.workspace / "Makefile").write_text("test:\n\t@grep -q good a.txt && echo 1 passed\n")
        session = one.new()
        for prompt in ("one", "two", "three"):
            one.prompt(session, prompt)
        yield one.home.path, one.home.env, session


@pytest.fixture
def home(made: tuple[Path, dict[str, str], str], tmp_path: Path) -> Home:
    """A copy of that home, to be spoilt."""
    shutil.copytree(made[0], tmp_path / "home")
    return Home(tmp_path / "home")


@pytest.fixture
def session(made: tuple[Path, dict[str, str], str]) -> str:
    return made[2]


def proof(home: Home, *words: str) -> Any:
    return call(["proof", *words], home.env, home.path)


def listed(home: Home, *words: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(proof(home, "list", "--json", *words).stdout)
    return rows


def test_listing(home: Home, session: str) -> None:
    rows = listed(home)
    assert [row["status"] for row in rows] == ["verified", "unverified", "partially_verified"]
    assert [row["sequence"] for row in rows] == [1, 2, 3]
    assert {row["session"] for row in rows} == {session}
    assert listed(home, "--session", session) == rows
    lines = proof(home, "list").stdout.splitlines()
    assert [row["turn"] in line for row, line in zip(rows, lines, strict=True)] == [True] * 3
    assert proof(home, "list", "--session", "nobody").returncode == 2


def test_an_empty_home(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    home = Home(tmp_path / "home")
    assert proof(home, "list").stdout == "There are no receipts.\n"
    for command in ("show", "verify", "explain"):
        done = proof(home, command, "turn_1234")
        assert (done.returncode, "there is no receipt turn_1234" in done.stderr) == (2, True)


def test_showing_one_and_all(home: Home, session: str) -> None:
    row = listed(home)[0]
    shown = json.loads(proof(home, "show", row["turn"]).stdout)
    assert shown == json.loads(Path(row["file"]).read_bytes())
    assert proof(home, "show", row["turn"][:12]).returncode == 0
    assert proof(home, "show", session).stdout.count('"seal"') == 3


def test_explaining(home: Home) -> None:
    first, second, third = (proof(home, "explain", row["turn"]).stdout for row in listed(home))
    assert first.splitlines()[1:] == [
        "Why",
        "  a check that passed, or a reading of what is for readers, has seen each file as it is now",
        "What was changed",
        "  a.txt: modified, +1 -1; checked as it is now",
        "What was checked",
        "  Tests `make test` passed",
        "What was permitted",
        "  edit_file `Edited a.txt`: allowed by the settings, nobody was asked",
        "  bash `make test`: allowed by the settings, nobody was asked",
    ]
    assert "no check that passed has seen the last change of: a.txt" in second
    assert "does not count: the exit status of the line is not that of the check" in second
    assert "no file is other than before\n  Tests `make test` failed" in third


def test_all_is_well(home: Home, session: str) -> None:
    done = proof(home, "verify", session)
    assert (done.returncode, done.stdout.count("the seal holds")) == (0, 3)
    for row in listed(home):
        assert proof(home, "verify", row["turn"]).returncode == 0
        assert proof(home, "verify", row["file"]).returncode == 0


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_changed_receipt_is_found(home: Home, session: str, number: int) -> None:
    row = listed(home)[number]
    path = Path(row["file"])
    path.write_bytes(path.read_bytes().replace(b'"version":1', b'"version":2'))
    for wanted in (session, row["turn"], row["file"]):
        done = proof(home, "verify", wanted)
        assert (done.returncode, "changed or is damaged" in done.stdout) == (1, True)
    assert listed(home)[0]["status"] == "damaged"
    assert proof(home, "show", row["turn"]).returncode == 1


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_missing_receipt_is_found(home: Home, session: str, number: int) -> None:
    rows = listed(home)
    os.remove(rows[number]["file"])
    done = proof(home, "verify", session)
    assert (done.returncode, "missing" in done.stdout) == (1, True)
    if number < 2:
        assert proof(home, "verify", rows[2]["turn"]).returncode == 1


def test_a_receipt_by_itself_is_missing_the_one_before(home: Home, tmp_path: Path) -> None:
    first, second, _ = listed(home)
    for row, code in ((first, 0), (second, 1)):
        copied = tmp_path / "alone" / "copy.json"
        copied.parent.mkdir(exist_ok=True)
        shutil.copy(row["file"], copied)
        assert proof(home, "verify", str(copied)).returncode == code


def test_receipts_that_changed_places_are_found(home: Home, session: str) -> None:
    first, second, third = (Path(row["file"]) for row in listed(home))
    data = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(data)
    for wanted in (session, first.stem, str(second)):
        done = proof(home, "verify", wanted)
        assert (done.returncode, "under another name" in done.stdout) == (1, True)
    third.write_bytes(data)  # an older one again
    assert proof(home, "verify", third.stem).returncode == 1


def test_a_receipt_that_was_made_anew_is_found(home: Home, session: str) -> None:
    """Its seal is right, and so are its links: but the session remembers another one."""
    path = Path(listed(home)[2]["file"])
    fields = json.loads(path.read_bytes())
    fields["evidence"]["status"] = "verified"
    path.write_bytes(receipts.canonical({**fields, "seal": receipts.seal_of(fields)}) + b"\n")
    for wanted, words in ((session, "is missing"), (path.stem, "remembers another seal"), (str(path), "remembers")):
        done = proof(home, "verify", wanted)
        assert (done.returncode, words in done.stdout) == (1, True)


def test_another_sessions_receipts_are_not_its_own(home: Home, session: str) -> None:
    folder = home.path / "proofs" / session
    os.rename(folder, folder.with_name("somebody"))
    assert "under another name" in proof(home, "verify", "somebody").stdout
    done = proof(home, "verify", session)  # and its own are gone
    assert (done.returncode, done.stdout.count("is missing")) == (1, 3)
    assert proof(home, "explain", session).returncode == 2


def test_a_receipt_of_a_later_version_is_told(home: Home) -> None:
    path = Path(listed(home)[2]["file"])
    fields = json.loads(path.read_bytes()) | {"receipt": 2, "more": 1}
    path.write_bytes(receipts.canonical({**fields, "seal": receipts.seal_of(fields)}) + b"\n")
    assert "of a version that is not known here: 2" in proof(home, "verify", path.stem).stdout


def test_a_directory_is_no_receipt(home: Home) -> None:
    path = Path(listed(home)[0]["file"])
    path.unlink()
    path.mkdir()
    for command in ("verify", "show"):
        done = proof(home, command, path.stem)
        assert (done.returncode, "it is a directory" in done.stdout + done.stderr) == (1, True)
