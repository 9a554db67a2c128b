"""The command line as a whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from acpagent.cli.main import COMMANDS, main
from acpagent.version import __version__
from tests.cli.terminals import call
from tests.conftest import Home

WORDS = [[name] for name in COMMANDS] + [["sessions", "list"], ["sessions", "delete"]]


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_help(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code: object = main([*words, "--help"])
    except SystemExit as end:
        code = end.code
    assert code == 0
    assert capsys.readouterr().out.startswith(f"usage: acpagent {' '.join(words)}")


def test_overview_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in COMMANDS)


def test_exit_codes_of_run_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--help"])
    shown = capsys.readouterr().out
    assert all(f"\n  {code} " in shown for code in (0, 1, 2, 3, 130))


def test_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage:" in capsys.readouterr().out


def test_unknown_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dance"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "there is no command 'dance'" in said.err


@pytest.mark.parametrize(
    "words", [["run"], ["run", "x", "y"], ["run", "--dance", "x"], ["sessions"], ["demo", "x"]], ids=" ".join
)
def test_wrong_usage(words: list[str], home: Home, tmp_path: Path) -> None:
    done = call(words, home.env, tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"usage: acpagent {words[0]}")


@pytest.mark.parametrize(
    "command", [[sys.executable, "-m", "acpagent"], [str(Path(sys.executable).with_name("acpagent"))]]
)
def test_both_ways_to_call_it(command: list[str], home: Home, tmp_path: Path) -> None:
    if not Path(command[0]).exists():
        pytest.skip("acpagent is not installed here")
    done = subprocess.run(
        [*command, "--version"], env=home.env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"acpagent {__version__}\n", "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_nobody(closed: str, home: Home, workspace: Path) -> None:
    home.use_script({"turns": [{"replies": [[{"text": "Hello."}]]}]})
    command = f'exec "{sys.executable}" -m acpagent run hi {closed}'
    done = subprocess.run(["sh", "-c", command], cwd=workspace, env=home.env, capture_output=True, timeout=60)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert (b"Hello." in done.stdout) == (">&-" not in closed.replace("2>&-", ""))
