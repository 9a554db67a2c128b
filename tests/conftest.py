"""Fixtures named for what a test wants: a configured home, a workspace, agents that are cleaned up."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.agent import ACPAGENT, Agent
from tests.model_server import ModelServer, Source
from tests.settling import PATIENCE

StartAgent = Callable[..., Agent]

# How long an example takes says nothing here; the first one on a fresh machine builds tables of characters.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

# A job in the background of a script is started with SIGINT ignored, and so would be all that the tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


class Home:
    """A temporary home of acpagent, and the environment that points there and to nothing of the user's."""

    def __init__(self, path: Path) -> None:
        self.path = path
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ACPAGENT_", "LC_"))}
        self.env = {
            **kept,
            "HOME": str(path),
            "LANG": "C.UTF-8",
            "ACPAGENT_HOME": str(path),
            "XDG_CONFIG_HOME": str(path / "xdg"),
        }

    def configure(self, config: Mapping[str, Any]) -> None:
        """Write config.yaml (JSON is YAML)."""
        (self.path / "config.yaml").write_text(json.dumps(config, indent=2))

    def use_server(
        self,
        base_url: str,
        model: Mapping[str, Any] | None = None,
        *,
        dialect: str | None = None,
        provider: Mapping[str, Any] | None = None,
        **config: Any,
    ) -> None:
        """Configure a model at `base_url`, with no key.

        `dialect` is the API it is spoken to in: by default that of `ACPAGENT_TEST_API`, with which whole test files can
        be run in another, else chat completions. `provider` adds settings of the provider, `config` top-level ones.
        """
        models = {"tiny": {"context_window": 32768, "max_output_tokens": 4096, **(model or {})}}
        api = dialect or os.environ.get("ACPAGENT_TEST_API", "openai-chat")
        local = {"api": api, "base_url": base_url, "models": models, **(provider or {})}
        self.configure({"default_model": "local/tiny", "providers": {"local": local}} | config)

    def use_script(
        self, script: str | Sequence[Any] | Mapping[str, Any], window: int | None = None, **config: Any
    ) -> None:
        """Configure the scripted model: a shipped script's name, a path, or the script itself; `window` is its
        context window in tokens, if not the usual one."""
        if not isinstance(script, str):
            path = self.path / "script.yaml"
            path.write_text(json.dumps(script))
            script = str(path)
        provider: dict[str, Any] = {"api": "scripted", "script": script}
        if window is not None:
            provider["models"] = {"rehearsal": {"context_window": window}}
        self.configure({"default_model": "rehearsal", "providers": {"rehearsal": provider}} | config)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    folder = tmp_path / "home"
    folder.mkdir()
    return Home(folder)


@pytest.fixture
def serve(home: Home) -> Iterator[Callable[..., ModelServer]]:
    """`serve(script, **config)`: a model server on loopback that plays the script, configured in `home`."""
    with contextlib.ExitStack() as servers:

        def start(source: Source, **config: Any) -> ModelServer:
            server = servers.enter_context(ModelServer(source))
            home.use_server(server.base_url, **config)
            return server

        yield start


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A small project."""
    folder = tmp_path / "workspace"
    for name, text in _PROJECT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def agent(home: Home) -> Iterator[StartAgent]:
    """Starts agents: `agent("--model", "m", env={...}, exit_code=None, command=[...])`.

    Each is ended with the test and must then be gone in 10 s with exit code 0 (or the one said, or None for
    any), with no descendant left alive, having written only valid messages.
    """
    started: list[Agent] = []

    def start(
        *arguments: str,
        env: Mapping[str, str] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        command: Sequence[str] = ACPAGENT,
        exit_code: int | None = 0,
        deadline: float = PATIENCE,
    ) -> Agent:
        environment = {**home.env, **(env or {})}
        one = Agent([*command, *arguments], cwd=cwd or home.path, env=environment, deadline=deadline)
        one.exit_code = exit_code
        started.append(one)
        return one

    yield start
    faults = [fault for one in started if (fault := _closed(one)) is not None]
    if faults:
        raise faults[0]


def _closed(agent: Agent) -> BaseException | None:
    try:
        agent.close()
    except (AssertionError, OSError) as fault:
        return fault
    return None


_PROJECT = {
    "README.md": "# Greeter\n\nSays hello to people.\n",
    ".gitignore": "build/\n",
    "build/out.txt": "hello, built\n",
    "src/greeter.py": 'def greet(name):\n    return "hello, " + name\n',
    "tests/test_greeter.py": (
        'from src.greeter import greet\n\n\ndef test_greet():\n    assert greet("you") == "hello, you"\n'
    ),
}
