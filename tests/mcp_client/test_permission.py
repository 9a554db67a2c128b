"""What the gate makes of servers' tools: what does not say that it only reads is asked about, and barred in plan
mode."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acpagent.core.paths import Roots
from acpagent.core.rules import parse
from acpagent.core.toolcalls import Tool, is_harmless
from acpagent.mcp_client import offers, tools
from acpagent.mcp_client.offers import Offers, ToolOffer
from acpagent.mcp_client.pool import Hooks, Pool
from acpagent.permission.gate import Gate
from acpagent.permission.rules import Rules
from tests.mcp_client.bench import Bench, plain


class Listed:
    """A tool as the package lists one."""

    def __init__(self, **hints: bool | None) -> None:
        self.name, self.title, self.description, self.input_schema = "t", None, None, {"type": "object"}
        names = ("read_only_hint", "destructive_hint")
        self.annotations: Any = type("Hints", (), {"title": None, **dict.fromkeys(names), **hints}) if hints else None


def offered(tmp_path: Path, listed: Listed) -> tuple[Bench, Tool]:
    one = Bench(tmp_path)
    one.pool.end()
    one.open(plain("s"), seconds=0)
    (server,) = one.pool._servers.values()
    server._offers = Offers((offers.tool(listed),))
    return one, tools.tools(server)[0]


@pytest.mark.parametrize(
    ("hints", "asks"),
    [
        ({}, True),
        ({"read_only_hint": None, "destructive_hint": None}, True),
        ({"read_only_hint": False}, True),
        ({"destructive_hint": False}, True),
        ({"read_only_hint": True}, False),
        ({"read_only_hint": True, "destructive_hint": False}, False),
        ({"read_only_hint": True, "destructive_hint": True}, True),
    ],
)
def test_hints(tmp_path: Path, hints: dict[str, Any], asks: bool) -> None:
    one, tool = offered(tmp_path, Listed(**hints))
    gate = Gate(Rules(), Roots(str(tmp_path)))
    proposal = tool.prepare({"a": 1}, one.context())
    verdict = gate.judge(tool.name, proposal)
    assert verdict.action == ("ask" if asks else "allow")
    assert is_harmless(tool) is not asks
    gate.approval, gate.read_only = "yolo", True
    assert gate.judge(tool.name, proposal).barred is asks
    assert bool(gate.barred(tool, proposal)) is asks
    assert bool(proposal.note) is asks  # who is asked sees what it would be given


def test_a_tool_can_be_remembered_and_forbidden_by_name(tmp_path: Path) -> None:
    one, tool = offered(tmp_path, Listed())
    gate = Gate(Rules(), Roots(str(tmp_path)))
    proposal = tool.prepare({}, one.context())
    verdict = gate.judge(tool.name, proposal)
    assert (verdict.rule, "session" in verdict.choices) == ("mcp__s__t", True)
    gate.grant_session(verdict.rule)
    assert gate.judge(tool.name, proposal).action == "allow"
    forbidding = Gate(Rules(deny=(parse("mcp__s__t"),)), Roots(str(tmp_path)), "yolo")
    assert forbidding.judge(tool.name, proposal).action == "deny"


def test_rules_about_files_do_not_speak_of_a_servers_reading(tmp_path: Path) -> None:
    one, tool = offered(tmp_path, Listed(read_only_hint=True))
    gate = Gate(Rules(deny=(parse("Read(~/.ssh)"),)), Roots(str(tmp_path)))
    assert gate.judge(tool.name, tool.prepare({}, one.context())).action == "allow"
    by_name = Gate(Rules(deny=(parse("mcp__s__t"),)), Roots(str(tmp_path)))
    assert by_name.judge(tool.name, tool.prepare({}, one.context())).action == "deny"


@pytest.mark.parametrize(
    "schema",
    [None, [], {}, {"type": "string"}, {"type": "object"}, {"type": "object", "properties": None}],
)
def test_every_schema_is_an_object_with_properties(schema: Any) -> None:
    listed = Listed()
    listed.input_schema = schema
    offer: ToolOffer = offers.tool(listed)
    assert (offer.schema["type"], offer.schema["properties"]) == ("object", {})


def test_a_description_is_bounded_and_clean() -> None:
    listed = Listed()
    listed.description = "\x1b[31m" + "x" * 10_000  # type: ignore[assignment]
    offer = offers.tool(listed)
    assert len(offer.description) == 4000
    assert offer.description.startswith("xxx")


def test_an_empty_pool(tmp_path: Path) -> None:
    assert Pool(str(tmp_path), {}, Hooks()).prompts() == []
