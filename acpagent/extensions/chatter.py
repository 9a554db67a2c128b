"""What a plugin's program writes to stderr, as lines of our own."""

from __future__ import annotations

from collections.abc import Callable

from acpagent.config import locate, redaction
from acpagent.config.redaction import Current
from acpagent.core import bounds
from acpagent.extensions.ration import Ration


class Chatter:
    """Hands on lines of a program's stderr, as much as somebody can read."""

    _MOST = 2000

    def __init__(self, name: str, log: Callable[[str], None]) -> None:
        self._name = name
        self._log = log
        self._rest = b""
        self._ration = Ration(burst=200, per_second=20)
        self._left_out = False
        self._hide = Current(locate.home(), redaction.own)

    def write(self, data: bytes) -> None:
        """On the pump alone."""
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[: self._MOST]
        for line in lines:
            if not self._ration.take():
                if not self._left_out:
                    self._log(f"plugin {self._name}: it writes a lot to stderr; some of it is left out")
                self._left_out = True
                return
            self._left_out = False
            text = bounds.one_line(self._hide(line[: self._MOST].decode("utf-8", "replace")), self._MOST)
            self._log(f"plugin {self._name}: {text}")
