"""A plugin's form before a real client's eyes, in each way a client can show one."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from acpagent.acp.v1.host import AcpHost
from acpagent.acp.v1.initialize import ClientAbilities
from acpagent.core.scope import Scope
from acpagent.extensions.plugin_host import PluginHost
from acpagent.extensions.sidecar import Site
from acpagent.wire.driver import Driver
from acpagent.wire.outgoing import check_message
from acpagent.wire.schema import bundle
from tests.extensions.sidecars import example
from tests.wire.test_limits import Nobody

Message = dict[str, Any]
SUPPORTED = {"reasonix.io": {"extensionSurface": {"supported": True}}}


class Client:
    """The other end of a session's host: reads lines, each of which must be right, and answers questions."""

    def __init__(self, capabilities: Message) -> None:
        inbound, self._output = os.pipe()
        self._input, outbound = os.pipe()
        self.abilities = ClientAbilities(capabilities)
        self._variants = self.abilities.surfaces
        self._driver = Driver(inbound, outbound, Nobody(), name="test")
        self._driver.start()
        self._lines = os.fdopen(self._input, "rb")
        host = AcpHost("s1", threading.RLock(), self._driver, lambda: self.abilities)
        self.plugins = PluginHost([example()], Site("s1", "/"), host)
        self.plugins.start()
        self.plugins.open()
        self.said: list[str] = []

    def act(self, words: str = "") -> threading.Thread:
        """`/tally:setup`, on a thread."""

        def run() -> None:
            self.said.append(self.plugins.run_action("tally:setup", words, Scope()))

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def read(self) -> Message:
        message: Message = json.loads(self._lines.readline())
        assert check_message(bundle(), "agent", message, None, self._variants) == []
        return message

    def update(self) -> Message:
        message = self.read()
        assert message["method"] == "session/update", message
        found: Message = message["params"]["update"]
        return found

    def reply(self, request: Message, result: Message) -> None:
        answer = {"jsonrpc": "2.0", "id": request["id"], "result": result}
        os.write(self._output, json.dumps(answer).encode() + b"\n")

    def choose(self, request: Message, option: str | None) -> None:
        chosen = {"outcome": "cancelled"} if option is None else {"outcome": "selected", "optionId": option}
        self.reply(request, {"outcome": chosen})

    def close(self) -> None:
        assert self.plugins.close(time.monotonic() + 4)
        self._driver.finish(time.monotonic() + 2)
        os.close(self._output)
        self._lines.close()


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Iterator[Client]:
    one = Client(request.param)
    yield one
    one.close()


@pytest.mark.parametrize("client", [{"elicitation": {"form": {}}}], indirect=True)
def test_a_client_with_forms(client: Client) -> None:
    thread = client.act()
    asked = client.read()
    assert asked["method"] == "elicitation/create"
    schema = asked["params"]["requestedSchema"]
    assert {name: one["type"] for name, one in schema["properties"].items()} == {
        "on": "boolean", "word": "string", "tone": "string", "tools": "array",
    }  # fmt: skip
    assert schema["required"] == ["on"]
    assert "toolCallId" not in asked["params"]
    client.reply(asked, {"action": "accept", "content": {"on": True, "word": "sudo"}})
    thread.join(60)
    card = client.update()
    assert "- word: sudo" in card["content"]["text"]
    assert "`/tally:setup`: Change" in card["content"]["text"]
    assert client.said == ["Fill in the form."]


@pytest.mark.parametrize("client", [{}], indirect=True)
def test_a_client_with_permission_requests_only(client: Client) -> None:
    thread = client.act()
    call = client.update()
    assert (call["sessionUpdate"], call["title"]) == ("tool_call", "tally asks: Calls to keep away")
    for title, option in (
        ("Keep calls away?", "q1:yes"),
        ("How to say it?", "q2:kind"),
        ("In calls of what?", "q3:bash"),
    ):
        asked = client.read()
        assert asked["method"] == "session/request_permission"
        assert asked["params"]["toolCall"]["toolCallId"] == call["toolCallId"]
        assert asked["params"]["toolCall"]["title"] == title
        client.choose(asked, option)
    client.choose(client.read(), "done")
    settled = client.update()
    assert (settled["toolCallId"], settled["status"]) == (call["toolCallId"], "completed")
    assert client.update()["toolCallId"] == call["toolCallId"]  # that it has ended, for those who gather evidence
    text = client.update()["content"]["text"]
    assert "- word: rm" in text
    assert "- tools: ['bash']" in text
    thread.join(60)


@pytest.mark.parametrize("client", [{}], indirect=True)
def test_to_close_a_question_is_an_answer(client: Client) -> None:
    thread = client.act()
    client.update()
    client.choose(client.read(), None)
    assert client.update()["status"] == "failed"
    thread.join(60)
    assert client.said == ["Fill in the form."]


@pytest.mark.parametrize("client", [{"_meta": SUPPORTED, "elicitation": {"form": {}}}], indirect=True)
def test_a_client_that_shows_surfaces(client: Client) -> None:
    client.act("curl").join(60)
    card = client.update()["_meta"]["reasonix.io"]["extensionSurface"]
    assert (card["kind"], card["sessionId"], card["generation"]) == ("card", "s1", 1)
    client.act().join(60)
    form = client.update()["_meta"]["reasonix.io"]["extensionSurface"]
    assert (form["kind"], form["surfaceId"], form["formInstanceId"]) == ("form", "rules", "form-1-1")
    client.plugins.submit(form["formInstanceId"], {"on": False})
    again = client.update()["_meta"]["reasonix.io"]["extensionSurface"]
    assert {"key": "on", "value": "False"} in again["card"]["fields"]
