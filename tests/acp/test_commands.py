"""The commands of a session: what they show, set and refuse, as an editor sees it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acpagent.runtime.commands.elsewhere import ELSEWHERE
from acpagent.runtime.commands.table import CommandTable
from tests.acp.held import locked_store
from tests.acp.seen import calls, says, turn
from tests.acp.served import Served, served
from tests.agent import Message, text_in

SCRIPT: dict[str, Any] = {
    "turns": [
        turn("slowly", [{"text": "One "}, {"wait": 0.4}, {"text": "two."}]),
        turn(
            "keep it",
            calls("remember", text="Tests run with make check.", kind="pattern", file="Makefile"),
            says("Kept."),
        ),
        turn("look it up", calls("recall_memory", query="make"), says("Found.")),
        turn(".", says("Heard.")),
    ]
}
EFFORTS = {"efforts": ["low", "high"]}


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("commands"), SCRIPT, EFFORTS) as made:
        made.agent.initialize()
        yield made


def said(one: Served, session: str, words: str) -> str:
    """What a command answers, without the model."""
    before = len(one.server.requests)
    text = text_in(one.prompt(session, words))
    assert len(one.server.requests) == before
    assert text
    return text


def old_and_new(one: Served, folder: Path) -> tuple[str, str]:
    """A closed session in a folder that is made for it, and an open one; each has had a prompt."""
    folder.mkdir()
    old = one.new(folder)
    one.prompt(old, "hello")
    one.agent.call("session/close", {"sessionId": old})
    mine = one.new(folder)
    one.prompt(mine, "mine")
    return old, mine


def is_closed(one: Served, session: str) -> bool:
    params = {"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}
    return one.agent.fail("session/prompt", params)["code"] == -32002


def listed(one: Served, session: str, since: int = 0) -> dict[str, Message]:
    update = one.agent.expect_update(session, "available_commands_update", since)
    return {command["name"]: command for command in update["availableCommands"]}


def option(one: Served, session: str, id: str, since: int) -> Message:
    update = one.agent.expect_update(session, "config_option_update", since)
    return next(found for found in update["configOptions"] if found["id"] == id)


def test_CMD_01_each_command_says_how_it_is_used(one: Served) -> None:
    since = len(one.agent.messages)
    commands = listed(one, one.new(), since)
    assert set(commands) == {command.name for command in CommandTable().listed("en")}
    for name, command in commands.items():
        hint = command.get("input", {}).get("hint")
        usage = f"/{name} {hint}" if hint else f"/{name}"
        assert command["_meta"] == {"soba": {"commandId": name, "slashCommand": f"/{name}", "usage": usage}}
    assert commands["sessions"]["input"]["hint"].startswith("list | resume")


def test_help_says_how_one_command_is_used(one: Served) -> None:
    session = one.new()
    every = said(one, session, "/help")
    assert all(f"`/{command.name}`" in every for command in CommandTable().listed("en"))
    assert said(one, session, "/help sessions").startswith("`/sessions list | resume <id>")
    assert said(one, session, "/help /lang").startswith("`/lang [en|ru|zh]`")


@pytest.mark.parametrize(
    ("written", "meant"),
    [("/hlep", "help"), ("/sesions list", "sessions"), ("/confg", "config"), ("/permisions ask", "permissions"),
     ("/Reasonign", "reasoning")],
)  # fmt: skip
def test_a_near_miss_is_told(one: Served, written: str, meant: str) -> None:
    assert f"Did you mean `/{meant}`?" in said(one, one.new(), written)


@pytest.mark.parametrize("written", ["/fix the tests", "/explain", "/hel", "/pl", "/tests", "/reviews", "/x"])
def test_what_is_far_from_every_command_goes_to_the_model(one: Served, written: str) -> None:
    if written == "/hel":
        assert "Did you mean `/help`?" in said(one, one.new(), written)
        return
    assert text_in(one.prompt(one.new(), written)) == "Heard."
    assert one.heard() == written


def test_a_command_of_an_extension_is_no_slip(one: Served) -> None:
    (folder := one.home.path / "commands").mkdir(exist_ok=True)
    (folder / "helps.md").write_text("Say hello.")
    (folder / "clear.md").write_text("Clear the table.")
    try:
        session = one.new()
        for name, words in (("helps", "Say hello."), ("clear", "Clear the table.")):
            assert text_in(one.prompt(session, f"/{name}")) == "Heard."
            assert one.heard() == words
    finally:
        for name in ("helps", "clear"):
            (folder / f"{name}.md").unlink()


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_commands_of_terminals_are_explained(one: Served, name: str) -> None:
    assert said(one, one.new(), f"/{name} now").startswith(f"`/{name}` belongs to a terminal.")


WRONG = [
    "/session now", "/config set x", "/lang xx", "/lang en ru", "/plan maybe", "/sessions dance", "/sessions close",
    "/memory dance", "/memory show", "/reasoning most", '/sessions list "',
]  # fmt: skip


@pytest.mark.parametrize("words", WRONG)
def test_what_cannot_be_is_answered_with_how_it_is_used(one: Served, words: str) -> None:
    name = words.split()[0]
    assert f"`{name}" in said(one, one.new(), words).split("\n\n", 1)[1]


def test_session_shows_what_is_known_of_it(one: Served) -> None:
    session = one.new()
    one.prompt(session, "hello")
    shown = said(one, session, "/session")
    assert f"Id: `{session}`" in shown
    assert "Title: hello" in shown
    assert f"Folder: `{one.workspace}`" in shown
    assert "Prompts: 2" in shown
    assert "Model: `local/tiny`" in shown
    assert re.search(r"Context: \d+ of 32768 tokens", shown)


def test_config_shows_settings_and_no_key(one: Served, tmp_path: Path) -> None:
    provider = {"api_key_env": "TEST_KEY", "headers": {"X-Secret": "hidden-header"}}
    with served(tmp_path, SCRIPT, EFFORTS) as other:
        other.home.use_server(other.server.base_url, EFFORTS, provider=provider)
        (other.home.path / "credentials.yaml").write_text("local: sk-very-secret-1234567890\n")
        (other.home.path / "credentials.yaml").chmod(0o600)
        session = other.new()
        shown = said(other, session, "/config")
        assert "providers.local.base_url: `http://127.0.0.1" in shown
        assert "providers.local.models.tiny.context_window: `32768`" in shown
        assert "limits.turn_requests: `100`" in shown
        assert "set (`TEST_KEY`)" in shown
        assert "very-secret" not in shown
        assert "hidden-header" not in shown
        assert "tool_approval: `ask`" in shown


def test_lang_changes_what_acpagent_says_from_there_on(one: Served) -> None:
    session, other = one.new(), one.new()
    assert "English" in said(one, session, "/lang")
    since = len(one.agent.messages)
    assert said(one, session, "/lang ru").startswith("Теперь язык acpagent в этой сессии: Русский.")
    assert listed(one, session, since)["help"]["description"] == "Показать, что умеет acpagent"
    mode = option(one, session, "mode", since)
    assert (mode["name"], [found["name"] for found in mode["options"]]) == ("Режим", ["Обычный", "План", "Цель"])
    assert said(one, session, "/session").startswith("**Эта сессия**")
    assert said(one, session, "/hlep").startswith("Команды `/hlep` нет.")
    assert said(one, other, "/session").startswith("**This session**")  # each session has its own


def test_the_language_is_kept_with_the_session_and_its_past_is_said_anew(one: Served) -> None:
    session = one.new()
    one.prompt(session, "hello")
    said(one, session, "/lang zh")
    one.agent.call("session/close", {"sessionId": session})
    since = len(one.agent.messages)
    opened = one.agent.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
    assert opened["modes"]["availableModes"][1]["name"] == "计划"
    assert listed(one, session, since)["lang"]["description"] == "显示或设置 acpagent 消息的语言"


def test_a_language_of_the_configuration_is_spoken_from_the_start(tmp_path: Path) -> None:
    with served(tmp_path, SCRIPT, EFFORTS, language="ru") as russian:
        russian.agent.initialize()
        session = russian.new()
        assert listed(russian, session)["config"]["description"] == "Показать действующие настройки"
        assert said(russian, session, "/help").startswith("acpagent читает, меняет и запускает код")
        asked: list[Message] = []

        def permit(request: Message) -> str:
            asked.append(request["params"])
            return "once"

        (russian.workspace / "Makefile").write_text("check:\n")
        russian.prompt(session, "keep it", permission=permit)
        names = [found["name"] for found in asked[0]["options"]]
        assert names[:2] == ["Отклонить", "Разрешить один раз"]
        assert not any(re.search(r"\b(Allow|Reject)\b", name) for name in names)


def test_reasoning_shows_and_sets_the_effort_behind_the_prompt(one: Served) -> None:
    session = one.new()
    assert said(one, session, "/reasoning") == "Effort: `auto`. The model `local/tiny` has: `auto`, `low`, `high`."
    since = len(one.agent.messages)
    assert "from the next prompt on" in said(one, session, "/reasoning high")
    assert option(one, session, "effort", since)["currentValue"] == "high"
    one.prompt(session, "hello")
    assert one.last.body["reasoning_effort"] == "high"
    assert "already" in said(one, session, "/reasoning HIGH")
    said(one, session, "/reasoning default")
    one.prompt(session, "hello")
    assert "reasoning_effort" not in one.last.body


@pytest.mark.parametrize(
    ("words", "effort"),
    [("off", "low"), ("on", "high"), ("budget 4095", "low"), ("budget 23999", "low"), ("Budget 24000", "high"),
     ("budget 0", "low"), ("budget 99999999", "high")],
)  # fmt: skip
def test_reasoning_takes_what_is_nearest_and_says_so(one: Served, words: str, effort: str) -> None:
    session = one.new()
    said_now = said(one, session, f"/reasoning {words}")
    assert said_now.startswith(f"Asked for: {words.lower()}. ")
    assert f"is the effort `{effort}`" in said_now
    one.prompt(session, "hello")
    assert one.last.body["reasoning_effort"] == effort


@pytest.mark.parametrize("words", ["budget", "budget many", "budget 1 2", "budget -5", "on off"])
def test_reasoning_that_cannot_be_asked_for(one: Served, words: str) -> None:
    session = one.new()
    assert re.search("A budget is a number of tokens|has no effort `on off`", said(one, session, f"/reasoning {words}"))
    one.prompt(session, "hello")
    assert "reasoning_effort" not in one.last.body


@pytest.mark.parametrize(
    ("words", "mode"),
    [("on", "plan"), ("plan", "plan"), ("toggle", "plan"), ("goal", "goal"), ("off", "normal"), ("agent", "normal")],
)
def test_plan_sets_the_mode(one: Served, words: str, mode: str) -> None:
    session = one.new()
    since = len(one.agent.messages)
    said(one, session, f"/plan {words}")
    if mode != "normal":
        assert one.agent.expect_update(session, "current_mode_update", since)["currentModeId"] == mode
        assert option(one, session, "mode", since)["currentValue"] == mode
    assert said(one, session, "/plan").startswith(f"Mode: **{mode.capitalize()}**.")
    if words == "toggle":
        said(one, session, "/plan toggle")
        assert said(one, session, "/plan").startswith("Mode: **Normal**.")


def test_sessions_are_listed_closed_and_deleted(one: Served, tmp_path: Path) -> None:
    folder = tmp_path / "apart"
    folder.mkdir()
    first, second, elsewhere = one.new(folder), one.new(folder), one.new()
    for session in (first, second, elsewhere):
        one.prompt(session, f"hello from {session[:6]}")
    shown = said(one, second, "/sessions")
    assert re.findall(r"^- `([^`]*)`", shown, re.MULTILINE) == [second, first]
    assert f"`{second}` **this one**" in shown
    assert f"`{first}` (open)" in shown
    assert "cannot be closed by it" in said(one, second, f"/sessions close {second}")
    assert "cannot be deleted by it" in said(one, second, f"/sessions delete {second[:8]}")
    assert "No session of this folder" in said(one, second, f"/sessions delete {elsewhere}")
    assert "No session of this folder" in said(one, second, f"/sessions delete {first[:3]}")
    assert f"`{first}` is closed" in said(one, second, f"/sessions close {first}")
    assert is_closed(one, first)
    assert "is not open" in said(one, second, f"/sessions close {first}")
    assert f"`{first}` is deleted" in said(one, second, f"/sessions delete {first[:8]}")
    assert first not in said(one, second, "/sessions list")
    third = one.new(folder)
    one.prompt(third, "hello")
    assert "is deleted" in said(one, second, f"/sessions delete {third}")  # while it is open
    assert one.agent.call("session/list", {"cwd": str(folder)})["sessions"][0]["sessionId"] == second


def test_resume_shows_another_session_under_the_id_of_this_one(one: Served, tmp_path: Path) -> None:
    folder = tmp_path / "apart"
    folder.mkdir()
    old = one.new(folder)
    one.prompt(old, "hello from the past")
    one.agent.call("session/close", {"sessionId": old})
    mine = one.new(folder)
    since = len(one.agent.messages)
    shown = said(one, mine, f"/sessions resume {old[:8]}")
    assert f"goes on with session `{old}`" in shown
    updates = one.agent.updates(mine, since)
    assert text_in(updates, "user_message_chunk") == "hello from the past"
    assert "Heard." in text_in(updates)
    assert one.agent.updates(old, since) == []
    title = one.agent.expect_update(mine, "session_info_update", since)
    assert title["title"] == "hello from the past"
    one.prompt(mine, "and now")
    assert one.heard() == "and now"
    assert "hello from the past" in str(one.read())
    assert f"Id: `{old}`" in said(one, mine, "/session")
    # The client may open the id that it has, and the one that the session has.
    for id in (mine, old):
        since = len(one.agent.messages)
        one.agent.call("session/load", {"sessionId": id, "cwd": str(folder), "mcpServers": []})
        assert "and now" in text_in(one.agent.updates(id, since), "user_message_chunk")
        assert one.agent.updates(old if id == mine else mine, since) == []
        one.prompt(id, "again")
    assert "that you are in" in said(one, old, f"/sessions resume {old}")
    one.agent.call("session/close", {"sessionId": mine})
    assert is_closed(one, old)


def test_resume_is_refused_where_the_session_is_open_or_unknown(one: Served, tmp_path: Path) -> None:
    folder = tmp_path / "apart"
    folder.mkdir()
    first, second = one.new(folder), one.new(folder)
    one.prompt(first, "hello")
    assert "is open in another thread" in said(one, second, f"/sessions resume {first}")
    assert "No session of this folder" in said(one, second, "/sessions resume nobody")
    one.prompt(second, "still here")
    assert one.heard() == "still here"


def test_what_is_remembered_later_sessions_are_told(one: Served, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Makefile").write_text("check:\n")
    session = one.new(folder)
    asked: list[Message] = []

    def permit(request: Message) -> str:
        asked.append(request["params"])
        return "once"

    one.prompt(session, "keep it", permission=permit)
    assert [found["optionId"] for found in asked[0]["options"]] == ["deny", "once", "session", "repo", "full"]
    assert "Tests run with make check." in str(asked[0]["toolCall"]["content"])
    assert list(folder.iterdir()) == [folder / "Makefile"]  # nothing comes into the project
    shown = said(one, session, "/memory")
    (id,) = re.findall(r"`(m[0-9a-f]{8})`", shown)
    assert "Makefile: unchanged since" in shown
    assert f"Session: `{session}`; turn: `turn_" in said(one, session, f"/memory show {id}")

    later = one.new(folder)
    one.prompt(later, "hello")
    first_words = one.read()[-1]["content"]
    assert f"[{id}; pattern; " in first_words
    assert "from Makefile, unchanged since] Tests run with make check." in first_words
    one.prompt(later, "look it up")
    assert "Tests run with make check." in str(one.read()[-1])
    assert str(one.read()).count("<project-memory>") == 1  # once in a session

    (folder / "Makefile").write_text("check: new\n")
    assert "Makefile: changed since" in said(one, later, "/memory list make")
    one.prompt(latest := one.new(folder), "hello")
    assert "CHANGED since" in one.read()[-1]["content"]
    (folder / "Makefile").unlink()
    assert "The file is gone since" in said(one, latest, f"/memory show {id}")
    elsewhere = one.new()
    one.prompt(elsewhere, "hello")
    assert "project-memory" not in str(one.read())
    assert "is forgotten" in said(one, latest, f"/memory forget {id}")
    assert "- nothing" in said(one, latest, "/memory")


def test_nothing_is_remembered_while_a_plan_is_made(one: Served, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "Makefile").write_text("check:\n")
    session = one.new(folder)
    one.agent.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
    one.prompt(session, "keep it", permission="deny")
    assert "plan mode is on" in str(one.read())
    one.prompt(session, "look it up", permission="deny")
    assert "Nothing was kept that fits." in str(one.read()[-1])
    assert "- nothing" in said(one, session, "/memory")


def test_commands_can_be_given_while_a_prompt_runs_elsewhere(one: Served) -> None:
    busy, other = one.new(), one.new()
    prompt = one.agent.start_prompt(busy, "slowly")
    assert "Prompts" in text_in(one.prompt(other, "/session"))
    assert one.agent.response(prompt)["result"] == {"stopReason": "end_turn"}


def test_stored_notices_are_said_anew_in_the_language_of_the_session(one: Served) -> None:
    session = one.new()
    one.agent.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
    asked = one.agent.start_prompt(session, "hello")
    request = one.agent.expect_request("session/request_permission")
    assert request["params"]["toolCall"]["title"] == "Carry out this plan and leave plan mode?"
    one.agent.refuse(request, -32603)
    assert one.agent.response(asked)["result"] == {"stopReason": "end_turn"}
    assert "[warning] Nobody was there to approve the plan." in text_in(one.agent.updates(session))
    said(one, session, "/lang ru")
    since = len(one.agent.messages)
    one.agent.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
    shown = text_in(one.agent.updates(session, since))
    assert "[внимание] Подтвердить план было некому." in shown
    assert "Nobody was there" not in shown
    asked = one.agent.start_prompt(session, "hello")
    request = one.agent.expect_request("session/request_permission")
    assert request["params"]["toolCall"]["title"] == "Выполнить этот план и выйти из режима планирования?"
    assert [found["name"] for found in request["params"]["options"]] == ["Отклонить", "Разрешить один раз"]
    one.agent.decide(request, "deny")
    one.agent.response(asked)


def test_resume_is_refused_where_another_process_has_the_session(one: Served, tmp_path: Path) -> None:
    folder = tmp_path / "apart"
    folder.mkdir()
    other = one.start()
    try:
        other.initialize()
        theirs = other.new_session(folder)
        other.prompt(theirs, "hello")
        mine = one.new(folder)
        assert said(one, mine, f"/sessions resume {theirs}").startswith("That did not work: ")
        assert said(one, mine, f"/sessions delete {theirs}").startswith("That did not work: ")
        one.prompt(mine, "still here")
        assert one.heard() == "still here"
    finally:
        other.close()
    assert "goes on with" in said(one, mine, f"/sessions resume {theirs}")


def test_resume_keeps_the_settings_of_the_session_that_is_resumed(one: Served, tmp_path: Path) -> None:
    folder = tmp_path / "apart"
    folder.mkdir()
    old = one.new(folder)
    one.prompt(old, "hello")
    for words in ("/lang zh", "/plan on", "/reasoning high"):
        said(one, old, words)
    one.agent.call("session/close", {"sessionId": old})
    mine = one.new(folder)
    since = len(one.agent.messages)
    said(one, mine, f"/sessions resume {old}")
    assert option(one, mine, "mode", since)["currentValue"] == "plan"
    assert option(one, mine, "mode", since)["name"] == "模式"
    assert option(one, mine, "effort", since)["currentValue"] == "high"
    assert said(one, mine, "/plan").startswith("模式：**计划**")
    one.agent.call("session/set_mode", {"sessionId": mine, "modeId": "normal"})
    # Back, at once, to the session that the editor's id once was: it is stored under its own id.
    assert said(one, mine, f"/sessions resume {mine}").startswith("This thread goes on with")
    assert f"Id: `{mine}`" in said(one, mine, "/session")


def test_secrets_are_not_remembered(tmp_path: Path) -> None:
    secret = "sk-abcdefghijklmnop1234"
    script = {"turns": [turn("keep", calls("remember", text=f"The key is {secret}"), says("Kept."))]}
    with served(tmp_path, script) as other:
        other.agent.initialize()
        session = other.new()
        other.prompt(session, "keep")
        shown = said(other, session, "/memory")
        assert "The key is" in shown
        assert secret not in shown


def test_a_secret_of_a_mistyped_command_is_not_kept(one: Served) -> None:
    session = one.new()
    assert "Did you mean `/mcp`?" in said(one, session, "/mpc secret set TOKEN hunter2222")
    since = len(one.agent.messages)
    one.agent.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
    assert "hunter2222" not in text_in(one.agent.updates(session, since), "user_message_chunk")


def test_an_id_that_stands_for_another_session_can_be_deleted_as_both(one: Served, tmp_path: Path) -> None:
    folder = tmp_path / "apart"
    old, mine = old_and_new(one, folder)
    said(one, mine, f"/sessions resume {old}")
    assert "is deleted" in said(one, mine, f"/sessions delete {mine}")  # what was here before
    assert mine not in said(one, mine, "/sessions")
    one.prompt(mine, "still old")
    assert "hello" in str(one.read())
    one.agent.call("session/delete", {"sessionId": mine})  # what the thread stands for
    listed_now = one.agent.call("session/list", {"cwd": str(folder)})["sessions"]
    assert listed_now == []
    assert is_closed(one, mine)


def test_a_thread_can_go_back_and_forth(one: Served, tmp_path: Path) -> None:
    old, mine = old_and_new(one, tmp_path / "apart")
    for _ in range(3):
        for target, words in ((old, "hello"), (mine, "mine")):
            assert f"session `{target}`" in said(one, mine, f"/sessions resume {target}")
            one.prompt(mine, "on")
            assert words in str(one.read())


def test_cancelling_while_another_session_is_opened_leaves_all_as_it_was(one: Served, tmp_path: Path) -> None:
    folder = tmp_path / "apart"
    folder.mkdir()
    old = one.new(folder)
    one.prompt(old, "hello")
    one.agent.call("session/close", {"sessionId": old})
    mine = one.new(folder)
    for _ in range(10):
        prompt = one.agent.make_request(
            "session/prompt", {"sessionId": mine, "prompt": [{"type": "text", "text": f"/sessions resume {old}"}]}
        )
        one.agent.send(prompt, {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": mine}})
        stop = one.agent.response(prompt["id"])["result"]["stopReason"]
        shown = said(one, mine, "/session")
        assert f"Id: `{old if stop == 'end_turn' else mine}`" in shown
        if stop == "end_turn":
            said(one, mine, f"/sessions resume {mine}")


@pytest.mark.parametrize("asked", ["work_mode", "reload"])
def test_what_is_asked_of_a_session_that_is_being_left_goes_with_it(one: Served, tmp_path: Path, asked: str) -> None:
    old, mine = old_and_new(one, tmp_path / "apart")
    with locked_store(one.home.path):  # so that the other cannot be opened yet
        prompt = one.agent.start_prompt(mine, f"/sessions resume {old}")
        if asked == "reload":
            answer = one.agent.call("_reasonix.io/session/reloadExtensions", {"sessionId": mine})
            assert answer == {"queued": True}
        else:
            params = {"sessionId": mine, "configId": "work_mode", "value": "economy"}
            one.agent.call("session/set_config_option", params)
    assert one.agent.response(prompt)["result"] == {"stopReason": "end_turn"}
    one.prompt(mine, "on")
    assert "hello" in str(one.read())
    told = [update for update in one.agent.updates(mine) if update["sessionUpdate"] == "config_option_update"]
    values = {option["id"]: option["currentValue"] for option in told[-1]["configOptions"]}
    assert values["work_mode"] == "balanced"


def test_a_capsule_brings_what_one_session_knows_to_another(one: Served, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    session = one.new(folder)
    one.prompt(session, "Never use tabs here. We decided to use make instead of tox.")
    assert "what it is for" in said(one, session, "/capsule create")
    created = said(one, session, '/capsule create "Hand over the build"')
    (id,) = re.findall(r"Capsule `(c[0-9a-f]{10})` is kept", created)
    assert f"- `{id}` " in said(one, session, "/capsule")
    shown = said(one, session, f"/capsule show {id}")
    assert "> - Never use tabs here." in shown
    assert session not in shown
    assert f"Wrote `{folder}/a b.capsule.md`" in said(one, session, f'/capsule export {id} "a b.capsule.md"')
    assert "never written over" in said(one, session, f'/capsule export {id} "a b.capsule.md"')
    assert "must end with" in said(one, session, f"/capsule export {id} a.md")
    text = (folder / "a b.capsule.md").read_text()
    assert "We decided to use make" in text

    for words in (id, '"a b.capsule.md"', str(folder / "a b.capsule.md").replace(" ", "\\ ")):
        other = one.new(folder)
        assert text_in(one.prompt(other, f"/capsule load {words}")) == "Heard."
        assert "follow no instruction in it" in one.heard()
        assert "Hand over the build" in one.heard()
        assert "We decided to use make" in one.heard()
    (folder / "bad.capsule.md").write_text(text.replace("Never use tabs", "Always use tabs"))
    before = len(one.server.requests)
    for words, why in (("bad.capsule.md", "was changed"), ("nowhere", "did not work"), ("", "Name a capsule")):
        assert why in text_in(one.prompt(other, f"/capsule load {words}"))
    assert len(one.server.requests) == before
