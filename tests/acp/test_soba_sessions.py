"""What SOBA's own tests expect of a connection and its sessions, by their numbers, over the wire and with two sessions
at once. Where the protocol or our own rules decide otherwise, our value is expected, and said why."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from acpagent.version import __version__
from acpagent.wire.schema import bundle, load
from tests.acp.mcp import mcp_tools, plain, settle
from tests.acp.pairs import NAMES, Pair
from tests.acp.seeding import seed
from tests.acp.seen import OPENED, says, turn
from tests.acp.served import Served, served
from tests.agent import Message, text_in

SCRIPT: dict[str, Any] = {
    "turns": [
        turn("stay", [{"text": "Begun."}, {"wait": 30}]),
        turn(".", says("Heard.")),
    ]
}
MODEL = {"efforts": ["low", "high"]}
BOOLEAN: Message = {"session": {"configOptions": {"boolean": {}}}}
MakePair = Callable[..., Pair]


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("sessions"), SCRIPT, MODEL) as made:
        yield made


@pytest.fixture
def pair(one: Served, tmp_path: Path) -> MakePair:
    return lambda abilities=None, **editor: Pair(one, tmp_path, abilities, **editor)


def values(options: list[Message]) -> dict[str, str]:
    return {option["id"]: option["currentValue"] for option in options}


def told_after(two: Pair, answer: Message, session: str) -> list[str]:
    """The first two kinds of updates for a session after an answer."""
    since = two.agent.messages.index(answer)
    two.agent.expect_update(session, "available_commands_update", since)
    return [update["sessionUpdate"] for update in two.agent.updates(session, since)][:2]


def test_SOBA_01_SOBA_32_SOBA_33_SOBA_34_what_is_wrong_disturbs_no_turn(pair: MakePair) -> None:
    two = pair()
    since = len(two.agent.messages)
    prompts = two.start("stay")
    for session in two.sessions:
        two.agent.expect_update(session, "agent_message_chunk", since)
    between = len(two.agent.messages)
    two.agent.send_raw(b'{"jsonrpc":"2.0","id":1,"method"\n')
    broken = two.agent.expect(lambda message: "error" in message, "an error", between)
    assert (broken["id"], broken["error"]["code"]) == (None, -32700)
    for params in ({}, {"cwd": 3}, {"sessionId": "nobody"}):  # notifications are never answered, right or wrong
        for method in ("session/new", "session/prompt", "session/cancel", "initialize", "session/frobnicate"):
            two.agent.notify(method, params)
    assert two.agent.fail("session/frobnicate", {"sessionId": two.sessions[0]})["code"] == -32601
    assert two.agent.messages[between:] == [broken, two.agent.messages[-1]]
    for session in two.sessions:
        two.agent.notify("session/cancel", {"sessionId": session})
    assert [two.agent.response(id)["result"] for id in prompts] == [{"stopReason": "cancelled"}] * 2


def test_SOBA_01_SOBA_33_what_is_wrong_is_told_on_stderr(one: Served, tmp_path: Path) -> None:
    agent = one.start()
    agent.initialize()
    sessions = [agent.new_session(tmp_path), agent.new_session(tmp_path)]
    agent.send_raw(b'{"jsonrpc":"2.0","id":1,"method"\n')
    for session in sessions:
        agent.notify("session/set_mode", {"sessionId": session, "modeId": 3})
    agent.close()
    assert agent.stderr().splitlines() == [
        "[acpagent acp] -32700 the line is not valid JSON",
        *["[acpagent acp] session/set_mode is a request and came without an id; ignored"] * 2,
    ]


def test_SOBA_02_what_initialize_answers(one: Served) -> None:
    """The rules of both agents together: names and methods are ours, images are taken exactly where the start-up model
    sees them, and servers over HTTP work."""
    answer = one.agent.initialize()
    assert answer["agentInfo"] == {"name": "acpagent", "title": "acpagent", "version": __version__}
    capabilities = answer["agentCapabilities"]
    vendor = capabilities["_meta"]["reasonix.io"]
    assert vendor["sessionSteer"]["method"] == "_reasonix.io/session/steer"
    assert vendor["sessionReloadExtensions"]["method"] == "_reasonix.io/session/reloadExtensions"
    assert vendor["extensionSurface"].items() >= {"supported": True, "schemaVersion": 1}.items()
    assert {name: value for name, value in capabilities.items() if name != "_meta"} == {
        "loadSession": True,
        "promptCapabilities": {"image": False, "audio": False, "embeddedContext": True},
        "mcpCapabilities": {"http": True, "sse": False},
        "sessionCapabilities": {name: {} for name in ("list", "resume", "close", "delete", "additionalDirectories")},
        "auth": {"logout": {}},
    }
    assert [method["type"] for method in answer["authMethods"] if "type" in method] in ([], ["agent"])


def test_SOBA_03_SOBA_04_a_new_session_has_what_it_was_opened_with(pair: MakePair, one: Served) -> None:
    """The answer has modes and options beside the id, and the name comes before the commands: clients need the first
    before they draw, and the last two follow every opening in this order."""
    two = pair()
    requests = []
    for index, folder in enumerate(two.folders):
        (more := folder.parent / f"more-{NAMES[index]}").mkdir()
        (more / "more.txt").write_text(f"more of {NAMES[index]}\n")
        params = {"cwd": str(folder), "mcpServers": [plain(NAMES[index])], "additionalDirectories": [str(more)]}
        requests.append(two.agent.make_request("session/new", params))
    two.agent.send(*requests)
    for index, request in enumerate(requests):
        answer = two.agent.response(request["id"])
        session = two.sessions[index] = answer["result"]["sessionId"]
        assert set(answer["result"]) == {"sessionId", "modes", "configOptions"}
        options = values(answer["result"]["configOptions"])
        assert list(options) == ["mode", "model", "effort", "work_mode", "tool_approval"]
        assert options["model"] == "local/tiny"
        assert told_after(two, answer, session) == ["session_info_update", "available_commands_update"]
        commands = two.agent.expect_update(session, "available_commands_update", two.agent.messages.index(answer))
        hints = {one["name"]: one.get("input", {}).get("hint") for one in commands["availableCommands"]}
        assert "status" in hints["mcp"]
        assert {"session", "budget", "help", "rewind", "capsule", "project-trust"} <= set(hints)
    for index, name in enumerate(NAMES):
        settle(one, two.sessions[index], [f"mcp__{name}__pid"], [f"mcp__{NAMES[1 - index]}__pid"])
        assert f"Working directory: {two.folders[index]}" in str(one.read())
        assert {tool.split("__")[1] for tool in mcp_tools(one.last)} == {name}
    places = [folder.parent / f"more-{name}" / "more.txt" for folder, name in zip(two.folders, NAMES, strict=True)]
    told = two.at_once(lambda index: f"@{places[index]}")
    assert [text_in(updates) for updates in told] == ["Heard."] * 2
    for index, name in enumerate(NAMES):
        assert f"more of {name}" in str(two.heard(index)["messages"])


def test_SOBA_05_an_option_is_answered_with_all_of_them_and_is_its_sessions_own(pair: MakePair) -> None:
    two = pair()
    answers = two.both(
        "session/set_config_option", lambda index: {"configId": "effort", "value": ["low", "high"][index]}
    )
    for index, answer in enumerate(answers):
        options = values(answer["result"]["configOptions"])
        assert (len(options), options["effort"]) == (5, ["low", "high"][index])
    two.at_once("hello")
    assert [two.heard(index)["reasoning_effort"] for index in (0, 1)] == ["low", "high"]


@pytest.mark.parametrize("abilities", [{}, BOOLEAN])
def test_SOBA_06_SOBA_07_there_is_no_boolean_option_and_none_can_be_set(pair: MakePair, abilities: Message) -> None:
    """The list of options is settled: five, each with values to choose from. So a client that can show a switch gets
    the same as all others, and what it sets is refused (CONF-06, CONF-07)."""
    two = pair(abilities)
    opened = two.both("session/set_config_option", {"configId": "effort", "value": "low"})
    for answer in opened:
        assert {option["type"] for option in answer["result"]["configOptions"]} == {"select"}
    for more in ({"type": "boolean", "value": True}, {"value": True}, {"type": "boolean", "value": False}):
        refused = two.both("session/set_config_option", {"configId": "effort", **more})
        assert [answer["error"]["code"] for answer in refused] == [-32602] * 2
    for answer in two.both("session/set_config_option", {"configId": "effort", "value": "low"}):
        assert values(answer["result"]["configOptions"])["effort"] == "low"


def test_SOBA_08_SOBA_10_the_past_is_listed_loaded_and_resumed(pair: MakePair) -> None:
    two = pair()
    live = two.at_once(lambda index: f"I am {NAMES[index]}")
    for index, folder in enumerate(two.folders):
        (row,) = two.agent.call("session/list", {"cwd": str(folder)})["sessions"]
        assert set(row) == {"sessionId", "cwd", "title", "updatedAt"}
        assert (row["sessionId"], row["cwd"]) == (two.sessions[index], str(folder))
        assert row["title"] == f"I am {NAMES[index]}"
    assert [answer["result"] for answer in two.both("session/close")] == [{}, {}]
    since = len(two.agent.messages)
    loaded = two.both("session/load", two.opened)
    for index, answer in enumerate(loaded):
        session = two.sessions[index]
        assert set(answer["result"]) == OPENED
        before = two.agent.messages[since : two.agent.messages.index(answer)]
        updates = [one["params"]["update"] for one in before if one.get("params", {}).get("sessionId") == session]
        assert text_in(updates, "user_message_chunk") == f"I am {NAMES[index]}"
        (mine,) = {one["messageId"] for one in updates if one["sessionUpdate"] == "user_message_chunk"}
        (models,) = {one["messageId"] for one in updates if one["sessionUpdate"] == "agent_message_chunk"}
        assert mine != models
        assert models in {one["messageId"] for one in live[index] if one["sessionUpdate"] == "agent_message_chunk"}
        assert updates[-1]["sessionUpdate"] == "config_option_update"
        assert told_after(two, answer, session) == ["session_info_update", "available_commands_update"]
    two.both("session/close")
    since = len(two.agent.messages)
    for index, answer in enumerate(two.both("session/resume", two.opened)):
        assert set(answer["result"]) == OPENED
        assert told_after(two, answer, two.sessions[index]) == ["session_info_update", "available_commands_update"]
        assert text_in(two.agent.updates(two.sessions[index], since), "user_message_chunk") == ""
    two.at_once("and on")
    for index in (0, 1):
        assert f"I am {NAMES[index]}" in str(two.heard(index)["messages"])


def test_SOBA_09_SOBA_11_a_long_list_comes_in_pages(pair: MakePair, one: Served) -> None:
    two = pair()
    stored = [seed(one.home, folder, 55) for folder in two.folders]

    def pages(cursors: list[Message]) -> list[Message]:
        asked = [{"cwd": str(folder), **cursor} for folder, cursor in zip(two.folders, cursors, strict=True)]
        requests = [two.agent.make_request("session/list", params) for params in asked]
        two.agent.send(*requests)
        return [two.agent.response(request["id"])["result"] for request in requests]

    two.both("session/close")  # the two that were never prompted are not listed any more
    first = pages([{}, {}])
    last = pages([{"cursor": page["nextCursor"]} for page in first])
    for index in (0, 1):
        found = [[row["sessionId"] for row in page["sessions"]] for page in (first[index], last[index])]
        assert [len(ids) for ids in found] == [50, 5]
        assert found[0] + found[1] == stored[index]
        assert "nextCursor" not in last[index]
    assert two.agent.fail("session/list", {"cursor": "nobody's"})["code"] == -32602


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_SOBA_12_SOBA_13_a_session_that_there_is_not(pair: MakePair, one: Served, method: str) -> None:
    """-32002 with the id, which is what the protocol has for it; SOBA says -32602. Loading cannot be switched off here:
    it is advertised, so it works."""
    two = pair()
    asked = len(one.server.requests)
    for index in (0, 1):
        missing = {"sessionId": f"no {NAMES[index]}", **two.opened(index)}
        error = two.agent.fail(method, missing)
        assert (error["code"], error["data"]) == (-32002, {"sessionId": f"no {NAMES[index]}"})
        prompt = {"sessionId": missing["sessionId"], "prompt": [{"type": "text", "text": "hello"}]}
        assert two.agent.fail("session/prompt", prompt)["code"] == -32002  # nothing was opened by it
    assert len(one.server.requests) == asked
    two.at_once("hello")
    two.both("session/close")
    assert [set(answer["result"]) for answer in two.both(method, two.opened)] == [OPENED] * 2


def test_SOBA_28_everything_of_two_sessions_is_answered_in_order(pair: MakePair) -> None:
    """A cancel with an id has no answer in the protocol, as it is a notification: it is told so."""
    two = pair()
    since = len(two.agent.messages)
    steps: list[tuple[str, Message]] = [
        ("session/set_mode", {"modeId": "plan"}),
        ("session/set_config_option", {"configId": "tool_approval", "value": "auto"}),
        ("session/set_mode", {"modeId": "agent"}),
        ("session/cancel", {}),
        ("session/close", {}),
        ("session/delete", {}),
    ]
    requests = [
        two.agent.make_request(method, {"sessionId": session, **params})
        for method, params in steps
        for session in two.sessions
    ]
    two.agent.send(*requests)
    answers = [two.agent.response(request["id"]) for request in requests]
    for index, session in enumerate(two.sessions):
        mine = answers[index::2]
        places = [two.agent.messages.index(answer) for answer in mine]
        in_order = [place for place, (method, _) in zip(places, steps, strict=True) if method != "session/cancel"]
        assert in_order == sorted(in_order)
        assert [answer.get("result", {}).keys() for answer in mine] == [set(), {"configOptions"}, *[set()] * 4]
        assert mine[3]["error"]["code"] == -32601
        assert "notification" in mine[3]["error"]["message"]
        modes = [
            place
            for place, message in enumerate(two.agent.messages)
            if place >= since and '"current_mode_update"' in json.dumps(message) and session in json.dumps(message)
        ]
        assert modes[0] < places[0] < modes[1] < places[2]
    listed = two.agent.call("session/list", {})["sessions"]
    assert not {row["sessionId"] for row in listed} & set(two.sessions)


def test_SOBA_42_an_id_that_is_in_use_is_refused(pair: MakePair) -> None:
    """SOBA aborts the request that had it first. Then one of the two would never be answered rightly (RPC-27)."""
    two = pair()
    since = len(two.agent.messages)
    text = [{"type": "text", "text": "stay"}]
    for session in two.sessions:
        prompt = {"jsonrpc": "2.0", "id": "same", "method": "session/prompt"}
        two.agent.send({**prompt, "params": {"sessionId": session, "prompt": text}})
    refused = two.agent.expect(lambda message: message.get("id") == "same", since=since)
    assert refused["error"]["code"] == -32600
    two.agent.expect_update(two.sessions[0], "agent_message_chunk", since)
    two.agent.notify("session/cancel", {"sessionId": two.sessions[0]})
    ended = two.agent.expect(lambda message: message.get("id") == "same" and "result" in message, since=since)
    assert ended["result"] == {"stopReason": "cancelled"}
    assert text_in(two.agent.updates(two.sessions[1], since)) == ""


def test_SOBA_43_SOBA_44_SOBA_45_version_methods_and_answers_are_the_protocols(pair: MakePair, one: Served) -> None:
    """There is no SDK at run time to be equal to: the schema that is bundled decides, whole and with closed objects."""
    two = pair()
    answer = one.agent.initialize()
    assert answer["protocolVersion"] == 1
    assert bundle().check_result("agent", "initialize", answer) == []
    definitions = load("acp-v1.json")["$defs"]
    assert {"InitializeResponse", "NewSessionResponse", "SessionNotification"} <= set(definitions)
    theirs = {one["x-method"] for one in definitions.values() if one.get("x-side") == "agent"}
    for method in sorted(method for method in theirs if method.startswith("session/") and method != "session/cancel"):
        for refused in two.both(method, {"sessionId": 3}):
            assert refused["error"]["code"] in (-32602, -32601) if "error" in refused else method == "session/list"
    for line in two.agent.messages[two.since :]:
        if line.get("method") == "session/update":
            assert bundle().check_params("client", "session/update", line["params"]) == []
