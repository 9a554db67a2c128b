"""The providers that acpagent knows, as data in `presets.yaml`."""

from __future__ import annotations

import os
from typing import Any

from acpagent.config import document


def load() -> dict[str, dict[str, str]]:
    """`{name: {api, base_url, api_key_env}}`; a provider that needs no key has no `api_key_env`."""
    return document.read(os.path.join(os.path.dirname(__file__), "presets.yaml")).mapping()


def complete(name: str, written: dict[str, Any]) -> dict[str, Any]:
    """The settings of provider `name` with what its preset adds.

    Nothing is added to a provider with a `base_url` or `script` of its own: a preset's key must go nowhere
    but to the preset's server.
    """
    if "base_url" in written or "script" in written:
        return written
    return {**load().get(name, {}), **written}
