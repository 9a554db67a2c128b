"""A home directory to write configurations into."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from acpagent.config import settings
from acpagent.config.problems import ConfigError, ConfigProblem
from acpagent.config.settings import Settings

LOCAL = """\
providers:
  local:
    api: openai-chat
    base_url: http://127.0.0.1:8080/v1
    models:
      tiny: {}
"""


class Home:
    def __init__(self, path: Path) -> None:
        path.mkdir()
        self.path = path
        self.config = path / "config.yaml"
        self.credentials = path / "credentials.yaml"

    def __str__(self) -> str:
        return str(self.path)

    def write(self, text: str) -> None:
        self.config.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")

    def load(self, text: str | None = None) -> Settings:
        if text is not None:
            self.write(text)
        return settings.load(str(self))

    def problems(self, text: str | None = None) -> list[ConfigProblem]:
        """What loading complains about: each problem names our file, what is wrong and what to do."""
        with pytest.raises(ConfigError) as caught:
            self.load(text)
        assert caught.value.problems
        for problem in caught.value.problems:
            assert problem.file == str(self.config)
            assert problem.what
            assert problem.remedy
        return list(caught.value.problems)

    def problem(self, text: str | None = None) -> ConfigProblem:
        (problem,) = self.problems(text)
        return problem
