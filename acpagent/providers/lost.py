"""What went wrong with a connection, told in a person's words instead of a library's."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING

import requests
import urllib3.exceptions

from acpagent.core.catalogue import Phrase
from acpagent.providers.failures import FailedTry

if TYPE_CHECKING:
    from acpagent.config.settings import Timeouts


def lost(error: Exception, who: str, host: str, timeouts: Timeouts) -> FailedTry:
    """The failure for an exception of `call.ERRORS`.

    Never quotes the exception: libraries put addresses and headers into theirs. Silence is not tried again:
    the person has waited for it once, and a busy server of one's own would only begin anew.
    """
    kinds = tuple(_chain(error))

    def failed(cause: Phrase, again: bool = True) -> FailedTry:
        return FailedTry("unavailable", who, cause, again=again)

    if isinstance(error, ValueError):  # how requests refuses to send
        return FailedTry("rejected", who, Phrase("lost_unsendable", host=host), again=False)
    for part in kinds:
        if isinstance(part, ssl.SSLCertVerificationError):
            return failed(Phrase("lost_certificate", host=host, said=part.verify_message), False)
    if _any(kinds, requests.exceptions.ProxyError, urllib3.exceptions.ProxyError):
        return failed(Phrase("lost_proxy", host=host))
    if _any(kinds, socket.gaierror, urllib3.exceptions.NameResolutionError):
        return failed(Phrase("lost_name", host=host))
    if _any(kinds, ConnectionRefusedError):
        return failed(Phrase("lost_refused", host=host))
    if _any(kinds, requests.ConnectTimeout, urllib3.exceptions.ConnectTimeoutError):
        return failed(Phrase("lost_connect_timeout", host=host, seconds=f"{timeouts.connect:g}"))
    if _any(kinds, requests.ReadTimeout, urllib3.exceptions.ReadTimeoutError, TimeoutError):
        return failed(Phrase("lost_silent", host=host, seconds=f"{timeouts.read:g}"), False)
    if _any(kinds, ssl.SSLError):
        return failed(Phrase("lost_secure", host=host))
    return failed(Phrase("lost_connection", host=host))


def _any(kinds: tuple[BaseException, ...], *wanted: type[BaseException]) -> bool:
    return any(isinstance(part, wanted) for part in kinds)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and everything it wraps, in all the ways that requests and urllib3 wrap."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        part = waiting.pop()
        if not isinstance(part, BaseException) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        waiting += [part.__cause__, part.__context__, getattr(part, "reason", None), *part.args]
