"""The life of sessions: new, load, resume, list, close, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acpagent.acp.v1 import options
from acpagent.acp.v1.decode import ListParams, OpenParams
from acpagent.acp.v1.replies import Render, WireReply, nothing
from acpagent.core.catalogue import Phrase
from acpagent.core.faults import TheirFault
from acpagent.runtime.session.addresses import mint_id
from acpagent.runtime.session.works import Opening
from acpagent.store.sessions import SessionRow
from acpagent.wire import codes

if TYPE_CHECKING:
    from acpagent.acp.v1.methods import Methods


def new(methods: Methods, request_id: Any, params: OpenParams) -> None:
    if methods.connection.logged_out:
        raise TheirFault(codes.AUTH_REQUIRED, Phrase("signed_out"))  # AUTH-12
    session_id = mint_id()
    _open(methods, request_id, session_id, params, lambda opened: {"sessionId": session_id, **options.state(opened)})


def open_stored(methods: Methods, request_id: Any, params: OpenParams) -> None:
    """Load or resume. An id is only ever a key: it never becomes a path (LOAD-12)."""
    _open(methods, request_id, params.session_id, params, options.state)


def _open(methods: Methods, request_id: Any, session_id: str, params: OpenParams, render: Render) -> None:
    reply = WireReply(methods.connection, request_id, session_id, render)
    opening = Opening(params.kind, params.cwd, params.directories, params.servers, reply)
    methods.connection.in_work(request_id, lambda: _withdraw(methods, session_id, reply))
    methods.registry.open(session_id, opening)


def _withdraw(methods: Methods, session_id: str, reply: WireReply) -> None:
    session = methods.registry.get(session_id)
    if session is not None:
        session.withdraw(reply)


def list_page(methods: Methods, request_id: Any, params: ListParams) -> None:
    rows, following = methods.registry.page(params.cwd, params.cursor)
    page: dict[str, Any] = {"sessions": [_info(row, methods.registry.address(row.id)) for row in rows]}
    if following is not None:
        page["nextCursor"] = following
    methods.connection.respond(request_id, page)


def _info(row: SessionRow, address: str) -> dict[str, Any]:
    info: dict[str, Any] = {"sessionId": address, "cwd": row.cwd, "updatedAt": row.updated_at}
    if row.title:
        info["title"] = row.title
    if row.directories:
        info["additionalDirectories"] = list(row.directories)
    return info


def close(methods: Methods, request_id: Any, session_id: str) -> None:
    session = methods.session(session_id)  # CLOSE-02
    session.close(WireReply(methods.connection, request_id, session_id, nothing))


def delete(methods: Methods, request_id: Any, session_id: str) -> None:
    """A live session is closed first; one only stored is erased on the connection's worker, unless it was opened by
    then."""
    reply = WireReply(methods.connection, request_id, session_id, nothing)
    if methods.registry.delete(session_id, reply):
        return

    def erase() -> None:
        while not methods.registry.erase(session_id):
            with methods.registry.addressing:
                if methods.registry.delete(session_id, reply):
                    return
        reply.done(None)

    methods.in_lane(request_id, erase)
