"""The providers that acpagent knows, as data in `presets.yaml`."""

from __future__ import annotations

import os
from typing import Any

from acpagent.config import document


def load() -> dict[str, dict[str, Any]]:
    """`{name: {title, api, base_url, api_key_env, models}}`; a provider that needs no key has no `api_key_env`, and one
    whose models nobody can know has no `models`."""
    return document.read(os.path.join(os.path.dirname(__file__), "presets.yaml")).mapping()


def complete(name: str, written: dict[str, Any]) -> dict[str, Any]:
    """The settings of provider `name` with what its preset adds: what is not written of it, its models if none is
    written, and what is not written of those it knows.

    Nothing is added to a provider with a `base_url` or a file of its own: a preset's key must go nowhere but to the
    preset's server.
    """
    if any(key in written for key in ("base_url", "script", "model_file")):
        return written
    preset = dict(load().get(name, {}))
    preset.pop("title", None)
    known = {model: _figures(body) for model, body in (preset.pop("models", None) or {}).items()}
    filled = {**preset, **written}
    models = written.get("models")
    if not models and known:
        filled["models"] = known
    elif isinstance(models, dict):
        filled["models"] = {model: _filled(known.get(model, {}), body) for model, body in models.items()}
    return filled


def _figures(body: dict[str, Any]) -> dict[str, Any]:
    """What is known of a model; of when it is, only its price says."""
    figures = {key: value for key, value in body.items() if key != "as_of"}
    if "price" in figures and "as_of" in body:
        figures["price"] = {**figures["price"], "as_of": body["as_of"]}
    return figures


def _filled(known: dict[str, Any], written: Any) -> Any:
    """What is written of a model over what is known; anything that is no mapping is left for the check to find."""
    return {**known, **written} if isinstance(written, dict) else written
