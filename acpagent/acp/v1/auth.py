"""Signing in with stored credentials, and out. No network: cheap enough to be asked unasked (AUTH-17)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acpagent.acp.v1 import decode
from acpagent.acp.v1.initialize import STORED_CREDENTIALS, TERMINAL_SETUP
from acpagent.core.catalogue import Phrase
from acpagent.core.faults import TheirFault
from acpagent.wire import codes

if TYPE_CHECKING:
    from acpagent.acp.v1.methods import Methods


def authenticate(methods: Methods, request_id: Any, method_id: str) -> None:
    """`{}` if stored credentials exist and were not turned away last time, else -32000; also ends a logout."""
    if method_id == TERMINAL_SETUP:  # AUTH-09
        raise decode.bad("methodId", f"this one is for the client to run in a terminal; use {STORED_CREDENTIALS} here")
    if method_id != STORED_CREDENTIALS:
        raise decode.bad("methodId", "unknown; use one of authMethods")  # AUTH-01
    if not methods.has_credentials():
        raise TheirFault(
            codes.AUTH_REQUIRED,
            Phrase("no_usable_key"),
        )
    methods.connection.logged_out = False
    methods.connection.respond(request_id, {})


def logout(methods: Methods, request_id: Any, _: None) -> None:
    """New sessions need `authenticate` again (AUTH-12); stored credentials are never deleted."""
    methods.connection.logged_out = True
    methods.connection.respond(request_id, {})
