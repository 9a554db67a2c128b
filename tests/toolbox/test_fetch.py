from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import shutil
import socket
import ssl
import subprocess
import threading
import time
import zlib

import pytest

from acpagent.core.scope import Cancelled, Scope, run_closers
from acpagent.core.toolcalls import Effect, ToolRefusal
from acpagent.toolbox import fetch
from acpagent.toolbox.fetch import WebFetch
from acpagent.toolbox.registry import Registry
from tests.toolbox.web import Web, answer, moved

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in (*NAMES, *map(str.lower, NAMES), "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def web():
    server = Web()
    yield server
    server.close()


@pytest.fixture
def desk(bench):
    """The bench, with a web_fetch that may reach 127.0.0.1."""
    bench.registry = Registry([WebFetch(["127.0.0.1"])])
    return bench


def get(desk, url, **arguments):
    return desk.call("web_fetch", url=url, **arguments)


def body(result):
    return result.text.split("\n\n", 1)[1]


def test_what_is_proposed(desk):
    proposal = desk.prepare("web_fetch", url="HTTPS://Example.ORG/a?b=c#d")
    assert (proposal.title, proposal.kind) == ("Fetch https://example.org/a?b=c", "fetch")
    assert proposal.effects == (Effect("network", host="example.org"),)
    assert proposal.subject == "https://example.org/a?b=c"


def test_a_text(desk, web):
    web.pages["/a?b"] = answer(b"one\ntwo\n")
    result = get(desk, f"{web.url}/a?b")
    assert result.text == f"{web.url}/a?b: 200, text/plain, 8 bytes\n\none\ntwo"
    assert not result.failed
    assert result.raw == {
        "url": f"{web.url}/a?b", "status": 200, "content_type": "text/plain", "bytes": 8, "truncated": False,
    }  # fmt: skip
    assert f"Host: 127.0.0.1:{web.port}\r\n".encode() in web.asked[0]
    assert b"User-Agent: acpagent/" in web.asked[0]
    assert b"Cookie" not in web.asked[0]
    assert b"Authorization" not in web.asked[0]


def test_a_page(desk, web):
    web.pages["/d/p"] = answer(
        b"<title>T</title><script>no()</script><h1>H</h1><p>See <a href='../x'>this</a>.", "text/html; charset=utf-8"
    )
    result = get(desk, f"{web.url}/d/p")
    assert result.text.split("\n")[1] == "Title: T"
    assert body(result) == f"# H\n\nSee [this]({web.url}/x)."


def test_an_error_is_told_with_what_comes_with_it(desk, web):
    result = get(desk, f"{web.url}/missing")
    assert result.failed
    assert result.text == f"{web.url}/missing: 404, text/plain, 4 bytes\n\nnone"


@pytest.mark.parametrize(
    ("data", "kind", "text"),
    [
        ("é".encode(), "text/plain", "é"),
        ("é".encode("latin-1"), "text/plain; charset=iso-8859-1", "é"),
        ("é".encode("latin-1"), "text/plain", "é"),
        ("é\u20ac".encode("utf-16"), "text/plain", "é€"),
        ("é".encode("utf-8-sig"), "text/plain", "é"),
        ("я".encode("cp1251"), "text/html; charset=windows-1251", "я"),
        (b"<meta charset=koi8-r><p>" + "я".encode("koi8-r"), "text/html", "я"),
        (b"a\xffb", "text/plain; charset=utf-8", "a\ufffdb"),
        (b"plain", "text/plain; charset=no-such", "plain"),
        (b"plain", "text/plain; charset=hex", "plain"),
        (b'{"a": 1}', "application/json", '{"a": 1}'),
        (b"<a/>", "application/atom+xml", "<a/>"),
        (b"plain", None, "plain"),
        (b"<!doctype html><p>x", None, "x"),
        (b"plain", "application/octet-stream", "plain"),
        (b"", "text/plain", "(It holds no text.)"),
        (b"a\x1b[31mb\x00", "text/plain; charset=utf-8", "ab"),
    ],
)
def test_texts_of_all_kinds(desk, web, data, kind, text):
    web.pages["/"] = answer(data, kind)
    assert body(get(desk, web.url)) == text


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"x", "image/png"), (b"x", "application/pdf"), (b"\0\1", "text/plain"), (b"\xff\0", None), (b"\xff", None)],
)
def test_what_is_no_text_is_named(desk, web, data, kind):
    web.pages["/"] = answer(data, kind)
    words = desk.refusal("web_fetch", url=web.url)
    assert words == f"{web.url}/ is {kind or 'of an unknown type'} ({len(data)} bytes), not text."


# Bounds.


def test_much_is_cut_to_head_and_tail(desk, web):
    desk.output_bytes = 3000
    web.pages["/"] = answer(b"".join(b"line %d\n" % number for number in range(5000)))
    result = get(desk, web.url)
    assert len(result.text.encode()) <= 3000
    assert body(result).startswith("line 0\n")
    assert result.text.endswith("line 4999")
    assert result.facts["truncated"]


def test_no_more_is_fetched_than_was_asked_for(desk, web):
    web.pages["/"] = (piece for piece in [b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n", *["é".encode()] * 9])
    result = get(desk, web.url, max_bytes=5)
    assert result.text == f"{web.url}/: 200, text/plain, 5 bytes\n[only the first 5 bytes were fetched]\n\néé"
    endless = itertools.chain([b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n"], itertools.repeat(b"x" * 65536))
    web.pages["/"] = endless
    assert get(desk, web.url).facts["bytes"] == fetch.DEFAULT_BYTES


@pytest.mark.parametrize("coding", ["gzip", "deflate", "raw"])
def test_a_bomb_is_not_let_off(desk, web, coding):
    size = 300 << 20
    if coding == "gzip":
        packed = gzip.compress(b" " * size, 1)
    else:
        packer = zlib.compressobj(1, zlib.DEFLATED, -15 if coding == "raw" else 15)
        packed = packer.compress(b" " * size) + packer.flush()
    web.pages["/"] = answer(packed, Content_Encoding="gzip" if coding == "gzip" else "deflate")
    result = get(desk, web.url, max_bytes=1000)
    assert result.facts["bytes"] == 1000
    assert "[only the first 1000 bytes were fetched]" in result.text


@pytest.mark.parametrize("coding", ["gzip", "x-gzip", "deflate", "raw", "identity"])
def test_what_is_packed_is_unpacked(desk, web, coding):
    text = b"".join(b"line %d\n" % number for number in range(3000))
    if "gzip" in coding:
        packed = gzip.compress(text)
    else:
        packer = zlib.compressobj(9, zlib.DEFLATED, -15 if coding == "raw" else 15)
        packed = text if coding == "identity" else packer.compress(text) + packer.flush()
    web.pages["/"] = answer(packed, Content_Encoding="deflate" if coding == "raw" else coding)
    assert body(get(desk, web.url)) == text.decode().strip()


def test_broken_packing(desk, web):
    web.pages["/"] = answer(b"not packed at all", Content_Encoding="gzip")
    assert "its compression is broken" in desk.refusal("web_fetch", url=web.url)
    web.pages["/"] = answer(gzip.compress(b"whole text " * 1000)[:-20], Content_Encoding="gzip")
    assert "[the rest did not come" in get(desk, web.url).text
    web.pages["/"] = answer(b"x", Content_Encoding="br")
    assert "not one that was asked for" in desk.refusal("web_fetch", url=web.url)


def slow(head):
    def send(connection):
        connection.sendall(head)
        connection.recv(1)  # nothing comes; the end of the connection ends it

    return send


@pytest.mark.parametrize("secure", [False, True])
def test_a_slow_server_is_waited_for_so_long(desk, monkeypatch, secure, request):
    server = Web(tls=request.getfixturevalue("tls") if secure else None)
    if secure:
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(request.getfixturevalue("certificate")))
    monkeypatch.setattr(fetch, "SECONDS", 0.5)
    for head in (b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"):
        server.pages["/"] = slow(head)
        started = time.monotonic()
        assert "it took more than 0.5 s" in desk.refusal("web_fetch", url=server.url)
        assert time.monotonic() - started < 20
    monkeypatch.setattr(fetch, "SECONDS", 3.0)
    server.pages["/"] = slow(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nbegun")
    result = get(desk, server.url)
    assert "[the rest did not come: it took more than 3 s]" in result.text
    assert body(result) == "begun"
    server.close()


def test_a_server_that_drips(desk, web, monkeypatch):
    monkeypatch.setattr(fetch, "SECONDS", 0.5)

    def drip(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while not web.closing.wait(0.05):
            connection.sendall(b"X-Drip: 1\r\n")

    web.pages["/"] = drip
    assert "it took more than 0.5 s" in desk.refusal("web_fetch", url=web.url)


@pytest.mark.parametrize("where", ["connect", "head", "body"])
def test_a_cancel_ends_it_at_once(desk, web, where):
    scope, reached = Scope(), threading.Event()

    def stall(connection):
        if where == "body":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nbegun")
        reached.set()
        connection.recv(1)

    web.pages["/"] = stall
    if where == "connect":
        reached.set()
    threading.Thread(target=lambda: reached.wait(60) and run_closers(scope.cancel())).start()
    ctx = desk.context(scope)
    started = time.monotonic()
    with pytest.raises(Cancelled):
        desk.apply("web_fetch", desk.prepare("web_fetch", ctx, url=web.url), ctx)
    assert time.monotonic() - started < 20


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "the server's answer is no HTTP"),
        (b"SSH-2.0-OpenSSH\r\n", "the server's answer is no HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n", "the server's answer is no HTTP"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "the server's answer is no HTTP"),
    ],
)
def test_what_is_no_http(desk, web, raw, words):
    web.pages["/"] = raw
    assert words in desk.refusal("web_fetch", url=web.url)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nhalf",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ],
)
def test_an_answer_that_breaks_off(desk, web, raw):
    web.pages["/"] = raw
    result = get(desk, web.url)
    assert "[the rest did not come" in result.text
    assert body(result) == "half"


def test_nobody_there(desk, web):
    web.close()
    assert "Connection refused" in desk.refusal("web_fetch", url=web.url)


# Where it may go.


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "127.0.0.2", "127.2", "0x7f000002", "2130706434", "[::1]", "[::ffff:127.0.0.2]", "0.0.0.0",
        "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "[fe80::1]", "[fc00::1]",
        "[64:ff9b::7f00:2]", "[2002:7f00:2::]", "224.0.0.1", "255.255.255.255",
    ],
)  # fmt: skip
def test_private_addresses_are_not_reached(desk, web, host):
    words = desk.refusal("web_fetch", url=f"http://{host}:{web.port}/")
    assert "is in a private network" in words
    assert "fetch.allow_private" in words
    assert web.asked == []


def test_a_name_is_judged_by_every_address_it_has_and_asked_for_once(desk, web, monkeypatch):
    asked = []

    def look_up(host, port, **_):
        """A name server that tells something else each time."""
        asked.append(host)
        found = {"mixed.example": ["93.184.216.34", "127.0.0.1"], "turns.example": ["127.0.0.1"]}[host]
        found = ["93.184.216.34"] if host == "turns.example" and len(asked) > 1 else found
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    web.pages["/"] = answer(b"secret")
    assert "private network" in desk.refusal("web_fetch", url=f"http://mixed.example:{web.port}/")
    asked.clear()
    desk.registry = Registry([WebFetch(["turns.example"])])
    assert body(get(desk, f"http://turns.example:{web.port}/")) == "secret"
    assert asked == ["turns.example"]


def test_names_stand_for_those_below_them_and_nothing_else(desk, web):
    web.pages["/"] = answer(b"x")
    desk.registry = Registry([WebFetch(["localhost"])])
    assert body(get(desk, f"http://localhost:{web.port}/")) == "x"
    assert "private network" in desk.refusal("web_fetch", url=web.url)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "must begin with http:// or https://"),
        ("example.org", "must begin with http:// or https://"),
        ("file:///etc/passwd", "must begin with http:// or https://"),
        ("ftp://example.org", "must begin with http:// or https://"),
        ("http://", "must begin with http:// or https://"),
        ("http://me:secret@example.org", "must not hold a name or password"),
        ("http://example.org/a b", "must have no spaces"),
        ("http://example.org/\r\nX: y", "must have no spaces"),
        ("http://example.org:99999/", "url cannot be used"),
        ("http://exa%6dple.org/", "no usable host"),
        ("http://[fe80::1%25lo]/", "no usable host"),
        ("http://a..b/", "no usable host"),
        (f"http://example.org/{'x' * 2000}", "at most 2000 characters"),
    ],
)
def test_what_is_no_address(desk, url, words):
    refusal = desk.refusal("web_fetch", url=url)
    assert words in refusal
    assert "secret" not in refusal


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
def test_redirects_of_a_site_are_followed(desk, web, status):
    web.pages |= {"/a/b": moved("../c?d", status), "/c?d": moved("e f", status), "/e%20f": answer(b"there")}
    result = get(desk, f"{web.url}/a/b")
    assert body(result) == "there"
    assert result.facts["url"] == f"{web.url}/e%20f"


def test_a_redirect_to_a_private_address_is_not_followed(desk, web):
    ctx = desk.context()
    ctx.judge = lambda effect: "allow"
    for location in (f"http://localhost:{web.port}/b", "http://169.254.169.254/latest", f"//[::1]:{web.port}/"):
        web.pages["/"] = moved(location)
        with pytest.raises(ToolRefusal, match="is in a private network"):
            desk.apply("web_fetch", desk.prepare("web_fetch", ctx, url=web.url), ctx)
    assert len(web.asked) == 3


@pytest.mark.parametrize(("verdict", "followed"), [("ask", False), ("deny", False), ("allow", True)])
def test_a_redirect_to_another_site_is_judged(bench, web, verdict, followed):
    bench.registry = Registry([WebFetch(["127.0.0.1", "localhost"])])
    web.pages |= {"/": moved(f"http://localhost:{web.port}/there"), "/there": answer(b"there")}
    ctx, judged = bench.context(), []
    ctx.judge = lambda effect: judged.append(effect) or verdict
    result = bench.apply("web_fetch", bench.prepare("web_fetch", ctx, url=web.url), ctx)
    assert judged == [Effect("network", host="localhost")]
    assert (result.text.split("\n\n")[-1] == "there") is followed
    if not followed:
        assert result.text == (
            f"{web.url}/ redirects to http://localhost:{web.port}/there; that was not followed. To go there, fetch "
            "that address."
        )
        assert len(web.asked) == 1


def test_a_site_that_is_denied_is_not_reached_by_a_redirect_within_it(desk, web):
    ctx = desk.context()
    ctx.judge = lambda effect: "deny"
    web.pages["/"] = moved("/b")
    result = desk.apply("web_fetch", desk.prepare("web_fetch", ctx, url=web.url), ctx)
    assert "was not followed" in result.text


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://user:word@x/", "javascript:x"])
def test_a_redirect_to_nowhere(desk, web, location):
    web.pages["/"] = moved(location)
    assert "redirects to something that is no usable address" in desk.refusal("web_fetch", url=web.url)


def test_a_circle(desk, web):
    web.pages |= {"/a": moved("/b"), "/b": moved("/a")}
    assert desk.refusal("web_fetch", url=f"{web.url}/a") == f"{web.url}/a redirects too often."
    assert len(web.asked) == fetch.MAX_REDIRECTS + 1


# Proxies and certificates.


def test_other_hosts_are_asked_for_through_the_proxy_and_judged_by_name(bench, web, monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://me:w%C3%B6rd@127.0.0.1:{web.port}")
    web.pages["http://example.org/a"] = answer(b"by proxy")
    assert body(get(bench, "http://example.org/a")) == "by proxy"
    assert b"\r\nHost: example.org\r\n" in web.asked[0]
    assert b"Proxy-Authorization: Basic bWU6d8O2cmQ=\r\n" in web.asked[0]
    for host in ("intranet", "wiki.internal", "printer.local", "10.1.2.3"):
        assert "private network" in bench.refusal("web_fetch", url=f"http://{host}/")
    assert len(web.asked) == 1
    bench.registry = Registry([WebFetch(["wiki.internal"])])
    web.pages["http://wiki.internal/"] = answer(b"inside")
    assert body(get(bench, "http://wiki.internal/")) == "inside"


def test_this_machine_and_what_the_system_says_is_reached_without_the_proxy(desk, web, monkeypatch):
    other = Web()
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{other.port}")
    web.pages["/"] = answer(b"x")
    assert body(get(desk, web.url)) == "x"
    monkeypatch.setenv("no_proxy", "nowhere.invalid")
    assert "the host is not known" in desk.refusal("web_fetch", url="http://nowhere.invalid/")
    assert other.asked == []
    other.close()


def test_a_proxy_of_another_kind(bench, monkeypatch):
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:1")
    assert "no http proxy" in bench.refusal("web_fetch", url="http://example.org/")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A file with a key and its own certificate, for 127.0.0.1 and secure.example."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    made = ["-keyout", folder / "key.pem", "-out", folder / "cert.pem", "-subj", "/CN=test", "-days", "2"]
    names = "subjectAltName=IP:127.0.0.1,DNS:secure.example"
    options = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-addext", names]
    subprocess.run([openssl, *options, *map(str, made)], check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_bytes((folder / "key.pem").read_bytes() + (folder / "cert.pem").read_bytes())
    return both


@pytest.fixture
def tls(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


def test_certificates_hold(desk, tls, certificate, monkeypatch):
    server = Web(tls=tls)
    server.pages["/"] = answer(b"safe")
    assert "the server's certificate does not hold" in desk.refusal("web_fetch", url=server.url)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    assert body(get(desk, server.url)) == "safe"
    desk.registry = Registry([WebFetch(["localhost"])])
    words = desk.refusal("web_fetch", url=f"https://localhost:{server.port}/")
    assert "certificate does not hold" in words
    assert len(server.asked) == 1
    server.close()


def test_a_safe_connection_is_not_left_for_a_plain_one(desk, web, tls, certificate, monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    server, ctx = Web(tls=tls), desk.context()
    ctx.judge = lambda effect: "allow"
    web.pages["/"], server.pages["/"] = moved(f"{server.url}/safe"), moved(web.url)
    server.pages["/safe"] = answer(b"safe")
    assert body(desk.apply("web_fetch", desk.prepare("web_fetch", ctx, url=web.url), ctx)) == "safe"
    result = desk.apply("web_fetch", desk.prepare("web_fetch", ctx, url=server.url), ctx)
    assert "was not followed" in result.text
    server.close()


def test_a_tunnel_through_the_proxy(bench, web, tls, certificate, monkeypatch):
    """The proxy connects to whatever it is asked for; the certificate is the host's."""
    server = Web(tls=tls)
    server.pages["/in"] = answer(b"through")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    monkeypatch.setenv("https_proxy", f"127.0.0.1:{web.port}")

    def connect(connection):
        with socket.create_connection(("127.0.0.1", server.port)) as onward:
            connection.sendall(b"HTTP/1.1 200 Go on\r\n\r\n")
            back = threading.Thread(target=pump, args=(onward, connection))
            back.start()
            pump(connection, onward)
            back.join(60)

    web.pages["secure.example:443"] = connect
    assert body(get(bench, "https://secure.example/in")) == "through"
    assert web.asked[0].startswith(b"CONNECT secure.example:443 ")
    assert b"\r\nHost: secure.example\r\n" in server.asked[0]
    assert "404" in bench.refusal("web_fetch", url="https://other.example/")
    server.close()


def pump(source, target):
    while data := source.recv(65536):
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)


def test_what_cannot_be_read_in_time(desk, web, monkeypatch):
    """Each of these begins something that the rest of the page would have to end."""
    monkeypatch.setattr(fetch, "READING_SECONDS", 1.0)
    web.pages["/"] = answer(b"<p>words</p>" + b"<![" * 600_000, "text/html")
    started = time.monotonic()
    with contextlib.suppress(ToolRefusal):  # some versions of the parser are quick
        assert body(get(desk, web.url)).startswith("words")
    assert time.monotonic() - started < 30


def test_a_text_that_is_json_stays_as_it_is(desk, web):
    data = json.dumps({"a": ["<b>", "\u00e9"]}, indent=1)
    web.pages["/"] = answer(data.encode(), "application/vnd.api+json")
    assert body(get(desk, web.url)) == data
