"""What the pages tell people to write works as it stands there."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from acpagent import Client
from acpagent.cli.main import COMMANDS
from acpagent.config import settings
from acpagent.wire.schema import load
from tests.conftest import Home
from tests.repository.sources import ROOT

NAMES = ("architecture", "client", "configuration", "editors", "modes", "plugins", "providers", "tools")
PAGES = ["README.md", *(f"docs/{name}.md" for name in NAMES)]
AGENT = '["acpagent", "acp"]'


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page(name), re.DOTALL | re.MULTILINE)


def keys(schema: dict[str, Any]) -> Iterator[str]:
    """The name of every setting."""
    for name, inner in schema.get("properties", {}).items():
        yield name
        yield from keys(inner)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from keys(schema["additionalProperties"])


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name: str) -> None:
    targets = [target for target in re.findall(r"\]\(([^)#]+)", page(name)) if "://" not in target]
    assert [target for target in targets if not ((ROOT / name).parent / target).exists()] == []


def test_first_screen_of_the_readme() -> None:
    screen = "\n".join(page("README.md").splitlines()[:40])
    assert "python tools/dev.py demo" in screen
    assert "python tools/dev.py test" in screen
    assert "pip install" in screen


def test_readme_names_every_command() -> None:
    assert all(f"`acpagent {name}" in page("README.md") for name in COMMANDS)


def test_editor_settings() -> None:
    found = [json.loads(block) for block in blocks("README.md", "json")]
    assert found
    for setting in found:
        server = setting["agent_servers"]["acpagent"]
        assert os.path.basename(server["command"]) == "acpagent"
        assert server["args"] == ["acp"]


@pytest.mark.parametrize("name", ["README.md", "docs/configuration.md"])
def test_configuration(name: str, tmp_path: Path) -> None:
    text = next(block for block in blocks(name, "yaml") if "providers:" in block)
    (tmp_path / "config.yaml").write_text(text)
    loaded = settings.load(str(tmp_path))
    assert loaded.model().id == "local/qwen3-coder"


def test_every_setting_is_explained() -> None:
    explained = page("docs/configuration.md")
    ours = {name for name in keys(load("config.json")) if not re.search(rf"\b{name}\b", explained)}
    inside_what_has_no_effect = {"type", "command", "args", "env", "url", "paths"}
    assert ours <= inside_what_has_no_effect


def test_example_shows_what_the_settings_table_says() -> None:
    written = yaml.safe_load(next(block for block in blocks("docs/configuration.md", "yaml") if "limits:" in block))
    defaults = settings.Limits()
    assert written["limits"] == {
        name: getattr(defaults, name) for name in ("turn_requests", "command_seconds", "output_bytes")
    }


@pytest.fixture
def ours(home: Home, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What stands in for the names in the examples."""
    home.use_script("hello.yaml")
    monkeypatch.setenv("ACPAGENT_HOME", str(home.path))
    return {AGENT: repr([sys.executable, "-m", "acpagent", "acp"]), "/path/of/the/project": str(workspace)}


@pytest.mark.parametrize("name", ["README.md", "docs/client.md"])
def test_first_program(name: str, ours: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    run(blocks(name, "python")[0], ours)
    assert "Hello!" in capsys.readouterr().out


def test_programs_of_the_client_page(ours: dict[str, str], workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, updates, permission, questions, lending, steering = blocks("docs/client.md", "python")
    with Client.launch([sys.executable, "-m", "acpagent", "acp"]) as client:
        run(updates.replace("Fix the failing test", "list the files"), ours, session=client.open(workspace))
        assert "completed List ." in capsys.readouterr().out
        idle = steering.replace("session.steer(", "str(")  # nothing runs that could take guidance
        session = client.open(workspace)
        model = str(session.controls.value("model"))
        run(idle.replace("local/tiny", model), ours, session=session)
        assert session.controls.mode == "plan"
    for program in (permission, questions, lending):
        left = run(program, ours, Client=Client)
        left["client"].close()
    left["write"](str(workspace / "crlf.txt"), "a\r\n")
    assert left["read"](str(workspace / "crlf.txt")) == "a\r\n"


def run(program: str, ours: dict[str, str], **names: Any) -> dict[str, Any]:
    for example, real in ours.items():
        program = program.replace(example, real)
    exec(compile(program, "a page", "exec"), names)
    return names
