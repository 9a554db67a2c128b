"""The demo shows a whole turn, and is green only if the turn was."""

from __future__ import annotations

from pathlib import Path

import pytest

from acpagent.cli import demo
from tests.cli.terminals import CTRL_C, Terminal, call
from tests.conftest import Home

# What a person has to see, in this order.
STORY = (
    demo.PROMPT,
    "List .",
    'Search "discount"',
    "Read cart.py",
    "[>] See the test fail",
    "? Run: python3 -m unittest",
    "the demo answers",
    "(exit 1)",
    "AssertionError: 140 != 135",
    "140 instead of 135",
    "-    return sum(prices) - discount",
    "+    return sum(prices) * (100 - discount) / 100",
    "? Edit cart.py",
    "Edited cart.py",
    "[exit 0]",
    "[x] See all tests pass",
    "Both tests pass.",
    "acpagent setup",
)


@pytest.fixture
def env(home: Home, tmp_path: Path) -> dict[str, str]:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return {**home.env, "TMPDIR": str(scratch)}


def tells_the_story(shown: str) -> bool:
    place = 0
    for part in STORY:
        place = shown.find(part, place)
        assert place >= 0, f"{part!r} is missing or in the wrong place\n{shown}"
    return True


def test_off_a_terminal(env: dict[str, str], home: Home, tmp_path: Path) -> None:
    done = call(["demo"], env, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert tells_the_story(done.stdout)
    assert "\x1b" not in done.stdout
    assert not list(Path(env["TMPDIR"]).iterdir()), "the scratch project was not removed"
    assert not list(home.path.iterdir()), "the demo touched the person's own home"


def test_in_a_terminal(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal(["demo", "--slow", "0"], env, tmp_path) as terminal:
        code, _ = terminal.end()
    assert code == 0
    assert "\x1b[31m    -    return" in terminal.everything
    assert "\x1b[32m✓\x1b[0m Edited cart.py" in terminal.everything


def test_without_colour(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal(["demo", "--slow", "0"], {**env, "NO_COLOR": "1"}, tmp_path) as terminal:
        code, shown = terminal.end()
    assert code == 0
    assert "\x1b[3" not in terminal.everything
    assert "✓ Edited cart.py" in shown


def test_where_signs_cannot_be_spelled(env: dict[str, str], tmp_path: Path) -> None:
    done = call(["demo"], {**env, "PYTHONIOENCODING": "ascii"}, tmp_path)
    assert done.returncode == 0
    assert "+ Edited cart.py" in done.stdout


def test_keep(env: dict[str, str], tmp_path: Path) -> None:
    done = call(["demo", "--keep"], env, tmp_path)
    assert done.returncode == 0
    folder = Path(done.stdout.strip().rpartition(" ")[2])
    assert "100 - discount" in (folder / "cart.py").read_text()


def test_a_test_that_fails_still_is_no_success(
    env: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(demo, "_TEST", demo._TEST.replace("135", "136"))
    assert demo.run([]) == 1
    assert "did not go as it should" in capsys.readouterr().err


def test_interrupted(env: dict[str, str], tmp_path: Path) -> None:
    with Terminal(["demo"], env, tmp_path) as terminal:
        terminal.wait_for("look")
        terminal.type(CTRL_C)
        code, shown = terminal.end()
    assert code == 130
    assert "Traceback" not in shown
    assert not list(Path(env["TMPDIR"]).iterdir())
