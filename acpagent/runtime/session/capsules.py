"""The capsules of a person: files in a folder of acpagent's home, and reading one for the model."""

from __future__ import annotations

import os

from acpagent.core import capsule, files
from acpagent.core.capsule import ENDING, MAX_BYTES, Capsule, CapsuleFault
from acpagent.core.files import NotText
from acpagent.runtime.turn import summary
from acpagent.runtime.turn.conversation import Piece
from acpagent.runtime.turn.workrecord import WorkRecord

_LETTERS = 12_000  # of what was said, and again of what the record has


def keep(home: str, made: Capsule) -> str:
    """Write a capsule for its person alone; its path. Raises OSError."""
    folder = _folder(home)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(os.path.realpath(folder), made.file)
    files.write_bytes(path, capsule.spell(made).encode(), mode=0o600)
    return path


def listed(home: str) -> list[Capsule]:
    """The newest first; what cannot be read is left out. Raises OSError."""
    found = []
    for name in _names(home):
        try:
            found.append(open_file(os.path.join(_folder(home), name)))
        except (CapsuleFault, OSError):
            continue
    return sorted(found, key=lambda one: (one.created_at, one.id), reverse=True)


def find(home: str, id: str) -> Capsule | None:
    return next((one for one in listed(home) if one.id == id), None)


def open_file(path: str) -> Capsule:
    """Raises `CapsuleFault`, OSError."""
    try:
        return capsule.read(files.read_bytes(path, MAX_BYTES + 1))
    except NotText:
        raise CapsuleFault("capsule_too_large") from None


def named(words: str, home: str, cwd: str) -> Capsule:
    """The capsule that a person names by id or path. Raises `CapsuleFault`, OSError."""
    if not words:
        raise CapsuleFault("capsule_load_how")
    kept = find(home, words)
    return kept if kept is not None else open_file(os.path.join(cwd, os.path.expanduser(words)))


def knowledge(pieces: list[Piece], record: WorkRecord, mode: str) -> tuple[str, dict[str, object]]:
    """What a session knows, without asking a model: a briefing, and the same in lists."""
    briefing = summary.whole(summary.without_model(pieces, _LETTERS), summary.recorded(record, mode, "", _LETTERS))
    state: dict[str, object] = {
        "goal": record.goal.objective if record.goal is not None else "",
        "constraints": list(record.demands),
        "decisions": [{"decision": line} for line in record.decisions],
        "pending": [step.content for step in record.open_steps()],
        "artifacts": {"files": list(record.files), "commands": list(record.commands)},
    }
    return briefing, state


def _folder(home: str) -> str:
    return os.path.join(home, "capsules")


def _names(home: str) -> list[str]:
    try:
        return [name for name in os.listdir(_folder(home)) if name.endswith(ENDING)]
    except FileNotFoundError:
        return []
