"""The controls of a session: what is listed, how it is set, what the model gets of it, and that it stays."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.acp.seen import says, turn
from tests.agent import Agent, Message, text_in, updates_in
from tests.conftest import Home, StartAgent
from tests.model_server import ModelServer, Request

SCRIPT: dict[str, Any] = {"turns": [turn("hold", {"stall": True}), turn(".*", says("Hello."))]}
MODES = [
    ("normal", "Normal", "Work directly and pause when user input is required"),
    ("plan", "Plan", "Research and propose a plan before making changes"),
    ("goal", "Goal", "Keep advancing the next prompt as a goal until complete or blocked"),
]
WORK_MODES = [
    ("economy", "Economy", "Use a lean initial tool surface to save tokens"),
    ("balanced", "Balanced", "Use the complete default tool surface"),
    ("delivery", "Delivery", "Require acceptance criteria, review, and verification evidence"),
]
APPROVALS = [
    ("ask", "Ask", "Ask before permission-gated tool calls"),
    ("auto", "Auto", "Follow configured permission rules without fallback prompts"),
    ("yolo", "Yolo", "Approve tool calls except protected decisions"),
]
# id, name, category, and the values: (value, name, description or None).
LISTED: list[tuple[str, str, str, list[tuple[str, str, str | None]]]] = [
    ("mode", "Mode", "mode", [*MODES]),
    (
        "model",
        "Model",
        "model",
        [
            ("local/tiny", "local/tiny", "local"),
            ("local/plain", "local/plain", "local"),
            ("other/tiny", "other/tiny", "other"),
        ],
    ),
    ("effort", "Effort", "thought_level", [("auto", "Auto", None), ("low", "Low", None), ("xhigh", "XHigh", None)]),
    ("work_mode", "Work Mode", "_work_mode", [*WORK_MODES]),
    ("tool_approval", "Tool Approval", "_tool_approval", [*APPROVALS]),
]
AT_FIRST = {"mode": "normal", "model": "local/tiny", "effort": "auto", "work_mode": "balanced", "tool_approval": "ask"}
INVALID, GONE = -32602, -32002


def configure(home: Home, server: ModelServer, **more: Any) -> None:
    """Three models: one with efforts, one without, and one of another provider with efforts of its own."""
    local = {
        "api": "openai-chat",
        "base_url": server.base_url,
        "models": {"tiny": {"efforts": ["low", "xhigh"]}, "plain": {}},
    }
    other = {"api": "openai-chat", "base_url": server.base_url, "models": {"tiny": {"efforts": ["high", "low"]}}}
    home.configure({"providers": {"local": local, "other": other}, **more})


class Room:
    """An agent whose sessions are asked for their controls."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder / "home")
        self.home.path.mkdir()
        self.cwd = folder / "workspace"
        self.cwd.mkdir()
        self.server = ModelServer(SCRIPT)
        configure(self.home, self.server)
        self.agent = Agent(cwd=self.home.path, env=self.home.env)
        self.agent.initialize()

    def close(self) -> None:
        self.agent.close()
        self.server.close()

    def new(self) -> str:
        return self.agent.new_session(self.cwd)

    def held(self, session: str) -> int:
        """A prompt whose model says nothing; its id."""
        since = len(self.server.requests)
        id = self.agent.start_prompt(session, "hold")
        self.server.wait_for_request(since + 1)
        return id

    def release(self, session: str, prompt: int) -> None:
        self.agent.notify("session/cancel", {"sessionId": session})
        assert self.agent.response(prompt)["result"] == {"stopReason": "cancelled"}

    def asked(self, session: str) -> Request:
        """What the model is asked for a prompt of this session."""
        assert self.agent.prompt(session, "hi")[1]["result"] == {"stopReason": "end_turn"}
        return self.server.requests[-1]

    def change(self, method: str, session: str, **params: Any) -> tuple[list[Message], Message]:
        """Ask for a change: (what is told of the controls before the answer, the answer)."""
        since = len(self.agent.messages)
        id = self.agent.request(method, {"sessionId": session, **params})
        answer = self.agent.response(id)
        end = self.agent.transcript.responses[int, id]
        return of_controls(updates_in(self.agent.messages[since:end], session)), answer

    def set_option(self, session: str, option: str, value: Any, **more: Any) -> tuple[list[Message], Message]:
        return self.change("session/set_config_option", session, configId=option, value=value, **more)

    def values(self, session: str) -> dict[str, Any]:
        """What the controls are, once nothing is done any more: a prompt waits for that."""
        self.agent.prompt(session, "/help")
        return values_of(self.agent.call("session/resume", {"sessionId": session, "cwd": str(self.cwd)}))


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    made = Room(tmp_path_factory.mktemp("controls"))
    try:
        yield made
    finally:
        made.close()


def values_of(listed: Message) -> dict[str, Any]:
    return {option["id"]: option["currentValue"] for option in listed["configOptions"]}


def of_controls(updates: list[Message]) -> list[Message]:
    """Those that tell of the controls. Commands and titles come behind an answer, so at any time before the next."""
    return [u for u in updates if u["sessionUpdate"] in ("current_mode_update", "config_option_update")]


def kinds(updates: list[Message]) -> list[str]:
    """What was told of the controls, in order."""
    return [f"mode {u['currentModeId']}" if "currentModeId" in u else "options" for u in of_controls(updates)]


# What is listed.


def test_CONF_01_CONF_10_CONF_11_the_options_of_a_new_session(room: Room) -> None:
    opened = room.agent.call("session/new", {"cwd": str(room.cwd), "mcpServers": []})
    expected = [
        {
            "id": id,
            "name": name,
            "category": category,
            "type": "select",
            "currentValue": AT_FIRST[id],
            "options": [
                {"value": value, "name": label, **({"description": words} if words else {})}
                for value, label, words in values
            ],
        }
        for id, name, category, values in LISTED
    ]
    assert opened["configOptions"] == expected


def test_the_modes_of_a_new_session(room: Room) -> None:
    opened = room.agent.call("session/new", {"cwd": str(room.cwd), "mcpServers": []})
    modes = [{"id": id, "name": name, "description": words} for id, name, words in MODES]
    assert opened["modes"] == {"currentModeId": "normal", "availableModes": modes}


def test_CONF_02_CONF_14_values_are_listed_and_ids_unique(room: Room) -> None:
    session = room.new()
    for id, _, _, values in LISTED:
        room.set_option(session, "model", "local/tiny")
        for value, _, _ in values:
            listed = room.set_option(session, id, value)[1]["result"]["configOptions"]
            assert len({option["id"] for option in listed}) == len(listed)
            for option in listed:
                assert option["currentValue"] in [choice["value"] for choice in option["options"]]


def test_flags_and_configuration_say_what_a_new_session_has(agent: StartAgent, home: Home, workspace: Path) -> None:
    with ModelServer(SCRIPT) as server:
        configure(home, server, default_model="other", profile="economy", tool_approval="auto")
        place = {"cwd": str(workspace), "mcpServers": []}
        one = agent()
        one.initialize()
        assert values_of(one.call("session/new", place)) == AT_FIRST | {
            "model": "other/tiny",
            "work_mode": "economy",
            "tool_approval": "auto",
        }
        one.close()
        two = agent("--model", "plain", "--profile", "delivery")
        two.initialize()
        values = values_of(two.call("session/new", place))
        assert (values["model"], values["work_mode"], "effort" in values) == ("local/plain", "delivery", False)


# How it is set.


@pytest.mark.parametrize(
    ("option", "value"),
    [("mode", "plan"), ("model", "other/tiny"), ("effort", "low"), ("work_mode", "economy"), ("tool_approval", "yolo")],
)
def test_CONF_03_CONF_08_a_change_is_told_and_answered_with_the_whole_list(room: Room, option: str, value: str) -> None:
    session = room.new()
    updates, answer = room.set_option(session, option, value)
    assert values_of(answer["result"]) == AT_FIRST | {option: value}
    told = updates[-1]
    assert told["configOptions"] == answer["result"]["configOptions"]
    again, answer = room.set_option(session, option, value)
    assert again == []  # nothing changed
    assert answer["result"]["configOptions"] == told["configOptions"]


def test_MODE_01_MODE_03_MODE_04_MODE_05_both_selectors_stay_in_step(room: Room) -> None:
    session = room.new()
    updates, answer = room.change("session/set_mode", session, modeId="plan")
    assert answer["result"] == {}
    assert kinds(updates) == ["mode plan", "options"]
    assert values_of(updates[-1])["mode"] == "plan"
    assert room.change("session/set_mode", session, modeId="plan") == ([], answer | {"id": answer["id"] + 1})
    updates, answer = room.set_option(session, "mode", "goal")
    assert kinds(updates) == ["mode goal", "options"]
    assert values_of(answer["result"]) == AT_FIRST | {"mode": "goal"}
    assert kinds(room.change("session/set_mode", session, modeId="normal")[0]) == ["mode normal", "options"]


@pytest.mark.parametrize(
    ("alias", "mode", "approval"),
    [
        ("agent", "normal", "auto"),
        ("planning", "plan", "auto"),
        ("default", "normal", "ask"),
        ("auto", "normal", "yolo"),
    ],
)
@pytest.mark.parametrize("method", ["session/set_mode", "session/set_config_option"])
def test_modes_that_older_clients_know(room: Room, method: str, alias: str, mode: str, approval: str) -> None:
    session = room.new()
    room.set_option(session, "mode", "goal")
    room.set_option(session, "tool_approval", "auto")
    params = {"modeId": alias} if method == "session/set_mode" else {"configId": "mode", "value": alias}
    updates, answer = room.change(method, session, **params)
    assert kinds(updates) == [f"mode {mode}", "options"]
    expected = AT_FIRST | {"mode": mode, "tool_approval": approval}
    assert values_of(updates[-1]) == expected
    if method == "session/set_config_option":
        assert values_of(answer["result"]) == expected


def test_the_older_default_and_auto_change_the_approval_alone_where_the_mode_is_normal(room: Room) -> None:
    session = room.new()
    assert kinds(room.change("session/set_mode", session, modeId="auto")[0]) == ["options"]
    assert kinds(room.change("session/set_mode", session, modeId="default")[0]) == ["options"]
    assert room.change("session/set_mode", session, modeId="default")[0] == []


@pytest.mark.parametrize(
    ("alias", "option", "value"),
    [
        ("models", "model", "local/plain"),
        ("reasoning_effort", "effort", "low"),
        ("thought_level", "effort", "low"),
        ("profile", "work_mode", "economy"),
        ("runtime_profile", "work_mode", "economy"),
        ("token_mode", "work_mode", "economy"),
        ("approval", "tool_approval", "auto"),
        ("approval_mode", "tool_approval", "auto"),
        ("tool_approval_mode", "tool_approval", "auto"),
    ],
)
def test_options_that_older_clients_know_by_another_id(room: Room, alias: str, option: str, value: str) -> None:
    _, answer = room.set_option(room.new(), alias, value)
    assert values_of(answer["result"])[option] == value


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        ("economy", ("eco", "lite", "save", "saving", "low", "minimal", "light", "Economy")),
        ("balanced", ("full", "standard", "normal", "", "BALANCED")),
        ("delivery", ("deliver", "quality", " delivery ")),
    ],
)
def test_work_modes_by_other_words(room: Room, mode: str, words: tuple[str, ...]) -> None:
    session = room.new()
    for word in words:
        room.set_option(session, "work_mode", "delivery" if mode != "delivery" else "economy")
        updates, answer = room.set_option(session, "work_mode", word)
        assert values_of(answer["result"])["work_mode"] == mode, word
        assert kinds(updates) == ["options"]


@pytest.mark.parametrize(
    ("name", "model"),
    [("other/tiny", "other/tiny"), ("other", "other/tiny"), ("plain", "local/plain"), ("local", "local/tiny")],
)
def test_set_model_takes_a_provider_a_bare_name_and_the_whole(room: Room, name: str, model: str) -> None:
    session = room.new()
    room.change("session/set_model", session, modelId="local/plain" if model != "local/plain" else "other")
    updates, answer = room.change("session/set_model", session, modelId=name)
    assert answer["result"] == {}
    assert [values_of(update)["model"] for update in updates if "configOptions" in update] == [model]
    assert f"{room.asked(session).body['model']}" == model.partition("/")[2]


@pytest.mark.parametrize("name", ["nope", "nope/tiny", "tiny", "local/", "", "LOCAL"])
def test_set_model_refuses_what_no_model_or_several_are_called(room: Room, name: str) -> None:
    session = room.new()
    updates, answer = room.change("session/set_model", session, modelId=name)
    assert (updates, answer["error"]["code"]) == ([], INVALID)
    assert "params.modelId" in answer["error"]["message"]
    assert room.values(session) == AT_FIRST


# What is refused.

WRONG: list[tuple[str, Any, Message]] = [
    ("nope", "ask", {}),
    ("", "ask", {}),
    ("Mode", "plan", {}),
    ("mode", "bogus", {}),
    ("model", "nope", {}),
    ("model", "tiny", {}),  # looser names are for `session/set_model`
    ("effort", "max", {}),
    ("effort", "LOW", {}),
    ("work_mode", "bogus", {}),
    ("tool_approval", "read-only", {}),
    ("mode", 1, {}),
    ("mode", None, {}),
    ("mode", ["plan"], {}),
    ("mode", {"value": "plan"}, {}),
    ("work_mode", 1.5, {}),
    ("effort", True, {}),
    ("tool_approval", True, {}),
    ("tool_approval", True, {"type": "boolean"}),
    ("tool_approval", False, {"type": "boolean"}),
    ("fast", True, {"type": "boolean"}),
    ("tool_approval", "yolo", {"type": "boolean"}),
]


@pytest.mark.parametrize(("option", "value", "more"), WRONG)
def test_CONF_05_CONF_07_what_cannot_be_set_changes_nothing(room: Room, option: str, value: Any, more: Message) -> None:
    session = room.new()
    updates, answer = room.set_option(session, option, value, **more)
    assert (updates, answer["error"]["code"]) == ([], INVALID)
    assert answer["error"]["message"].startswith("params.")
    assert room.values(session) == AT_FIRST


def test_CONF_05_the_remedy_is_named_and_nothing_repeated(room: Room) -> None:
    session = room.new()
    said = [room.set_option(session, *wrong)[1]["error"]["message"] for wrong in (("nope", "x"), ("effort", "nope"))]
    assert said == [
        "params.configId: is not an option; use one of mode, model, effort, work_mode, tool_approval",
        "params.value: is not one of the values of effort; use one of auto, low, xhigh",
    ]


def test_CONF_06_no_option_is_a_boolean_for_those_who_can_show_one(
    agent: StartAgent, home: Home, tmp_path: Path
) -> None:
    with ModelServer(SCRIPT) as server:
        configure(home, server)
        one = agent()
        one.initialize({"session": {"configOptions": {"boolean": {}}}})
        opened = one.call("session/new", {"cwd": str(tmp_path), "mcpServers": []})
    assert {option["type"] for option in opened["configOptions"]} == {"select"}


@pytest.mark.parametrize("type", ["select", "id", "yesterday"])
def test_CONF_07_a_text_with_a_type_that_is_not_known_is_a_value(room: Room, type: str) -> None:
    _, answer = room.set_option(room.new(), "effort", "low", type=type)
    assert values_of(answer["result"])["effort"] == "low"


def test_who_says_optionId_is_told_of_configId(room: Room) -> None:
    session = room.new()
    _, answer = room.change("session/set_config_option", session, optionId="effort", value="low")
    assert answer["error"]["code"] == INVALID
    assert "configId" in answer["error"]["message"]
    _, answer = room.change("session/set_config_option", session, configId="effort", optionId="mode", value="low")
    assert values_of(answer["result"])["effort"] == "low"


@pytest.mark.parametrize("mode", ["bogus", "", "Plan", "acceptEdits"])
def test_MODE_02_MODE_06_an_unlisted_mode_changes_nothing(room: Room, mode: str) -> None:
    session = room.new()
    room.change("session/set_mode", session, modeId="plan")
    updates, answer = room.change("session/set_mode", session, modeId=mode)
    assert (updates, answer["error"]["code"]) == ([], INVALID)
    assert room.values(session) == AT_FIRST | {"mode": "plan"}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/set_mode", {"modeId": "plan"}),
        ("session/set_model", {"modelId": "plain"}),
        ("session/set_config_option", {"configId": "mode", "value": "plan"}),
    ],
)
def test_RPC_26_a_session_that_is_not_open(room: Room, method: str, params: Message) -> None:
    error = room.agent.fail(method, {"sessionId": "nope", **params})
    assert (error["code"], error["data"]) == (GONE, {"sessionId": "nope"})
    for missing in params:
        left = {name: value for name, value in params.items() if name != missing}
        error = room.agent.fail(method, {"sessionId": room.new(), **left})
        assert error["code"] == INVALID
        assert f"params.{missing}" in error["message"]


# How the axes hang together.


def test_CONF_04_the_efforts_are_those_of_the_model(room: Room) -> None:
    session = room.new()
    room.set_option(session, "effort", "xhigh")
    updates, answer = room.set_option(session, "model", "local/plain")
    assert "effort" not in values_of(answer["result"])
    assert "effort" not in values_of(updates[0])
    assert "reasoning_effort" not in room.asked(session).body
    assert room.set_option(session, "effort", "low")[1]["error"]["code"] == INVALID
    _, answer = room.set_option(session, "model", "local/tiny")
    assert values_of(answer["result"]) == AT_FIRST  # back again, and the choice of then is gone
    assert "reasoning_effort" not in room.asked(session).body


def test_CONF_04_an_effort_that_the_next_model_has_too_is_kept(room: Room) -> None:
    session = room.new()
    room.set_option(session, "effort", "low")
    _, answer = room.set_option(session, "model", "other/tiny")
    (effort,) = [option for option in answer["result"]["configOptions"] if option["id"] == "effort"]
    assert effort["currentValue"] == "low"
    assert [choice["value"] for choice in effort["options"]] == ["auto", "high", "low"]
    assert room.asked(session).body["reasoning_effort"] == "low"
    room.set_option(session, "effort", "high")
    _, answer = room.set_option(session, "model", "local/tiny")
    assert values_of(answer["result"])["effort"] == "auto"


def test_MODE_01_CONF_12_changes_during_a_turn_are_answered_at_once(room: Room) -> None:
    session = room.new()
    prompt = room.held(session)
    for option, value in (("model", "local/plain"), ("work_mode", "delivery"), ("tool_approval", "auto")):
        updates, answer = room.set_option(session, option, value)
        assert kinds(updates) == ["options"]
        assert values_of(answer["result"])[option] == value
    updates, answer = room.change("session/set_mode", session, modeId="plan")
    assert (kinds(updates), answer["result"]) == (["mode plan", "options"], {})
    assert room.set_option(session, "effort", "low")[1]["error"]["code"] == INVALID  # the model asked for has none
    room.set_option(session, "model", "other/tiny")
    _, answer = room.set_option(session, "effort", "high")
    chosen = {"mode": "plan", "model": "other/tiny", "effort": "high", "work_mode": "delivery", "tool_approval": "auto"}
    assert values_of(answer["result"]) == chosen
    assert (int, prompt) not in room.agent.transcript.responses
    room.release(session, prompt)
    room.change("session/set_mode", session, modeId="normal")
    body = room.asked(session).body
    assert (body["model"], body["reasoning_effort"]) == ("tiny", "high")


def test_CONF_12_set_back_during_a_turn_nothing_is_rebuilt(room: Room) -> None:
    session = room.new()
    prompt = room.held(session)
    room.set_option(session, "model", "local/plain")
    _, answer = room.set_option(session, "model", "local/tiny")
    assert values_of(answer["result"]) == AT_FIRST
    since = len(room.agent.messages)
    room.release(session, prompt)
    assert room.values(session) == AT_FIRST
    assert kinds(updates_in(room.agent.messages[since:], session)) == []


def test_CONF_12_fifty_changes_beside_a_turn(room: Room) -> None:
    session = room.new()
    prompt = room.held(session)
    choices = [(id, value) for id, _, _, values in LISTED for value, _, _ in values if id != "effort"]
    wanted = (choices * 5)[:50]
    requests = [
        room.agent.make_request("session/set_config_option", {"sessionId": session, "configId": id, "value": value})
        for id, value in wanted
    ]
    room.agent.send(*requests)
    for request, (option, value) in zip(requests, wanted, strict=True):
        values = values_of(room.agent.response(request["id"])["result"])
        # What is stored first is answered by what holds by then, which may be what was asked for next.
        assert values[option] == value or option in ("mode", "tool_approval")
    room.release(session, prompt)
    last = dict(wanted)
    assert {id: value for id, value in room.values(session).items() if id in last} == last


def test_sessions_do_not_share_controls(room: Room) -> None:
    one, two = room.new(), room.new()
    room.set_option(one, "model", "local/plain")
    room.change("session/set_mode", one, modeId="plan")
    room.set_option(one, "tool_approval", "yolo")
    assert room.values(two) == room.values(room.new()) == AT_FIRST


# That it stays.

CHOSEN = {"mode": "goal", "model": "other/tiny", "effort": "high", "work_mode": "delivery", "tool_approval": "auto"}


def choose(one: Agent, session: str, values: dict[str, str]) -> None:
    for option, value in values.items():
        one.call("session/set_config_option", {"sessionId": session, "configId": option, "value": value})


@pytest.mark.parametrize("end", ["close", "kill"])
@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_CONF_13_values_come_back(agent: StartAgent, home: Home, workspace: Path, method: str, end: str) -> None:
    with ModelServer(SCRIPT) as server:
        configure(home, server)
        one = agent(exit_code=None)
        session = one.new_session(workspace)
        one.prompt(session, "hi")
        choose(one, session, CHOSEN)
        if end == "kill":
            one.process.signal(signal.SIGKILL)
        else:
            one.call("session/close", {"sessionId": session})
            one.close_stdin()
        one.wait_exit()
        two = agent("--model", "plain", "--profile", "economy")  # what was saved beats the flags
        two.initialize()
        opened = two.call(method, {"sessionId": session, "cwd": str(workspace), "mcpServers": []})
        assert values_of(opened) == CHOSEN
        assert opened["modes"]["currentModeId"] == "goal"
        assert kinds(two.updates(session)) == (["options"] if method == "session/load" else [])
        choose(two, session, {"mode": "normal"})
        assert two.prompt(session, "hi")[1]["result"] == {"stopReason": "end_turn"}
        body = server.requests[-1].body
        assert (body["model"], body["reasoning_effort"]) == ("tiny", "high")


def test_CONF_13_what_is_chosen_before_the_first_prompt_comes_back(
    agent: StartAgent, home: Home, workspace: Path
) -> None:
    with ModelServer(SCRIPT) as server:
        configure(home, server)
        one = agent(exit_code=None)
        session = one.new_session(workspace)
        choose(one, session, CHOSEN | {"mode": "normal"})
        one.prompt(session, "hi")
        one.process.signal(signal.SIGKILL)
        one.wait_exit()
        two = agent()
        two.initialize()
        opened = two.call("session/load", {"sessionId": session, "cwd": str(workspace), "mcpServers": []})
        assert values_of(opened) == CHOSEN | {"mode": "normal"}


def test_CONF_13_a_change_during_a_turn_comes_back_after_a_kill(agent: StartAgent, home: Home, workspace: Path) -> None:
    """The axes hold once they are made use of; what needs no rebuild holds once it is answered."""
    with ModelServer(SCRIPT) as server:
        configure(home, server)
        one = agent(exit_code=None)
        session = one.new_session(workspace)
        one.prompt(session, "hi")
        one.start_prompt(session, "hold")
        server.wait_for_request(2)
        choose(one, session, {"tool_approval": "yolo", "mode": "plan"})
        one.process.signal(signal.SIGKILL)
        one.wait_exit()
        two = agent()
        two.initialize()
        opened = two.call("session/load", {"sessionId": session, "cwd": str(workspace), "mcpServers": []})
        assert values_of(opened) == AT_FIRST | {"tool_approval": "yolo", "mode": "plan"}


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_a_model_that_is_gone_is_told_and_waited_for_and_the_rest_is_kept(
    agent: StartAgent, home: Home, workspace: Path, method: str
) -> None:
    with ModelServer(SCRIPT) as server:
        configure(home, server)
        one = agent()
        session = one.new_session(workspace)
        one.prompt(session, "hi")
        choose(one, session, CHOSEN | {"mode": "normal"})
        one.close()
        local = {"api": "openai-chat", "base_url": server.base_url, "models": {"tiny": {"efforts": ["high"]}}}
        home.configure({"providers": {"local": local}})
        two = agent()
        two.initialize()
        opened = two.call(method, {"sessionId": session, "cwd": str(workspace), "mcpServers": []})
        assert values_of(opened) == CHOSEN | {"mode": "normal", "model": "local/tiny"}
        said = [text for text in text_in(two.updates(session)).split("\n\n") if text.startswith("[warning]")]
        assert said == [
            "[warning] The model other/tiny of this session is no longer configured; local/tiny is used instead."
        ]
        assert two.prompt(session, "hi")[1]["result"] == {"stopReason": "end_turn"}
        two.close()
        configure(home, server)
        three = agent()
        three.initialize()
        opened = three.call(method, {"sessionId": session, "cwd": str(workspace), "mcpServers": []})
        assert values_of(opened) == CHOSEN | {"mode": "normal"}  # the model is there again
        assert "[warning]" not in text_in(three.updates(session))
