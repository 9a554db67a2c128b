"""The key goes to the server that it is for, and nowhere else."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acpagent.config.credentials import Secret
from acpagent.config.problems import ConfigError, ConfigProblem
from acpagent.config.settings import ModelSettings, ProviderSettings
from acpagent.core.model import ProviderFault
from acpagent.core.scope import Scope
from acpagent.providers import base
from acpagent.providers.failures import SHOWN, Scrubber
from tests.model_server import ModelServer, Raw, Request
from tests.providers.calling import APIS, KEY, ONCE, ask, call, over_http

OK = Raw([b'data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\n'])


def header(request: Request, name: str) -> str | None:
    return request.headers.get(name)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(lambda request: OK) as server:
        yield server


def test_the_key_is_sent(server: ModelServer) -> None:
    assert call(over_http(server.base_url, key=KEY)).text == "ok"
    assert header(server.requests[0], "Authorization") == f"Bearer {KEY}"


def test_no_key_no_header(server: ModelServer) -> None:
    assert call(over_http(server.base_url)).text == "ok"
    assert header(server.requests[0], "Authorization") is None


def test_headers_of_the_settings_are_sent_and_win(server: ModelServer) -> None:
    own = {"X-Team": "blue", "Authorization": "Basic abc", "User-Agent": "mine"}
    assert call(over_http(server.base_url, key=KEY, headers=own)).text == "ok"
    sent = server.requests[0]
    assert (header(sent, "X-Team"), header(sent, "User-Agent")) == ("blue", "mine")
    assert header(sent, "Authorization") == "Basic abc"


@pytest.mark.parametrize("key", [KEY, None])
def test_a_netrc_does_not_speak_for_us(
    server: ModelServer, key: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password elsewhere\ndefault login you password elsewhere\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    assert call(over_http(server.base_url, key=key)).text == "ok"
    assert header(server.requests[0], "Authorization") == (f"Bearer {key}" if key else None)


def test_the_key_does_not_follow_a_redirect(server: ModelServer) -> None:
    away = Raw([b""], 307, {"Location": f"{server.base_url}/chat/completions"})
    with ModelServer(lambda request: away) as first:
        assert call(over_http(first.base_url, key=KEY)).fault is not None
    assert server.requests == []


def test_a_missing_key_is_told_before_anything_is_sent(server: ModelServer) -> None:
    outcome = call(over_http(server.base_url, api_key_env="LOCAL_KEY"))
    assert outcome.fault is not None
    assert outcome.fault.kind == "auth"
    assert "set LOCAL_KEY or run `acpagent setup`" in outcome.fault.message
    assert server.requests == []


def test_the_key_is_looked_up_for_each_call(server: ModelServer) -> None:
    keys = iter(["first-key", "second-key"])
    model = ModelSettings("local", "tiny")
    provider = ProviderSettings("local", "openai-chat", server.base_url, "LOCAL_KEY", models={"tiny": model})
    built = base.build(provider, model, lambda: Secret(next(keys)))
    assert [call(built).text for _ in range(2)] == ["ok", "ok"]
    sent = [header(request, "Authorization") for request in server.requests]
    assert sent == ["Bearer first-key", "Bearer second-key"]


def test_a_key_that_cannot_be_read(server: ModelServer) -> None:
    def broken() -> Secret:
        raise ConfigError(ConfigProblem("credentials.yaml", 3, "is not a key", "write one"))

    model = ModelSettings("local", "tiny")
    provider = ProviderSettings("local", "openai-chat", server.base_url, models={"tiny": model})
    outcome = call(base.build(provider, model, broken))
    assert outcome.fault is not None
    assert outcome.fault.kind == "auth"
    assert "credentials.yaml:3" in outcome.fault.message


def told(value: Any, status: int, api: str) -> ProviderFault:
    """The fault for an answer of this status and body, with the key and a secret header in the settings."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    with ModelServer(lambda request: Raw([body], status, {})) as server:
        provider = over_http(server.base_url, api=api, key=KEY, headers={"X-Pass": "open-sesame"}, policy=ONCE)
        with pytest.raises(ProviderFault) as fault:
            list(provider.stream(ask(provider), Scope()))
    shown = "".join(traceback.format_exception(fault.value)) + repr(fault.value) + repr(vars(provider))
    assert KEY not in shown
    return fault.value


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("status", [307, 400, 401, 402, 403, 404, 413, 422, 429, 500, 503, 529])
@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": f"bad key {KEY}, open-sesame", "code": KEY}},
        {"error": KEY},
        {"detail": [{"input": KEY}]},
        f"Authorization: Bearer {KEY}".encode(),
        ("x" * 290 + KEY).encode(),
    ],
)
def test_no_error_holds_the_key(status: int, body: Any, api: str) -> None:
    message = told(body, status, api).message
    for start in range(len(KEY) - 8):
        assert KEY[start : start + 8] not in message
    assert "open-sesame" not in message


def test_no_error_inside_an_answer_holds_the_key() -> None:
    error = json.dumps({"error": {"message": f"bad {KEY}", "code": 500}})
    with ModelServer(lambda request: Raw([f"data: {error}\n\n".encode()])) as server:
        outcome = call(over_http(server.base_url, key=KEY))
    assert outcome.fault is not None
    assert KEY not in outcome.fault.message
    assert all(KEY not in again.cause for again in outcome.retries)
    assert "bad ***" in outcome.retries[0].cause


@pytest.mark.parametrize("bad", ["white space\nX-More: 1", "caf\u00e9 \u2028"])
def test_a_key_that_cannot_be_sent_is_not_shown(server: ModelServer, bad: str) -> None:
    outcome = call(over_http(server.base_url, key=bad))
    assert outcome.fault is not None
    assert outcome.fault.kind == "rejected"
    assert bad[:8] not in outcome.fault.message
    assert server.requests == []


LETTERS = st.text(st.characters(codec="ascii", min_codepoint=33), min_size=6, max_size=40)


@settings(max_examples=200)
@given(key=LETTERS, before=st.text(max_size=SHOWN * 2), after=st.text(max_size=40), quoted=st.booleans())
def test_the_scrubber(key: str, before: str, after: str, quoted: bool) -> None:
    said = json.dumps(key)[1:-1] if quoted else key
    shown = Scrubber([key])(before + said + after)
    assert len(shown) <= SHOWN
    assert key not in shown or key in "***" * 20
    assert shown.isprintable() or not (before + key + after).isprintable()
