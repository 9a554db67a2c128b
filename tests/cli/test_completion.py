"""`acpagent completion`: scripts that real shells read, and what they then offer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from acpagent.cli import acp
from acpagent.cli.grammar import commands
from acpagent.cli.main import COMMANDS
from tests.cli.terminals import call
from tests.conftest import Home

# The name that scripts call, whatever is installed here.
_SHIM = f'#!/bin/sh\nexec {sys.executable} -P -m acpagent "$@"\n'


@pytest.fixture
def shell_home(home: Home, tmp_path: Path) -> Home:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "acpagent").write_text(_SHIM)
    (folder / "acpagent").chmod(0o755)
    home.env["PATH"] = f"{folder}:{os.environ['PATH']}"
    return home


def script(home: Home, shell: str, folder: Path) -> Path:
    path = folder / f"completion.{shell}"
    if path.exists():
        return path
    done = call(["completion", shell], home.env, folder)
    assert (done.returncode, done.stderr) == (0, "")
    path.write_text(done.stdout)
    return path


def ran(home: Home, folder: Path, *command: str) -> str:
    if shutil.which(command[0]) is None:
        pytest.skip(f"there is no {command[0]} here")
    done = subprocess.run(command, env=home.env, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def in_bash(home: Home, folder: Path, *words: str) -> set[str]:
    """What bash offers for the last of the words."""
    path = script(home, "bash", folder)
    program = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _acpagent; printf "%s\\n" "${COMPREPLY[@]}"'
    return set(ran(home, folder, "bash", "--norc", "-c", program, str(path), "acpagent", *words).split("\n")) - {""}


def in_fish(home: Home, folder: Path, *words: str) -> set[str]:
    path = script(home, "fish", folder)
    line = " ".join(("acpagent", *words))
    shown = ran(home, folder, "fish", "--no-config", "-c", f'source "{path}"; complete -C "{line}"')
    return {row.split("\t")[0] for row in shown.splitlines()}


def in_zsh(home: Home, folder: Path, *words: str) -> set[str]:
    """zsh completes inside its line editor only; what it would describe or add is printed instead."""
    path = script(home, "zsh", folder)
    program = f"""
compdef() {{ :; }}
_describe() {{ print -rl -- "${{(@)${{(P)2}}%%:*}}" }}
compadd() {{ shift; print -rl -- "$@" }}
_files() {{ print -rl -- *(N) }}
source "{path}"
words=("$@"); CURRENT=$#; _acpagent
"""
    shown = ran(home, folder, "zsh", "-f", "-c", program, "zsh", "acpagent", *words)
    return {word for word in shown.splitlines() if word and word.startswith(words[-1])}


SHELLS = {"bash": in_bash, "zsh": in_zsh, "fish": in_fish}
each_shell = pytest.mark.parametrize("shell", SHELLS)


def test_bash_knows_the_command(shell_home: Home, tmp_path: Path) -> None:
    path = script(shell_home, "bash", tmp_path)
    assert ran(shell_home, tmp_path, "bash", "--norc", "-c", f'source "{path}"; complete -p acpagent') == (
        "complete -F _acpagent acpagent\n"
    )
    evaluated = 'eval "$(acpagent completion bash)"; complete -p acpagent'
    assert "_acpagent" in ran(shell_home, tmp_path, "bash", "--norc", "-c", evaluated)


@pytest.mark.parametrize(("shell", "flags"), [("bash", ["-n"]), ("zsh", ["-f", "-n"]), ("fish", ["--no-execute"])])
def test_scripts_are_well_formed(shell: str, flags: list[str], shell_home: Home, tmp_path: Path) -> None:
    ran(shell_home, tmp_path, shell, *flags, str(script(shell_home, shell, tmp_path)))


@each_shell
def test_commands(shell: str, shell_home: Home, tmp_path: Path) -> None:
    assert SHELLS[shell](shell_home, tmp_path, "") >= set(COMMANDS)
    assert SHELLS[shell](shell_home, tmp_path, "se") == {"setup", "sessions"}
    assert SHELLS[shell](shell_home, tmp_path, "--ver") == {"--version"}


@each_shell
def test_options_and_words_of_a_command(shell: str, shell_home: Home, tmp_path: Path) -> None:
    offered = SHELLS[shell]
    assert offered(shell_home, tmp_path, "run", "--") >= {"--model", "--cwd", "--json"}
    assert "--model" not in offered(shell_home, tmp_path, "run", "")
    assert offered(shell_home, tmp_path, "sessions", "") == {"list", "show", "export", "delete"}
    assert offered(shell_home, tmp_path, "sessions", "export", "--f") == {"--format"}
    assert offered(shell_home, tmp_path, "sessions", "export", "--format", "") == {"md", "json"}
    assert offered(shell_home, tmp_path, "editors", "z") == {"zed"}
    assert offered(shell_home, tmp_path, "acp", "--profile", "e") == {"economy"}
    assert {"openai", "ollama"} <= offered(shell_home, tmp_path, "setup", "--provider", "")
    assert offered(shell_home, tmp_path, "completion", "") == {"bash", "zsh", "fish"}
    assert offered(shell_home, tmp_path, "acp", "--mod") == {"--model"}


@each_shell
def test_models_and_sessions_of_this_machine(shell: str, shell_home: Home, workspace: Path, tmp_path: Path) -> None:
    offered = SHELLS[shell]
    assert offered(shell_home, tmp_path, "run", "--model", "") == set()
    shell_home.use_script("hello.yaml")
    assert call(["run", "Hi"], shell_home.env, workspace).returncode == 0
    assert offered(shell_home, tmp_path, "run", "--model", "") == {"rehearsal/hello"}
    (id,) = offered(shell_home, tmp_path, "sessions", "show", "")
    assert call(["sessions", "show", id], shell_home.env, workspace).returncode == 0


def test_folders_with_spaces_in_bash(shell_home: Home, tmp_path: Path) -> None:
    (tmp_path / "my project").mkdir()
    assert in_bash(shell_home, tmp_path, "run", "--cwd", "my") == {"my project"}


def test_a_broken_configuration_disturbs_nobody(shell_home: Home, tmp_path: Path) -> None:
    (shell_home.path / "config.yaml").write_text(": [")
    assert in_bash(shell_home, tmp_path, "run", "--model", "") == set()


def test_every_command_is_in_it() -> None:
    found = {command.path[0]: command for command in commands()}
    assert set(found) == set(COMMANDS)
    assert all(command.options for command in found.values())
    flags = [option.flag for option in found["acp"].options]
    assert acp.parse([word for flag in flags for word in ([flag] if flag.startswith("--req") else [flag, "economy"])])


def test_usage(home: Home, tmp_path: Path) -> None:
    assert call(["completion", "tcsh"], home.env, tmp_path).returncode == 2
    assert call(["completion"], home.env, tmp_path).returncode == 2
