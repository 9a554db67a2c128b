"""Receipts: the evidence of each turn as a sealed file, each one bound to the one before it.

A file is one line of canonical JSON (sorted keys, no spaces, UTF-8). Its seal is over everything else in it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.core import evidence, files
from acpagent.core.catalogue import Phrase
from acpagent.core.evidence import Bundle

VERSION = 1
SEAL, PREVIOUS, SEQUENCE, EVIDENCE, FORMAT = "seal", "previous", "sequence", "evidence", "receipt"
FOLDER = "proofs"
_SCHEME = "sha256:"
_MOST_BYTES = 8 * 1024 * 1024
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,100}")


@dataclass(frozen=True, slots=True)
class Receipt:
    """A sealed receipt. `sequence` counts those of a session from 1; `previous` is the seal of the one before, empty
    for the first."""

    bundle: Bundle
    sequence: int
    previous: str
    seal: str
    data: bytes


class Damaged(Exception):
    """A receipt that does not hold; the message says why."""


def canonical(value: Any) -> bytes:
    """The one way to write a value down."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8")


def seal_of(fields: Mapping[str, Any]) -> str:
    """The seal over all fields but the seal itself."""
    unsealed = {name: value for name, value in fields.items() if name != SEAL}
    return _SCHEME + hashlib.sha256(canonical(unsealed)).hexdigest()


def redacted(bundle: Bundle, hide: Callable[[str], str]) -> Bundle:
    """The bundle without secrets, and without what could not be written down as UTF-8."""
    return evidence.from_data(_redacted(evidence.to_data(bundle), hide))


def _redacted(value: Any, hide: Callable[[str], str]) -> Any:
    if isinstance(value, dict):
        return {name: _redacted(item, hide) for name, item in value.items()}
    if isinstance(value, list):
        return [_redacted(item, hide) for item in value]
    return hide(value.encode("utf-8", "replace").decode("utf-8")) if isinstance(value, str) else value


def sealed(bundle: Bundle, after: Receipt | None) -> Receipt:
    """A receipt for a bundle that follows another one."""
    sequence, previous = (after.sequence + 1, after.seal) if after is not None else (1, "")
    fields = {
        FORMAT: VERSION, SEQUENCE: sequence, PREVIOUS: previous, EVIDENCE: evidence.to_data(bundle),
    }  # fmt: skip
    seal = seal_of(fields)
    return Receipt(bundle, sequence, previous, seal, canonical({**fields, SEAL: seal}) + b"\n")


def parse(data: bytes) -> Receipt:
    """A receipt from the bytes of its file. Raises `Damaged` where a single one is not as it was written."""
    try:
        fields = json.loads(data.decode("utf-8"), parse_constant=_refuse, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise Damaged(Phrase("receipt_no_json", error=str(error))) from None
    if not isinstance(fields, dict) or FORMAT not in fields:
        raise Damaged(Phrase("receipt_fields"))
    if fields[FORMAT] != VERSION or isinstance(fields[FORMAT], bool):
        raise Damaged(Phrase("receipt_version", version=repr(fields[FORMAT])))
    if set(fields) != {FORMAT, SEQUENCE, PREVIOUS, EVIDENCE, SEAL}:
        raise Damaged(Phrase("receipt_fields"))
    try:
        as_written = canonical(fields) + b"\n"
    except (ValueError, TypeError) as error:
        raise Damaged(Phrase("receipt_unwritable", error=str(error))) from None
    if fields[SEAL] != seal_of(fields):
        raise Damaged(Phrase("receipt_seal"))
    if as_written != data:
        raise Damaged(Phrase("receipt_form"))
    try:
        bundle = evidence.from_data(fields[EVIDENCE])
        return Receipt(bundle, int(fields[SEQUENCE]), str(fields[PREVIOUS]), fields[SEAL], data)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise Damaged(Phrase("receipt_evidence", error=str(error))) from None


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name stands twice")
    return fields


def folder(home: str, session_id: str) -> str:
    """Where the receipts of a session are."""
    return os.path.join(home, FOLDER, _plain(session_id))


def path(home: str, session_id: str, turn_id: str) -> str:
    return os.path.join(folder(home, session_id), file_name(turn_id))


def file_name(turn_id: str) -> str:
    """What the file of a turn's receipt is called."""
    return f"{_plain(turn_id)}.json"


def _plain(name: str) -> str:
    """A name as one of a file, whatever is in it."""
    return name if _PLAIN_NAME.fullmatch(name) else "x-" + hashlib.sha256(name.encode()).hexdigest()[:32]


def write(home: str, receipt: Receipt) -> str:
    """Store a receipt in one step, readable by its owner alone; its path. Raises OSError."""
    directory = folder(home, receipt.bundle.session_id)
    os.makedirs(directory, mode=0o700, exist_ok=True)
    place = path(home, receipt.bundle.session_id, receipt.bundle.turn_id)
    files.write_bytes(place, receipt.data, mode=0o600)
    return place


def read(place: str) -> Receipt:
    """The receipt in a file. Raises `Damaged`, OSError."""
    try:
        return parse(files.read_bytes(place, _MOST_BYTES))
    except files.NotText as error:
        raise Damaged(str(error)) from None
    except IsADirectoryError:
        raise Damaged(Phrase("receipt_directory")) from None


def erase(home: str, session_id: str) -> None:
    """Forget the receipts of a session."""
    shutil.rmtree(folder(home, session_id), ignore_errors=True)


def belongs(place: str, bundle: Bundle) -> bool:
    """Whether a receipt lies where `write` puts it, whatever is above that."""
    directory, name = os.path.split(os.path.abspath(place))
    return name == file_name(bundle.turn_id) and os.path.basename(directory) == _plain(bundle.session_id)


def listed(directory: str) -> Iterator[str]:
    """The paths of the receipts in a session's folder."""
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return
    for name in names:
        if name.endswith(".json") and not name.startswith("."):
            yield os.path.join(directory, name)


def last(home: str, session_id: str) -> Receipt | None:
    """The newest receipt of a session that holds; the chain goes on from there."""
    found: Receipt | None = None
    for place in listed(folder(home, session_id)):
        try:
            receipt = read(place)
        except (Damaged, OSError):
            continue
        if found is None or receipt.sequence > found.sequence:
            found = receipt
    return found
