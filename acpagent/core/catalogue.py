"""Everything acpagent says to a person: one sentence per code, filled with parameters; nothing for the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_SENTENCES: dict[str, str] = {
    "approval_yolo": "Full access: from now on this session runs tools without asking.",
    "controls_not_changed": "The change of settings failed and the old ones stay: {cause}",
    "image_unseen": "The model in use cannot see images; it was told that one was attached.",
    "model_gone": "The model {model} of this session is no longer configured; {instead} is used instead.",
    "model_retry": "The model did not answer ({cause}); try {attempt} of {limit} follows in {seconds} s.",
    "model_silent": "The model has not answered for {seconds:g} s; it is still waited for.",
    "reload_failed": "The reload failed and the old runtime stays: {cause}",
    "steer_unused": "This guidance came too late for the turn and was not used: {text}",
}


def say(code: str, params: Mapping[str, Any]) -> str:
    """The sentence for a code. Raises KeyError for a code that is not in the catalogue: our own mistake."""
    return _SENTENCES[code].format_map(params)
