"""Proxies and certificates, as the environment says."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from acpagent.providers.call import is_loopback
from tests.model_server import ModelServer, Raw
from tests.providers.calling import KEY, ONCE, Running, call, over_http

OK = Raw([b'data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\n'])
NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*NAMES, *map(str.lower, NAMES), "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def proxy() -> Iterator[ModelServer]:
    """A proxy for plain HTTP is a server that is sent whole addresses."""
    with ModelServer(lambda request: OK) as server:
        yield server


@pytest.mark.parametrize("name", ["HTTP_PROXY", "ALL_PROXY"])
def test_loopback_bypasses_proxies(name: str, proxy: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    monkeypatch.setenv(name.lower(), f"http://127.0.0.1:{proxy.port}")
    with ModelServer(lambda request: OK) as server:
        for host in ("127.0.0.1", "localhost"):
            assert call(over_http(f"http://{host}:{server.port}/v1")).text == "ok"
        assert len(server.requests) == 2
    assert proxy.connections == 0


def test_other_hosts_go_through_the_proxy(proxy: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
    assert call(over_http("http://models.invalid/v1")).text == "ok"
    call(over_http("http://models.invalid/v1", api="anthropic-messages", key=KEY, policy=ONCE))
    assert proxy.requests[0].path == "http://models.invalid/v1/chat/completions"
    assert proxy.requests[1].path == "http://models.invalid/v1/messages"
    assert proxy.requests[1].headers["x-api-key"] == KEY


def test_no_proxy_is_heeded(proxy: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
    monkeypatch.setenv("no_proxy", "models.invalid")
    assert call(over_http("http://models.invalid/v1", policy=ONCE)).fault is not None
    assert proxy.connections == 0


def test_a_cancel_reaches_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer({"turns": [{"replies": [["stall"]]}]}) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        running = Running(over_http("http://models.invalid/v1"))
        proxy.wait_for_request()
        running.cancel()
        assert running.end(1).cancelled


def test_a_proxy_that_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(lambda request: OK) as server:
        port = server.port
    monkeypatch.setenv("http_proxy", f"http://user:hidden-word@127.0.0.1:{port}")
    outcome = call(over_http("http://models.invalid/v1", policy=ONCE))
    assert outcome.fault is not None
    assert outcome.fault.message == "local/tiny: the proxy does not reach models.invalid"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and its own certificate for 127.0.0.1."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    both = folder / "both.pem"
    made = ["-keyout", folder / "key.pem", "-out", folder / "cert.pem", "-subj", "/CN=test", "-days", "2"]
    options = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([openssl, *options, *map(str, made)], check=True, capture_output=True)
    both.write_bytes((folder / "key.pem").read_bytes() + (folder / "cert.pem").read_bytes())
    return both


@pytest.fixture
def tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_an_unknown_authority_is_told_once(tls: ssl.SSLContext) -> None:
    with ModelServer(lambda request: OK, tls=tls) as server:
        outcome = call(over_http(server.base_url, key=KEY))
        assert server.requests == []
        assert server.connections == 1
    assert outcome.fault is not None
    assert outcome.fault.kind == "unavailable"
    assert "REQUESTS_CA_BUNDLE" in outcome.fault.message


def test_an_authority_of_ones_own(tls: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    with ModelServer(lambda request: OK, tls=tls) as server:
        provider = over_http(server.base_url, key=KEY)
        assert [call(provider).text for _ in range(2)] == ["ok", "ok"]
        assert server.connections == 1


@pytest.mark.parametrize("shown", [True, False])
def test_a_cancel_over_tls(
    shown: bool, tls: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    script = {"turns": [{"replies": [[*([{"text": "half a"}] if shown else []), "stall"]]}]}
    with ModelServer(script, tls=tls) as server:
        running = Running(over_http(server.base_url))
        server.wait_for_request()
        if shown:
            running.wait_for_batch()
        running.cancel()
        assert running.end(1).cancelled
        server.wait_for_hangup()


def test_a_proxy_for_tls_is_asked_to_connect(proxy: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
    outcome = call(over_http("https://models.invalid/v1", policy=ONCE))
    assert proxy.connections == 1
    assert outcome.fault is not None
    assert outcome.fault.message == "local/tiny: the proxy does not reach models.invalid"


@pytest.mark.parametrize(
    ("host", "is_one"),
    [
        ("localhost", True),
        ("box.localhost", True),
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("10.0.0.1", False),
        ("localhost.example.org", False),
        ("", False),
    ],
)
def test_loopback(host: str, is_one: bool) -> None:
    assert is_loopback(host) is is_one
