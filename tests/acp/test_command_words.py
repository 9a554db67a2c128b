"""What may follow the name of a command, and how it may be written: in quotes, in capitals, too much, too little, and
far too long. Whatever it is, the answer says why or how, and the model hears nothing of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acp.mcp import plain, settle
from tests.acp.seen import says, turn
from tests.acp.served import Served, served
from tests.agent import Message, text_in

SCRIPT = {"turns": [turn(".", says("Heard."))]}
HUGE = "x" * 300_000


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("words"), SCRIPT, {"efforts": ["low", "high"]}) as made:
        made.agent.initialize()
        yield made


def said(one: Served, session: str, content: str | list[Message]) -> str:
    """What is answered, without the model and in bounds."""
    before = len(one.server.requests)
    text = text_in(one.prompt(session, content))
    assert len(one.server.requests) == before
    assert 0 < len(text) < 5_000
    return text


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ('/help "sessions"', "`/sessions list"),
        ("/Help\tLANG", "`/lang [en|ru|zh]`"),
        ("/help /plan  now", "`/plan on"),
        ("/help nosuch", "There is no command `/nosuch`."),
        ("/help don't", "There is no command `/don't`."),
        ('/lang "EN"', "acpagent speaks English"),
        ('/plan "off"', "The mode is **Normal** now."),
        ("/reasoning 'low'", "The effort `low` is used"),
        ('/permissions "ask"', "**Approval:** `ask`."),
        ('/auto-compact "On"', "Long conversations are summarised"),
        ('/mcp "status"', "This session has no MCP servers."),
        ("/mcp start 'my own server'", "There is no MCP server `my own server`"),
        ("/mcp stop my own server", "There is no MCP server `my own server`"),
        ('/sessions "resume" "x y z"', "No session of this folder has an id that is or begins with `x y z`"),
        ('/skill "show" "not-there"', "There is no skill `not-there`."),
        ("/skill\tshow\tnot-there", "There is no skill `not-there`."),
        ("/skill:not-there do it", "There is no skill `not-there`."),
        ('/project-trust "status"', "This project brings nothing"),
        ("/capsule LIST", "**Capsules**"),
        ("/memory list don't", "**Remembered of this repository**"),
        ('/rewind "99"', "There is no prompt or checkpoint `99`"),
        ("/goal ship it", "There is no `/goal`. Did you mean `/plan goal`?"),
        ("/effort high", "There is no `/effort`. Did you mean `/reasoning`?"),
    ],
)
def test_quotes_capitals_and_blanks(one: Served, words: str, answer: str) -> None:
    assert said(one, one.new(), words).startswith(answer)


@pytest.mark.parametrize(
    "words",
    [
        "/session now", "/config set x", "/reload now", "/mcp status x", "/mcp reload x",
        "/capsule list x",
    ],
)  # fmt: skip
def test_too_many_arguments(one: Served, words: str) -> None:
    assert "takes no arguments." in said(one, one.new(), words)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("/budget 5", "There is no `/budget 5`"),
        ("/mcp start", "Name the server"),
        ("/mcp auth login", "Name the server"),
        ("/mcp auth", "There are `/mcp auth status`"),
        ("/mcp secret set", "A secret has a name"),
        ("/mcp secret set TOKEN", "There are `/mcp secret list`"),
        ("/sessions resume", "Name one session"),
        ("/capsule create", "Say what it is for"),
        ("/capsule load", "Name a capsule or a file"),
        ("/capsule export", "Name a capsule and a file"),
        ("/memory forget", "Name one note"),
        ("/skill show", "Name one skill: `/skill show <name>`."),
        ("/skill rm --confirm", "Name one skill: `/skill rm <name>`."),
        ("/skill promote", "Name one skill: `/skill promote <name>`."),
        ("/skill new", "A skill's name has"),
    ],
)
def test_a_missing_argument(one: Served, words: str, answer: str) -> None:
    assert said(one, one.new(), words).startswith(answer)


@pytest.mark.parametrize(
    "words",
    [
        "/help {}", "/lang {}", "/plan {}", "/reasoning {}", "/permissions {}", "/auto-compact {}", "/mcp {}",
        "/mcp start {}", "/mcp auth login {}", "/mcp secret unset {}", "/sessions {}", "/sessions resume {}",
        "/capsule {}", "/capsule show {}", "/capsule load {}", "/capsule create {}", "/skill {}", "/skill show {}",
        "/skill new {}", "/skill:{}", "/project-trust {}", "/rewind {}", "/memory {}", "/memory show {}",
    ],
)  # fmt: skip
@pytest.mark.parametrize("argument", [HUGE, "\ud800 \0 \x1b[31m ` \u202e 中文", '"'])
def test_whatever_the_argument(one: Served, words: str, argument: str) -> None:
    assert "\x1b" not in said(one, one.new(), words.format(argument))


def test_a_capsule_is_loaded_however_it_is_written(one: Served, tmp_path: Path) -> None:
    session = one.new(tmp_path)
    created = said(one, session, '/capsule create Don\'t lose "this"')
    (id,) = re.findall(r"Capsule `(c[0-9a-f]{10})` is kept", created)
    assert '**Don\'t lose "this"**' in said(one, session, f"/capsule {id}")  # as SOBA has it
    for words in (f"/Capsule LOAD {id}", f"/capsule\tload\n{id}", f'/capsule "load" "{id}"', f"/capsule open {id}"):
        assert text_in(one.prompt(session, words)) == "Heard."
        assert 'Don\'t lose "this"' in one.heard()
    for words in ("/capsule load a\0b", '/capsule load "a', "/Capsule load nowhere"):
        said(one, session, words)


@pytest.mark.parametrize(
    "args", ["resume nobody at-all", ["resume", "nobody at-all"], ["resume", 'it\'s "odd" $x'], ["resume", 3, "abcd"]]
)
def test_a_command_field_may_have_a_list_of_arguments(one: Served, args: object) -> None:
    session = one.new()
    params = {"sessionId": session, "prompt": [], "command": {"name": "/sessions", "args": args}}
    assert one.agent.call("session/prompt", params) == {"stopReason": "end_turn"}
    text = text_in(one.agent.updates(session))
    if isinstance(args, str):
        assert text.startswith("Name one session")
    else:
        (meant,) = [word for word in args[1:] if isinstance(word, str)] if isinstance(args, list) else []
        assert f"begins with `{meant}`" in text


def test_an_extensions_command_is_found_in_any_capitals_and_helped_with(one: Served) -> None:
    (folder := one.home.path / "commands").mkdir(exist_ok=True)
    (folder / "review.md").write_text("---\ndescription: Look it over\nargument-hint: <file>\n---\nReview $1.")
    try:
        session = one.new()
        assert said(one, session, "/help review") == "`/review <file>`: Look it over"
        one.prompt(session, "/Review a.py")
        assert one.heard() == "Review a.py."
    finally:
        (folder / "review.md").unlink()


SECRETS = [
    " /mcp secret set TOKEN {}", "\n/mcp secret set TOKEN '{}'", "/mcp set TOKEN {}", "/mcp secrets set TOKEN {}",
    '/mcp "secret" set TOKEN {}', "/mcp secrte set TOKEN {}", "/mcp secret unset TOKEN {}", " /mpc secret set TOKEN {}",
    '/mcp "secret set TOKEN {}"',
]  # fmt: skip


@pytest.mark.parametrize("form", range(len(SECRETS)))
def test_a_secret_is_kept_from_the_model_and_the_record(one: Served, form: int) -> None:
    session, secret = one.new(), f"hunter-{form}-2222"
    said(one, session, SECRETS[form].format(secret))
    one.prompt(session, "hello")
    assert secret not in str(one.read())
    since = len(one.agent.messages)
    one.agent.call("session/load", {"sessionId": session, "cwd": str(one.workspace), "mcpServers": []})
    assert secret not in str(one.agent.messages[since:])
    assert secret not in str(one.agent.call("session/list"))
    secrets = one.home.path / "mcp" / "secrets.json"
    kept = json.loads(secrets.read_text()) if secrets.exists() else {}
    assert (secret in kept.values()) is (form in (0, 1, 4))


def test_a_server_whose_name_has_blanks(one: Served) -> None:
    session = one.new(mcpServers=[plain("my own server")])
    assert "`my own server` is stopped" in said(one, session, '/mcp stop "my own server"')
    assert "being started" in said(one, session, "/mcp start my own server")


def test_mcp_tells_of_servers_that_wait_for_trust(one: Served, tmp_path: Path) -> None:
    (tmp_path / ".soba").mkdir()
    server = {key: value for key, value in plain("x").items() if key not in ("name", "env")}
    listed = [{"id": "mine", "name": "My own", "transport": "stdio", "env": {"HOME_OF": "${ENV:HOME}"}, **server}]
    (tmp_path / ".soba" / "mcp.json").write_text(json.dumps({"version": 1, "servers": listed}))
    session = one.new(tmp_path)
    shown = said(one, session, "/mcp")
    assert "This session has no MCP servers." in shown
    assert "(1 file: .soba/mcp.json) is used before you trust it" in shown.split("has no MCP servers.")[1]
    (fingerprint,) = re.findall(r"`/project-trust approve ([0-9a-f]+)`", said(one, session, "/project-trust approve"))
    said(one, session, f"/project-trust approve {fingerprint}")
    settle(one, session, ["mcp__mine__pid"])
    shown = said(one, session, "/mcp")
    assert "- `mine` (stdio, from .soba/mcp.json): ready" in shown
    assert "trust" not in shown.split("from .soba/mcp.json")[1]
