"""A stored session as it would be replayed to an editor, read from the store itself.

An agent process would have to open it for that, which takes a model with its key and that no editor has it open.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.acp.v1.render import Renderer
from acpagent.cli.agent import UsageError
from acpagent.cli.show import TurnView
from acpagent.cli.spoken import say, speaks
from acpagent.client.updates import MessageChunk, Update, text_of, view
from acpagent.config import locate
from acpagent.runtime.session import replay
from acpagent.store import aliases, entries, inspection, sessions
from acpagent.store.database import Store
from acpagent.store.sessions import SessionRow

_ENOUGH = 4  # letters of an id that stand for it, if no other begins so


@dataclass(frozen=True, slots=True)
class Past:
    """A session and what happened in it, oldest first."""

    row: SessionRow
    updates: tuple[Update, ...]

    def as_json(self) -> dict[str, Any]:
        """For programs: the updates as they are on the wire."""
        row = self.row
        about = {"id": row.id, "cwd": row.cwd, "title": row.title, "created": row.created_at, "updated": row.updated_at}
        return {**about, "model": row.settings.get("model"), "updates": [update.raw for update in self.updates]}


def read(home: str, wanted: str) -> Past:
    """The session whose id is `wanted`, or the only one whose id begins so. Raises `UsageError`, `StoreFault`."""
    path = locate.store_file(home)
    unknown = UsageError(say("sessions_no_session", id=wanted))
    if not os.path.exists(path):
        raise unknown
    store = Store(path)
    known = aliases.read(store)  # what `sessions list` shows is what clients know
    row = sessions.get(store, known.get(wanted, wanted)) or _beginning_so(store, wanted, known)
    if row is None:
        raise unknown
    happened = entries.read(store, row.id)
    if not inspection.is_open(store, home, row.id):
        happened += replay.mend(happened)
    renderer = Renderer(language=speaks)
    updates = (update for event in replay.events(happened) for update in renderer.render(event))
    return Past(row, tuple(view(update) for update in updates))


def _beginning_so(store: Store, wanted: str, known: Mapping[str, str]) -> SessionRow | None:
    if len(wanted) < _ENOUGH:
        return None
    rows = {row.id: row for row in every(store)}
    found = [id for id in {**rows, **known} if id.startswith(wanted) and known.get(id, id) in rows]
    if len(found) > 1:
        raise UsageError(say("sessions_several", id=wanted, names=", ".join(found[:5])))
    return rows[known.get(found[0], found[0])] if found else None


def every(store: Store) -> Iterator[SessionRow]:
    """All sessions, newest first. Raises `StoreFault`."""
    cursor: str | None = None
    while True:
        page, cursor = sessions.page(store, cursor=cursor)
        yield from page
        if cursor is None:
            return


def show(past: Past, shown: TurnView) -> None:
    """The same view as of a turn that runs; what the person said stands between."""
    asked: list[str] = []
    message: str | None = None
    for update in past.updates:
        is_persons = isinstance(update, MessageChunk) and update.role == "user"
        if asked and not (is_persons and isinstance(update, MessageChunk) and update.message_id == message):
            shown.prompt("\n".join(asked))
            asked.clear()
        if is_persons and isinstance(update, MessageChunk):
            message = update.message_id
            asked.append(spoken(update.block))
        else:
            shown.show(update)
    if asked:
        shown.prompt("\n".join(asked))
    shown.end()


def spoken(block: dict[str, Any]) -> str:
    """A content block in words."""
    kind = block.get("type")
    if kind == "text":
        return text_of(block, "text") or ""
    inner = block.get("resource") if kind == "resource" else block
    name = text_of(inner, "name") or text_of(inner, "uri") or text_of(inner, "mimeType") or ""
    what = {"image": "image", "resource_link": "link", "resource": "attached"}.get(str(kind), str(kind))
    return f"[{what}{': ' + name if name else ''}]"
