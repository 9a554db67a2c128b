"""Signing in to a server over HTTP: in a browser, once; then with what is kept."""

from __future__ import annotations

import json
import os
import stat
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from acpagent.core.scope import Cancelled, Scope, run_closers
from acpagent.mcp_client.faults import ServerFault
from acpagent.mcp_client.private import PrivateFile, secrets_file, tokens_file
from acpagent.mcp_client.spec import ServerSpec, read
from tests.mcp_client.bench import Bench, bench, over_http, plain


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with over_http("http", "guarded.py") as found:
        yield found


def spec(url: str) -> ServerSpec:
    return read({"name": "a", "type": "http", "url": url})


class Browser:
    """Goes where it is sent, on a thread of its own, as a browser does."""

    def __init__(self) -> None:
        self.pages: list[str] = []
        self.addresses: list[str] = []
        self._threads: list[threading.Thread] = []

    def show(self, address: str) -> None:
        self.addresses.append(address)
        thread = threading.Thread(target=self._visit, args=(address,))
        self._threads.append(thread)
        thread.start()

    def _visit(self, address: str) -> None:
        with urllib.request.urlopen(address, timeout=20) as answer:
            self.pages.append(answer.read().decode())

    def close(self) -> None:
        for thread in self._threads:
            thread.join(60)


def sign_in(one: Bench, home: Path) -> Browser:
    browser = Browser()
    one.pool.sign_in("a", browser.show, Scope(), 60)
    browser.close()
    return browser


def test_signing_in_once_is_enough(url: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    with bench(tmp_path, home=home) as one:
        one.open(spec(url))
        assert one.notice("mcp_sign_in") == {"server": "a", "cause": "it wants you to sign in"}
        assert [(status.state, status.sign_in) for status in one.pool.status()] == [("failed", True)]
        browser = sign_in(one, home)
        assert "code_challenge_method=S256" in browser.addresses[0]
        assert "You are signed in." in browser.pages[0]
        assert one.states() == {"a": "ready"}
        before = json.loads(one.call("mcp__a__log").text)
    kept = tokens_file(str(home), url)
    assert stat.S_IMODE(os.stat(kept.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(kept.path)).st_mode) == 0o700
    with bench(tmp_path, home=home) as one:
        one.open(spec(url))
        assert one.states() == {"a": "ready"}
        assert json.loads(one.call("mcp__a__log").text) == before
        one.pool.sign_out("a")
        assert one.states() == {"a": "stopped"}
        assert not os.path.exists(kept.path)
        one.pool.start("a")
        one.notice("mcp_sign_in")


def test_a_token_that_is_no_good_any_more_is_renewed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with over_http("http", "guarded.py", "600") as url:
        with bench(tmp_path, home=home) as one:
            one.open(spec(url))
            sign_in(one, home)
        kept = tokens_file(str(home), url)
        values = kept.read()
        kept.write({**values, "until": 1})
        with bench(tmp_path, home=home) as one:
            one.open(spec(url))
            assert "refresh" in json.loads(one.call("mcp__a__log").text)
        assert kept.read()["tokens"] != values["tokens"]
        assert kept.read()["until"] > 1


def test_a_token_that_is_refused_asks_for_a_person(url: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    kept = tokens_file(str(home), url)
    kept.write({"tokens": {"access_token": "wrong-token-1234", "token_type": "Bearer"}, "port": 45_678})
    with bench(tmp_path, home=home) as one:
        one.open(spec(url))
        assert "wrong-token" not in str(one.notice("mcp_sign_in"))


def test_waiting_for_the_person_can_be_cancelled(url: str, tmp_path: Path) -> None:
    with bench(tmp_path, home=tmp_path / "home") as one:
        one.open(spec(url))
        scope, shown, raised = Scope(), threading.Event(), threading.Event()

        def wait() -> None:
            with pytest.raises(Cancelled):
                one.pool.sign_in("a", lambda address: shown.set(), scope, 60)
            raised.set()

        threading.Thread(target=wait).start()
        assert shown.wait(60)
        run_closers(scope.cancel())
        assert raised.wait(60)


def test_a_person_who_refuses(url: str, tmp_path: Path) -> None:
    def refuse(address: str) -> None:
        back = parse_qs(urlsplit(address).query)["redirect_uri"][0]
        threading.Thread(target=lambda: urllib.request.urlopen(f"{back}?error=access_denied").close()).start()

    with bench(tmp_path, home=tmp_path / "home") as one:
        one.open(spec(url))
        with pytest.raises(ServerFault, match="signing in did not succeed: signing in was refused"):
            one.pool.sign_in("a", refuse, Scope(), 60)


def test_a_program_is_not_signed_in_to(tmp_path: Path) -> None:
    with bench(tmp_path, home=tmp_path / "home") as one:
        one.open(plain("a"))
        with pytest.raises(ServerFault, match="is a program here"):
            one.pool.sign_in("a", print, Scope(), 5)


def test_a_file_that_others_can_read_counts_for_nothing(tmp_path: Path) -> None:
    file = secrets_file(str(tmp_path))
    file.write({"KEY": "value"})
    assert PrivateFile(file.path).read() == {"KEY": "value"}
    os.chmod(file.path, 0o644)
    assert file.read() == {}
    file.write({"KEY": "other"})
    assert stat.S_IMODE(os.stat(file.path).st_mode) == 0o600
    file.remove()
    file.remove()
    assert file.read() == {}
