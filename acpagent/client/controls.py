"""A session's controls as the agent offers them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acpagent.client.updates import dicts_of, text_of

_VENDOR = "reasonix.io"


class Controls:
    """The latest that the agent said of its modes and options. Guarded by the session's condition.

    `options` are dicts in the protocol's form, `modes` the dicts of the modes on offer, `mode` the current one's id.
    """

    __slots__ = ("mode", "modes", "options")

    def __init__(self) -> None:
        self.mode: str | None = None
        self.modes: list[dict[str, Any]] = []
        self.options: list[dict[str, Any]] = []

    def read(self, answer: Mapping[str, Any]) -> None:
        """Take what the answer that opened the session, or one that lists the options, says of them."""
        modes = answer.get("modes")
        if isinstance(modes, dict):
            self.mode = text_of(modes, "currentModeId")
            self.modes = dicts_of(modes, "availableModes")
        if isinstance(answer.get("configOptions"), list):
            self.options = dicts_of(answer, "configOptions")

    def value(self, option: str) -> str | bool | None:
        """What an option is set to; None if there is no such option."""
        found = next((item for item in self.options if item.get("id") == option), {})
        current = found.get("currentValue")
        return current if isinstance(current, (str, bool)) else None


def setting(session_id: str, option: str, value: str | bool) -> dict[str, Any]:
    """The params that set an option; a bool says what it is (CONF-07)."""
    params = {"sessionId": session_id, "configId": option, "value": value}
    return {**params, "type": "boolean"} if isinstance(value, bool) else params


def extension(capabilities: Mapping[str, Any], name: str) -> str | None:
    """The method that an agent advertises under a name of its vendor extensions."""
    meta = capabilities.get("_meta")
    vendor = meta.get(_VENDOR) if isinstance(meta, dict) else None
    return text_of(vendor.get(name), "method") if isinstance(vendor, dict) else None
