"""Where files lie."""

from __future__ import annotations

import os
import sys

import pytest

from acpagent.config import locate

LINUX = pytest.mark.skipif(sys.platform == "darwin", reason="macOS has one place only")


@pytest.fixture(autouse=True)
def person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/people/ann")


def test_chosen() -> None:
    assert locate.home({"ACPAGENT_HOME": "/opt/agent", "XDG_CONFIG_HOME": "/etc/xdg"}) == "/opt/agent"
    assert locate.home({"ACPAGENT_HOME": "~/agent"}) == "/people/ann/agent"
    assert locate.home({"ACPAGENT_HOME": "agent"}) == os.path.join(os.getcwd(), "agent")


@LINUX
@pytest.mark.parametrize(
    ("environ", "home"),
    [
        ({"XDG_CONFIG_HOME": "/settings"}, "/settings/acpagent"),
        ({}, "/people/ann/.config/acpagent"),
        ({"XDG_CONFIG_HOME": "relative"}, "/people/ann/.config/acpagent"),
        ({"ACPAGENT_HOME": "", "XDG_CONFIG_HOME": ""}, "/people/ann/.config/acpagent"),
    ],
)
def test_default(environ: dict[str, str], home: str) -> None:
    assert locate.home(environ) == home


def test_default_on_macos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert locate.home({"XDG_CONFIG_HOME": "/x"}) == "/people/ann/Library/Application Support/acpagent"


def test_files() -> None:
    assert locate.config_file("/h") == "/h/config.yaml"
    assert locate.credentials_file("/h") == "/h/credentials.yaml"
    assert locate.store_file("/h") == "/h/store.sqlite3"
    assert locate.startup_file("/h") == "/h/cache/startup.json"


def test_paths_as_written() -> None:
    written = ["a", "./a/../b", "~/c", "/d"]
    assert [locate.from_home("/h", path) for path in written] == ["/h/a", "/h/b", "/people/ann/c", "/d"]
