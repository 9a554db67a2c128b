"""`acpagent plugin`, as a person calls it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from acpagent.core.process import MARK
from tests.cli.terminals import Terminal, call
from tests.conftest import Home
from tests.repository.sources import ROOT

EXAMPLE = str(ROOT / "docs" / "example-plugin")
ABLE = (
    "add commands: commands",
    "run a program beside each session, with all your rights: python3 sidecar.py",
    "read, change and stop each tool call",
    "show you things, and ask you",
    "answer commands: setup (Set up)",
    "give the model the tool count, which says that it changes nothing",
)


def plugin(home: Home, *words: str) -> tuple[int, str, str]:
    done = call(["plugin", *words], home.env, home.path)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def installed(home: Home) -> Home:
    assert plugin(home, "install", EXAMPLE, "--yes")[0] == 0
    return home


def test_dry_run_shows_and_changes_nothing(home: Home) -> None:
    code, out, err = plugin(home, "install", EXAMPLE, "--dry-run")
    assert (code, err) == (0, "")
    assert out.startswith("tally 1.0.0\nCounts the tool calls")
    assert all(line in out for line in ABLE)
    assert list(home.path.iterdir()) == []


def test_nobody_to_ask(home: Home) -> None:
    code, out, err = plugin(home, "install", EXAMPLE)
    assert (code, err.startswith("acpagent: stdin is no terminal")) == (2, True)
    assert ABLE[1] in out
    assert list(home.path.iterdir()) == []


@pytest.mark.parametrize(("typed", "code", "said"), [("y\n", 0, "is installed"), ("\n", 1, "Nothing was installed")])
def test_asking_on_a_terminal(home: Home, typed: str, code: int, said: str) -> None:
    with Terminal(["plugin", "install", EXAMPLE], home.env, home.path) as terminal:
        terminal.wait_for("Install it? [y/N]:")
        terminal.type(typed)
        ended, seen = terminal.end()
    assert (ended, said in seen) == (code, True)
    assert (home.path / "plugins" / "tally").exists() == (code == 0)


def test_list_show_and_doctor(installed: Home) -> None:
    code, out, _ = plugin(installed, "list")
    assert (code, out.splitlines()[1].split()) == (0, ["tally", "1.0.0", "yes", EXAMPLE])
    (row,) = json.loads(plugin(installed, "list", "--json")[1])
    assert (row["name"], row["enabled"], row["linked"], row["problems"]) == ("tally", True, False, [])
    code, out, _ = plugin(installed, "show", "tally")
    assert code == 0
    assert all(line in out for line in ABLE)
    code, out, _ = plugin(installed, "doctor")
    assert code == 0
    assert "its program answers" in out


def test_none_at_all(home: Home) -> None:
    assert plugin(home, "list") == (0, "No plugins are installed.\n", "")
    assert plugin(home, "doctor") == (0, "No plugin is in use.\n", "")
    assert json.loads(plugin(home, "list", "--json")[1]) == []


def test_disable_and_enable(installed: Home) -> None:
    assert plugin(installed, "disable", "tally")[:1] == (0,)
    assert plugin(installed, "list")[1].splitlines()[1].split()[2] == "no"
    assert plugin(installed, "doctor")[1] == "No plugin is in use.\n"
    assert plugin(installed, "disable", "tally")[1] == "tally is not in use.\n"
    assert plugin(installed, "enable", "tally")[1] == "tally is in use from the next session or reload on.\n"
    assert plugin(installed, "list")[1].splitlines()[1].split()[2] == "yes"


def test_remove(installed: Home) -> None:
    code, _, err = plugin(installed, "remove", "tally")
    assert (code, "add --yes" in err) == (2, True)
    assert plugin(installed, "remove", "tally", "--yes") == (0, "tally is removed.\n", "")
    assert list((installed.path / "plugins").iterdir()) == []
    assert plugin(installed, "remove", "tally", "--yes")[0] == 2


def test_no_agent_installs_or_enables(installed: Home) -> None:
    inside = installed.env | {MARK: "1"}
    for words in (["install", EXAMPLE, "--yes", "--replace"], ["enable", "tally"]):
        done = call(["plugin", *words], inside, installed.path)
        assert (done.returncode, "an agent runs this program" in done.stderr) == (1, True)
    assert call(["plugin", "list"], inside, installed.path).returncode == 0


def test_installing_twice(installed: Home) -> None:
    code, out, err = plugin(installed, "install", EXAMPLE, "--yes")
    assert (code, out, err) == (1, "", "acpagent: tally 1.0.0 is installed already; add --replace\n")
    code, out, _ = plugin(installed, "install", EXAMPLE, "--yes", "--replace", "--link")
    assert code == 0
    assert "It takes the place of version 1.0.0" in out
    assert (installed.path / "plugins" / "tally").is_symlink()
    assert "(linked)" in plugin(installed, "list")[1]


@pytest.mark.parametrize("command", ["show", "doctor", "enable", "disable"])
def test_unknown_names(home: Home, command: str) -> None:
    code, out, err = plugin(home, command, "nix")
    told = "acpagent: there is no plugin nix; `acpagent plugin list` shows what there is\n"
    assert (code, out, err) == (2, "", told)


def test_a_broken_package(installed: Home, tmp_path: Path) -> None:
    path = installed.path / "plugins" / "tally" / "acpagent-plugin.json"
    path.write_text(path.read_text().replace('"api": 1', '"api": 7'))
    assert plugin(installed, "list")[1].splitlines()[1].split()[2] == "broken"
    code, out, _ = plugin(installed, "doctor")
    assert code == 1
    assert f"fail  tally  {path}:2: api: must be 1" in out
    code, _, err = plugin(installed, "show", "tally")
    assert (code, f"{path}:2: api: must be 1; write 1" in err) == (1, True)
    shutil.copytree(path.parent, tmp_path / "package")
    assert plugin(installed, "install", str(tmp_path / "package"), "--yes", "--replace")[0] == 1
    assert plugin(installed, "remove", "tally", "--yes")[0] == 0


def test_doctor_of_a_program_that_does_not_work(installed: Home) -> None:
    (installed.path / "plugins" / "tally" / "sidecar.py").write_text("raise SystemExit('out of paper')")
    code, out, _ = plugin(installed, "doctor", "tally")
    assert code == 1
    assert "fail  tally  its program does not work: it ended with exit code 1" in out
    assert "out of paper" in out


def test_doctor_of_a_program_that_is_not_there(installed: Home) -> None:
    path = installed.path / "plugins" / "tally" / "acpagent-plugin.json"
    path.write_text(path.read_text().replace("python3", "no-such-program"))
    code, out, _ = plugin(installed, "doctor", "tally")
    assert code == 1
    assert "the program no-such-program is not there" in out


def test_what_is_shown_hides_nothing(home: Home, tmp_path: Path) -> None:
    package = tmp_path / "package"
    shutil.copytree(EXAMPLE, package)
    path = package / "acpagent-plugin.json"
    written = json.loads(path.read_text())
    written["description"] = "nice\x1b[2J\u202eplugin"
    written["runtime"]["args"] = ["sidecar.py", "\u202e# harmless"]
    path.write_text(json.dumps(written))
    out = plugin(home, "install", str(package), "--dry-run")[1]
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert "<U+202E># harmless" in out
