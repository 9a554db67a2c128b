"""Receipts: any changed byte and any missing one shows."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from acpagent.config.redaction import Secrets, known
from acpagent.core.evidence import Bundle, ChangedFile, RanCommand
from acpagent.runtime.evidence import receipts, verify
from acpagent.runtime.evidence.receipts import Damaged, Receipt

FILE = ChangedFile("ünï.txt", "renamed", "shell", 1, None, True, "old.txt", ("ev_1",))
BUNDLE = Bundle("ses-1", "turn_1", "verified", "2026-01-01T00:00:00Z", 'It is "good"\n', (FILE,))


def chained(home: Path, count: int) -> list[Receipt]:
    made: list[Receipt] = []
    for number in range(1, count + 1):
        after = made[-1] if made else None
        made.append(receipts.sealed(replace(BUNDLE, turn_id=f"turn_{number}"), after))
        receipts.write(str(home), made[-1])
    return made


def place(home: Path, number: int) -> Path:
    return home / "proofs" / "ses-1" / f"turn_{number}.json"


def wrong(home: Path, *known: str) -> list[str]:
    return [finding.code for finding in verify.chain(str(home / "proofs" / "ses-1"), known)[1]]


def test_it_is_one_line_of_canonical_json_for_its_owner_alone(tmp_path: Path) -> None:
    chained(tmp_path, 1)
    data = place(tmp_path, 1).read_bytes()
    fields = json.loads(data)
    spelled = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
    assert data == spelled.encode()
    assert stat.S_IMODE(place(tmp_path, 1).stat().st_mode) == 0o600
    assert stat.S_IMODE(place(tmp_path, 1).parent.stat().st_mode) == 0o700
    assert receipts.read(str(place(tmp_path, 1))).bundle == BUNDLE


def test_every_flipped_bit_shows() -> None:
    data = receipts.sealed(BUNDLE, None).data
    for position in range(len(data)):
        for bit in range(8):
            flipped = bytearray(data)
            flipped[position] ^= 1 << bit
            with pytest.raises(Damaged):
                receipts.parse(bytes(flipped))


def test_every_byte_more_or_less_shows() -> None:
    data = receipts.sealed(BUNDLE, None).data
    for position in range(len(data)):
        for changed in (data[:position] + data[position + 1 :], data[:position] + b" " + data[position:]):
            with pytest.raises(Damaged):
                receipts.parse(changed)


@pytest.mark.parametrize("number", [1, 2, 4])
def test_a_damaged_receipt_is_told_as_that_alone(tmp_path: Path, number: int) -> None:
    seals = [one.seal for one in chained(tmp_path, 4)]
    place(tmp_path, number).write_bytes(place(tmp_path, number).read_bytes().replace(b"good", b"bad!"))
    assert wrong(tmp_path, *seals) == ["proof_damaged"]
    place(tmp_path, 3).unlink()
    told = wrong(tmp_path, *seals)
    assert told.count("proof_damaged") == 1
    assert "proof_missing" in told


@pytest.mark.parametrize(
    "data",
    [b"", b"null\n", b"[]\n", b"{}\n", b'{"a":NaN}\n', b"\xff\n", b"[" * 100_000, b'{"receipt":1,"receipt":1}\n'],
)
def test_what_is_no_receipt(data: bytes) -> None:
    with pytest.raises(Damaged):
        receipts.parse(data)


def test_a_whole_chain_holds(tmp_path: Path) -> None:
    made = chained(tmp_path, 3)
    assert wrong(tmp_path, *(one.seal for one in made)) == []
    assert receipts.last(str(tmp_path), "ses-1") == made[-1]
    assert [one.sequence for one in made] == [1, 2, 3]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_missing_link_shows(tmp_path: Path, number: int) -> None:
    made = chained(tmp_path, 3)
    place(tmp_path, number).unlink()
    assert "proof_missing" in wrong(tmp_path, *(one.seal for one in made))
    assert ("proof_gap" in wrong(tmp_path)) is (number < 3)  # only the session itself knows of the last one
    if number < 3:
        _, findings = verify.single(str(place(tmp_path, 3)))
        assert [finding.code for finding in findings] == ["proof_gap"]


def test_a_receipt_that_was_sealed_anew_shows(tmp_path: Path) -> None:
    made = chained(tmp_path, 3)
    forged = receipts.sealed(replace(made[1].bundle, status="blocked"), made[0])
    place(tmp_path, 2).write_bytes(forged.data)
    assert wrong(tmp_path) == ["proof_unlinked"]
    assert wrong(tmp_path, made[1].seal) == ["proof_unlinked", "proof_missing"]
    assert [one.code for one in verify.single(str(place(tmp_path, 3)))[1]] == ["proof_gap"]


def test_a_receipt_under_another_name_shows(tmp_path: Path) -> None:
    chained(tmp_path, 2)
    os.replace(place(tmp_path, 2), place(tmp_path, 9))
    assert wrong(tmp_path) == ["proof_renamed"]


def test_names_lead_nowhere_else(tmp_path: Path) -> None:
    odd = replace(BUNDLE, session_id="../../x", turn_id="a/../../b")
    path = receipts.write(str(tmp_path), receipts.sealed(odd, None))
    assert os.path.dirname(os.path.dirname(path)) == str(tmp_path / "proofs")


def test_a_damaged_receipt_does_not_stop_the_chain(tmp_path: Path) -> None:
    made = chained(tmp_path, 2)
    place(tmp_path, 2).write_bytes(b"{}")
    last = receipts.last(str(tmp_path), "ses-1")
    assert last == made[0]
    assert wrong(tmp_path) == ["proof_damaged"]


SECRETS = [
    ("ghp_abcdefghijklmnop1234", "echo ghp_abcdefghijklmnop1234"),
    ("hunter2hunter2", "curl -u me:hunter2hunter2 host"),
    ("s3cretvalue", "export DB_PASSWORD=s3cretvalue"),
    ("s3cretvalue", "tool --api-key s3cretvalue"),
    ("s3cretvalue", 'curl -H "Authorization: Bearer s3cretvalue"'),
    ("s3cretvalue", '{"access_token": "s3cretvalue"}'),
    ("pw12345", "git clone https://me:pw12345@host/x"),
]


@pytest.mark.parametrize(("secret", "text"), SECRETS)
def test_secrets_stay_out(secret: str, text: str) -> None:
    command = RanCommand("c", text, "passed", "call", output_preview=text)
    hidden = receipts.redacted(replace(BUNDLE, commands=(command,), summary=text), Secrets(["hunter2hunter2"]).strictly)
    assert secret.encode() not in receipts.sealed(hidden, None).data


def test_of_settings_only_what_is_called_a_secret_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path))
    monkeypatch.setenv("MY_TOKEN", "planted-variable")
    server = {"command": "python3", "args": ["server.py"], "env": {"API_TOKEN": "planted-token", "MODE": "production"}}
    (tmp_path / "config.yaml").write_text(json.dumps({"mcp_servers": {"s": server}}))
    named, every = set(known(str(tmp_path), named=True)), set(known(str(tmp_path)))
    assert {"planted-variable", "planted-token"} <= named <= every
    assert {"server.py", "production", str(tmp_path)} <= every - named


@pytest.mark.parametrize("text", ["make test", "the key parts of a token", "monkey=bananas", "a key: x", "sk-1"])
def test_what_is_no_secret_stays(text: str) -> None:
    assert Secrets([]).strictly(text) == text
