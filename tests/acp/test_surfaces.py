"""What plugins show: structured for clients that asked for it, text for all others, never both."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from acpagent.acp.v1 import initialize
from acpagent.acp.v1.render import Renderer
from acpagent.core.events import Surface
from acpagent.wire.outgoing import check_message
from acpagent.wire.schema import bundle
from tests.agent import Agent
from tests.transcript import Transcript

StartAgent = Callable[..., Agent]
SUPPORTED = {"reasonix.io": {"extensionSurface": {"supported": True}}}

STATUS = {"label": "Build", "detail": "two of three", "severity": "warn", "progress": 0.66}
CARD = {
    "title": "Report",
    "markdown": "All is **well**.",
    "fields": [{"key": "files", "value": "3"}, {"key": "tests", "value": "12"}],
    "actions": [{"actionId": "again", "label": "Run again"}],
}
NOTIFICATION = {"title": "Disk full", "body": "Nothing can be kept.", "severity": "error"}
FORM = {"title": "Deploy?", "fields": [{"key": "sure", "label": "Sure?", "kind": "confirm"}]}
ALL = [("status", STATUS), ("card", CARD), ("notification", NOTIFICATION), ("form", FORM)]


def event(kind: Any, payload: Any, surface: str = "main") -> Surface:
    return Surface("probe", surface, 2, kind, payload, "form-1" if kind == "form" else "")


def notification(update: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s1", "update": update}}


@pytest.mark.parametrize(("kind", "payload"), ALL)
def test_structured(kind: str, payload: Any) -> None:
    (update,) = Renderer(lambda: "s1", lambda: True).render(event(kind, payload))
    shown = update["_meta"]["reasonix.io"]["extensionSurface"]
    about = {"pluginId": "probe", "surfaceId": "main", "sessionId": "s1", "generation": 2, "kind": kind, kind: payload}
    assert shown == about | ({"formInstanceId": "form-1"} if kind == "form" else {})
    assert update["sessionUpdate"] == "_reasonix.io/extension_surface"
    assert check_message(bundle(), "agent", notification(update), None, variants=True) == []
    assert check_message(bundle(), "agent", notification(update), None) != []


@pytest.mark.parametrize(("kind", "payload"), ALL[:3])
def test_text(kind: str, payload: Any) -> None:
    (update,) = Renderer(lambda: "s1").render(event(kind, payload))
    assert update["sessionUpdate"] == "agent_message_chunk"
    assert check_message(bundle(), "agent", notification(update), None) == []


def test_what_the_text_says() -> None:
    renderer = Renderer(lambda: "s1")
    texts = [renderer.render(event(kind, payload))[0]["content"]["text"] for kind, payload in ALL[:3]]
    assert texts == [
        "[warning] [probe] Build: two of three (66%)\n\n",
        "**Report**\n\nAll is **well**.\n\n- files: 3\n- tests: 12\n\n- `/probe:again`: Run again\n\n",
        "[error] [probe] Disk full\n\nNothing can be kept.\n\n",
    ]


def test_a_form_has_no_text() -> None:
    """The person is asked instead."""
    assert Renderer(lambda: "s1").render(event("form", FORM)) == []


def test_the_same_text_is_not_said_again() -> None:
    renderer = Renderer(lambda: "s1")
    for payload, said in ((STATUS, 1), (STATUS, 0), ({"label": "Done"}, 1), (STATUS, 1)):
        assert len(renderer.render(event("status", payload))) == said
    assert len(renderer.render(event("status", STATUS, "other"))) == 1
    assert [len(renderer.render(event("notification", NOTIFICATION))) for _ in range(2)] == [1, 1]


def test_what_the_client_can_do_counts_at_each_update() -> None:
    """A second `initialize` may say otherwise."""
    able = False
    renderer = Renderer(lambda: "s1", lambda: able)
    assert renderer.render(event("status", STATUS))[0]["sessionUpdate"] == "agent_message_chunk"
    able = True
    assert renderer.render(event("status", STATUS))[0]["sessionUpdate"] == "_reasonix.io/extension_surface"


@pytest.mark.parametrize(
    ("params", "shows"),
    [
        ({}, False),
        ({"_meta": SUPPORTED}, True),
        ({"clientCapabilities": {"_meta": SUPPORTED}}, True),
        ({"_meta": {"reasonix.io": {"extensionSurface": {}}}}, False),
        ({"_meta": {"reasonix.io": {"extensionSurface": {"supported": 1}}}}, False),
        ({"_meta": {"reasonix.io": {"extensionSurface": {"supported": "true"}}}}, False),
        ({"_meta": {"reasonix.io": None}}, False),
        ({"_meta": {"reasonix.io": {"extensionSurface": True}}}, False),
        ({"_meta": None, "clientCapabilities": {"_meta": []}}, False),
        ({"_meta": "x", "clientCapabilities": None}, False),
    ],
    ids=str,
)
def test_who_asked_for_it(params: dict[str, Any], shows: bool) -> None:
    assert initialize.read({"protocolVersion": 1, **params}).surfaces is shows


def test_it_is_advertised(agent: StartAgent) -> None:
    capabilities = agent().initialize()["agentCapabilities"]
    offered = capabilities["_meta"]["reasonix.io"]["extensionSurface"]
    assert offered == {
        "supported": True, "schemaVersion": 1, "submit": {"method": "_reasonix.io/session/submitSurface"}
    }  # fmt: skip


@pytest.mark.parametrize(
    ("params", "right"),
    [({"_meta": SUPPORTED}, True), ({"clientCapabilities": {"_meta": SUPPORTED}}, True), ({}, False)],
)
def test_the_checker_lets_only_those_who_asked_have_it(params: dict[str, Any], right: bool) -> None:
    transcript = Transcript()
    greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1, **params}}
    transcript.sent(json.dumps(greeting).encode() + b"\n")
    (update,) = Renderer(lambda: "s1", lambda: True).render(event("status", STATUS))
    transcript.received(json.dumps(notification(update)).encode() + b"\n")
    if right:
        transcript.check()
    else:
        with pytest.raises(AssertionError, match="sessionUpdate"):
            transcript.check()
