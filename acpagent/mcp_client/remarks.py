"""What servers say beside the protocol: on stderr, and by log messages. It is passed on in lines, and bounded."""

from __future__ import annotations

import codecs
from collections.abc import Callable

from acpagent.config import locate, redaction
from acpagent.config.redaction import Current
from acpagent.core import bounds
from acpagent.mcp_client.spec import ServerSpec

LINE_LETTERS = 500
TOTAL_LETTERS = 64 * 1024  # of one connection


class Remarks:
    """The remarks of one connection, from whatever thread; `log` never blocks. No secret of the spec is in them."""

    def __init__(self, spec: ServerSpec, log: Callable[[str], None]) -> None:
        self._spec = spec
        self._log = log
        self._left = TOTAL_LETTERS
        self._hide = Current(locate.home(), redaction.own)

    def say(self, text: str) -> None:
        hidden = self._hide(self._spec.hide(bounds.clean(text)))
        line = bounds.one_line(bounds.printable(hidden), LINE_LETTERS)
        if not line or self._left <= 0:
            return
        self._left -= len(line)
        self._log(line if self._left > 0 else "says more than is shown here")


class StderrLines:
    """Takes a server's stderr. Used by the one thread that reads it."""

    def __init__(self, spec: ServerSpec, log: Callable[[str], None]) -> None:
        self._remarks = Remarks(spec, log)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._pending = ""

    def write(self, data: bytes) -> None:
        *lines, self._pending = (self._pending + self._decoder.decode(data)).split("\n")
        self._pending = self._pending[: 4 * LINE_LETTERS]
        for line in lines:
            self._remarks.say(line)
