"""`acpagent editors`: what is printed can be pasted, starts this agent, and is what the page shows."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from acpagent.cli import command, editors
from acpagent.client.client import Client
from tests.cli.terminals import call
from tests.conftest import Home
from tests.repository.sources import ROOT

EDITORS = editors.load()
PAGE = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
AWKWARD = "a \"b\" \\ 'c' {args} ü"
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


@pytest.mark.parametrize("name", EDITORS)
def test_the_page_shows_the_same(name: str) -> None:
    editor = EDITORS[name]
    word = "/home/you/.venvs/acpagent/bin/acpagent" if editor.whole_path else "acpagent"
    (section,) = (part for part in PAGE.split("\n## ") if part.startswith(f"{editor.title}\n"))
    assert f"`acpagent editors {name}`" in section
    assert f"```{editor.language}\n{editor.settings([word, 'acp'], {})}```\n" in section
    words = " ".join(section.split())
    assert " ".join(editor.where.split()) in words
    assert " ".join(editor.after.split()) in words


def printed(home: Home, name: str) -> str:
    done = call(["editors", name, "--only"], home.env, home.path)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def started_by(settings: str, language: str) -> tuple[list[str], dict[str, str]]:
    """The command and the variables that an editor reads out of its settings."""
    if language == "json":
        (inner,) = json.loads(settings).values()
        agent = inner["acpagent"]
        return [agent["command"], *agent["args"]], agent["env"]
    if language == "sh":
        words = shlex.split(next(word for word in shlex.split(settings) if word.endswith(" acp")))
        return (words, {}) if words[0] != "env" else (words[2:], dict([words[1].split("=", 1)]))
    strings = [json.loads(text) for text in STRING.findall(settings)]
    begin = strings.index(command.lasting()[0])
    env = dict(text.split("=", 1) for text in strings if text.startswith("ACPAGENT_HOME="))
    if found := re.search(r"ACPAGENT_HOME = (\"(?:[^\"\\]|\\.)*\")", settings):
        env["ACPAGENT_HOME"] = json.loads(found[1])
    return strings[begin : strings.index("acp", begin) + 1], env


@pytest.mark.parametrize("name", EDITORS)
def test_they_start_this_agent_with_its_home(name: str, home: Home, tmp_path: Path) -> None:
    place = tmp_path / AWKWARD
    place.mkdir()
    home.env["ACPAGENT_HOME"] = str(place)
    words, env = started_by(printed(home, name), EDITORS[name].language)
    assert env == {"ACPAGENT_HOME": str(place)}
    assert words == [*command.lasting(), "acp"]
    with Client.launch(words, env={"PATH": "", **env}) as client:
        assert client.agent["name"] == "acpagent"


@pytest.mark.parametrize("name", EDITORS)
def test_the_usual_home_needs_no_variable(name: str, home: Home) -> None:
    del home.env["ACPAGENT_HOME"], home.env["XDG_CONFIG_HOME"]
    settings = printed(home, name)
    assert "ACPAGENT_HOME" not in settings
    assert "{{" not in settings


@pytest.mark.parametrize(("name", "program"), [("codecompanion", "luac"), ("avante", "luac"), ("agent-shell", "emacs")])
def test_other_languages_can_read_them(name: str, program: str, home: Home, tmp_path: Path) -> None:
    home.env["ACPAGENT_HOME"] = str(tmp_path / AWKWARD)
    settings = printed(home, name)
    assert balanced(settings)
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not here; only the brackets were looked at")
    path = tmp_path / "settings"
    path.write_text(settings)
    read = f'(with-temp-buffer (insert-file-contents "{path}") (emacs-lisp-mode) (check-parens))'
    arguments = ["-p", str(path)] if program == "luac" else ["--batch", "--eval", read]
    done = subprocess.run([found, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def balanced(text: str) -> bool:
    """Whether all brackets outside of strings have a partner."""
    pairs, waiting = {")": "(", "]": "[", "}": "{"}, []
    for letter in STRING.sub("", text):
        if letter in pairs.values():
            waiting.append(letter)
        elif letter in pairs and (not waiting or waiting.pop() != pairs[letter]):
            return False
    return not waiting


def test_what_is_said_around_them(home: Home) -> None:
    done = call(["editors", "zed"], home.env, home.path)
    assert done.returncode == 0
    assert done.stdout.startswith("Zed\nPut this into settings.json")
    assert printed(home, "zed") in done.stdout


def test_the_list(home: Home) -> None:
    done = call(["editors"], home.env, home.path)
    assert done.returncode == 0
    assert all(f"{name} " in done.stdout for name in EDITORS)
    assert done.stdout.endswith(f"{shlex.join([*command.lasting(), 'acp'])}\n")


def test_an_unknown_editor(home: Home) -> None:
    done = call(["editors", "ed"], home.env, home.path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "zed, jetbrains" in done.stderr


@pytest.fixture
def script() -> str:
    path = os.path.join(os.path.dirname(sys.executable), "acpagent")
    if not os.path.exists(path):
        pytest.skip("acpagent is not installed here")
    return path


class TestCommand:
    """What this installation is called by."""

    def test_its_script(self, script: str) -> None:
        assert command.own() == [script]

    def test_what_the_person_calls(self, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "acpagent").symlink_to(script)
        monkeypatch.setenv("PATH", str(tmp_path))
        assert command.lasting() == [str(tmp_path / "acpagent")]

    def test_not_another_installation(self, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "acpagent").write_text("#!/bin/sh\n")
        (tmp_path / "acpagent").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        assert command.lasting() == [script]

    def test_without_a_script(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        python = tmp_path / "python"
        monkeypatch.setattr(sys, "executable", str(python))
        assert command.own() == command.lasting() == [str(python), "-P", "-m", "acpagent"]


def test_every_entry_is_whole() -> None:
    assert set(EDITORS) == {"zed", "jetbrains", "codecompanion", "avante", "agent-shell", "vscode", "toad", "acpx"}
    for editor in EDITORS.values():
        assert editor.title
        assert editor.after.endswith(".")
