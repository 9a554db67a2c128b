"""The page of commands says what the table has."""

from __future__ import annotations

import re

from acpagent.runtime.commands.table import CommandTable
from tests.repository.sources import ROOT


def test_every_command_is_on_the_page_as_it_is_used() -> None:
    page = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    told = [row.replace("\\|", "|") for row in re.findall(r"^\| `(/.*?)` \| ", page, re.MULTILINE)]
    listed = CommandTable().listed("en")
    assert told == [f"/{command.name} {command.hint}" if command.hint else f"/{command.name}" for command in listed]
