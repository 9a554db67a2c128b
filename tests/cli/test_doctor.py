"""`acpagent doctor`: what it finds, what it advises, and that no secret leaves by it."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from acpagent.cli.checks.process import Dialogue
from acpagent.client.process import Process
from tests.cli.catalogue import KEY, WRONG, Catalogue
from tests.cli.terminals import Terminal, call
from tests.conftest import Home, StartAgent
from tests.repository.sources import ROOT

Lines = list[tuple[str, str, str]]


def examined(home: Home, *flags: str, env: dict[str, str] | None = None) -> tuple[int, Lines]:
    """The exit code, and the lines as level, subject and text with its advice."""
    done = call(["doctor", *flags], {**home.env, **(env or {})}, home.path)
    assert done.stderr == ""
    lines: Lines = []
    for line in done.stdout.splitlines():
        if line.startswith("      "):
            level, subject, text = lines.pop()
            lines.append((level, subject, f"{text} {line.strip()}"))
        elif line.startswith(("ok ", "warn ", "fail ")):
            subject, _, text = line[6:].partition("  ")
            lines.append((line[:5].strip(), subject, text.strip()))
    assert all(" → " in text or " -> " in text for level, _, text in lines if level != "ok")
    return done.returncode, lines


def about(lines: Lines, subject: str) -> list[tuple[str, str]]:
    return [(level, text) for level, named, text in lines if named == subject]


@pytest.fixture
def well(home: Home) -> Iterator[Home]:
    """A home where all is as it should be."""
    with Catalogue(key=KEY) as server:
        provider = {"api": "openai-chat", "base_url": server.base_url, "api_key_env": "MINE", "models": {"small": {}}}
        home.configure({"default_model": "mine/small", "providers": {"mine": provider}})
        store_keys(home, mine=KEY)
        home.env["PATH"] = f"{os.path.dirname(sys.executable)}:{home.env['PATH']}"
        yield home


def store_keys(home: Home, mode: int = 0o600, **keys: str) -> None:
    path = home.path / "credentials.yaml"
    path.write_text("".join(f"{name}: {key}\n" for name, key in keys.items()))
    path.chmod(mode)


def change(home: Home, **settings: Any) -> dict[str, Any]:
    """Change the one provider."""
    config: dict[str, Any] = json.loads((home.path / "config.yaml").read_text())
    config["providers"]["mine"].update(settings)
    home.configure(config)
    return config


def test_all_is_well(well: Home) -> None:
    code, lines = examined(well)
    assert [line for line in lines if line[0] != "ok"] == []
    assert code == 0
    subjects = {subject for _, subject, _ in lines}
    assert subjects >= {"python", "installation", "path", "home", "config", "credentials", "key mine", "provider mine"}
    assert subjects >= {"model mine/small", "store", "agent", "stdout", "shell"}


def test_a_new_user(home: Home) -> None:
    code, lines = examined(home)
    assert code == 1
    ((level, text),) = about(lines, "config")
    assert level == "fail"
    assert "`acpagent setup`" in text
    assert sum(level == "fail" for level, _, _ in lines) == 1


def test_a_malformed_configuration(home: Home) -> None:
    (home.path / "config.yaml").write_text("tool_aproval: ask\nprofile: quick\n")
    code, lines = examined(home)
    assert code == 1
    found = about(lines, "config")
    assert [level for level, _ in found] == ["fail", "fail"]
    assert "config.yaml:1: tool_aproval" in found[0][1]
    assert "did you mean tool_approval?" in found[0][1]
    assert about(lines, "agent")[0][0] == "warn"


def test_plugins(well: Home) -> None:
    assert about(examined(well)[1], "plugins") == []
    package = str(ROOT / "docs" / "example-plugin")
    assert call(["plugin", "install", package, "--yes"], well.env, well.path).returncode == 0
    code, lines = examined(well)
    assert code == 0
    assert about(lines, "plugins") == [("ok", "tally 1.0.0; `acpagent plugin doctor` starts their programs")]
    (well.path / "plugins" / "tally" / "acpagent-plugin.json").write_text("{\n]")
    code, lines = examined(well)
    assert code == 1
    assert "acpagent-plugin.json:2: is not valid JSON" in about(lines, "plugins")[0][1]


def test_servers(well: Home) -> None:
    path = well.path / "config.yaml"
    servers = {
        "here": {"command": sys.executable},
        "far": {"url": "http://127.0.0.1:1/mcp"},
        "gone": {"command": "no-such-program"},
        "odd": {"command": "${NO_SUCH_NAME}"},
    }
    path.write_text(json.dumps(json.loads(path.read_text()) | {"mcp_servers": servers}))
    code, lines = examined(well)
    assert code == 1
    gone, odd, right = about(lines, "mcp servers")
    assert (gone[0], "no-such-program is not there" in gone[1]) == ("warn", True)
    assert (odd[0], "NO_SUCH_NAME" in odd[1]) == ("fail", True)
    assert right == ("ok", "here, far; `/mcp status` in a session tells how they do")


def test_a_wrong_key(well: Home) -> None:
    store_keys(well, mine=WRONG)
    code, lines = examined(well)
    assert code == 1
    assert about(lines, "provider mine")[0][0] == "fail"
    assert "`acpagent setup`" in about(lines, "provider mine")[0][1]
    assert WRONG not in str(lines)


def test_a_list_for_anybody_hides_no_wrong_key(well: Home) -> None:
    with Catalogue(key=KEY, public_list=True) as server:
        change(well, base_url=server.base_url)
        assert examined(well)[0] == 0
        store_keys(well, mine=WRONG)
        assert examined(well)[0] == 1


def test_no_key(well: Home) -> None:
    (well.path / "credentials.yaml").unlink()
    code, lines = examined(well)
    assert code == 1
    assert about(lines, "key mine") == [
        ("fail", "there is none: $MINE is not set, and none is stored → run `acpagent setup`")
    ]
    assert "opens no session" in str(about(lines, "agent"))


def test_a_key_in_a_variable(well: Home) -> None:
    (well.path / "credentials.yaml").unlink()
    code, lines = examined(well, env={"MINE": KEY})
    assert code == 0
    assert "an editor needs that variable too" in about(lines, "key mine")[0][1]


def test_a_variable_that_hides_the_stored_key(well: Home) -> None:
    store_keys(well, mine=WRONG)
    code, lines = examined(well, env={"MINE": KEY})
    assert code == 0
    assert about(lines, "key mine")[0][0] == "warn"
    assert not {KEY, WRONG} & set(str(lines).split())


def test_credentials_that_others_can_read(well: Home) -> None:
    store_keys(well, 0o644, mine=KEY)
    code, lines = examined(well)
    assert code == 1
    assert "chmod 600" in about(lines, "credentials")[0][1]


def test_a_key_for_nobody(well: Home) -> None:
    store_keys(well, mine=KEY, mien="something-else")
    code, lines = examined(well)
    assert code == 0
    assert ("warn", "credentials") in [(level, subject) for level, subject, _ in lines]
    assert "mien" in str(about(lines, "credentials"))


def test_nobody_there(well: Home) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        change(well, base_url=f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        code, lines = examined(well)
        assert code == 1
        assert "takes no connections" in about(lines, "provider mine")[0][1]
        assert examined(well, "--offline")[0] == 0


def test_a_second_provider_is_no_failure(well: Home) -> None:
    config = json.loads((well.path / "config.yaml").read_text())
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        config["providers"]["other"] = {"api": "openai-chat", "base_url": address, "models": {"m": {}}}
        well.configure(config)
        code, lines = examined(well)
    assert code == 0
    assert about(lines, "provider other")[0][0] == "warn"


def test_a_model_that_is_not_offered(well: Home) -> None:
    change(well, models={"small": {}, "smal": {}})
    code, lines = examined(well)
    assert code == 0
    assert about(lines, "model mine/small") == [("ok", "is offered")]
    ((level, text),) = about(lines, "model mine/smal")
    assert level == "warn"
    assert "it lists large, small" in text


def test_an_address_without_its_end(well: Home) -> None:
    config = json.loads((well.path / "config.yaml").read_text())
    change(well, base_url=config["providers"]["mine"]["base_url"].removesuffix("/v1"))
    code, lines = examined(well)
    assert code == 1
    assert "write that as base_url" in about(lines, "provider mine")[0][1]


def test_a_script_needs_no_network(home: Home) -> None:
    home.use_script("hello.yaml")
    code, lines = examined(home)
    assert code == 0
    assert about(lines, "provider rehearsal") == [("ok", "plays the script hello.yaml; needs no network")]
    home.use_script("nobody.yaml")
    assert examined(home)[0] == 1


class TestStore:
    """The stored sessions."""

    @pytest.fixture
    def used(self, home: Home, workspace: Path) -> Home:
        home.use_script("hello.yaml")
        assert call(["run", "Hi"], home.env, workspace).returncode == 0
        return home

    def test_sessions_and_who_has_them(self, used: Home, workspace: Path, agent: StartAgent) -> None:
        one = agent()
        session = one.new_session(workspace)
        one.prompt(session, "hello")
        code, lines = examined(used)
        assert code == 0
        assert "2 sessions" in about(lines, "store")[0][1]
        assert about(lines, "leases") == [
            ("ok", f"1 session open in process {one.process.pid} on {socket.gethostname()}")
        ]

    def test_a_newer_file(self, used: Home) -> None:
        with closing(sqlite3.connect(used.path / "store.sqlite3")) as connection, connection:
            connection.execute("PRAGMA user_version = 999")
        code, lines = examined(used)
        assert code == 1
        assert "newer acpagent" in about(lines, "store")[0][1]

    def test_noise(self, used: Home) -> None:
        for path in used.path.glob("store.sqlite3*"):
            path.write_bytes(b"noise" * 1000)
        code, lines = examined(used)
        assert code == 1
        assert about(lines, "store")[0][0] == "fail"


class TestAgent:
    """The process as an editor meets it."""

    def test_noise_on_stdout(self, home: Home, tmp_path: Path) -> None:
        home.use_script("hello.yaml")
        (tmp_path / "sitecustomize.py").write_text("print('welcome to python')\n")
        done = call(["doctor"], {**home.env, "PYTHONPATH": str(tmp_path)}, home.path)
        assert done.returncode == 1
        assert "fail  stdout" in done.stdout
        assert "welcome to python" in done.stdout
        assert "sitecustomize" in done.stdout

    def test_noise_of_the_shell(self, home: Home, tmp_path: Path) -> None:
        home.use_script("hello.yaml")
        (tmp_path / "noise.sh").write_text("echo welcome\n")
        code, lines = examined(home, env={"BASH_ENV": str(tmp_path / "noise.sh")})
        assert code == 0
        assert about(lines, "shell")[0][0] == "warn"

    def test_no_git(self, home: Home, tmp_path: Path) -> None:
        home.use_script("hello.yaml")
        code, lines = examined(home, env={"PATH": str(tmp_path)})
        assert code == 0
        assert about(lines, "git")[0][0] == "warn"

    def test_one_that_says_nothing_is_not_waited_for(self) -> None:
        process = Process([sys.executable, str(ROOT / "tests" / "toy_agents" / "silent.py")])
        try:
            assert Dialogue(process).ask(1, "initialize", {}, 0.3) is None
        finally:
            process.stop(0)

    def test_one_that_dies_is_not_waited_for(self) -> None:
        process = Process([sys.executable, "-c", ""])
        try:
            assert Dialogue(process).ask(1, "initialize", {}, 20) is None
        finally:
            process.stop(0)


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everything")
def test_a_home_that_cannot_be_written(home: Home) -> None:
    home.use_script("hello.yaml")
    home.path.chmod(0o500)
    try:
        code, lines = examined(home)
    finally:
        home.path.chmod(0o700)
    assert code == 1
    assert about(lines, "home")[0][0] == "fail"


def test_a_home_that_is_no_folder(home: Home, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    code, lines = examined(home, env={"ACPAGENT_HOME": str(tmp_path / "file")})
    assert code == 1
    assert about(lines, "home")[0][0] == "fail"


CANARIES = {
    "stored": "canary-stored-1111",
    "variable": "canary-variable-2222",
    "unrelated": "canary-unrelated-3333",
    "header": "canary-header-4444",
    "server_env": "canary-server-env-5555",
    "server_arg": "canary-server-arg-6666",
    "server_header": "canary-server-header-7777",
    "address": "canary-address-8888",
}


class TestBundle:
    """The file for a bug report."""

    @pytest.fixture
    def secretive(self, home: Home) -> Home:
        provider = {"api": "openai-chat", "models": {"m": {}}, "base_url": "http://127.0.0.1:9/v1"}
        home.configure(
            {
                "default_model": "one",
                "providers": {
                    "one": provider | {"headers": {"X-Auth": f"Token {CANARIES['header']}"}, "api_key_env": "ONE_KEY"},
                    "two": provider | {"api_key_env": "NO_SUCH"},
                },
                "mcp_servers": {
                    "local": {
                        "command": "server",
                        "args": ["--token", CANARIES["server_arg"]],
                        "env": {"TOKEN": CANARIES["server_env"]},
                    },
                    "far": {
                        "url": f"http://127.0.0.1:9/mcp?token={CANARIES['address']}",
                        "headers": {"Authorization": f"Bearer {CANARIES['server_header']}"},
                    },
                },
            }
        )
        store_keys(home, two=CANARIES["stored"])
        home.env |= {"ONE_KEY": CANARIES["variable"], "MY_API_TOKEN": CANARIES["unrelated"]}
        return home

    def packed(self, home: Home, name: str, code: int = 1) -> dict[str, str]:
        """The files in a bundle."""
        path = home.path / name
        done = call(["doctor", "--bundle", str(path)], home.env, home.path)
        assert done.returncode == code, done.stdout + done.stderr
        assert str(name) in done.stdout
        assert not [canary for canary in CANARIES.values() if canary in done.stdout + done.stderr]
        assert path.stat().st_mode & 0o777 == 0o600
        if name.endswith(".zip"):
            with zipfile.ZipFile(path) as archive:
                found = {entry: archive.read(entry) for entry in archive.namelist()}
        else:
            with tarfile.open(path) as archive:
                found = {entry.name: archive.extractfile(entry).read() for entry in archive}  # type: ignore[union-attr]
        return {os.path.basename(entry): data.decode() for entry, data in found.items()}

    @pytest.mark.parametrize("name", ["report.zip", "report.tar.gz"])
    def test_holds_what_helps_and_no_secret(self, name: str, secretive: Home) -> None:
        files = self.packed(secretive, name)
        assert set(files) == {
            "doctor.txt", "versions.txt", "environment.txt", "config.yaml", "stderr.txt", "trace.jsonl",
        }  # fmt: skip
        for entry, text in files.items():
            assert not [canary for canary in CANARIES.values() if canary in text], entry
            assert str(secretive.path) not in text, entry  # HOME is the person's
        assert "fail  provider one" in files["doctor.txt"]
        assert "requests" in files["versions.txt"]
        assert "base_url: http://127.0.0.1:9/v1" in files["config.yaml"]
        assert "X-Auth: '[hidden]'" in files["config.yaml"]
        assert "url: http://127.0.0.1:9/mcp" in files["config.yaml"]
        messages = [json.loads(line) for line in files["trace.jsonl"].splitlines()]
        assert any(message.get("message", {}).get("method") == "session/new" for message in messages)

    def test_files_that_cannot_be_read_as_what_they_should_be(self, secretive: Home) -> None:
        for name in ("config.yaml", "credentials.yaml"):
            path = secretive.path / name
            path.write_text(path.read_text() + "\n: [}\n")
        files = self.packed(secretive, "report.zip")
        assert not [canary for canary in CANARIES.values() if canary in "".join(files.values())]
        assert "is not valid YAML" in files["config.yaml"]

    def test_a_key_in_a_wrong_place(self, home: Home) -> None:
        key = "sk-proj-canary0123456789abcdef"
        for text in (f"default_model: {key}\n", f"providers:\n  a: {{api_key: {key}}}\n", f"{key}: x\n"):
            (home.path / "config.yaml").write_text(text)
            path = home.path / "report.zip"
            path.unlink(missing_ok=True)
            done = call(["doctor", "--bundle", str(path)], home.env, home.path)
            assert done.returncode == 1
            assert key not in done.stdout + done.stderr
            with zipfile.ZipFile(path) as archive:
                assert key not in "".join(archive.read(entry).decode() for entry in archive.namelist())

    @pytest.mark.parametrize("name", ["report", "report.rar", "there.zip", "no/such.zip"])
    def test_a_name_that_will_not_do(self, name: str, home: Home) -> None:
        (home.path / "there.zip").write_text("mine")
        done = call(["doctor", "--bundle", name], home.env, home.path)
        assert (done.returncode, done.stdout) == (2, "")
        assert (home.path / "there.zip").read_text() == "mine"


def test_on_a_terminal(home: Home) -> None:
    with Terminal(["doctor", "--offline"], home.env, home.path) as terminal:
        code, shown = terminal.end()
        assert "\x1b[31mfail" in terminal.everything
    assert code == 1
    assert "1 failed" in shown


def test_an_interrupt(well: Home) -> None:
    with Catalogue(silent=True) as server:
        change(well, base_url=server.base_url)
        with Terminal(["doctor"], well.env, well.path) as terminal:
            terminal.wait_for("key mine")
            terminal.type("\x03")
            code, shown = terminal.end()
    assert code == 130
    assert "Traceback" not in shown


def test_from_elsewhere_nothing_of_the_folder_is_imported(home: Home, tmp_path: Path) -> None:
    home.use_script("hello.yaml")
    for name in ("json", "requests", "acpagent"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')")
    done = call(["doctor"], home.env, tmp_path)
    assert done.returncode == 0, done.stdout
