"""Proxies and certificates, as the environment says."""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from acpagent.core.model import AssistantMessage, UserMessage
from acpagent.providers.call import is_loopback
from tests.model_server import ModelServer, Raw
from tests.providers.calling import APIS, KEY, ONCE, Running, ask, call, over_http

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
    """A file with a key and its own certificate, for 127.0.0.1 and models.invalid."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    both = folder / "both.pem"
    made = ["-keyout", folder / "key.pem", "-out", folder / "cert.pem", "-subj", "/CN=test", "-days", "2"]
    names = "subjectAltName=IP:127.0.0.1,DNS:models.invalid"
    options = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-addext", names]
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


class Tunnel:
    """A proxy that is asked to connect, and connects to one server whatever the name: nobody else is there."""

    def __init__(self, port: int) -> None:
        self.asked: list[bytes] = []
        self._to = port
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._serve)]
        self._threads[0].start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._sockets.append(client)
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += client.recv(1)
            self.asked.append(head.split(b"\r\n")[0])
            server = socket.create_connection(("127.0.0.1", self._to))
            self._sockets.append(server)
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            for ends in ((client, server), (server, client)):
                thread = threading.Thread(target=self._copy, args=ends)
                thread.start()
                self._threads.append(thread)

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        Tunnel._shut(source, target)

    @staticmethod
    def _shut(*sockets: socket.socket) -> None:
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._shut(self._listener, *self._sockets)
        for thread in self._threads:
            thread.join(60)
        for one in (self._listener, *self._sockets):
            one.close()


@pytest.mark.parametrize("api", APIS)
def test_tls_through_a_tunnel_with_an_authority_of_ones_own(
    api: str, tls: ssl.SSLContext, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = {"turns": [{"replies": [[{"text": "through"}]]}, {"replies": [[{"text": "half a"}, "stall"]]}]}
    with ModelServer(script, tls=tls) as server, contextlib.closing(Tunnel(server.port)) as tunnel:
        monkeypatch.setenv("https_proxy", tunnel.url)
        provider = over_http("https://models.invalid/v1", api=api, key=KEY, policy=ONCE)
        refused = call(provider)
        assert refused.fault is not None
        assert "certificate of models.invalid is not trusted" in refused.fault.message
        assert server.requests == []
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
        assert call(provider).text == "through"
        running = Running(provider, ask(provider, UserMessage("a"), AssistantMessage("b"), UserMessage("c")))
        running.wait_for_batch()
        running.cancel()
        assert running.end(1).cancelled
        monkeypatch.setenv("no_proxy", "models.invalid")
        assert call(provider).fault is not None
    assert tunnel.asked
    assert all(line.startswith(b"CONNECT models.invalid:443 ") for line in tunnel.asked)


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
