"""The vendor methods of a session: guidance while a prompt runs, the reload of what the agent runs with, and forms of
plugins that the client shows by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acpagent.acp.v1 import decode
from acpagent.acp.v1.replies import WireReply, nothing
from acpagent.core.faults import TheirFault
from acpagent.runtime.session.works import Queued
from acpagent.wire import codes

if TYPE_CHECKING:
    from acpagent.acp.v1.decode import PromptParams, SubmitParams
    from acpagent.acp.v1.methods import Methods
    from acpagent.runtime.session.session import Session


def steer(methods: Methods, request_id: Any, params: PromptParams) -> None:
    session = _session(methods, params.session_id)
    reply = WireReply(methods.connection, request_id, params.session_id, nothing, lambda: session.host.language)
    session.steer(params.blocks, reply)


def reload(methods: Methods, request_id: Any, session_id: str) -> None:
    session = _session(methods, session_id)
    session.reload(methods.reply(request_id, session, session_id, _reloaded))


def submit(methods: Methods, request_id: Any, params: SubmitParams) -> None:
    """Answered once it is on its way to the plugin, which waits for nothing."""
    try:
        _session(methods, params.session_id).submit(params.form, params.values)
    except LookupError:
        raise decode.bad("formInstanceId", "names no form that waits; it was handed in or is shown anew") from None
    except ValueError as error:
        raise decode.bad("values", str(error)) from None
    methods.connection.respond(request_id, {})


def _session(methods: Methods, session_id: str) -> Session:
    """The seed's tables answer -32602 where the protocol's own methods say -32002."""
    session = methods.registry.get(session_id)
    if session is None:
        raise TheirFault(codes.INVALID_PARAMS, "params.sessionId: names no open session; load or resume it first")
    return session


def _reloaded(outcome: Queued) -> dict[str, Any]:
    return {"queued": True} if outcome.queued else {}
