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
    if not isinstance(session_id, str) or not methods.registry.cancel(session_id):
        log("session/cancel names no open session; ignored")
