"""Modes and options: how the controls are spelled for clients, and how clients spell them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acpagent.acp.v1.decode import bad
from acpagent.config import work_modes
from acpagent.core.events import Controls

Option = dict[str, Any]
# value -> (name, description)
_Values = Mapping[str, tuple[str, str]]

MODES: _Values = {
    "normal": ("Normal", "Work directly and pause when user input is required"),
    "plan": ("Plan", "Research and propose a plan before making changes"),
    "goal": ("Goal", "Keep advancing the next prompt as a goal until complete or blocked"),
}
_WORK_MODES: _Values = {
    work_modes.ECONOMY: ("Economy", "Use a lean initial tool surface to save tokens"),
    work_modes.BALANCED: ("Balanced", "Use the complete default tool surface"),
    work_modes.DELIVERY: ("Delivery", "Require acceptance criteria, review, and verification evidence"),
}
APPROVALS: _Values = {
    "ask": ("Ask", "Ask before permission-gated tool calls"),
    "auto": ("Auto", "Follow configured permission rules without fallback prompts"),
    "yolo": ("Yolo", "Approve tool calls except protected decisions"),
}
_EFFORT_NAMES = {"xhigh": "XHigh"}


@dataclass(frozen=True, slots=True)
class _Select:
    """An option as it is listed; own categories begin with an underscore (CONF-10)."""

    id: str
    name: str
    category: str
    values: _Values | None = None


# In the order of their weight (CONF-11). Ids never change (CONF-14).
_SELECTS = (
    _Select("mode", "Mode", "mode", MODES),
    _Select("model", "Model", "model"),
    _Select("effort", "Effort", "thought_level"),
    _Select("work_mode", "Work Mode", "_work_mode", _WORK_MODES),
    _Select("tool_approval", "Tool Approval", "_tool_approval", APPROVALS),
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
    available = [{"id": mode, "name": name, "description": words} for mode, (name, words) in MODES.items()]
    return {"currentModeId": controls.values["mode"], "availableModes": available}


def options(controls: Controls) -> list[Option]:
    """The complete list (CONF-03), requested values; an effort only where the requested model has any (CONF-04)."""
    offered: dict[str, list[Option]] = {
        "model": [{"value": model.id, "name": model.id, "description": model.provider} for model in controls.models],
        "effort": [{"value": effort, "name": _effort_name(effort)} for effort in controls.efforts],
    }
    return [
        {
            "id": select.id,
            "name": select.name,
            "category": select.category,
            "type": "select",
            "currentValue": controls.values[select.id],
            "options": offered[select.id] if select.values is None else _listed(select.values),
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


def _listed(values: _Values) -> list[Option]:
    return [{"value": value, "name": name, "description": words} for value, (name, words) in values.items()]


def _effort_name(effort: str) -> str:
    return _EFFORT_NAMES.get(effort, effort.capitalize())
