"""Taking secrets out of what is shown or sent to somebody: by their place in the settings, by value, and by shape."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from typing import Any

from acpagent.config import redaction
from acpagent.config.redaction import HIDDEN, SECRET_SETTINGS

_ADDRESSES = frozenset({"base_url", "url"})


class Redactor:
    """Hides every secret that this machine's acpagent could know: keys in the credentials file, variables that look
    like secrets, headers and environments in the configuration. The person's name and machine are hidden, too."""

    def __init__(self, home: str) -> None:
        self._hide = redaction.Secrets(redaction.known(home))
        self._person = os.path.expanduser("~")
        self._machine = re.compile(rf"\b{re.escape(socket.gethostname())}\b")

    def __call__(self, text: str) -> str:
        """`text` without secrets."""
        return self._hide(text)

    def anonymous(self, text: str) -> str:
        """The same, without the person's home folder and the machine's name."""
        text = self._hide.strictly(text)
        if len(self._person) > 1:
            text = re.sub(rf"{re.escape(self._person)}(?![\w.-])", "~", text)
        return self._machine.sub("HOST", text)


def redacted(settings: Any, key: str = "") -> Any:
    """A copy of the configuration without what may be secret; its form stays."""
    if isinstance(settings, Mapping):
        hide = key in SECRET_SETTINGS
        return {name: HIDDEN if hide else redacted(value, name) for name, value in settings.items()}
    if isinstance(settings, list):
        return [HIDDEN if key in SECRET_SETTINGS else redacted(item) for item in settings]
    if key in _ADDRESSES and isinstance(settings, str):
        return re.sub(r"(?<=://)[^/@]*@|[?#].*", "", settings)
    return settings
