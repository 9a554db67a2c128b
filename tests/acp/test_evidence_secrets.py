"""Secrets that acpagent was given are in nothing that it writes down."""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path

from tests.acp.mcp import plain, settle
from tests.acp.seen import calls, says, turn
from tests.acp.served import served
from tests.agent import handoffs

PLACES = ("variable", "file", "server", "header", "client", "kept", "token")
KEY, STORED, SERVER, HEADER, CLIENT, KEPT, TOKEN = PLANTED = [f"planted-{place}-5f3a9c71" for place in PLACES]
NOT_OURS = ("config.yaml", "credentials.yaml")  # the person wrote them
SHAPES = ("ghp_plantedplantedplanted1234", "hunter2-planted-hunter2")
FOUND = [f"Planted{number}Qz7Lm2Xp9" for number in range(12)]  # in what was found on the way


def test_what_is_written_down_has_no_secret_in_it(tmp_path: Path) -> None:
    """A key in a variable, one in the credentials file, those of servers in the configuration and of the client's."""
    trace = tmp_path / "trace.jsonl"
    road = [
        calls("bash", command="env; printenv PLANTED_KEY; cat $ACPAGENT_HOME/none; true"),
        calls("bash", command="cat $ACPAGENT_HOME/*.yaml $ACPAGENT_HOME/mcp/*.json; cat /proc/$PPID/environ"),
        calls("read_file", path="keys.txt"),
        calls("write_file", path="a.txt", content="fine\n"),
        calls("bash", command="make test"),
        says("All is well."),
    ]
    servers = {"configured": {**plain("x"), "env": {"TOKEN": SERVER}}}
    servers["configured"].pop("name")
    elsewhere = {"api": "openai-chat", "base_url": "http://127.0.0.1:9", "models": {"m": {"context_window": 9999}}}
    turns = [turn("go", *road), turn("hello", says("Hello."), loop=True)]
    with served(tmp_path, {"turns": turns}, tool_approval="yolo", mcp_servers=servers) as one:
        one.agent.close()
        config = json.loads((one.home.path / "config.yaml").read_text())
        config["providers"]["local"] |= {"api_key_env": "PLANTED_KEY", "headers": {"X-Api-Key": HEADER}}
        config["providers"]["other"] = {**elsewhere, "api_key_env": "NOT_SET_ANYWHERE"}
        one.home.configure(config)
        credentials = one.home.path / "credentials.yaml"
        credentials.write_text(f"other: {STORED}\n")
        credentials.chmod(0o600)
        one.home.env |= {"PLANTED_KEY": KEY, "ACPAGENT_LOG": "debug", "ACPAGENT_TRACE": str(trace)}
        one.agent = one.start()
        (one.workspace / "Makefile").write_text("test:\n\t@echo 1 passed\n")
        (one.workspace / "keys.txt").write_text(f"{STORED}\n{KEY}\n")
        (one.home.path / "mcp").mkdir()
        (one.home.path / "mcp" / "secrets.json").write_text(json.dumps({"A": KEPT}))
        (one.home.path / "mcp" / "tokens-1.json").write_text(json.dumps({"tokens": {"access_token": TOKEN}}))
        named = plain("named")
        named["env"] = [{"name": "TOKEN", "value": CLIENT}]
        complains = f"echo it has {KEY} and {STORED} >&2; exec {sys.executable} {named['args'][0]}"
        named |= {"command": "/bin/sh", "args": ["-c", complains]}
        session = one.new(mcpServers=[named])
        settle(one, session, ["mcp__named__pid"])
        (evidence,) = handoffs(one.prompt(session, "go"))
        assert evidence["status"] == "verified"
        assert KEY in str(one.last.headers)  # the model's server got it
        asked = one.last.raw.decode()
        assert [secret for secret in PLANTED if secret in asked] == []
        one.agent.close()
        log = one.agent.stderr()
        assert "it has [hidden] and [hidden]" in log
    kept = [
        path
        for path in one.home.path.rglob("*")
        if path.is_file() and path.name not in NOT_OURS and path.parent.name != "mcp"
    ]
    assert any(path.parent.parent.name == "proofs" for path in kept)
    assert any(path.name.startswith("store.sqlite3") for path in kept)
    written = {path.name: path.read_bytes() for path in (*kept, trace)} | {"log": log.encode()}
    for secret in PLANTED:
        assert [name for name, data in written.items() if secret.encode() in data] == []


def test_a_receipt_has_nothing_that_looks_like_a_secret(tmp_path: Path) -> None:
    road = [
        calls("bash", command=f"echo token {SHAPES[0]} && export DB_PASSWORD={SHAPES[1]} && touch x"),
        calls("bash", command=f"make test API_KEY={SHAPES[1]}"),
        says(f"I used {SHAPES[0]}."),
    ]
    with served(tmp_path, {"turns": [turn("go", *road)]}, tool_approval="yolo") as one:
        (one.workspace / "Makefile").write_text("test:\n\t@echo 1 passed\n")
        (evidence,) = handoffs(one.prompt(one.new(), "go"))
        (receipt,) = (one.home.path / "proofs").rglob("*.json")
        data = receipt.read_text()
        assert "[hidden]" in data
        assert SHAPES[0] not in data
        assert SHAPES[1] not in data
        assert SHAPES[0] not in json.dumps(evidence)
        assert os.stat(receipt).st_mode & 0o777 == 0o600


def test_what_comes_by_shows_no_secret(tmp_path: Path) -> None:
    """In the output of commands, in words that come in pieces, in what the model's server, another server and a
    plugin's program complain of: neither the receipt, nor the trace, nor stderr has it."""
    key, basic, dsn, pem, user, prose, piece, body, noise, prompt, value, flag = FOUND
    encoded = base64.b64encode(f"user:{basic}".encode()).decode()
    road = [
        calls("bash", command=f"cat found.txt; mysql -uroot -p{user} -e x; touch y"),
        calls("bash", command=f"curl -u me:{flag} http://127.0.0.1:9/; touch z"),
        [*says(f"The password is {prose}. "), {"text": f"token: {piece} is it", "chunk": 3}],
    ]
    refuses = [{"error": {"status": 400, "message": f"Authorization: Bearer {body}"}}]
    turns = [turn("go", *road), turn("fail", refuses)]
    trace = tmp_path / "trace.jsonl"
    noisy = plain("noisy")
    noisy["args"] = ["-c", f"echo secret={noise} >&2; exec {sys.executable} {noisy['args'][0]}"]
    with served(tmp_path, {"turns": turns}, tool_approval="yolo") as one:
        one.agent.close()
        one.home.env |= {"ACPAGENT_TRACE": str(trace)}
        one.agent = one.start()
        (one.workspace / "found.txt").write_text(
            f'{{"clientSecret": "{key} x"}}\nAuthorization: Basic {encoded}\npostgres://a:{dsn}@h/x https://{value}@h/\n'
            f"-----BEGIN PRIVATE KEY-----\n{pem}\n-----END PRIVATE KEY-----\n"
        )
        session = one.new(mcpServers=[{**noisy, "command": "/bin/sh"}])
        (evidence,) = handoffs(one.prompt(session, f"go; my password is {prompt}"))
        error = one.agent.prompt(session, "fail")[1]["error"]
        one.agent.close()
        (receipt,) = (one.home.path / "proofs").rglob("*.json")
        written = (json.dumps(evidence), json.dumps(error), receipt.read_text(), trace.read_text(), one.agent.stderr())
    for secret in (*FOUND, encoded):
        assert [place for place, text in enumerate(written) if secret in text] == [], secret
    assert "The password is [hidden] token: [hidden] is it" in trace.read_text()
