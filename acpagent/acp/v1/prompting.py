"""Prompts and their cancelling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acpagent.acp.v1.decode import PromptParams
from acpagent.acp.v1.log import log
from acpagent.acp.v1.replies import stopped

if TYPE_CHECKING:
    from acpagent.acp.v1.methods import Methods


def prompt(methods: Methods, request_id: Any, params: PromptParams) -> None:
    session = methods.session(params.session_id)
    reply = methods.reply(request_id, session, params.session_id, stopped)
    session.prompt(params.blocks, reply, params.session_id)


def cancel(methods: Methods, params: Any) -> None:
    """A notification: whatever is wrong with it, nothing is answered (RPC-10, CAN-10)."""
    session_id = params.get("sessionId") if isinstance(params, dict) else None
    session = methods.registry.get(session_id) if isinstance(session_id, str) else None
    if session is None:
        log("session/cancel names no open session; ignored")
        return
    session.cancel()
