"""Modes and options: how the controls are spelled for clients, and how clients spell them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from acpagent.acp.v1.decode import bad
from acpagent.config import work_modes
from acpagent.core import catalogue
from acpagent.core.events import Controls

Option = dict[str, Any]
MODES = ("normal", "plan", "goal")
APPROVALS = ("ask", "auto", "yolo")


@dataclass(frozen=True, slots=True)
class _Select:
    """An option as it is listed, its name aside; own categories begin with an underscore (CONF-10)."""

    id: str
    category: str
    values: tuple[str, ...] | None = None


# In the order of their weight (CONF-11). Ids never change (CONF-14).
_SELECTS = (
    _Select("mode", "mode", MODES),
    _Select("model", "model"),
    _Select("effort", "thought_level"),
    _Select("work_mode", "_work_mode", work_modes.NAMES),
    _Select("tool_approval", "_tool_approval", APPROVALS),
)
IDS = tuple(select.id for select in _SELECTS)

# What older clients call the options -> their ids.
_ID_ALIASES = {
    "models": "model",
    "reasoning_effort": "effort",
    "thought_level": "effort",
    "profile": "work_mode",
    "runtime_profile": "work_mode",
    "token_mode": "work_mode",
    "approval": "tool_approval",
    "approval_mode": "tool_approval",
    "tool_approval_mode": "tool_approval",
}
# What older clients call modes -> the controls they stand for.
_MODE_ALIASES: Mapping[str, Mapping[str, str]] = {
    "agent": {"mode": "normal"},
    "planning": {"mode": "plan"},
    "default": {"mode": "normal", "tool_approval": "ask"},
    "auto": {"mode": "normal", "tool_approval": "yolo"},
}


def modes(controls: Controls) -> dict[str, Any]:
    """The mode selector that `session/set_mode` sets."""
    said = _Names(controls)
    available = [
        {"id": mode, "name": said.name("mode", mode), "description": said.about("mode", mode)} for mode in MODES
    ]
    return {"currentModeId": controls.values["mode"], "availableModes": available}


def options(controls: Controls) -> list[Option]:
    """The complete list (CONF-03), requested values; an effort only where the requested model has any (CONF-04)."""
    said = _Names(controls)
    offered: dict[str, list[Option]] = {
        "model": [{"value": model.id, "name": model.id, "description": model.provider} for model in controls.models],
        "effort": [{"value": effort, "name": said.effort(effort)} for effort in controls.efforts],
    }
    return [
        {
            "id": select.id,
            "name": said.title(select.id),
            "category": select.category,
            "type": "select",
            "currentValue": controls.values[select.id],
            "options": offered[select.id] if select.values is None else said.listed(select.id, select.values),
        }
        for select in _SELECTS
        if select.id != "effort" or controls.efforts
    ]


def state(controls: Controls) -> dict[str, Any]:
    """What the answer to an opening says of the controls."""
    return {"modes": modes(controls), "configOptions": options(controls)}


def mode_controls(mode: str) -> Mapping[str, str]:
    """The controls that a mode of `session/set_mode` stands for. Raises `TheirFault` for one that is not listed
    (MODE-02)."""
    if mode in MODES:
        return {"mode": mode}
    if mode not in _MODE_ALIASES:
        raise bad("modeId", f"is not a mode; use one of {', '.join(MODES)}")
    return _MODE_ALIASES[mode]


def setting(option: str, value: Any) -> tuple[str, Mapping[str, str]]:
    """An option's id, and what setting it changes; only the form of the values of an axis is checked. Raises
    `TheirFault` (CONF-05, CONF-07)."""
    option = _ID_ALIASES.get(option, option)
    if option not in IDS:
        raise bad("configId", f"is not an option; use one of {', '.join(IDS)}")
    if not isinstance(value, str):
        raise bad("value", f"must be one of the values of {option}, a string; no option here is a boolean")
    if option == "mode":
        return option, mode_controls(value)
    if option == "tool_approval" and value not in APPROVALS:
        raise bad("value", f"is not one of the values of {option}; use one of {', '.join(APPROVALS)}")
    if option == "work_mode":
        value = work_modes.named(value) or value
    return option, {option: value}


class _Names:
    """What controls are called, in the language of their session."""

    def __init__(self, controls: Controls) -> None:
        self._language = controls.values.get("language", catalogue.ENGLISH)

    def title(self, option: str) -> str:
        return self._said(f"option_{option}")

    def name(self, option: str, value: str) -> str:
        return self._said(f"{option}_{value}")

    def about(self, option: str, value: str) -> str:
        return self._said(f"{option}_{value}_about")

    def effort(self, effort: str) -> str:
        """Those that servers have names of their own for keep them."""
        code = f"effort_{effort}"
        return self._said(code) if catalogue.knows(code) else effort.capitalize()

    def listed(self, option: str, values: Sequence[str]) -> list[Option]:
        return [
            {"value": value, "name": self.name(option, value), "description": self.about(option, value)}
            for value in values
        ]

    def _said(self, code: str) -> str:
        return catalogue.say(code, {}, self._language)
